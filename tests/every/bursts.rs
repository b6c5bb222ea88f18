//! A server under a burst, over kills, and while its workflows change.

use examples::{Kind, Options, Running};
use protocol::{
    client::ClientError,
    error::ErrorKind,
    v1::{CancelTaskRequest, ListTasksRequest, Message, TaskState},
};
use serde_json::Value;
use tests::{
    PATIENCE,
    agent::{example, one_step},
    convoke::Convoke,
};

use crate::{
    serve::text,
    served::{Served, said},
};

/// A workflow that sends on what is said.
fn relay(agent: &Running) -> String {
    format!(
        "convoke: 1\nname: relay\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  one: {{agent: it}}\n",
        agent.url
    )
}

async fn slow() -> (Running, Convoke) {
    let agent = example(Kind::Slow, Options::default()).await;
    let convoke = Convoke::default();
    convoke.write("workflows/relay.yaml", relay(&agent));
    (agent, convoke)
}

async fn submitted(served: &Served) -> Vec<String> {
    let request = ListTasksRequest { status: TaskState::Submitted.into(), ..Default::default() };
    let page = served.client.list_tasks(request, PATIENCE).await.expect("a page");
    page.tasks.into_iter().map(|task| task.id).collect()
}

async fn cancel(served: &Served, id: &str) -> TaskState {
    let request = CancelTaskRequest { id: id.to_owned(), ..Default::default() };
    served.client.cancel_task(request, PATIENCE).await.expect("it can be canceled").state()
}

async fn refused(served: &Served, message: Message) -> ClientError {
    served.client.send_message(message.into(), PATIENCE).await.expect_err("it is refused")
}

#[tokio::test]
async fn a_queue_outlives_its_server_and_goes_on_in_its_order() {
    let (agent, convoke) = slow().await;
    let args = ["--set", "runs.max_active=1", "--set", "runs.queue=3"];
    let served = Served::with(&convoke, &args).await;
    let mut tasks = Vec::new();
    for text in ["60m", "10ms", "60m", "20ms"] {
        tasks.push(served.send(said(text), true).await);
    }
    let states: Vec<TaskState> = tasks.iter().map(protocol::v1::Task::state).collect();
    let waiting = TaskState::Submitted;
    assert_eq!(states, [TaskState::Working, waiting, waiting, waiting]);
    let full = refused(&served, said("30ms")).await;
    assert_eq!(full.kind, Some(ErrorKind::ResourceExhausted));
    served.process.kill().await;
    let served = Served::with(&convoke, &args).await;
    let mut left: Vec<String> = tasks[1..].iter().map(|task| task.id.clone()).collect();
    left.reverse();
    assert_eq!(submitted(&served).await, left, "as they were, the newest first");
    assert_eq!(cancel(&served, &tasks[0].id).await, TaskState::Canceled);
    let states = served.follow(&tasks[1].id).await;
    assert_eq!(states.last(), Some(&TaskState::Completed));
    assert_eq!(served.task(&tasks[3].id).await.state(), waiting, "the third is before it");
    assert_eq!(cancel(&served, &tasks[2].id).await, TaskState::Canceled);
    served.follow(&tasks[3].id).await;
    assert_eq!(text(&served.task(&tasks[3].id).await), "20ms");
    let mut sent: Vec<String> = agent.calls.all().into_iter().map(|it| it.message_id).collect();
    sent.dedup();
    assert!(sent.len() <= 4, "nothing of a run is sent twice under two names: {sent:?}");
}

#[tokio::test]
async fn a_message_that_comes_again_after_a_kill_finds_its_task() {
    let (agent, convoke) = slow().await;
    let served = Served::with(&convoke, &[]).await;
    let message = said("2s");
    let first = served.send(message.clone(), true).await;
    served.process.kill().await;
    let served = Served::with(&convoke, &[]).await;
    let again = served.send(message.clone(), false).await;
    assert_eq!((&again.id, text(&again)), (&first.id, "2s".to_owned()));
    served.process.kill().await;
    let served = Served::with(&convoke, &["--set", "messages.remember=off"]).await;
    let other = served.send(message, true).await;
    assert_ne!(other.id, first.id, "it is switched off");
    drop(agent);
}

#[tokio::test]
async fn workflows_change_while_the_server_runs() {
    let (agent, convoke) = slow().await;
    let served = Served::with(&convoke, &[]).await;
    let running = served.send(said("2s"), true).await;
    let state = async || {
        let answer = served.get("/readyz", "localhost").await;
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        serde_json::from_str::<Value>(body).expect("JSON")
    };
    let until = async |is_so: &dyn Fn(&Value) -> bool| {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !is_so(&state().await["workflows"]) {
                tokio::task::yield_now().await;
            }
        });
        waited.await.expect("the change is seen");
    };
    convoke.write("workflows/relay.yaml", "convoke: 1\nname: relay\nstep: {}\n");
    until(&|it| it["broken"][0]["file"] == "workflows/relay.yaml").await;
    assert_eq!(text(&served.send(said("1ms"), false).await), "1ms", "the last good version");
    convoke.write("workflows/relay.yaml", one_step(&agent.url, ""));
    until(&|it| it["broken"].as_array().is_some_and(Vec::is_empty)).await;
    assert_eq!(text(&served.send(said("1ms"), false).await), "Hello.");
    let ended = tokio::time::timeout(PATIENCE, async {
        loop {
            let task = served.task(&running.id).await;
            if task.state().is_terminal() {
                return task;
            }
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(text(&ended.await.expect("it ends")), "2s", "a run keeps its version");
    let mut process = served.process;
    process.until("a workflow file is not used as it is now").await;
}
