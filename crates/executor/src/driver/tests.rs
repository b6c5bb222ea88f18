use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use planner::{ErrorClass, StepError, StepResult, StepState};
use protocol::{
    auth::Caller,
    outbound::{Outbound, Policy},
    v1::{AgentCard, AgentInterface, Artifact, Part, TaskArtifactUpdateEvent},
};
use registry::{Agent, CardDigest, Index};
use serde_json::json;
use store::{AccountId, OpenOptions, SqliteStore, Store as _};
use tempfile::TempDir;

use super::*;
use crate::{
    Limits,
    body::{Body, Json},
    report::ContextSeen,
    run::{Chunk, Failure, Phase, RemoteTask, Settled, Shape, StepId, Wait},
    seats::{RunLimits, Seats},
};

/// A driver of a run that has just started; nobody listens where its agent is said to be.
async fn started(steps: &str) -> (TempDir, Driver) {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path(), OpenOptions::default()).unwrap());
    let lease = store.acquire(std::time::Duration::from_secs(60)).await.unwrap();
    let account = AccountId::new("local");
    let plan = Arc::new(plan(steps));
    let id = RunId::generate();
    let standing = Standing {
        id: id.clone(),
        owned: Owned::opened(account.clone(), id.journal(), lease.incarnation),
        run: Run::new(Arc::new(Shape::of(&plan))),
        plan,
        seq: Seq(0),
        contexts: Contexts::fresh(&account, "ours"),
        streamed: Streamed::default(),
        cancel: CancellationToken::new(),
        mailbox: Mailbox::default(),
        caller: Caller::nobody(),
        seat: Seats::new(RunLimits::NONE).take_up(&id, Timestamp::UNIX_EPOCH, false, None),
        sub_runs: None,
        tally: Arc::default(),
    };
    let outbound = Outbound::new(Policy::loopback()).unwrap();
    let (limits, interfaces) = (Limits::default(), Arc::default());
    let home = account.clone();
    let (keyrings, callbacks, outcomes) = (None, None, None);
    let shared = Shared {
        store,
        outbound,
        account,
        home,
        limits,
        interfaces,
        keyrings,
        callbacks,
        outcomes,
    };
    let mut driver = Driver::new(Arc::new(shared), standing);
    let body = |value| Body::Inline(Json::of(&value).unwrap());
    let header = Header {
        workflow: "test".to_owned(),
        context_id: "ours".to_owned(),
        plan: body(json!({})),
        inputs: body(json!({})),
        start: body(json!([])),
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
    };
    driver.open(Box::new(header), Vec::new(), Arc::default(), Arc::from([])).await.unwrap();
    (folder, driver)
}

fn plan(steps: &str) -> Plan {
    let yaml = format!("convoke: 1\nname: test\nsteps:\n{steps}");
    let workflow = planner::check(&document::Source::new("test.yaml", &yaml)).unwrap();
    let card = AgentCard {
        supported_interfaces: vec![AgentInterface {
            url: "http://127.0.0.1:1".to_owned(),
            protocol_binding: "JSONRPC".to_owned(),
            protocol_version: "1.0".to_owned(),
            ..AgentInterface::default()
        }],
        ..AgentCard::default()
    };
    let agent = Agent::new("x", "http://127.0.0.1:1", card, CardDigest::of(&json!({})));
    let index = Index::new([Arc::new(agent)]);
    planner::bind(Arc::new(workflow), &index, &BTreeMap::new()).unwrap()
}

fn step(id: &str) -> StepId {
    StepId::new(id)
}

fn completed(id: &str, attempt: u32) -> Report {
    let result = StepResult::new(StepState::Completed);
    let input = Input::Succeeded {
        step: step(id),
        attempt,
        at: Timestamp::now(),
        task: None,
        result: Body::Inline(Json::of(&result).unwrap()),
    };
    Report { result: Some(Arc::new(result)), ..Report::of(input) }
}

fn failed(id: &str, class: ErrorClass, result: Body) -> Report {
    let failure = Failure {
        error: StepError { step: id.to_owned(), class, message: "no luck".to_owned(), attempt: 1 },
        result,
        is_untaken: false,
        remote_ended: true,
        wait: Wait::default(),
        refusal: None,
        is_ours: false,
    };
    Report::of(Input::Failed {
        step: step(id),
        attempt: 1,
        at: Timestamp::now(),
        failure: Box::new(failure),
    })
}

fn large() -> (Body, Write) {
    let write = Write::blob(AccountId::new("local"), Bytes::from_static(b"\"large\""));
    let Write::Blob { id, .. } = &write else { unreachable!("made so above") };
    (Body::Blob(*id), write)
}

fn blobs(driver: &Driver) -> usize {
    driver.draft.writes.iter().filter(|write| matches!(write, Write::Blob { .. })).count()
}

#[tokio::test]
async fn a_flight_that_breaks_down_fails_its_attempt() {
    let (_folder, mut driver) = started("  a: {agent: x, message: hi}\n").await;
    let at = StepIndex(0);
    // Its own flight would report that nobody is there.
    driver.flights.stop(Slot::Flight(at, 1));
    driver.flights.start(Slot::Flight(at, 1), async { panic!("as the test wants it") });
    driver.gather().await.unwrap();
    let Phase::Settled(Settled::Failed(_, error)) = &driver.run.at(at).phase else {
        panic!("{:?}", driver.run.at(at).phase);
    };
    assert_eq!(error.class, ErrorClass::Failed);
    assert!(error.message.starts_with("internal error: task"), "{}", error.message);
    assert!(error.message.contains("panicked"), "{}", error.message);
}

#[tokio::test]
async fn a_cancel_or_a_sleep_that_breaks_down_holds_nothing_up() {
    let retried = "  a: {agent: x, message: hi, retry: {attempts: 2, backoff: {initial: 20s, jitter: none}}}\n";
    let (_folder, mut driver) = started(retried).await;
    let at = StepIndex(0);
    driver.flights.stop(Slot::Flight(at, 1));
    // Its time is up long since, and says so as soon as anybody listens.
    driver.flights.stop(Slot::Deadline);
    let (result, _) = large();
    driver.take(failed("a", ErrorClass::Unavailable, result));
    driver.turn().await.unwrap();
    assert!(driver.flights.holds(Slot::Sleep(at, 1)));
    driver.mourn(Slot::Sleep(at, 1), "broken");
    driver.turn().await.unwrap();
    assert!(matches!(driver.run.at(at).phase, Phase::Sending(_)), "the second attempt has begun");

    // Its flight would report that nobody is there.
    driver.flights.stop(Slot::Flight(at, 2));
    driver.cancel.cancel();
    driver.gather().await.unwrap();
    driver.turn().await.unwrap();
    assert!(driver.flights.holds(Slot::GiveUp(at, 2)));
    driver.mourn(Slot::GiveUp(at, 2), "broken");
    assert_eq!(driver.run.outcome(), Some(&Outcome::Canceled));
    let events = &driver.draft.events;
    let unconfirmed =
        |event: &RunEvent| matches!(event, RunEvent::AttemptCanceled { confirmed: false, .. });
    assert!(events.iter().any(unconfirmed), "{events:?}");
}

#[tokio::test]
async fn a_deadline_that_breaks_down_is_waited_for_again() {
    let (_folder, mut driver) = started("  a: {agent: x, message: hi}\n").await;
    driver.flights.stop(Slot::Deadline);
    driver.mourn(Slot::Deadline, "broken");
    assert!(driver.flights.holds(Slot::Deadline));
}

#[tokio::test]
async fn a_stale_report_brings_nothing_along() {
    let (_folder, mut driver) = started("  a: {agent: x, message: hi}\n").await;
    let (_, blob) = large();
    let context = ContextSeen { agent: "x".to_owned(), context_id: "theirs".to_owned() };
    driver.take(Report { blobs: vec![blob], context: Some(context), ..completed("a", 9) });
    assert!(driver.draft.events.is_empty() && driver.draft.writes.is_empty());
    assert_eq!(driver.contexts.offer("x"), "ours");
}

#[tokio::test]
async fn what_has_gone_on_is_kept_until_its_step_is_settled() {
    let (_folder, mut driver) = started("  a: {agent: x, message: hi}\n").await;
    let task = RemoteTask { task_id: "t".to_owned(), context_id: String::new(), interface: None };
    driver.take(Report::of(Input::Bound { step: step("a"), attempt: 1, task }));
    let chunked = |attempt: u32, text: &str| {
        let artifact = Artifact::new("a/1", "", vec![Part::text(text)]);
        let body = Body::Inline(Json::of(&artifact).unwrap());
        let chunk = Chunk { append: true, last_chunk: false, artifact: body };
        let update = TaskArtifactUpdateEvent {
            artifact: Some(artifact),
            append: true,
            ..TaskArtifactUpdateEvent::default()
        };
        let input = Input::Chunked { step: step("a"), attempt, chunk };
        Report { chunk: Some(Box::new(update)), ..Report::of(input) }
    };
    for report in [chunked(1, "1 "), chunked(2, "of no attempt"), chunked(1, "2")] {
        driver.take(report);
    }
    let passed = |driver: &Driver| {
        let passed = driver.streamed.of_attempt(StepIndex(0), 1)?;
        passed.get("a/1").map(Artifact::text)
    };
    assert_eq!(passed(&driver).as_deref(), Some("1 2"));
    assert!(driver.streamed.of_attempt(StepIndex(0), 2).is_none(), "another attempt begins anew");
    driver.take(completed("a", 1));
    assert_eq!(passed(&driver), None, "nobody follows its agent any more");
}

#[tokio::test]
async fn a_refusal_of_an_earlier_attempt_leaves_the_present_one_alone() {
    let (_folder, mut driver) = started("  a: {agent: x, message: hi}\n").await;
    let Phase::Sending(flight) = driver.run.at(StepIndex(0)).phase.clone() else { panic!("sent") };
    let task = RemoteTask { task_id: "t".to_owned(), context_id: String::new(), interface: None };
    driver.take(Report::of(Input::Bound { step: step("a"), attempt: 1, task }));
    let intent = flight.intent;
    driver.take(Report::of(Input::ContextRefused { step: step("a"), attempt: 1, intent }));
    assert!(driver.flights.holds(Slot::Flight(StepIndex(0), 1)), "it is watched still");
}

#[tokio::test]
async fn only_blobs_that_an_event_names_are_written() {
    let retried = "  a: {agent: x, message: hi, retry: {attempts: 2}}\n";
    let (_folder, mut driver) = started(retried).await;
    let (result, blob) = large();
    let report = failed("a", ErrorClass::Unavailable, result);
    driver.take(Report { blobs: vec![blob], ..report });
    assert_eq!((driver.draft.events.len(), blobs(&driver)), (1, 0), "it is tried again");

    let (_folder, mut driver) = started("  a: {agent: x, message: hi}\n").await;
    let (result, blob) = large();
    let report = failed("a", ErrorClass::Invalid, result);
    driver.take(Report { blobs: vec![blob], ..report });
    assert_eq!(blobs(&driver), 1, "it is given up, and the result is the last word");
}

#[tokio::test]
async fn a_result_is_in_memory_for_as_long_as_somebody_will_read_it() {
    let chain = "  a: {agent: x, message: hi}\n  b: {agent: x, message: \"${{ steps.a.state }}\"}\n  c: {agent: x, message: end, needs: [b]}\n";
    let (_folder, mut driver) = started(chain).await;
    driver.take(completed("a", 1));
    driver.turn().await.unwrap();
    assert!(driver.results.holds(StepIndex(0)), "b reads it, perhaps more than once");
    driver.take(completed("b", 1));
    driver.turn().await.unwrap();
    assert!(!driver.results.holds(StepIndex(0)), "nobody is left to read it");
    assert!(!driver.results.holds(StepIndex(1)), "nobody ever reads it");
    driver.take(completed("c", 1));
    assert!(driver.results.holds(StepIndex(2)), "the run's outputs do");
}
