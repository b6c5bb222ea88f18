//! The part of a plan that the run core needs: the graph, and each step's policies.

use std::{borrow::Borrow, collections::HashMap, fmt, sync::Arc, time::Duration};

use planner::{ErrorClass, Join, OnError, Plan, Retry, RunIf, StepEffect};
use serde::{Deserialize, Serialize};

use super::Wait;

/// Position of a step in its run: those of the plan, then the items of `for_each` in the order in which their lists
/// became known. Lives in memory only; journals name steps by [`StepId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepIndex(pub u32);

impl StepIndex {
    pub(crate) fn position(self) -> usize {
        self.0 as usize
    }
}

/// What the core knows of one step.
#[derive(Clone, Debug)]
pub struct StepShape {
    /// The name that events use.
    pub id: StepId,
    /// Steps that this one waits for, in plan order.
    pub dependencies: Vec<StepIndex>,
    /// Steps that wait for this one, in plan order.
    pub dependents: Vec<StepIndex>,
    /// How many of its dependencies it waits for.
    pub join: Join,
    /// How they must have ended.
    pub run_if: RunIf,
    /// Whether the others are canceled once enough have completed.
    pub cancel_rest: bool,
    /// What its failure means for the run.
    pub on_error: OnError,
    /// When a failed attempt is tried again.
    pub retry: Retry,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How long a pause may last.
    pub pause_timeout: Duration,
    /// How long all its attempts may take together.
    pub deadline: Option<Duration>,
    /// How many agents there are that can be tried after the first.
    pub fallbacks: u32,
    /// Whether its agent may get a Message twice.
    pub effect: StepEffect,
    /// Items of its `for_each` under way at once.
    pub concurrency: usize,
}

/// Graph and policies of a run, shared and immutable.
#[derive(Clone, Debug)]
pub struct Shape {
    steps: Vec<StepShape>,
    by_id: HashMap<StepId, StepIndex>,
    /// For each step, its stage; empty where there are none.
    pub stages: Vec<u32>,
    /// Steps in flight at once.
    pub parallel: usize,
    /// How long the whole run may take.
    pub timeout: Duration,
    /// How many Messages it may send to agents.
    pub budget: u64,
}

impl Shape {
    /// Builds a shape from its steps, whose positions are their indices. It may send what it needs to.
    #[must_use]
    pub fn new(steps: Vec<StepShape>, parallel: usize, timeout: Duration) -> Self {
        let by_id =
            (0u32..).zip(&steps).map(|(at, step)| (step.id.clone(), StepIndex(at))).collect();
        Self { steps, by_id, stages: Vec::new(), parallel, timeout, budget: u64::MAX }
    }

    /// Takes the shape of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let steps = plan
            .workflow
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| StepShape {
                id: StepId::new(&step.id),
                dependencies: plan.dependencies[at].iter().map(|from| index(*from)).collect(),
                dependents: plan.dependents[at].iter().map(|to| index(*to)).collect(),
                join: step.join,
                run_if: step.run_if,
                cancel_rest: step.cancel_rest,
                on_error: step.on_error,
                retry: step.retry.clone(),
                timeout: step.timeout,
                pause_timeout: step.pause_timeout,
                deadline: step.deadline,
                fallbacks: u32::try_from(plan.fallbacks(at).len()).expect("a file is short"),
                effect: step.effect,
                concurrency: step
                    .for_each
                    .as_ref()
                    .and_then(|for_each| for_each.concurrency)
                    .unwrap_or(usize::MAX),
            })
            .collect();
        let budget = plan.workflow.budget.as_ref().map_or(u64::MAX, |budget| budget.calls);
        let stages = plan.stages.clone();
        Self { budget, stages, ..Self::new(steps, plan.workflow.parallel, plan.workflow.timeout) }
    }

    /// How many steps each stage has.
    pub(super) fn steps_by_stage(&self) -> Vec<usize> {
        let last = self.stages.iter().max().map_or(0, |last| *last as usize + 1);
        let mut count = vec![0; last];
        self.stages.iter().for_each(|stage| count[*stage as usize] += 1);
        count
    }

    /// The same with something else in each step.
    #[cfg(test)]
    pub(super) fn with(&self, change: impl FnMut(&mut StepShape)) -> Self {
        let mut changed = self.clone();
        changed.steps.iter_mut().for_each(change);
        changed
    }

    /// Number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The step at a position.
    #[must_use]
    pub fn step(&self, at: StepIndex) -> &StepShape {
        &self.steps[at.position()]
    }

    /// All positions in plan order.
    pub fn indices(&self) -> impl Iterator<Item = StepIndex> + use<> {
        let count = u32::try_from(self.steps.len()).expect("a plan has fewer than 2^32 steps");
        (0..count).map(StepIndex)
    }

    /// The position of a step by name; `None` for a name that the plan does not have, such as that of an item.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<StepIndex> {
        self.by_id.get(id).copied()
    }
}

impl StepShape {
    /// How long to wait before the attempt after `attempt`, or `None` when the step gives up.
    ///
    /// `jitter` in 0..1 is drawn by the caller, so that the core stays a function of its inputs.
    #[must_use]
    pub fn backoff(&self, attempt: u32, class: ErrorClass, wait: Wait) -> Option<Duration> {
        let backoff = self.retry.delay_after(attempt, class, wait.jitter)?;
        Some(backoff.max(wait.at_least.unwrap_or_default()))
    }
}

/// `STEP[N]` in its two parts.
pub(crate) fn split_item(id: &str) -> Option<(&str, u32)> {
    let (step, item) = id.strip_suffix(']')?.rsplit_once('[')?;
    Some((step, item.parse().ok()?))
}

fn index(position: usize) -> StepIndex {
    StepIndex(u32::try_from(position).expect("a plan has fewer than 2^32 steps"))
}

/// A step's name as the workflow file has it, or that of an item of a step: `STEP[N]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub(crate) Arc<str>);

impl Borrow<str> for StepId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StepId {
    /// Names a step.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self(Arc::from(id))
    }

    /// Names an item of a step.
    #[must_use]
    pub fn of_item(step: &Self, item: u32) -> Self {
        Self::new(&planner::item_id(step.as_str(), item as usize))
    }

    /// The name as people read and write it: that of the workflow file, and `[N]` behind it for an item.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The step and the number of an item; `None` for a step of the file.
    #[must_use]
    pub fn item(&self) -> Option<(&str, u32)> {
        split_item(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use planner::Jitter;

    use super::*;

    fn step(jitter: Jitter) -> StepShape {
        StepShape {
            id: StepId::new("a"),
            dependencies: Vec::new(),
            dependents: Vec::new(),
            join: Join::All,
            run_if: RunIf::Succeeded,
            cancel_rest: false,
            on_error: OnError::Fail,
            retry: Retry {
                attempts: 5,
                initial: Duration::from_millis(500),
                max: Duration::from_secs(3),
                factor: 2.0,
                jitter,
                on: [ErrorClass::Unavailable].into(),
            },
            timeout: Duration::from_secs(1),
            pause_timeout: Duration::from_secs(1),
            deadline: None,
            fallbacks: 0,
            effect: StepEffect::AtLeastOnce,
            concurrency: usize::MAX,
        }
    }

    #[test]
    fn a_back_off_grows_to_its_longest_and_ends_with_the_attempts() {
        let after = |attempt| {
            let backoff =
                step(Jitter::None).backoff(attempt, ErrorClass::Unavailable, Wait::default());
            backoff.map(|pause| pause.as_millis())
        };
        let pauses = [1, 2, 3, 4, 5, 6].map(after);
        assert_eq!(pauses, [Some(500), Some(1_000), Some(2_000), Some(3_000), None, None]);
    }

    #[test]
    fn a_class_that_is_not_named_is_not_tried_again() {
        let step = step(Jitter::None);
        assert_eq!(step.backoff(1, ErrorClass::Rejected, Wait::default()), None);
    }

    #[test]
    fn full_jitter_takes_a_part_of_the_back_off() {
        let drawn = |jitter, kind| {
            let wait = Wait { jitter, at_least: None };
            step(kind).backoff(2, ErrorClass::Unavailable, wait).map(|pause| pause.as_millis())
        };
        assert_eq!(drawn(0.0, Jitter::Full), Some(0));
        assert_eq!(drawn(0.25, Jitter::Full), Some(250));
        assert_eq!(drawn(0.25, Jitter::None), Some(1_000));
    }

    #[test]
    fn what_the_agent_asks_for_counts_even_beyond_the_longest() {
        let asked = |seconds| {
            let wait = Wait { jitter: 0.5, at_least: Some(Duration::from_secs(seconds)) };
            step(Jitter::None).backoff(1, ErrorClass::Unavailable, wait)
        };
        assert_eq!(asked(60), Some(Duration::from_secs(60)));
        assert_eq!(asked(0), Some(Duration::from_millis(500)));
    }
}
