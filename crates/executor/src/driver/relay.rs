//! A relay: what its agent is told is what the client said, and its Task is shown as the agent's is.

use planner::{Binding, StepEffect};
use protocol::{
    auth::Keyring,
    client::Peer,
    model::metadata,
    v1::{Message, Part},
};

use super::{Driver, Uncallable};
use crate::{
    ExecutorError,
    run::{Intent, RemoteTask, RunEvent, StepIndex},
};

/// Keys of a client's metadata, and extensions, that are meant for us.
const OURS: [&str; 2] = [metadata::WORKFLOW, metadata::AGENT];

/// What a client said, as the agent of a relay is told: with its metadata and extensions.
pub(super) fn relayed(parts: Vec<Part>, said: &Message) -> Message {
    let mut metadata = said.metadata.clone();
    if let Some(metadata) = &mut metadata {
        metadata.0.retain(|key, _| !OURS.contains(&key.as_str()));
    }
    let metadata = metadata.filter(|metadata| !metadata.0.is_empty());
    Message { metadata, extensions: said.extensions.clone(), ..Message::user(parts) }
}

impl Driver {
    /// The beginning of a step's Message.
    pub(super) async fn spoken(
        &self,
        parts: Vec<Part>,
        binding: &Binding,
    ) -> Result<Message, ExecutorError> {
        let said =
            self.run.header().filter(|header| header.relay).and_then(|it| it.message.clone());
        let Some(said) = said else { return Ok(Message::user(parts)) };
        let said: Message = self.load(&said).await?;
        let reference_task_ids = self.known_there(binding, &said.reference_task_ids).await;
        Ok(Message { reference_task_ids, ..relayed(parts, &said) })
    }

    /// The agent of a step's attempt, called with the extensions that the client of a relay has asked for.
    pub(super) fn peer(
        &self,
        at: StepIndex,
        intent: &Intent,
        task: Option<&RemoteTask>,
    ) -> Result<(Peer, Option<Keyring>), Uncallable> {
        let (peer, keyring) = self.shared.peer(intent, task, &self.caller)?;
        let peer = match self.run.shape_of(at).effect {
            StepEffect::Idempotent => peer.sending_anywhere(),
            StepEffect::AtLeastOnce | StepEffect::AtMostOnce => peer,
        };
        let asked = self.run.header().into_iter().flat_map(|header| &header.extensions);
        let theirs: Vec<&str> =
            asked.map(String::as_str).filter(|uri| !OURS.contains(uri)).collect();
        let peer = if theirs.is_empty() { peer } else { peer.with_extensions(&theirs) };
        Ok((peer, keyring))
    }

    /// Whether the run has a row among the Tasks: a relay has none before its agent has made a Task, or it has to be paused
    /// before that, and never when it answers with a Message, or not at all.
    pub(super) fn is_listed(&self) -> bool {
        let is_told =
            || self.run.at(StepIndex(0)).task.is_some() || self.run.pause_kind().is_some();
        !self.run.is_relay() || is_told()
    }

    /// Whether the run's row has to be written after these events.
    pub(super) fn touches_row(&self, events: &[RunEvent]) -> bool {
        let is_first = |event: &RunEvent| matches!(event, RunEvent::AttemptBound { .. });
        self.is_listed()
            && (events.iter().any(RunEvent::touches_status)
                || (self.run.is_relay() && events.iter().any(is_first)))
    }
}
