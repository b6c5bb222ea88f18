//! The translations from and to versions before 1.0.

use std::{collections::BTreeSet, fmt::Debug};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::assert_bounded;
use crate::{
    dialect::{self, Dialect, Indices},
    operation::Operation,
    server::fuzzing::{Judged, WithRequest, with_request_of},
    v1::{
        AgentCard, ListTaskPushNotificationConfigsResponse, Required, SendMessageResponse,
        StreamResponse, Task, TaskPushNotificationConfig,
    },
};

const DIALECTS: [Dialect; 3] = [Dialect::V0_3, Dialect::V0_3Proto, Dialect::V0_1];

/// Reads parameters (an even first byte) or a result (an odd one) of the dialect and operation that the
/// first two bytes choose. What is taken, with all its required fields, can be written in that dialect and read again, and is written in
/// the same way then.
pub fn dialect(data: &[u8]) -> bool {
    let [which, operation, json @ ..] = data else { return false };
    let Ok(json) = serde_json::from_slice::<Value>(json) else { return false };
    let dialect = DIALECTS[usize::from(which / 2) % DIALECTS.len()];
    let table = Operation::table();
    let operation = table[usize::from(*operation) % table.len()].operation;
    if let Some(method) = dialect.method(operation) {
        assert_eq!(dialect.operation(method), Some(operation));
    }
    let is_result = which % 2 == 1;
    let lap = Lap { dialect, operation, is_result, json, of_bytes: data.len() };
    if is_result { lap.result() } else { with_request_of(operation, lap) }
}

/// Once to 1.0, back, and there again.
struct Lap {
    dialect: Dialect,
    operation: Operation,
    is_result: bool,
    json: Value,
    of_bytes: usize,
}

impl WithRequest for Lap {
    fn run<R: Judged + PartialEq + Debug>(self) -> bool {
        let (dialect, operation) = (self.dialect, self.operation);
        self.around::<R>(
            |params| dialect::read_params(dialect, operation, params),
            |request| vec![dialect::write_params(dialect, operation, request)],
        )
    }
}

impl Lap {
    fn result(self) -> bool {
        match self.operation {
            Operation::SendMessage => self.result_of::<SendMessageResponse>(),
            Operation::SendStreamingMessage | Operation::SubscribeToTask => self.events(),
            Operation::GetTask | Operation::CancelTask => self.result_of::<Task>(),
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig => {
                self.result_of::<TaskPushNotificationConfig>()
            }
            Operation::ListTaskPushNotificationConfigs => {
                self.result_of::<ListTaskPushNotificationConfigsResponse>()
            }
            Operation::GetExtendedAgentCard => self.result_of::<AgentCard>(),
            Operation::ListTasks | Operation::DeleteTaskPushNotificationConfig => false,
        }
    }

    fn result_of<T: Serialize + DeserializeOwned + Required>(self) -> bool {
        let (dialect, operation) = (self.dialect, self.operation);
        self.around::<T>(
            |result| dialect.read_result(operation, result, "context"),
            |result| vec![dialect::write_result(dialect, operation, result)],
        )
    }

    fn events(self) -> bool {
        let (dialect, operation) = (self.dialect, self.operation);
        self.around::<StreamResponse>(
            |event| dialect.read_result(operation, event, "context"),
            |event| dialect::write_event(dialect, event, false, &mut Indices::default()),
        )
    }

    fn around<T: Serialize + DeserializeOwned + Required>(
        self,
        read: impl Fn(Value) -> Value,
        write: impl Fn(Value) -> Vec<Value>,
    ) -> bool {
        let decoded = |json: Value| serde_json::from_value::<T>(read(json));
        let written = |message: &T| write(serde_json::to_value(message).expect("it was JSON"));
        let is_answer_of_0_1 = self.is_result && self.dialect == Dialect::V0_1;
        let Ok(message) = decoded(self.json) else { return false };
        let older = written(&message);
        let sizes = older.iter().map(|one| one.to_string().len());
        assert_bounded(sizes.sum(), self.of_bytes);
        if !message.missing_required().is_empty() || is_lossy(is_answer_of_0_1, &message) {
            return false;
        }
        // An answer that says nothing is none.
        for one in older.into_iter().filter(|one| !one.is_null()) {
            let again = decoded(one.clone()).expect("what was written can be read");
            assert_eq!(written(&again), [one]);
        }
        true
    }
}

/// Whether something cannot come back as it was: two Artifacts of one id are one, and in 0.1 a Message is
/// answered as a Task.
fn is_lossy(is_answer_of_0_1: bool, message: &impl Serialize) -> bool {
    let message = serde_json::to_value(message).expect("it was JSON");
    let artifacts = &message.get("task").unwrap_or(&message)["artifacts"];
    let artifacts = artifacts.as_array().map(Vec::as_slice).unwrap_or_default();
    let ids: BTreeSet<_> = artifacts.iter().map(|one| one["artifactId"].as_str()).collect();
    ids.len() < artifacts.len() || is_answer_of_0_1 && message.get("message").is_some()
}
