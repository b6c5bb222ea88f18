use std::time::Duration;

use planner::ErrorClass;
use protocol::{
    card::Binding,
    client::{Interface, Peer},
    outbound::{Outbound, Policy},
    v1::{Artifact, Part},
};

use super::*;
use crate::{
    remote::{Errand, Finished},
    run::Limit,
};

fn attempt(message: Message) -> (Attempt, mpsc::Receiver<Report>) {
    let (to, reports) = mpsc::channel(QUEUE);
    let interface = Interface {
        url: "http://127.0.0.1:1".to_owned(),
        binding: Binding::JsonRpc,
        tenant: String::new(),
        version: "1.0".to_owned(),
    };
    let outbound = Outbound::new(Policy::loopback()).unwrap();
    let reporter = Reporter {
        account: AccountId::new("local"),
        run: RunId::generate(),
        step: StepId::new("a"),
        attempt: 1,
        to,
    };
    let mut blobs = Vec::new();
    let intent = Intent {
        message_id: message.message_id.clone(),
        agent: "x".to_owned(),
        interface: interface.clone(),
        fallbacks: Vec::new(),
        streaming: true,
        message: body_of(&reporter.account, &message, &mut blobs).unwrap(),
        callback: None,
        is_sub_run: false,
    };
    let limits = crate::Limits::default();
    let attempt = Attempt {
        keyring: None,
        caller: protocol::auth::Caller::nobody(),
        is_withheld: false,
        turn: 0,
        peer: Peer::new(&outbound, vec![interface], limits.client).unwrap(),
        intent: Arc::new(intent),
        message: Arc::new(message),
        errand: Errand::Send,
        deadline: Some(Timestamp::MAX),
        limit: Limit { at: Timestamp::MAX, field: "timeout", length: Duration::from_secs(1) },
        limits,
        interfaces: Arc::default(),
        relays: false,
        accepts: Vec::new(),
        passing: None,
        hints: None,
        reporter,
    };
    (attempt, reports)
}

async fn reported(message: Message, ending: Ending) -> Report {
    let (attempt, mut reports) = attempt(message);
    attempt.reporter.ended(&attempt, ending).await;
    reports.try_recv().expect("every ending is reported")
}

#[tokio::test]
async fn an_answer_that_the_store_would_never_take_fails_the_attempt() {
    let huge = Part::text("x".repeat(MAX_VALUE_BYTES));
    let finished = Finished {
        task: RemoteTask { task_id: "t".to_owned(), context_id: String::new(), interface: None },
        artifacts: vec![Artifact::new("a", "a", vec![huge])],
        status_message: None,
    };
    let report = reported(Message::user(Vec::new()), Ending::Completed(Box::new(finished))).await;
    let Input::Failed { failure, .. } = report.input else { panic!("{:?}", report.input) };
    assert_eq!(failure.error.class, ErrorClass::Invalid);
    assert!(failure.remote_ended, "the agent has done its part");
    let said = &failure.error.message;
    assert!(said.starts_with("the answer of agent `x` cannot be kept: 67108"), "{said}");
    assert!(said.contains("are more than the 67108864 that can be kept"), "{said}");
}

#[tokio::test]
async fn a_chunk_is_as_large_as_its_json_and_one_that_the_store_would_never_take_is_too_large() {
    let (attempt, mut reports) = attempt(Message::user(Vec::new()));
    for (length, is_blob) in [(100, false), (INLINE_BYTES, true)] {
        let artifact = Artifact::new("a/1", "", vec![Part::text("x".repeat(length))]);
        let json = serde_json::to_string(&artifact).unwrap();
        let update = TaskArtifactUpdateEvent {
            artifact: Some(artifact),
            last_chunk: true,
            ..TaskArtifactUpdateEvent::default()
        };
        assert_eq!(attempt.reporter.chunk(update.clone()).await, json.len());
        let report = reports.try_recv().expect("it is reported");
        assert_eq!(
            (report.chunk, report.blobs.len()),
            (Some(Box::new(update)), usize::from(is_blob))
        );
        let Input::Chunked { chunk, .. } = report.input else { panic!("{:?}", report.input) };
        assert_eq!((chunk.append, chunk.last_chunk), (false, true));
    }
    let huge = Artifact::new("a/1", "", vec![Part::text("x".repeat(MAX_VALUE_BYTES))]);
    let huge = TaskArtifactUpdateEvent { artifact: Some(huge), ..Default::default() };
    assert_eq!(attempt.reporter.chunk(huge).await, usize::MAX);
    assert!(reports.try_recv().is_err(), "nothing is reported that cannot be kept");
}

#[tokio::test]
async fn only_a_refusal_of_a_message_with_a_context_is_answered_without_it() {
    let refusal = |may_be_about_context| {
        let defeat = Defeat::new(ErrorClass::Invalid, "no".to_owned());
        Ending::Failed(Defeat { may_be_about_context, ..defeat })
    };
    let table = [("ours", true, true), ("", true, false), ("ours", false, false)];
    for (context, may_be, expected) in table {
        let message = Message::user(Vec::new()).with_context(context);
        let report = reported(message, refusal(may_be)).await;
        let is_sent_again = matches!(report.input, Input::ContextRefused { .. });
        assert_eq!(is_sent_again, expected, "{context:?} {may_be}");
    }
}

#[tokio::test]
async fn only_a_refusal_of_a_message_with_a_callback_is_answered_without_it() {
    for (has_callback, is_about_callback) in [(true, true), (true, false), (false, true)] {
        let (mut attempt, mut reports) = attempt(Message::user(Vec::new()).with_context("ours"));
        let callbacks = crate::Callbacks::new("https://convoke.example", Duration::ZERO);
        let callback = has_callback.then(|| callbacks.draw());
        attempt.intent = Arc::new(Intent { callback, ..Intent::clone(&attempt.intent) });
        let defeat = Defeat::new(ErrorClass::Rejected, "no".to_owned());
        let ending = Ending::Failed(Defeat { is_about_callback, ..defeat });
        attempt.reporter.ended(&attempt, ending).await;
        let report = reports.try_recv().expect("every ending is reported");
        let Input::CallbackRefused { intent, .. } = report.input else {
            assert!(!has_callback || !is_about_callback, "{:?}", report.input);
            continue;
        };
        assert!(has_callback && is_about_callback);
        assert_eq!(intent.callback, None);
        let message = report.message.expect("it goes along");
        assert_eq!((&message.message_id, &*message.context_id), (&intent.message_id, "ours"));
        assert_ne!(message.message_id, attempt.message.message_id);
    }
}

#[test]
fn a_large_value_becomes_a_blob_and_a_small_one_does_not() {
    let account = AccountId::new("local");
    for (length, expected) in [(INLINE_BYTES - 2, 0), (INLINE_BYTES - 1, 1)] {
        let mut blobs = Vec::new();
        let body = body_of(&account, &"x".repeat(length), &mut blobs).unwrap();
        assert_eq!(blobs.len(), expected);
        assert_eq!(matches!(body, Body::Blob(_)), expected == 1);
    }
}

#[test]
fn a_long_error_is_cut_between_characters() {
    assert_eq!(clip("short"), "short");
    let long = "ä".repeat(LONGEST_ERROR + 1);
    let cut = clip(&long);
    assert!(cut.ends_with("… (4002 bytes in all)"), "{cut}");
    assert_eq!(cut.chars().filter(|c| *c == 'ä').count(), LONGEST_ERROR);
}

#[test]
fn jitter_is_drawn_from_zero_to_one() {
    let draws: Vec<f64> = (0..1_000).map(|_| failing::draw()).collect();
    assert!(draws.iter().all(|drawn| (0.0..1.0).contains(drawn)));
    assert!(draws.iter().any(|drawn| *drawn < 0.2) && draws.iter().any(|drawn| *drawn > 0.8));
}
