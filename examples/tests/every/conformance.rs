//! The conformance agent, on all three bindings.

mod access;
mod behaviour;
mod profiles;
mod push;
mod webhook;

use examples::{ConformanceProfile, Kind, Options};
use protocol::{
    card::Binding,
    v1::{Message, Part, SendMessageRequest},
};

use crate::asking::{Asked, start};

/// Starts the agent in a profile, to be called by a binding, with webhooks on this machine allowed.
async fn agent(profile: ConformanceProfile, binding: Binding) -> Asked {
    let options = Options { profile, binding, loopback_webhooks: true, ..Options::default() };
    start(Kind::Conformance, options).await
}

/// A Message that chooses a behaviour by its text.
fn chosen(prefix: &str) -> SendMessageRequest {
    Message::user(vec![Part::text(prefix)]).into()
}

/// A Message that continues a Task.
fn answer(task_id: &str, text: &str) -> SendMessageRequest {
    Message::user(vec![Part::text(text)]).with_task(task_id).into()
}
