//! Callbacks: agents that do not stream tell of their Tasks, and what they tell is a hint to look.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use executor::{Awaited, Callbacks, Executor, Limits, Polls, RunId, run::RunEvent};
use planner::Plan;
use protocol::{
    error::{Error, ErrorKind},
    v1::{TaskPushNotificationConfig, TaskState},
};

use crate::{
    agent::{Asked, Reply, Scripted, done, task},
    scene::{
        Scene, account, attempts, failure, is_completed, new_run, outbound, plan, soon, workflow,
    },
};

const HOUR: Duration = Duration::from_secs(3600);
const STEP: &str = "steps:\n  a: {agent: x, message: hi, retry: {attempts: 1}}\n";

/// An executor that looks at Tasks once an hour, and the callbacks of its agents.
async fn rare(scene: Scene) -> (Scene, Callbacks) {
    let callbacks = Callbacks::new("http://127.0.0.1:1/callbacks", HOUR);
    let limits = Limits { polls: Polls { first: HOUR, longest: HOUR }, ..Limits::default() };
    scene.executor.stop().await.expect("it stops");
    let store = Arc::clone(&scene.store);
    let executor = Executor::with_limits(store, outbound(), account(), limits).await;
    let executor = executor.expect("the executor opens").with_callbacks(callbacks.clone());
    (Scene { executor, ..scene }, callbacks)
}

async fn plan_of(agent: &Scripted) -> Arc<Plan> {
    plan(&workflow(&[("x", &agent.url)], STEP)).await
}

async fn started(scene: &Scene, agent: &Scripted) -> RunId {
    let new = new_run(plan_of(agent).await);
    scene.executor.start(new).await.expect("the run starts")
}

/// An agent whose Task is over as soon as a flag says so.
async fn flagged() -> (Scripted, Arc<AtomicBool>) {
    let is_done = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_done);
    let agent = Scripted::start(false, move |asked, _| match asked {
        Asked::Get(id) if flag.load(Ordering::SeqCst) => Reply::Task(done(id, "ok")),
        Asked::Cancel(id) => Reply::Task(task(id, TaskState::Canceled)),
        _ => Reply::Task(task("t", TaskState::Working)),
    });
    (agent.await, is_done)
}

/// The only configuration that an agent has got, so many times.
fn config(agent: &Scripted, times: usize) -> TaskPushNotificationConfig {
    let configs = agent.configs();
    assert_eq!(configs.len(), times);
    let config = configs[0].clone().expect("the Message asks for notifications");
    assert!(configs.iter().all(|other| other.as_ref() == Some(&config)), "{configs:#?}");
    config
}

fn found(callbacks: &Callbacks, config: &TaskPushNotificationConfig) -> Awaited {
    callbacks.find(&config.id).expect("the callback is known")
}

async fn asked(agent: &Scripted, verb: &str, times: usize) {
    soon("a call", async {
        while agent.count(verb) < times {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_hint_has_the_task_looked_at_and_nothing_but_its_state_is_believed() {
    let (agent, is_done) = flagged().await;
    let (scene, callbacks) = rare(Scene::new().await).await;
    let id = started(&scene, &agent).await;
    asked(&agent, "get", 1).await;
    let config = config(&agent, 1);
    let callback = found(&callbacks, &config);
    assert_eq!((callback.token(), callback.agent_url()), (&*config.token, &*agent.url));
    callback.hint();
    asked(&agent, "get", 2).await;
    assert!(!callback.is_over(), "the agent says that it works on");
    is_done.store(true, Ordering::SeqCst);
    callback.hint();
    let run = scene.ended(&id).await;
    assert_eq!(scene.output(&run).await, "ok");
    assert_eq!(agent.verbs(), ["send", "get", "get", "get"]);
    let over = async {
        while !found(&callbacks, &config).is_over() {
            tokio::task::yield_now().await;
        }
    };
    soon("the end of the callback", over).await;
}

#[tokio::test]
async fn an_agent_is_asked_for_notifications_only_when_they_come_and_are_of_use() {
    let instant = |streaming| Scripted::start(streaming, |_, _| Reply::Task(done("t", "ok")));
    let (scene, _) = rare(Scene::new().await).await;
    let streams = instant(true).await;
    scene.ended(&started(&scene, &streams).await).await;
    assert_eq!(streams.configs(), [None], "a stream tells more");

    let polled = instant(false).await;
    let mut plan = Plan::clone(&*plan_of(&polled).await);
    plan.bindings[0].as_mut().expect("it has an agent").push = false;
    let id = scene.executor.start(new_run(plan.into())).await.expect("the run starts");
    scene.ended(&id).await;
    assert_eq!(polled.configs(), [None], "its card does not promise any");

    let polled = instant(false).await;
    let nowhere = Scene::new().await;
    nowhere.ended(&started(&nowhere, &polled).await).await;
    assert_eq!(polled.configs(), [None], "there is no place where they could be sent");

    scene.ended(&started(&scene, &polled).await).await;
    assert!(polled.configs()[1].is_some());
}

#[tokio::test]
async fn an_agent_that_refuses_to_send_notifications_gets_the_message_once_more_without() {
    let refusals: [fn() -> Error; 2] = [
        || Error::new(ErrorKind::PushNotificationNotSupported, "none from here"),
        || Error::invalid_field("configuration.taskPushNotificationConfig.url", "is private"),
    ];
    for refusal in refusals {
        let picky = Scripted::start(false, move |_, before| match before {
            0 => Reply::Error(refusal()),
            _ => Reply::Task(done("t", "ok")),
        });
        let picky = picky.await;
        let (scene, callbacks) = rare(Scene::new().await).await;
        let run = scene.ended(&started(&scene, &picky).await).await;
        assert!(is_completed(&run));
        assert_eq!(attempts(&run, "a"), 1, "which is no retry");
        let [Some(config), None] = &picky.configs()[..] else { panic!("{:?}", picky.configs()) };
        assert!(found(&callbacks, config).is_over());
        let [first, second] = &picky.sent()[..] else { panic!("it is sent twice") };
        assert_ne!(first.message_id, second.message_id);
        assert_eq!((&first.parts, &first.context_id), (&second.parts, &second.context_id));
    }
}

#[tokio::test]
async fn a_message_that_is_refused_for_something_else_still_asks_for_notifications() {
    let strict = Scripted::start(false, |_, _| {
        Reply::Error(Error::invalid_field("message.parts", "must hold data"))
    });
    let strict = strict.await;
    let (scene, _) = rare(Scene::new().await).await;
    let run = scene.ended(&started(&scene, &strict).await).await;
    assert!(failure(&run).contains("must hold data"), "{}", failure(&run));
    config(&strict, 2);
    assert!(strict.sent()[1].context_id.is_empty(), "the context may have been what is wrong");
}

#[tokio::test]
async fn a_refusal_of_notifications_may_be_followed_by_one_of_the_context() {
    let picky = Scripted::start(false, |asked, before| match asked {
        Asked::Send(_) if before == 0 => {
            Reply::Error(Error::new(ErrorKind::PushNotificationNotSupported, "no"))
        }
        Asked::Send(message) if !message.context_id.is_empty() => {
            Reply::Error(Error::invalid_field("message.contextId", "is unknown"))
        }
        _ => Reply::Task(done("t", "ok")),
    });
    let picky = picky.await;
    let (scene, _) = rare(Scene::new().await).await;
    let run = scene.ended(&started(&scene, &picky).await).await;
    assert!(is_completed(&run));
    assert_eq!(picky.configs()[1..], [None, None], "what is refused once is not asked for again");
}

#[tokio::test]
async fn after_a_restart_a_message_goes_out_with_the_same_callback_and_its_hints_count() {
    let is_done = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_done);
    let slow = Scripted::start(false, move |asked, before| match asked {
        Asked::Send(_) if before == 0 => Reply::Silence,
        Asked::Get(id) if flag.load(Ordering::SeqCst) => Reply::Task(done(id, "ok")),
        _ => Reply::Task(task("t", TaskState::Working)),
    });
    let slow = slow.await;
    let (scene, _) = rare(Scene::new().await).await;
    let id = started(&scene, &slow).await;
    asked(&slow, "send", 1).await;
    let (scene, callbacks) = rare(scene).await;
    scene.executor.resume_all().await.expect("runs go on");
    asked(&slow, "get", 1).await;
    let config = config(&slow, 2);
    assert_eq!(slow.sent()[0].message_id, slow.sent()[1].message_id);
    assert!(!found(&callbacks, &config).is_over());

    let (scene, callbacks) = rare(scene).await;
    scene.executor.resume_all().await.expect("runs go on");
    asked(&slow, "get", 2).await;
    is_done.store(true, Ordering::SeqCst);
    found(&callbacks, &config).hint();
    assert!(is_completed(&scene.ended(&id).await));
    assert_eq!(slow.count("send"), 2, "a Task that is known is not asked for again");
}

#[tokio::test]
async fn an_attempt_that_waits_for_somebody_keeps_its_callback_and_an_answer_asks_for_no_other() {
    let asking = Scripted::start(false, |asked, before| match asked {
        Asked::Send(_) if before == 0 => Reply::Task(task("t", TaskState::InputRequired)),
        _ => Reply::Task(done("t", "ok")),
    });
    let asking = asking.await;
    let (scene, _) = rare(Scene::new().await).await;
    let id = started(&scene, &asking).await;
    scene.until(&id, |event| matches!(event, RunEvent::AttemptPaused { .. })).await;
    let config = config(&asking, 1);
    let (scene, callbacks) = rare(scene).await;
    scene.executor.resume_all().await.expect("runs go on");
    let callback = found(&callbacks, &config);
    assert!(!callback.is_over(), "an agent that is told otherwise might tell nothing more");
    callback.hint();
    let answer = protocol::v1::Message::user(vec![protocol::v1::Part::text("yes")]);
    scene.executor.reply(&id, None, answer).await.expect("it is taken");
    assert!(is_completed(&scene.ended(&id).await));
    assert_eq!(asking.configs()[1..], [None]);
}

#[tokio::test]
async fn a_step_that_lets_nobody_call_us_back_asks_for_no_notifications() {
    let (agent, is_done) = flagged().await;
    is_done.store(true, Ordering::SeqCst);
    let (scene, _) = rare(Scene::new().await).await;
    let steps =
        "steps:\n  a: {agent: x, message: hi, push: never, timeout: 1s, retry: {attempts: 1}}\n";
    let plan = plan(&workflow(&[("x", &agent.url)], steps)).await;
    let run = scene.executor.start(new_run(plan)).await.expect("the run starts");
    scene.ended(&run).await;
    assert_eq!(agent.configs(), [None]);
}
