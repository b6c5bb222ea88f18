//! Contexts and references are offers: agents may refuse or replace the one, and get ids they know.

use examples::{Kind, Options};
use executor::{NewRun, run::RunEvent};
use planner::StepState;
use protocol::{error::Error, model::metadata, v1::TaskState};

use crate::{
    agent::{Asked, CONTEXT, Reply, Scripted, done, task},
    scene::{Scene, attempts, example, failure, is_completed, new_run, plan, state, workflow},
};

#[tokio::test]
async fn a_refused_context_is_left_out_once_under_another_message_id_and_is_no_retry() {
    for streaming in [true, false] {
        let picky = Scripted::start(streaming, |asked, _| match asked {
            Asked::Send(message) if !message.context_id.is_empty() => {
                Reply::Error(Error::invalid_field("message.contextId", "is unknown"))
            }
            _ => Reply::Task(done("t", "ok")),
        })
        .await;
        let rest = "steps:\n  a: {agent: x, message: hi, retry: {attempts: 1}}\n";
        let run = Scene::new().await.run(&workflow(&[("x", &picky.url)], rest)).await;
        assert!(is_completed(&run));
        assert_eq!(attempts(&run, "a"), 1);
        let sent = picky.sent();
        assert_eq!(sent.len(), 2);
        assert!(sent[1].context_id.is_empty());
        assert_ne!(sent[0].message_id, sent[1].message_id);
        assert_eq!(sent[0].parts, sent[1].parts);
        for message in &sent {
            let tag = message.metadata(metadata::ATTEMPT).and_then(|tag| tag.as_str());
            assert_eq!(tag, Some(message.message_id.as_str()));
        }
    }
}

#[tokio::test]
async fn an_agent_that_refuses_the_message_either_way_fails_the_step() {
    let strict = Scripted::start(true, |_, _| {
        Reply::Error(Error::invalid_field("message.parts", "must hold data"))
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: hi}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &strict.url)], rest)).await;
    assert_eq!(strict.count("send"), 2, "once with and once without the context");
    assert!(failure(&run).contains("must hold data"), "{}", failure(&run));
}

#[tokio::test]
async fn a_refusal_that_is_not_about_the_request_is_not_taken_for_one_of_the_context() {
    let closed = Scripted::start(true, |_, _| Reply::Error(Error::unsupported("not today"))).await;
    let rest = "steps:\n  a: {agent: x, message: hi}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &closed.url)], rest)).await;
    assert_eq!(closed.count("send"), 1);
    assert!(failure(&run).contains("not today"));
}

#[tokio::test]
async fn an_error_about_a_known_task_is_not_taken_for_a_refused_context() {
    let odd = Scripted::start(true, |asked, _| match asked {
        Asked::Send(_) => Reply::Events(vec![task("t", TaskState::Working).into()]),
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        Asked::Get(_) | Asked::Subscribe(_) => Reply::Error(Error::invalid_field("id", "is odd")),
    })
    .await;
    let rest = "timeout: 20s\nsteps:\n  a: {agent: x, message: hi}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &odd.url)], rest)).await;
    assert_eq!(odd.verbs(), ["send", "subscribe", "get", "cancel"]);
    assert!(failure(&run).contains("is odd"), "{}", failure(&run));
}

#[tokio::test]
async fn an_agent_that_replaces_the_context_is_followed_by_this_run_and_by_later_ones() {
    let own =
        Scripted::start(true, |_, before| Reply::Task(done(&format!("t{before}"), "ok"))).await;
    let other = example(Kind::Echo, Options::default()).await;
    let rest = "steps:\n  a: {agent: x, message: one}\n  b: {agent: x, message: two, needs: [a]}\n  c: {agent: y, message: three, needs: [b]}\n";
    let yaml = workflow(&[("x", &own.url), ("y", &other.url)], rest);
    let scene = Scene::new().await;
    let plan = plan(&yaml).await;
    let context_id = Some("our-context".to_owned());
    let new = NewRun { context_id: context_id.clone(), ..new_run(plan.clone()) };
    let id = scene.executor.start(new).await.expect("it starts");
    assert!(is_completed(&scene.ended(&id).await));
    let offered: Vec<String> = own.sent().into_iter().map(|sent| sent.context_id).collect();
    assert_eq!(offered, ["our-context", CONTEXT]);
    assert_eq!(
        other.calls.all()[0].context_id,
        "our-context",
        "each agent has its own name for it"
    );

    let scene = scene.restarted().await;
    let id = scene
        .executor
        .start(NewRun { context_id, ..new_run(plan.clone()) })
        .await
        .expect("it starts");
    scene.ended(&id).await;
    assert_eq!(own.sent()[2].context_id, CONTEXT, "the map outlives the run");
    let id = scene.executor.start(new_run(plan)).await.expect("it starts");
    let run = scene.ended(&id).await;
    let fresh = run.run.header().map(|header| header.context_id.clone());
    assert_eq!(Some(own.sent()[4].context_id.clone()), fresh, "another context is another matter");
}

#[tokio::test]
async fn a_context_is_known_as_soon_as_the_agent_has_a_task() {
    let own = Scripted::start(true, |asked, before| match (asked, before) {
        (Asked::Cancel(id), _) => Reply::Task(task(id, TaskState::Canceled)),
        (Asked::Send(_), 0) => Reply::Events(vec![
            task("t", TaskState::Working).into(),
            crate::agent::enters("t", TaskState::Failed, "no luck"),
        ]),
        _ => Reply::Task(done("t2", "ok")),
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: one, on_error: continue}\n  b: {agent: x, message: two, needs: [a]}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &own.url)], rest)).await;
    assert_eq!(state(&run, "a"), StepState::Failed);
    assert_eq!(own.sent()[1].context_id, CONTEXT);
}

#[tokio::test]
async fn a_message_refers_to_the_nearest_tasks_on_its_own_agent_only() {
    let x = example(Kind::Echo, Options::default()).await;
    let y = example(Kind::Echo, Options::default()).await;
    let rest = "steps:\n  a: {agent: x, message: a}\n  b: {agent: x, message: b, needs: [a]}\n  c: {agent: y, message: c, needs: [b]}\n  d: {agent: x, message: d, needs: [c]}\n";
    let yaml = workflow(&[("x", &x.url), ("y", &y.url)], rest);
    let run = Scene::new().await.run(&yaml).await;
    assert!(is_completed(&run));
    let task_of = |step: &str| {
        let at = run.run.find(&executor::run::StepId::new(step)).expect("a step");
        run.run.at(at).task.clone().expect("it has a Task").task_id
    };
    let referred = |agent: &examples::Running, text: &str| {
        let calls = agent.calls.all();
        calls.into_iter().find(|call| call.text == text).expect("it was sent").reference_task_ids
    };
    assert_eq!(referred(&x, "a"), Vec::<String>::new());
    assert_eq!(referred(&x, "b"), [task_of("a")]);
    assert_eq!(referred(&y, "c"), Vec::<String>::new(), "x's Tasks mean nothing to y");
    assert_eq!(referred(&x, "d"), [task_of("b")], "the nearest, and through another agent");
}

#[tokio::test]
async fn an_ancestor_that_answered_with_a_message_stands_back_for_its_own() {
    let mixed = Scripted::start(true, |asked, before| match (asked, before) {
        (Asked::Send(message), 1) => {
            let parts = vec![protocol::v1::Part::text("no Task")];
            Reply::Message(protocol::v1::Message::agent(parts).with_context(&message.context_id))
        }
        _ => Reply::Task(done(&format!("t{before}"), "ok")),
    })
    .await;
    let rest = "steps:\n  a: {agent: x, message: a}\n  b: {agent: x, message: b, needs: [a]}\n  c: {agent: x, message: c, needs: [b]}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &mixed.url)], rest)).await;
    assert!(is_completed(&run));
    assert_eq!(mixed.sent()[2].reference_task_ids, ["t0"]);
}

#[tokio::test]
async fn artifacts_travel_as_parts_that_say_where_they_come_from() {
    let maker = Scripted::start(true, |_, _| Reply::Task(done("t-1", "made"))).await;
    let taker = Scripted::start(true, |_, _| Reply::Task(done("t-2", "taken"))).await;
    let rest = "steps:\n  a: {agent: maker, message: make}\n  b:\n    agent: taker\n    message:\n      - text: take\n      - artifacts: a\n";
    let yaml = workflow(&[("maker", &maker.url), ("taker", &taker.url)], rest);
    let scene = Scene::new().await;
    let run = scene.run(&yaml).await;
    let sent = &taker.sent()[0];
    assert!(sent.reference_task_ids.is_empty());
    assert_eq!(sent.parts[1].as_text(), Some("made"));
    let provenance = sent.parts[1].metadata.as_ref().map(|metadata| serde_json::json!(metadata.0));
    let expected = serde_json::json!(
        {"artifactId": "answer", "taskId": "t-1", "step": "a", "agent": "maker"}
    );
    assert_eq!(provenance, Some(expected));
    assert_eq!(scene.output(&run).await, "taken");
}

#[tokio::test]
async fn every_message_of_a_run_has_an_id_derived_from_the_run_and_the_step() {
    let echo = example(Kind::Echo, Options::default()).await;
    let rest = "steps:\n  a: {agent: x, message: same}\n  b: {agent: x, message: same}\n";
    let run = Scene::new().await.run(&workflow(&[("x", &echo.url)], rest)).await;
    let intended: Vec<&str> = run
        .events
        .iter()
        .filter_map(|event| match event {
            RunEvent::AttemptStarted { intent, .. } => Some(intent.message_id.as_str()),
            _ => None,
        })
        .collect();
    let mut sent: Vec<String> = echo.calls.all().into_iter().map(|call| call.message_id).collect();
    sent.sort();
    let mut expected: Vec<String> = ["a", "b"]
        .map(|step| {
            let name = format!("{}/{step}/0/1/send/0", run.id);
            uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, name.as_bytes()).to_string()
        })
        .into();
    assert_eq!(intended, expected);
    expected.sort();
    assert_eq!(sent, expected);
}
