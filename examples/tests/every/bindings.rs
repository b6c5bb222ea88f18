//! All agents speak all bindings.

use examples::{CallOutcome, Failure, Kind, Options};
use protocol::{
    card::{self, Binding},
    client::FailureClass,
    v1::{CancelTaskRequest, SendMessageRequest, TaskState},
};

use crate::asking::{PATIENCE, all, artifact_text, start, text};

fn first(binding: Binding) -> Options {
    Options { binding, ..Options::default() }
}

#[tokio::test]
async fn the_card_lists_the_three_bindings_in_the_order_asked_for() {
    let mut lines = Vec::new();
    for binding in Binding::ALL {
        let echo = start(Kind::Echo, first(binding)).await;
        let fetched = card::fetch(&echo.outbound, &echo.agent.url).await.expect("a card");
        let address = echo.agent.url.trim_start_matches("http://");
        let interfaces = fetched.card.supported_interfaces.iter().map(|interface| {
            let url = interface.url.replace(address, "ADDRESS");
            format!("{} {} {url}", interface.protocol_binding, interface.protocol_version)
        });
        lines.push(interfaces.collect::<Vec<_>>().join(", "));
        assert_eq!(echo.client.interface().binding, binding);
    }
    assert_eq!(
        lines,
        [
            "JSONRPC 1.0 http://ADDRESS, HTTP+JSON 1.0 http://ADDRESS/a2a, GRPC 1.0 ADDRESS",
            "HTTP+JSON 1.0 http://ADDRESS/a2a, JSONRPC 1.0 http://ADDRESS, GRPC 1.0 ADDRESS",
            "GRPC 1.0 ADDRESS, JSONRPC 1.0 http://ADDRESS, HTTP+JSON 1.0 http://ADDRESS/a2a",
        ]
    );
}

#[tokio::test]
async fn a_task_is_made_streamed_read_followed_and_canceled_on_every_binding() {
    for binding in Binding::ALL {
        let chunks = start(Kind::Chunks, first(binding)).await;
        let events = all(chunks.stream(text("count to 3")).await).await;
        let pieces = events.iter().filter(|event| event.state().is_none()).count();
        assert_eq!(pieces, 3, "{binding}");
        let task = chunks.get(events[0].task_id()).await;
        assert_eq!(artifact_text(&task, "pieces"), "1 2 3 ", "{binding}");

        let slow = start(Kind::Slow, first(binding)).await;
        let task = slow.begun(text("for 600s")).await;
        let stream = slow.subscribe(&task.id).await.expect("a stream");
        let cancel = CancelTaskRequest { id: task.id, ..CancelTaskRequest::default() };
        let canceled = slow.client.cancel_task(cancel, PATIENCE).await.expect("a Task");
        assert_eq!(canceled.state(), TaskState::Canceled, "{binding}");
        let last = all(stream).await.pop().expect("an event");
        assert_eq!(last.state(), Some(TaskState::Canceled), "{binding}");
    }
}

#[tokio::test]
async fn flaky_fails_below_a2a_on_every_binding() {
    use CallOutcome::{Accepted, Refused, Repeated};
    for binding in Binding::ALL {
        for (failure, outcomes) in [
            (Failure::Unavailable, [Refused, Accepted]),
            (Failure::Drop, [Refused, Accepted]),
            (Failure::Lost, [Accepted, Repeated]),
        ] {
            let options = Options { failure, failures: 1, ..first(binding) };
            let flaky = start(Kind::Flaky, options).await;
            let request: SendMessageRequest = text("hello");
            let error = flaky.try_task(request.clone()).await.expect_err("it fails once");
            assert_eq!(error.class, FailureClass::Unavailable, "{binding}: {error}");
            assert_eq!(flaky.task(request).await.state(), TaskState::Completed);
            let seen = flaky.agent.calls.all();
            let seen: Vec<CallOutcome> = seen.iter().map(|call| call.outcome).collect();
            assert_eq!(seen, outcomes, "{binding}");
        }
    }
}
