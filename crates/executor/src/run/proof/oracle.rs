//! What a run must have come to, by the graph alone.

use planner::{OnError, StepState};

use super::{
    StepIndex,
    facts::body,
    world::{Fate, Scenario, World},
};
use crate::run::{Outcome, Run};

impl World {
    /// Compares every step's end with what the graph says, in runs that nobody disturbs.
    pub(super) fn check_against_oracle(&self, run: &Run) {
        match (self.scenario, run.outcome()) {
            (Scenario::Undisturbed, outcome) => {
                assert_eq!(outcome, Some(&Outcome::Completed(body("outputs"))));
                for (at, expected) in self.expected().into_iter().enumerate() {
                    self.check_step(run, index(at), expected);
                }
            }
            (Scenario::StepIsFatal(at), Some(Outcome::Failed(error))) => {
                let failed = error.step.as_ref().and_then(|step| run.find(step));
                assert_eq!(failed.map(|step| run.planned(step)), Some(index(at)));
            }
            (Scenario::StepIsFatal(at), Some(Outcome::Completed(_))) => {
                assert_eq!(self.expected()[at], StepState::Skipped, "reached, it fails the run");
            }
            (Scenario::CanceledAfter(_) | Scenario::TimesOutAfter(_), outcome) => {
                assert!(outcome.is_some());
            }
            (scenario, outcome) => panic!("{scenario:?} ended in {outcome:?}"),
        }
    }

    fn check_step(&self, run: &Run, at: StepIndex, expected: StepState) {
        let step = run.at(at);
        assert_eq!(step.state(), expected, "{}", step.id);
        let Some(items) = &step.items else { return };
        assert_eq!(Some(items.count), self.items[at.position()]);
        for (nth, item) in (0..).zip(items.indices()) {
            assert_eq!(run.at(item).state(), end_of(self.fate(at, Some(nth))), "item {nth}");
        }
    }

    /// One pass in plan order.
    fn expected(&self) -> Vec<StepState> {
        let mut ends: Vec<(StepState, bool)> = Vec::new();
        for (at, needs) in self.dependencies.iter().enumerate() {
            let is_spread = needs.iter().any(|from| ends[*from as usize].1);
            let end = if is_spread { StepState::Skipped } else { self.end_of_step(index(at)) };
            let policy = self.shape.step(index(at)).on_error;
            let spreads =
                is_spread || (end == StepState::Failed && policy == OnError::SkipDependents);
            ends.push((end, spreads));
        }
        ends.into_iter().map(|(end, _)| end).collect()
    }

    /// How a step ends that has its turn.
    fn end_of_step(&self, at: StepIndex) -> StepState {
        let own = self.fate(at, None);
        match self.items[at.position()] {
            Some(count) if !matches!(own, Fate::IsSkipped | Fate::CannotRender) => {
                let fails = |item| end_of(self.fate(at, Some(item))) == StepState::Failed;
                match (0..count).any(fails) {
                    true => StepState::Failed,
                    false => StepState::Completed,
                }
            }
            _ => end_of(own),
        }
    }
}

fn end_of(fate: Fate) -> StepState {
    match fate {
        Fate::Answers
        | Fate::Binds
        | Fate::RefusesContext
        | Fate::RefusesCallback
        | Fate::TimesOutOnce
        | Fate::Asks(_)
        | Fate::WantsAuthorization => StepState::Completed,
        Fate::FailsThenBinds(times) if times < 3 => StepState::Completed,
        Fate::FailsThenBinds(_) | Fate::Fails | Fate::CannotRender => StepState::Failed,
        Fate::IsSkipped => StepState::Skipped,
    }
}

fn index(position: usize) -> StepIndex {
    StepIndex(u32::try_from(position).expect("a small graph"))
}
