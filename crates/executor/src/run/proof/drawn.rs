//! Which worlds are drawn.

use std::time::Duration;

use planner::{ErrorClass, Jitter, Join, OnError, Retry, RunIf, StepEffect};
use proptest::prelude::*;

use super::character::{Character, Fate, Scenario};
use super::world::World;
use crate::run::{Shape, StepId, StepIndex, StepShape};

/// Worlds of one to twelve steps: edges point forward, each step has its own fate and policies.
pub(super) fn worlds() -> impl Strategy<Value = World> {
    (1usize..=12)
        .prop_flat_map(|count| {
            let steps = proptest::collection::vec(characters(), count);
            (steps, 1usize..5, scenarios(count), any::<bool>(), any::<bool>())
        })
        .prop_map(|(steps, parallel, scenario, is_queued, is_careful)| {
            let world = World::new(steps, parallel, scenario);
            let world = if is_queued { world.queued() } else { world };
            if is_careful { world.careful() } else { world }
        })
}

fn characters() -> impl Strategy<Value = Character> {
    let items = proptest::option::weighted(0.3, (0u32..5, 1usize..4));
    let on_error = prop_oneof![1 => Just(OnError::SkipDependents), 2 => Just(OnError::Continue)];
    let join = proptest::option::weighted(0.3, 0u32..12);
    let run_if = prop_oneof![3 => Just(RunIf::Succeeded), 1 => Just(RunIf::Settled)];
    (any::<u16>(), fates(), on_error, items, join, run_if, any::<bool>()).prop_map(
        |(edges, fate, on_error, items, join, run_if, cancel_rest)| Character {
            edges,
            fate,
            on_error,
            items,
            join,
            run_if,
            cancel_rest,
        },
    )
}

fn fates() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Answers),
        4 => Just(Fate::Binds),
        1 => Just(Fate::RefusesContext),
        1 => Just(Fate::RefusesCallback),
        1 => (1u32..4).prop_map(Fate::FailsThenBinds),
        1 => Just(Fate::TimesOutOnce),
        1 => (1u32..4).prop_map(Fate::Asks),
        1 => (1u32..4).prop_map(Fate::AsksBack),
        1 => Just(Fate::WantsAuthorization),
        1 => (0u32..3).prop_map(Fate::AsksPerson),
        1 => Just(Fate::AsksPersonInVain),
        1 => Just(Fate::AsksInVain),
        2 => Just(Fate::IsSubRun),
        1 => (1u32..5).prop_map(Fate::Repeats),
        1 => (1u32..4).prop_map(Fate::NeverConverges),
        1 => Just(Fate::FallsBack),
        1 => Just(Fate::LosesAnswer),
        1 => Just(Fate::IsOverdue),
        1 => Just(Fate::Fails),
        1 => Just(Fate::Computes),
        1 => Just(Fate::Reuses),
        1 => Just(Fate::CannotRender),
        1 => Just(Fate::IsSkipped),
    ]
}

fn scenarios(count: usize) -> impl Strategy<Value = Scenario> {
    prop_oneof![
        3 => Just(Scenario::Undisturbed),
        1 => (0..count).prop_map(Scenario::StepIsFatal),
        1 => (1usize..20).prop_map(Scenario::CanceledAfter),
        1 => (1usize..20).prop_map(Scenario::TimesOutAfter),
    ]
}

pub(super) fn shape_of(dependencies: &[Vec<u32>], steps: &[Character], parallel: usize) -> Shape {
    let steps = (0u32..)
        .zip(dependencies)
        .zip(steps)
        .map(|((at, needs), step)| StepShape {
            id: StepId::new(&format!("s{at}")),
            dependencies: needs.iter().copied().map(StepIndex).collect(),
            dependents: (0u32..)
                .zip(dependencies)
                .filter(|(_, needs)| needs.contains(&at))
                .map(|(to, _)| StepIndex(to))
                .collect(),
            join: match (step.join, u32::try_from(needs.len())) {
                (Some(count), Ok(1..)) => Join::AtLeast(count % needs.len() as u32 + 1),
                _ => Join::All,
            },
            run_if: step.run_if,
            cancel_rest: step.cancel_rest && step.join.is_some(),
            on_error: step.on_error,
            retry: Retry {
                attempts: 3,
                initial: Duration::from_millis(500),
                max: Duration::from_secs(30),
                factor: 2.0,
                jitter: Jitter::Full,
                on: [ErrorClass::Unavailable, ErrorClass::Timeout].into(),
            },
            timeout: Duration::from_mins(5),
            pause_timeout: Duration::from_hours(24),
            deadline: (step.fate == Fate::IsOverdue && step.items.is_none())
                .then_some(Duration::from_mins(10)),
            fallbacks: 1,
            effect: StepEffect::AtLeastOnce,
            concurrency: step.items.map_or(usize::MAX, |(_, at_once)| at_once),
        })
        .collect();
    Shape::new(steps, parallel, Duration::from_mins(30))
}
