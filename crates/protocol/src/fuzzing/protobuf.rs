//! The binary form of messages, and the way over JSON.

use std::fmt::Debug;

use prost::Message;
use serde::{Serialize, de::DeserializeOwned};

use super::{assert_bounded, assert_same_by_json};
use crate::v1::{
    AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};

/// Every request and every answer, and so every message there is.
const MESSAGES: [fn(&[u8]) -> bool; 16] = [
    survives::<SendMessageRequest>,
    survives::<StreamResponse>,
    survives::<Task>,
    survives::<AgentCard>,
    survives::<SendMessageResponse>,
    survives::<ListTasksRequest>,
    survives::<ListTasksResponse>,
    survives::<TaskPushNotificationConfig>,
    survives::<ListTaskPushNotificationConfigsResponse>,
    survives::<GetTaskRequest>,
    survives::<CancelTaskRequest>,
    survives::<SubscribeToTaskRequest>,
    survives::<GetTaskPushNotificationConfigRequest>,
    survives::<ListTaskPushNotificationConfigsRequest>,
    survives::<DeleteTaskPushNotificationConfigRequest>,
    survives::<GetExtendedAgentCardRequest>,
];

/// Reads a message, which the first byte chooses. One that is taken is the same when it was written, in
/// binary or as JSON, and is read again.
pub fn protobuf(data: &[u8]) -> bool {
    let Some((&which, bytes)) = data.split_first() else { return false };
    MESSAGES[usize::from(which) % MESSAGES.len()](bytes)
}

fn survives<T>(bytes: &[u8]) -> bool
where
    T: Message + Default + Serialize + DeserializeOwned + PartialEq + Debug,
{
    let Ok(message) = T::decode(bytes) else { return false };
    let binary = message.encode_to_vec();
    assert_eq!(binary.len(), message.encoded_len());
    assert_bounded(binary.len(), bytes.len());
    let again = T::decode(&binary[..]).expect("what was written can be read");
    assert_eq!(again, message);
    let json = assert_same_by_json(&message);
    assert_bounded(json.len(), bytes.len());
    let of_json: T = serde_json::from_slice(&json).expect("it was read just now");
    assert_eq!(of_json.encode_to_vec(), binary);
    true
}
