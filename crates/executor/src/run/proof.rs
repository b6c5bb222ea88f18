//! The proof of the core: random graphs under random schedules, the journal cut after every event.

mod character;
mod drawn;
mod facts;
mod opening;
mod oracle;
mod people;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use planner::StepState;
use proptest::prelude::*;

use self::character::{Character, Fate};
use self::drawn::{shape_of, worlds};
use self::facts::{bound, chunked};
use self::world::World;
use super::{
    Chosen, Effect, Input, Next, NextRound, Outcome, Phase, Round, Run, RunEvent, Shape, Step,
    StepId, StepIndex, StepShape,
};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_cut_of_the_journal_ends_in_the_same_outcome(world in worlds(), seed in any::<u64>()) {
        let (undisturbed, journal) = world.run_from(&[], seed);
        world.check_against_oracle(&undisturbed);
        let world = world.interfering_at_once_if(undisturbed.halt().is_some());
        for cut in 0..=journal.len() {
            let (resumed, whole) = world.run_from(&journal[..cut], seed ^ cut as u64);
            prop_assert_eq!(resumed.outcome(), undisturbed.outcome(), "cut after {} events", cut);
            world.check_against_oracle(&resumed);
            check_journal(&whole)?;
        }
    }

    #[test]
    fn a_replayed_journal_is_the_live_state(world in worlds(), seed in any::<u64>()) {
        world.drive(&mut Run::new(world.shape()), Vec::new(), seed, |live, journal| {
            let mut replayed = Run::new(world.shape());
            for event in journal {
                replayed.apply(event);
            }
            assert_eq!(durable(&replayed), durable(live));
        });
    }

    #[test]
    fn wanted_effects_are_those_of_a_full_recomputation(world in worlds(), seed in any::<u64>()) {
        world.drive(&mut Run::new(world.shape()), Vec::new(), seed, |live, _| {
            let kept: BTreeSet<Effect> = live.wanted().iter().collect();
            assert_eq!(kept, recomputed(live));
            // Telling paused agents to stop takes slots that nobody else wants any more, and an agent
            // that goes on by itself after its authorization asks nobody for a slot.
            let canceling = |step: &&Step| matches!(step.phase, Phase::Canceling { .. });
            let told = live.steps.iter().filter(canceling).count();
            // So does whoever decides about a Message that may have been received.
            let resolved = if world.is_careful { live.steps.len() } else { 0 };
            let limit = live.shape.parallel + world.self_starters(live) + told + resolved;
            assert!(live.halt.is_some() || live.slots_taken <= limit, "parallel is a limit");
            let taken = live.steps.iter().filter(|step| step.holds_slot()).count();
            assert_eq!(live.slots_taken, taken);
        });
    }
}

/// Journal rules that hold for every run, however it was interrupted.
fn check_journal(journal: &[RunEvent]) -> Result<(), TestCaseError> {
    let mut intents = BTreeSet::new();
    let mut bound = BTreeSet::new();
    let mut bound_by_pause = BTreeSet::new();
    let mut settled = BTreeSet::new();
    let mut expanded = BTreeSet::new();
    let mut called_off = BTreeSet::new();
    let mut finished = 0;
    let mut newest = BTreeMap::new();
    for event in journal {
        match event {
            RunEvent::StepCanceled { step, .. } => {
                prop_assert!(called_off.insert(step) && !settled.contains(step));
            }
            RunEvent::AttemptStarted { step, attempt, .. } => {
                prop_assert!(!called_off.contains(step), "{step} is not needed");
                prop_assert!(intents.insert((step, *attempt)), "one intent per attempt");
                newest.insert(step, *attempt);
            }
            RunEvent::AttemptPaused { step, attempt, task: Some(_), .. } => {
                bound_by_pause.insert((step, *attempt));
            }
            RunEvent::ArtifactChunked { step, attempt, .. } => {
                let key = (step, *attempt);
                prop_assert!(bound.contains(&key) || bound_by_pause.contains(&key));
                prop_assert_eq!(newest.get(step), Some(attempt), "of no attempt that is over");
                prop_assert!(!settled.contains(step), "{step} is settled");
            }
            RunEvent::RoundEnded { step, next: NextRound::GiveUp { .. }, .. } => {
                prop_assert!(settled.insert(step), "{step} settles once");
            }
            RunEvent::StepExpanded { step, .. } => {
                prop_assert!(expanded.insert(step), "the items of {step} are known once");
            }
            RunEvent::OutcomeChosen { step, attempt, chosen, .. } => match chosen {
                Chosen::Resend => drop(bound.remove(&(step, *attempt))),
                Chosen::Bound { .. } => drop(bound_by_pause.insert((step, *attempt))),
                Chosen::Failed { .. } => (),
            },
            RunEvent::AttemptBound { step, attempt, .. } => {
                prop_assert!(bound.insert((step, *attempt)), "an attempt binds once");
            }
            RunEvent::StepCompleted { step, .. }
            | RunEvent::StepSkipped { step, .. }
            | RunEvent::StepGathered { step, .. }
            | RunEvent::StepAnswered { step, .. }
            | RunEvent::StepComputed { step, .. }
            | RunEvent::StepReused { step, .. }
            | RunEvent::StepFailed { step, .. } => {
                prop_assert!(settled.insert(step), "{step} settles once");
                prop_assert!(!called_off.contains(step), "{step} is not needed");
            }
            RunEvent::RunFinished { .. } => finished += 1,
            _ => (),
        }
    }
    prop_assert_eq!(finished, 1);
    check_turns(journal)
}

/// Each round of each agent, and each agent of a step, once and in order.
fn check_turns(journal: &[RunEvent]) -> Result<(), TestCaseError> {
    let (mut rounds, mut candidates) = (BTreeMap::new(), BTreeMap::new());
    let mut newest = BTreeMap::new();
    for event in journal {
        match event {
            RunEvent::AttemptStarted { step, attempt, .. } => {
                newest.insert(step, *attempt);
            }
            RunEvent::RoundEnded { step, attempt, round, .. } => {
                let before = rounds.insert(step, *round).unwrap_or_default();
                prop_assert_eq!(before + 1, *round, "each round of {} once", step);
                prop_assert_eq!(newest.get(step), Some(attempt), "of no attempt that is over");
            }
            RunEvent::AttemptFailed { step, next: Next::FallBack { to }, .. } => {
                let before = candidates.insert(step, *to).unwrap_or_default();
                prop_assert_eq!(before + 1, *to, "each agent of {} once", step);
                rounds.remove(step);
            }
            _ => (),
        }
    }
    Ok(())
}

/// What a journal can tell of a run: a step whose message is being built is merely ready.
fn durable(run: &Run) -> Vec<(Phase, [u32; 4], Option<Box<Round>>)> {
    let phase = |phase: &Phase| match phase {
        Phase::Rendering => Phase::Ready,
        // Waking from a back-off is not journaled either.
        Phase::BackingOff { .. } => Phase::Ready,
        Phase::Answering(flight, task) => Phase::Answered(flight.clone(), task.clone()),
        other => other.clone(),
    };
    let step = |step: &Step| {
        let counts = [step.open, step.attempts, step.candidate, step.attempts_before];
        (phase(&step.phase), counts, step.round.clone())
    };
    run.steps.iter().map(step).collect()
}

fn recomputed(run: &Run) -> BTreeSet<Effect> {
    let steps = run.indices().flat_map(|at| run.at(at).phase.effects(at)).flatten();
    let orphans = run.orphans.keys().map(|(at, n)| Effect::Cancel(*at, *n));
    let concludes = run.is_ready_to_conclude().then_some(Effect::Conclude);
    let has_deadline = |at: &StepIndex| run.shape_of(*at).deadline.is_some();
    let overdue = run.indices().filter(|at| run.at(*at).is_between_attempts());
    let overdue = overdue.filter(has_deadline).map(Effect::StepDeadline);
    let is_going_on = run.started_at.is_some() && run.outcome.is_none();
    steps
        .chain(orphans)
        .chain(concludes)
        .chain(overdue)
        .chain((is_going_on && run.pauses().count() == 0).then_some(Effect::Deadline))
        .collect()
}

/// A graph of one step.
fn one_step(fate: Fate) -> World {
    World::of_shape(shape_of(&[vec![]], &[Character::plain(fate)], 1), fate)
}

#[test]
fn the_cost_of_an_event_does_not_grow_with_the_run() {
    for (what, world) in [("fan-out", fan_out as fn(u32) -> World), ("for_each", for_each)] {
        let small = cost_per_event(&world(100), 100);
        let large = cost_per_event(&world(10_000), 10_000);
        assert!(
            large <= small * 1.05,
            "a {what} of 10,000 costs {large} operations an event, one of 100 {small}"
        );
    }
}

/// One step, then `width` that wait for it.
fn fan_out(width: u32) -> World {
    let template = template();
    let mut steps =
        vec![StepShape { dependents: (1..=width).map(StepIndex).collect(), ..template.clone() }];
    steps.extend((1..=width).map(|at| StepShape {
        id: StepId::new(&format!("s{at}")),
        dependencies: vec![StepIndex(0)],
        ..template.clone()
    }));
    World::of_shape(Shape::new(steps, 16, Duration::from_mins(30)), Fate::Binds)
}

/// One step that runs for `width` items.
fn for_each(width: u32) -> World {
    let shape = Shape::new(vec![template()], 16, Duration::from_mins(30));
    World::of_shape(shape, Fate::Binds).with_items(width)
}

fn template() -> StepShape {
    one_step(Fate::Binds).shape().step(StepIndex(0)).clone()
}

/// Operations per event of a run of one step and `width` more.
fn cost_per_event(world: &World, width: u32) -> f64 {
    let mut run = Run::new(world.shape());
    let journal = world.drive(&mut run, Vec::new(), 7, |_, _| ());
    assert!(matches!(run.outcome(), Some(Outcome::Completed(_))));
    assert_eq!(
        run.steps().filter(|(_, step)| step.state() == StepState::Completed).count(),
        width as usize + 1
    );
    let operations = run.work + run.wanted().touched();
    operations as f64 / journal.len() as f64
}

#[test]
fn a_stale_report_changes_nothing() {
    let world = one_step(Fate::FailsThenBinds(1));
    let mut run = Run::new(world.shape());
    let journal = world.drive(&mut run, Vec::new(), 1, |_, _| ());
    let first_attempt_again = bound(StepId::new("s0"), 1);
    assert!(run.step(first_attempt_again).is_empty());
    assert!(matches!(journal.last(), Some(RunEvent::RunFinished { .. })));
}

#[test]
fn a_chunk_costs_the_core_nothing_and_only_the_attempt_that_goes_on_has_any() {
    let world = one_step(Fate::Binds);
    let mut run = Run::new(world.shape());
    let [start, rendered, _] = world.until_paused(seconds(1));
    run.step(start);
    run.step(rendered);
    let chunk = |attempt| chunked(StepId::new("s0"), attempt, seconds(2));
    assert!(run.step(chunk(1)).is_empty(), "no Task is known yet");
    run.step(bound(StepId::new("s0"), 1));
    run.effects().take_changed();
    let before = (run.work, run.wanted().touched());
    for _ in 0..1_000 {
        assert_eq!(run.step(chunk(1)).len(), 1);
        assert!(run.step(chunk(2)).is_empty(), "no attempt of ours");
    }
    assert_eq!((run.work, run.wanted().touched()), before);
    run.step(Input::CancelRequested { at: seconds(3) });
    assert!(run.step(chunk(1)).is_empty(), "nobody wants it any more");
}

/// A clean-up of two steps of a run that have ended, and what is done then in three stages.
fn cleaning_up() -> (World, Vec<RunEvent>) {
    let step = |at: u32| StepShape { id: StepId::new(&format!("s{at}")), ..template() };
    let mut shape = Shape::new((0..7).map(step).collect(), 2, Duration::from_mins(30));
    shape.stages = vec![0, 0, 2, 2, 3, 1, 1];
    let world = World::of_shape(shape, Fate::Binds);
    let Input::Start { at, header } = world.start() else { panic!("it starts at once") };
    let taken = |step: &str| RunEvent::StepTaken {
        step: StepId::new(step),
        at,
        state: StepState::Failed,
        result: None,
    };
    (world, vec![RunEvent::RunStarted { at, header }, taken("s0"), taken("s1")])
}

#[test]
fn stages_follow_each_other_wherever_the_journal_is_cut() {
    let (world, opening) = cleaning_up();
    for seed in 0..20 {
        let (run, journal) = world.run_from(&opening, seed);
        for cut in opening.len()..journal.len() {
            let (_, whole) = world.run_from(&journal[..cut], seed ^ cut as u64);
            let stages = |event: &RunEvent| match event {
                RunEvent::AttemptStarted { step, .. } | RunEvent::StepCompleted { step, .. } => {
                    run.find(step).map(|at| run.shape().stages[at.position()])
                }
                _ => None,
            };
            let order: Vec<u32> = whole.iter().filter_map(stages).collect();
            assert!(order.is_sorted(), "{order:?}");
            assert_eq!(order.len(), 10, "five steps, each begun and completed once");
        }
    }
}

/// A run of one step that has been paused since an instant.
pub(super) fn paused_run(since: jiff::Timestamp) -> Run {
    let world = one_step(Fate::Asks(1));
    let mut run = Run::new(world.shape());
    for input in world.until_paused(since) {
        run.step(input);
    }
    run
}

/// The same with a deadline of the step.
pub(super) fn paused_run_with_deadline(since: jiff::Timestamp, deadline: Duration) -> Run {
    let world = one_step(Fate::Asks(1));
    let shape = world.shape().with(|step| step.deadline = Some(deadline));
    let mut run = Run::new(shape.into());
    for input in world.until_paused(since) {
        run.step(input);
    }
    run
}

/// An instant, so long after the first.
pub(super) fn seconds(count: i64) -> jiff::Timestamp {
    jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(count)
}
