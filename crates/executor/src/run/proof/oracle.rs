//! What a run must have come to, by the graph alone.

use planner::{Join, OnError, RunIf, StepState};

use super::{
    StepIndex,
    character::{Fate, Scenario},
    facts::body,
    world::World,
};
use crate::run::{Outcome, Run, SkipReason};

impl World {
    /// Compares every step's end with what the graph and the ends of its dependencies say, in runs that nobody
    /// disturbs.
    pub(super) fn check_against_oracle(&self, run: &Run) {
        match (self.scenario, run.outcome()) {
            (Scenario::Undisturbed, outcome) => {
                assert_eq!(outcome, Some(&Outcome::Completed(body("outputs"))));
                self.shape.indices().for_each(|at| self.check_step(run, at));
            }
            (Scenario::StepIsFatal(at), Some(Outcome::Failed(error))) => {
                let failed = error.step.as_ref().and_then(|step| run.find(step));
                assert_eq!(failed.map(|step| run.planned(step)), Some(index(at)));
            }
            (Scenario::StepIsFatal(at), Some(Outcome::Completed(_))) => {
                let state = run.at(index(at)).state();
                assert_eq!(state, StepState::Skipped, "reached, it fails the run");
                self.shape.indices().for_each(|at| self.check_step(run, at));
            }
            (Scenario::CanceledAfter(_) | Scenario::TimesOutAfter(_), outcome) => {
                assert!(outcome.is_some());
            }
            (scenario, outcome) => panic!("{scenario:?} ended in {outcome:?}"),
        }
    }

    fn check_step(&self, run: &Run, at: StepIndex) {
        let step = run.at(at);
        if step.state() == StepState::Canceled {
            assert!(self.may_be_canceled(run, at), "{} is needed", step.id);
            return;
        }
        let expected = match self.is_let_run(run, at) {
            true => self.end_of_step(at),
            false => StepState::Skipped,
        };
        assert_eq!(step.state(), expected, "{}", step.id);
        let Some(items) = &step.items else { return };
        assert_eq!(Some(items.count), self.items[at.position()]);
        for (nth, item) in (0..).zip(items.indices()) {
            assert_eq!(run.at(item).state(), self.end_of(self.fate(at, Some(nth))), "item {nth}");
        }
    }

    fn completed(&self, run: &Run, at: StepIndex) -> usize {
        let ends = self.shape.step(at).dependencies.iter().map(|from| run.at(*from).state());
        ends.filter(|state| *state == StepState::Completed).count()
    }

    /// Whether a step that waits for it has had enough.
    fn may_be_canceled(&self, run: &Run, at: StepIndex) -> bool {
        self.shape.step(at).dependents.iter().any(|to| {
            let shape = self.shape.step(*to);
            let needed = match shape.join {
                Join::All => return false,
                Join::AtLeast(needed) => needed as usize,
            };
            shape.cancel_rest && self.completed(run, *to) >= needed
        })
    }

    fn is_let_run(&self, run: &Run, at: StepIndex) -> bool {
        let shape = self.shape.step(at);
        match (shape.join, shape.run_if) {
            (Join::AtLeast(needed), _) => self.completed(run, at) >= needed as usize,
            (Join::All, RunIf::Settled) => true,
            (Join::All, RunIf::Succeeded) => {
                !shape.dependencies.iter().any(|from| self.is_obstacle(run, *from))
            }
        }
    }

    fn is_obstacle(&self, run: &Run, at: StepIndex) -> bool {
        let step = run.at(at);
        let skips = self.shape.step(at).on_error == OnError::SkipDependents;
        match (step.state(), step.skip_reason()) {
            (StepState::Canceled, _) => true,
            (StepState::Failed, _) => skips,
            (_, Some(SkipReason::When { .. } | SkipReason::Unreachable { .. }) | None) => false,
            (_, Some(_)) => true,
        }
    }

    /// How a step ends that has its turn.
    fn end_of_step(&self, at: StepIndex) -> StepState {
        let own = self.fate(at, None);
        match self.items[at.position()] {
            Some(count) if !matches!(own, Fate::IsSkipped | Fate::Reuses | Fate::CannotRender) => {
                let fails = |item| self.end_of(self.fate(at, Some(item))) == StepState::Failed;
                match (0..count).any(fails) {
                    true => StepState::Failed,
                    false => StepState::Completed,
                }
            }
            _ => self.end_of(own),
        }
    }

    fn end_of(&self, fate: Fate) -> StepState {
        match fate {
            // A Task that was bound is not tried again where that would be a second Message.
            Fate::TimesOutOnce if self.is_careful => StepState::Failed,
            Fate::Answers
            | Fate::Computes
            | Fate::Reuses
            | Fate::Binds
            | Fate::RefusesContext
            | Fate::RefusesCallback
            | Fate::TimesOutOnce
            | Fate::Repeats(_)
            | Fate::FallsBack
            | Fate::LosesAnswer
            | Fate::Asks(_)
            | Fate::AsksBack(_)
            | Fate::AsksPerson(_)
            | Fate::IsSubRun
            | Fate::WantsAuthorization => StepState::Completed,
            Fate::FailsThenBinds(times) if times < 3 => StepState::Completed,
            Fate::FailsThenBinds(_)
            | Fate::Fails
            | Fate::CannotRender
            | Fate::IsOverdue
            | Fate::AsksPersonInVain
            | Fate::AsksInVain
            | Fate::NeverConverges(_) => StepState::Failed,
            Fate::IsSkipped => StepState::Skipped,
        }
    }
}

fn index(position: usize) -> StepIndex {
    StepIndex(u32::try_from(position).expect("a small graph"))
}
