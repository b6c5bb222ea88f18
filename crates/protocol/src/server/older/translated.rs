//! Answers in the words of an older version.

use serde::Serialize;

use crate::{
    dialect::{self, Dialect, Indices},
    error::{Error, ErrorKind},
    operation::Operation,
    server::{
        frames::{DATA, END},
        framing::{Framing, unwritable},
    },
    v1::{StreamResponse, stream_response::Payload},
};

/// What is translated, and what stands around it.
#[derive(Clone, Debug)]
pub(in crate::server) struct Translated {
    dialect: Dialect,
    operation: Operation,
    pub(in crate::server) around: Framing,
    /// Whether the Message continues a Task, whose stream may begin with the question it answers.
    continues: bool,
    indices: Indices,
}

impl Translated {
    pub(in crate::server) fn framing(
        dialect: Dialect,
        operation: Operation,
        around: Framing,
        continues: bool,
    ) -> Framing {
        let indices = Indices::default();
        Framing::Translated(Box::new(Translated { dialect, operation, around, continues, indices }))
    }

    /// Appends a result.
    pub(in crate::server) fn write_success<T: Serialize>(
        &self,
        body: &mut Vec<u8>,
        result: &T,
    ) -> Result<(), Error> {
        let result = serde_json::to_value(result).map_err(|error| unwritable(&error))?;
        let result = dialect::write_result(self.dialect, self.operation, result);
        self.around.write_success(body, &result)
    }

    /// Appends the frames of an event, and tells whether it is the last: before 1.0 a stream ends
    /// when its Task waits for the client.
    pub(in crate::server) fn write_events(
        &mut self,
        frame: &mut Vec<u8>,
        event: &StreamResponse,
    ) -> Result<bool, Error> {
        let is_last = self.is_last(event);
        let event = serde_json::to_value(event).map_err(|error| unwritable(&error))?;
        for one in dialect::write_event(self.dialect, event, is_last, &mut self.indices) {
            frame.extend_from_slice(DATA);
            self.around.write_success(frame, &one)?;
            frame.extend_from_slice(END);
        }
        Ok(is_last)
    }

    fn is_last(&self, event: &StreamResponse) -> bool {
        let is_snapshot = matches!(event.payload, Some(Payload::Task(_)));
        match event.state() {
            None => matches!(event.payload, Some(Payload::Message(_))),
            Some(state) if state.is_interrupted() => !(is_snapshot && self.continues),
            Some(state) => state.is_terminal(),
        }
    }
}

/// The HTTP status by which HTTP+JSON of 0.3 says what an error is.
pub(in crate::server) fn http_status(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::TaskNotCancelable => 409,
        ErrorKind::PushNotificationNotSupported | ErrorKind::UnsupportedOperation => 501,
        ErrorKind::ContentTypeNotSupported => 415,
        ErrorKind::InvalidAgentResponse => 502,
        ErrorKind::ExtendedAgentCardNotConfigured => 404,
        kind => kind.row().http,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{Task, TaskState, TaskStatus, TaskStatusUpdateEvent};

    fn events(state: TaskState) -> [StreamResponse; 2] {
        let status = TaskStatus { state: state.into(), ..TaskStatus::default() };
        let task = Task::new("t", "c", status.clone());
        let update = TaskStatusUpdateEvent { status: Some(status), ..Default::default() };
        [task.into(), update.into()]
    }

    #[test]
    fn a_stream_ends_when_its_task_waits_but_not_at_the_question_that_is_being_answered() {
        let last = |continues, state| {
            let around = Framing::BareOlder;
            let operation = Operation::SendStreamingMessage;
            let framing = Translated::framing(Dialect::V0_3, operation, around, continues);
            let Framing::Translated(translated) = framing else { panic!("another framing") };
            events(state).map(|event| translated.is_last(&event))
        };
        use TaskState as S;
        for state in [S::InputRequired, S::AuthRequired] {
            assert_eq!(last(false, state), [true, true]);
            assert_eq!(last(true, state), [false, true]);
        }
        for state in [S::Completed, S::Failed, S::Canceled, S::Rejected] {
            assert_eq!(last(true, state), [true, true]);
        }
        for state in [S::Submitted, S::Working, S::Unspecified] {
            assert_eq!(last(false, state), [false, false]);
        }
    }
}
