//! How attempts end at the agents of the directory: taken down in the commit that ends them.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use planner::Selector;
use registry::{Ended, Noted};

use super::Driver;
use crate::run::{Intent, RunEvent, StepId, StepIndex};

/// An attempt as it was before a report.
pub(super) struct Flown {
    intent: Arc<Intent>,
    started_at: Timestamp,
    paused: SignedDuration,
}

impl Driver {
    /// The attempt of a step that is under way; nothing when nobody takes down how it ends.
    pub(super) fn flown(&self, at: StepIndex) -> Option<Flown> {
        let flight = self.run.at(at).flight().filter(|_| self.shared.are_outcomes_noted())?;
        let (started_at, paused) = (flight.started_at, flight.paused);
        Some(Flown { intent: Arc::clone(&flight.intent), started_at, paused })
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
                run: self.id.to_string(),
                step: step.to_string(),
                skill: self.skill(step),
                at,
                took: Duration::try_from(took).unwrap_or_default(),
                error,
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

    /// The skill that a step asks for.
    fn skill(&self, step: &StepId) -> Option<String> {
        let at = self.run.planned(self.run.find(step)?);
        match &self.plan.workflow.steps[at.position()].selector {
            Some(Selector::Match { skill, .. }) => skill.clone(),
            Some(Selector::Url(_) | Selector::SameAs(_)) | None => None,
        }
    }
}

/// How an event ends an attempt, if it does. One that is called off says nothing of its agent.
fn outcome(event: &RunEvent) -> Option<(&StepId, Timestamp, Option<String>)> {
    match event {
        RunEvent::StepCompleted { step, at, .. } => Some((step, *at, None)),
        RunEvent::AttemptFailed { step, at, error, .. } => {
            let why = format!("{}: {}", error.class.as_str(), error.message);
            Some((step, *at, Some(why)))
        }
        _ => None,
    }
}
