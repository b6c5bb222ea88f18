//! How attempts end at the agents of the directory: taken down in the commit that ends them.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use planner::Selector;
use registry::{CardDigest, Ended, Noted};

use super::{Driver, serving::serving};
use crate::run::{Input, Intent, RunEvent, StepId, StepIndex};

/// An attempt as it was before a report.
pub(super) struct Flown {
    intent: Arc<Intent>,
    /// The card that the agent was planned with.
    card: CardDigest,
    /// The skill that the step asks it for.
    skill: Option<String>,
    started_at: Timestamp,
    paused: SignedDuration,
    /// Whether the report is of a failure on this side.
    is_ours: bool,
}

impl Driver {
    /// The attempt of a step that is under way; nothing when nobody takes down how it ends.
    pub(super) fn flown(&self, at: StepIndex, input: &Input) -> Option<Flown> {
        let flight = self.run.at(at).flight().filter(|_| self.shared.are_outcomes_noted())?;
        let (started_at, paused) = (flight.started_at, flight.paused);
        let is_ours = matches!(input, Input::Failed { failure, .. } if failure.is_ours);
        // A step without an agent has no attempts.
        let card = serving(&self.plan, &self.run, at)?.digest;
        let skill = self.skill(at);
        let intent = Arc::clone(&flight.intent);
        Some(Flown { intent, card, skill, started_at, paused, is_ours })
    }

    /// Drafts what is kept of an attempt that ended.
    pub(super) fn note_outcomes(&mut self, flown: Option<&Flown>, events: &[RunEvent]) {
        let (Some(flown), Some(outcomes)) = (flown, &self.shared.outcomes) else { return };
        for event in events {
            let Some((step, at, error)) = outcome(event) else { continue };
            let took = at.duration_since(flown.started_at) - flown.paused;
            let ended = Ended {
                agent: flown.intent.agent.clone(),
                interface: flown.intent.interface.clone(),
                card: flown.card,
                run: self.id.to_string(),
                step: step.to_string(),
                skill: flown.skill.clone(),
                at,
                took: Duration::try_from(took).unwrap_or_default(),
                error,
                is_ours: flown.is_ours,
            };
            if let Some((write, noted)) = outcomes.note(ended) {
                self.draft.writes.push(write);
                self.draft.noted.push(noted);
            }
        }
    }

    /// Lets outcomes count, which are durable now.
    pub(super) fn count_outcomes(&self, noted: Vec<Noted>) {
        if let Some(outcomes) = &self.shared.outcomes {
            outcomes.count(noted);
        }
    }

    /// The skill that a step asks its present agent for.
    fn skill(&self, at: StepIndex) -> Option<String> {
        let of_file = &self.plan.workflow.steps[self.run.planned(at).position()];
        let selector = match (self.run.at(at).candidate as usize).checked_sub(1) {
            None => of_file.selector.as_ref(),
            Some(before) => of_file.fallback.get(before).map(|it| &it.selector),
        };
        match selector {
            Some(Selector::Match(asked)) => asked.skill.clone(),
            Some(Selector::Url(_) | Selector::SameAs(_)) | None => None,
        }
    }
}

/// How an event ends an attempt, if it does. One that is called off says nothing of its agent.
fn outcome(event: &RunEvent) -> Option<(&StepId, Timestamp, Option<String>)> {
    match event {
        RunEvent::StepCompleted { step, at, .. } | RunEvent::RoundEnded { step, at, .. } => {
            Some((step, *at, None))
        }
        RunEvent::AttemptFailed { step, at, error, .. } => {
            let why = format!("{}: {}", error.class.as_str(), error.message);
            Some((step, *at, Some(why)))
        }
        _ => None,
    }
}
