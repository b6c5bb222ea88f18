//! What every test starts with: a store, an executor, and ways to start a run and see it end.

use std::{
    collections::BTreeMap, future::Future, net::SocketAddr, path::Path, sync::Arc, time::Duration,
};

use document::Source;
use examples::{Kind, Options, Running};
use executor::{
    Executor, Limits, NewRun, Recorded, RunId,
    run::{Outcome, RunEvent, StepId},
};
use planner::{Plan, StepResult, StepState};
use protocol::{
    card::Binding,
    client::Interface,
    outbound::{Outbound, Policy},
};
use store::{AccountId, OpenOptions, SqliteStore, Store};
use tempfile::TempDir;

/// Longer than anything takes that a test waits for, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A store in a folder of its own, and an executor on it.
pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) executor: Executor,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let store = open(folder.path());
        Self::over(folder, store).await
    }

    /// One whose patience with agents is another.
    pub(crate) async fn with_limits(limits: Limits) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let store = open(folder.path());
        let executor =
            Executor::with_limits(Arc::clone(&store), outbound(), account(), limits).await;
        Self { folder, store, executor: executor.expect("the executor opens") }
    }

    /// An executor over a store that a test has put together.
    pub(crate) async fn over(folder: TempDir, store: Arc<dyn Store>) -> Self {
        let executor = executor(&store).await;
        Self { folder, store, executor }
    }

    /// Stops this executor and starts another over the same store.
    pub(crate) async fn restarted(self) -> Self {
        self.executor.shutdown().await.expect("the executor stops");
        let executor = executor(&self.store).await;
        Self { executor, ..self }
    }

    pub(crate) async fn start(&self, yaml: &str) -> RunId {
        self.executor.start(new_run(plan(yaml).await)).await.expect("the run starts")
    }

    /// Runs a workflow to its end.
    pub(crate) async fn run(&self, yaml: &str) -> Recorded {
        let id = self.start(yaml).await;
        self.ended(&id).await
    }

    /// Runs a step with a plain message, its agent found at a URL that no card names.
    pub(crate) async fn run_at(&self, url: &str, streaming: bool, policies: &str) -> Recorded {
        let id = self.start_over(&[at(Binding::JsonRpc, url)], streaming, policies).await;
        self.ended(&id).await
    }

    /// Starts a step with a plain message, its agent found at interfaces that no card names.
    pub(crate) async fn start_over(
        &self,
        interfaces: &[Interface],
        streaming: bool,
        policies: &str,
    ) -> RunId {
        let rest = format!("steps:\n  a: {{agent: x, message: hi, {policies}}}\n");
        let plan = plan_over(interfaces, streaming, &rest).await;
        self.executor.start(new_run(plan)).await.expect("the run starts")
    }

    /// Waits for the end of a run.
    pub(crate) async fn ended(&self, id: &RunId) -> Recorded {
        self.until(id, |event| matches!(event, RunEvent::RunFinished { .. })).await
    }

    /// Waits until a run's journal holds an event.
    pub(crate) async fn until(&self, id: &RunId, is_it: impl Fn(&RunEvent) -> bool) -> Recorded {
        let runs = self.executor.runs();
        let mut recorded = runs.read(id).await.expect("the run exists");
        soon("the event", async {
            while !recorded.events.iter().any(&is_it) {
                runs.follow(&mut recorded, PATIENCE).await.expect("the store works");
            }
        })
        .await;
        recorded
    }

    pub(crate) async fn result(&self, recorded: &Recorded, step: &str) -> StepResult {
        let result = self.executor.runs().result(recorded, &StepId::new(step)).await;
        result.expect("the store works").unwrap_or_else(|| panic!("`{step}` has no result"))
    }

    /// The text of the first output.
    pub(crate) async fn output(&self, recorded: &Recorded) -> String {
        let outputs = self.executor.runs().outputs(recorded).await.expect("the store works");
        outputs.first().map(protocol::v1::Artifact::text).unwrap_or_default()
    }
}

/// How many attempts of a run were under way at once, at most.
pub(crate) fn most_at_once(events: &[RunEvent]) -> usize {
    let (mut flying, mut most) = (0, 0);
    for event in events {
        match event {
            RunEvent::AttemptStarted { .. } => flying += 1,
            RunEvent::StepCompleted { .. } => flying -= 1,
            _ => (),
        }
        most = most.max(flying);
    }
    most
}

/// Waits for something that must not take for ever.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.unwrap_or_else(|_| panic!("{what} did not come within {PATIENCE:?}"))
}

pub(crate) fn open(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(folder, OpenOptions::default()).expect("the folder opens"))
}

pub(crate) async fn executor(store: &Arc<dyn Store>) -> Executor {
    let executor = Executor::open(Arc::clone(store), outbound(), account()).await;
    executor.expect("the executor opens")
}

/// An interface, as cards name it.
pub(crate) fn at(binding: Binding, url: &str) -> Interface {
    let (tenant, version) = (String::new(), "1.0".to_owned());
    Interface { url: url.to_owned(), binding, tenant, version }
}

/// A plan whose agent `x` is found at interfaces that no card names.
pub(crate) async fn plan_over(interfaces: &[Interface], streaming: bool, rest: &str) -> Arc<Plan> {
    let card = example(Kind::Echo, Options::default()).await;
    let mut plan = Plan::clone(&*plan(&workflow(&[("x", &card.url)], rest)).await);
    for binding in plan.bindings.iter_mut().flatten() {
        binding.interface = interfaces[0].clone();
        binding.fallbacks = interfaces[1..].to_vec();
        binding.streaming = streaming;
    }
    plan.into()
}

pub(crate) fn outbound() -> Outbound {
    Outbound::new(Policy::loopback()).expect("the client can be set up")
}

pub(crate) fn account() -> AccountId {
    AccountId::new("local")
}

pub(crate) fn new_run(plan: Arc<Plan>) -> NewRun {
    NewRun::of(plan, serde_json::Map::new(), Vec::new())
}

/// Checks a workflow and binds it to the agents it names itself.
pub(crate) async fn plan(yaml: &str) -> Arc<Plan> {
    let workflow = planner::check(&Source::new("test.yaml", yaml))
        .unwrap_or_else(|problems| panic!("{problems:#?}\n{yaml}"));
    let mut fetched = BTreeMap::new();
    for url in workflow.urls() {
        let named = workflow.agents.iter().find(|agent| agent.url == url);
        let name = named.map_or(url, |agent| &agent.name);
        let agent = registry::fetch_agent(&outbound(), url, name).await;
        fetched.insert(url.to_owned(), agent.expect("the agent has a card"));
    }
    let nobody = registry::Index::new([]);
    let plan = planner::bind(Arc::new(workflow), &nobody, &fetched);
    Arc::new(plan.unwrap_or_else(|problems| panic!("{problems:#?}")))
}

/// A workflow file: its agents by name, then the rest.
pub(crate) fn workflow(agents: &[(&str, &str)], rest: &str) -> String {
    let agents: String =
        agents.iter().map(|(name, url)| format!("  {name}: {{url: \"{url}\"}}\n")).collect();
    format!("convoke: 1\nname: test\nagents:\n{agents}{rest}")
}

pub(crate) async fn example(kind: Kind, options: Options) -> Running {
    let anywhere: SocketAddr = ([127, 0, 0, 1], 0).into();
    examples::spawn(kind, anywhere, options).await.expect("the agent listens")
}

pub(crate) fn state(recorded: &Recorded, step: &str) -> StepState {
    let at = recorded.run.find(&StepId::new(step)).expect("the plan has the step");
    recorded.run.step_state(at)
}

pub(crate) fn attempts(recorded: &Recorded, step: &str) -> u32 {
    let at = recorded.run.find(&StepId::new(step)).expect("the plan has the step");
    recorded.run.at(at).attempts
}

pub(crate) fn is_completed(recorded: &Recorded) -> bool {
    matches!(recorded.run.outcome(), Some(Outcome::Completed(_)))
}

/// Why a run failed.
pub(crate) fn failure(recorded: &Recorded) -> String {
    match recorded.run.outcome() {
        Some(Outcome::Failed(error)) => error.to_string(),
        other => panic!("the run did not fail: {other:?}"),
    }
}

/// Whether each canceled attempt was confirmed, in the order of the journal.
pub(crate) fn confirmations(recorded: &Recorded) -> Vec<bool> {
    let events = recorded.events.iter();
    events
        .filter_map(|event| match event {
            RunEvent::AttemptCanceled { confirmed, .. } => Some(*confirmed),
            _ => None,
        })
        .collect()
}
