//! What holds for all runs of a workflow, when the server that serves them is killed in the middle of one.

use examples::{Kind, Options, Running};
use jiff::{SignedDuration, Timestamp};
use protocol::v1::{CancelTaskRequest, ListTasksRequest, Task, TaskState};
use serde_json::{Value, json};
use store::{
    AccountId, Batch, Expect, OpenOptions, PageQuery, SqliteStore, Store as _, Table, Write,
};
use tests::{PATIENCE, agent::example, convoke::Convoke};
use tokio::time::timeout;

use crate::served::{SERVE, Served, said};

/// A workflow that others wait for, and the agent of its steps.
struct Scene {
    convoke: Convoke,
    agent: Running,
    served: Served,
}

impl Scene {
    /// Serves a workflow; `rest` follows its agents.
    async fn of(rest: &str) -> Scene {
        let agent = example(Kind::Slow, Options::default()).await;
        let convoke = Convoke::default();
        let file = format!(
            "convoke: 1\nname: w\ninputs: {{text: {{type: string, from: text}}}}\n\
             agents: {{it: {{url: \"{}\"}}}}\n{rest}",
            agent.url
        );
        convoke.write("workflows/w.yaml", file);
        let served = Served::start(&convoke).await;
        Scene { convoke, agent, served }
    }

    /// One whose only step asks the agent for the text it was started with. One run goes on at once for each last
    /// letter of that.
    async fn limited(on_conflict: &str) -> Scene {
        Scene::of(&format!(
            "concurrency: {{key: \"inputs.text | last\", limit: 1, on_conflict: {on_conflict}}}\n\
             steps: {{a: {{agent: it, message: \"${{{{ inputs.text }}}}\"}}}}\n"
        ))
        .await
    }

    /// A run with another key is none of its business.
    async fn begin_another(&self) {
        let other = self.begin("1ms for b").await;
        self.served.until(&other.id, TaskState::Completed).await;
    }

    async fn begin(&self, text: &str) -> Task {
        self.served.send(said(text), true).await
    }

    /// Waits until the agent was sent so many different Messages.
    async fn until_sent(&self, count: usize) {
        let is_so = async {
            while self.sent() < count {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, is_so).await.expect("the agent is asked");
    }

    /// How many different Messages the agent was sent.
    fn sent(&self) -> usize {
        let calls = self.agent.calls.all();
        calls.iter().map(|it| &it.message_id).collect::<std::collections::BTreeSet<_>>().len()
    }

    async fn killed(self) -> Scene {
        let Scene { convoke, agent, served } = self;
        served.process.kill().await;
        let served = Served::start(&convoke).await;
        Scene { convoke, agent, served }
    }

    async fn cancel(&self, task: &Task) {
        let request = CancelTaskRequest { id: task.id.clone(), ..Default::default() };
        let _ = self.served.client.cancel_task(request, PATIENCE).await.expect("it is canceled");
        self.served.until(&task.id, TaskState::Canceled).await;
    }

    async fn tasks(&self) -> Vec<Task> {
        let request = ListTasksRequest { include_artifacts: Some(true), ..Default::default() };
        self.served.client.list_tasks(request, PATIENCE).await.expect("a list").tasks
    }
}

#[tokio::test]
async fn a_run_that_waited_for_another_waits_for_it_after_a_kill_as_well() {
    let scene = Scene::limited("queue").await;
    let first = scene.begin("3s for a").await;
    scene.until_sent(1).await;
    let second = scene.begin("1ms for a").await;
    assert_eq!(second.state(), TaskState::Submitted);
    let scene = scene.killed().await;
    scene.begin_another().await;
    scene.until_sent(3).await;
    assert_eq!(scene.served.task(&first.id).await.state(), TaskState::Completed);
    scene.served.until(&second.id, TaskState::Completed).await;
    assert_eq!(scene.sent(), 3, "nothing is asked twice");
}

#[tokio::test]
async fn a_run_that_goes_on_after_a_kill_still_has_others_rejected() {
    let scene = Scene::limited("reject").await;
    let first = scene.begin("60m for a").await;
    scene.until_sent(1).await;
    let scene = scene.killed().await;
    scene.begin_another().await;
    let second = scene.begin("1ms for a").await;
    scene.served.until(&second.id, TaskState::Rejected).await;
    scene.cancel(&first).await;
    let third = scene.begin("1ms for a").await;
    scene.served.until(&third.id, TaskState::Completed).await;
    assert_eq!(scene.sent(), 3);
}

#[tokio::test]
async fn a_run_that_goes_on_after_a_kill_is_canceled_for_a_newer_one() {
    let scene = Scene::limited("cancel_oldest").await;
    let first = scene.begin("60m for a").await;
    scene.until_sent(1).await;
    let scene = scene.killed().await;
    scene.begin_another().await;
    let second = scene.begin("1ms for a").await;
    scene.served.until(&second.id, TaskState::Completed).await;
    scene.served.until(&first.id, TaskState::Canceled).await;
    assert_eq!(scene.sent(), 3);
}

#[tokio::test]
async fn a_run_that_goes_on_after_a_kill_has_newer_ones_canceled() {
    let scene = Scene::limited("cancel_newest").await;
    let first = scene.begin("60m for a").await;
    scene.until_sent(1).await;
    let scene = scene.killed().await;
    scene.begin_another().await;
    let second = scene.begin("1ms for a").await;
    scene.served.until(&second.id, TaskState::Canceled).await;
    assert_eq!(scene.served.task(&first.id).await.state(), TaskState::Working);
    assert_eq!(scene.sent(), 2);
    scene.cancel(&first).await;
}

#[tokio::test]
async fn what_a_run_used_of_its_budget_before_a_kill_is_used() {
    let scene = Scene::of(
        "budget: {calls: 2}\nsteps:\n  a: {agent: it, message: 1ms}\n  \
         b: {agent: it, needs: [a], message: 3s}\n  c: {agent: it, needs: [b], message: 1ms}\n",
    )
    .await;
    let task = scene.begin("go").await;
    scene.until_sent(2).await;
    let scene = scene.killed().await;
    scene.served.until(&task.id, TaskState::Failed).await;
    let said = scene.served.task(&task.id).await.status_text().expect("it says why");
    assert!(said.contains("budget"), "{said}");
    assert_eq!(scene.sent(), 2);
}

/// Has a schedule stand as if nobody had looked for five minutes, if anybody ever has.
async fn neglect(convoke: &Convoke) -> bool {
    let store = SqliteStore::open(&convoke.data(), OpenOptions::default()).expect("it is free");
    let query = PageQuery::new(Some(AccountId::new("local")), Table::new("schedules"));
    let page = store.page(&query).await.expect("a list");
    let Some(row) = page.rows.into_iter().next() else { return false };
    let mut value: Value = serde_json::from_slice(&row.value).expect("JSON");
    let since = Timestamp::now() - SignedDuration::from_mins(5);
    assert!(value["until"].is_string(), "{value}");
    value["until"] = json!(since.to_string());
    let put = Write::Put {
        account: row.account,
        table: Table::new("schedules"),
        sort: row.sort,
        key: row.key,
        tags: row.tags,
        value: value.to_string().into_bytes().into(),
        expect: Expect::Any,
    };
    store.commit(Batch { fences: Vec::new(), writes: vec![put] }).await.expect("it is written");
    true
}

#[tokio::test]
async fn a_run_that_a_schedule_began_is_not_begun_again_after_a_kill() {
    let scene = Scene::of(
        "schedule: [{cron: \"* * * * *\", timezone: Europe/Helsinki, inputs: {text: now}}]\n\
         steps: {a: {agent: it, message: \"3s ${{ run.scheduled_at }}\"}}\n",
    )
    .await;
    let Scene { convoke, agent, served } = scene;
    served.process.kill().await;
    // Only once it was looked at can it be neglected.
    if !neglect(&convoke).await {
        let mut process = convoke.start(SERVE.into_iter().chain(["--log", "info"]));
        process.until("a new schedule").await;
        process.kill().await;
        assert!(neglect(&convoke).await);
    }
    let served = Served::start(&convoke).await;
    let scene = Scene { convoke, agent, served };
    scene.until_sent(1).await;
    let scene = scene.killed().await;
    let tasks = scene.tasks().await;
    let first = tasks.last().expect("the run is there");
    scene.served.until(&first.id, TaskState::Completed).await;
    // The next minute may have come meanwhile.
    let tasks = scene.tasks().await;
    let completed = tasks.iter().filter(|task| task.state() == TaskState::Completed);
    let told: Vec<String> = completed.map(|task| task.artifacts[0].text()).collect();
    let times: std::collections::BTreeSet<&String> = told.iter().collect();
    assert_eq!(times.len(), told.len(), "no minute begins two runs: {told:?}");
    assert!(scene.sent() <= tasks.len(), "one Message a run");
}
