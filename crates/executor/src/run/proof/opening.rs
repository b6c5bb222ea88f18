//! How runs of the world begin.

use jiff::Timestamp;

use super::{
    StepId, StepIndex,
    facts::{body, intent, paused},
    world::World,
};
use crate::run::{Header, Input, PauseKind, Rendered};

impl World {
    /// What happens to the first step until it asks, all at one instant but the start.
    pub(super) fn until_paused(&self, since: Timestamp) -> [Input; 3] {
        let (index, step) = (StepIndex(0), StepId::new("s0"));
        let rendered = Rendered::Send(intent(index, 1, "send"));
        [
            self.start(),
            Input::Rendered { step: step.clone(), at: Timestamp::UNIX_EPOCH, rendered },
            paused(step, 1, since, PauseKind::Input, 0),
        ]
    }

    pub(super) fn start(&self) -> Input {
        let at = Timestamp::UNIX_EPOCH;
        let header = Box::new(Header {
            workflow: format!("{} steps", self.shape.len()),
            context_id: "c".to_owned(),
            plan: body("plan"),
            inputs: body("inputs"),
            start: body("start"),
            message: None,
            origin: None,
            accepts: Vec::new(),
            extensions: Vec::new(),
            relay: false,
            by_token: false,
            key: None,
            scheduled_at: None,
            parent: None,
            cleans_up: None,
        });
        match self.is_queued {
            true => Input::Queue { at, header },
            false => Input::Start { at, header },
        }
    }
}
