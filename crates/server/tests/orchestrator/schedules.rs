//! Workflows that start by themselves.

use std::{collections::BTreeSet, time::Duration};

use examples::{Kind, Options};
use executor::{Executor, RunLimits, RunQuery};
use jiff::Timestamp;
use planner::Schedule;
use protocol::v1::{ListTasksRequest, Message, Part, Task, TaskState, part::Content};
use server::Settings;
use store::AccountId;

use crate::scene::{Scene, example, outbound, soon, workflow};

/// What tells of the last scheduled minute.
const MINUTELY: &str = "inputs: {topic: {type: string}}\n\
    schedule: [{cron: \"* * * * *\", timezone: Europe/Helsinki, inputs: {topic: news}}]\n\
    steps:\n  a: {agent: x, message: \"${{ inputs.topic }} of ${{ run.scheduled_at }}\"}\n";

fn schedule_of(file: &str) -> Schedule {
    let source = document::Source::new("test.yaml", &format!("convoke: 1\n{file}"));
    planner::check(&source).expect("it is one").schedule[0].clone()
}

/// An executor on the same store, as another process has one.
async fn beside(scene: &Scene, account: &str) -> Executor {
    let store = scene.store.clone();
    Executor::open(store, outbound(), AccountId::new(account)).await.expect("the store works")
}

/// Serves again, the schedule of the workflow standing as if nobody had looked for so long.
async fn neglected(scene: Scene, account: &str, file: &str, length: Duration) -> Scene {
    let executor = beside(&scene, account).await;
    let schedule = schedule_of(file);
    let decided = soon("the first look", async {
        loop {
            let decided = executor.decided("news", &schedule).await.expect("it works");
            if decided.until.is_some() {
                return decided;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let since = Timestamp::now() - jiff::SignedDuration::try_from(length).expect("it fits");
    executor.pass_over(&decided, since).await.expect("nobody else writes it");
    // It holds the folder.
    executor.shutdown().await.expect("it stops");
    scene.restarted().await
}

async fn tasks(scene: &Scene) -> Vec<Task> {
    let request = ListTasksRequest { include_artifacts: Some(true), ..Default::default() };
    scene.client.list_tasks(request, Duration::from_secs(10)).await.expect("a list").tasks
}

async fn some_task(scene: &Scene) -> Task {
    soon("a task", async {
        loop {
            if let Some(task) = tasks(scene).await.pop() {
                return scene.until(&task.id, |task| task.state().is_terminal()).await;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn of_the_occurrences_that_were_missed_the_latest_starts_one_run() {
    let agent = example(Kind::Echo, Options::default()).await;
    let file = workflow("news", &[("x", &agent)], MINUTELY);
    let scene = Scene::new(std::slice::from_ref(&file)).await;
    let before = Timestamp::now();
    let scene = neglected(scene, "local", &file, Duration::from_mins(5)).await;
    let task = some_task(&scene).await;
    assert_eq!(task.state(), TaskState::Completed);
    let text = task.artifacts[0].text();
    let at: Timestamp = text.trim_start_matches("news of ").parse().expect("a time");
    assert!(text.starts_with("news of "), "{text}");
    assert_eq!(at.as_second() % 60, 0);
    assert!(before.duration_since(at).as_secs() < 60, "not one of those before it: {text}");
    let scene = scene.restarted().await;
    let told: Vec<String> =
        tasks(&scene).await.iter().map(|task| task.artifacts[0].text()).collect();
    let times: BTreeSet<&String> = told.iter().collect();
    assert_eq!(times.len(), told.len(), "no minute starts two runs: {told:?}");
}

#[tokio::test]
async fn a_schedule_that_is_new_waits_for_its_time() {
    let agent = example(Kind::Echo, Options::default()).await;
    let yearly = MINUTELY.replace("* * * * *", "0 0 1 1 *");
    let file = workflow("news", &[("x", &agent)], &yearly);
    let scene = Scene::new(std::slice::from_ref(&file)).await;
    let scene = neglected(scene, "local", &file, Duration::ZERO).await;
    assert!(tasks(&scene).await.is_empty());
}

#[tokio::test]
async fn scheduled_runs_belong_to_the_account_that_is_set() {
    let agent = example(Kind::Echo, Options::default()).await;
    let file = workflow("news", &[("x", &agent)], MINUTELY);
    let settings =
        Settings { schedule_account: Some(AccountId::new("night")), ..Settings::default() };
    let scene = Scene::with(std::slice::from_ref(&file), settings, RunLimits::NONE).await;
    let scene = neglected(scene, "night", &file, Duration::from_mins(5)).await;
    let executor = beside(&scene, "night").await;
    soon("a run", async {
        let query = || RunQuery { limit: 1, ..Default::default() };
        while executor.runs().list(query()).await.expect("the store works").total == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(tasks(&scene).await.is_empty(), "it is not of the account of the process");
}

#[tokio::test]
async fn a_schedule_that_comes_back_is_a_new_one() {
    let agent = example(Kind::Echo, Options::default()).await;
    let file = workflow("news", &[("x", &agent)], MINUTELY);
    let scene = Scene::new(std::slice::from_ref(&file)).await;
    let scene = neglected(scene, "local", &file, Duration::ZERO).await;
    let unscheduled = file.replace("* * * * *", "0 0 1 1 *");
    let scene = scene.restarted_with(&[unscheduled]).await;
    let executor = beside(&scene, "local").await;
    let schedule = schedule_of(&file);
    soon("that it is forgotten", async {
        while executor.decided("news", &schedule).await.expect("it works").until.is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn one_that_may_not_start_is_passed_over() {
    let agent = example(Kind::Slow, Options::default()).await;
    let crowded = format!(
        "concurrency: {{on_conflict: reject}}\n{}",
        MINUTELY
            .replace("message: \"${{ inputs.topic }} of ${{ run.scheduled_at }}\"", "message: 60m")
    );
    let file = workflow("news", &[("x", &agent)], &crowded);
    let scene = Scene::new(std::slice::from_ref(&file)).await;
    let topic = || {
        let data = protocol::wkt::Value(serde_json::json!({"topic": "now"}));
        Message::user(vec![Part { content: Some(Content::Data(data)), ..Part::default() }])
    };
    let first = scene.send_off(topic()).await;
    let rejected = scene.send(topic()).await;
    assert_eq!(rejected.state(), TaskState::Rejected);
    let why = rejected.status.as_ref().and_then(|status| status.message.as_ref());
    let why = why.map(Message::text).unwrap_or_default();
    assert_eq!(why, "workflow `news` takes 1 run at once; try again when one has ended");
    let scene = neglected(scene, "local", &file, Duration::from_mins(5)).await;
    let executor = beside(&scene, "local").await;
    let schedule = schedule_of(&file);
    soon("the decision", async {
        let is_old = |until: Timestamp| Timestamp::now().duration_since(until).as_secs() > 200;
        let until = || async { executor.decided("news", &schedule).await.expect("it works").until };
        while until().await.is_none_or(is_old) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(tasks(&scene).await.len(), 2, "nothing was started, and nothing will be");
    scene.cancel(&first.id).await.expect("it is going on");
}
