//! What every test starts with: an orchestrator that listens, and a client that speaks to it.

use std::{future::Future, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use document::Source;
use examples::{Kind, Options, Running};
use executor::{Callbacks, Executor, Limits, Polls, RunLimits};
use protocol::{
    auth::{Secret, Vault},
    bearer::TokenRules,
    card::Binding,
    client::{Client, ClientError, ClientStream, Interface},
    error::ErrorKind,
    outbound::{Outbound, Policy},
    server::interface,
    v1::{
        AgentCapabilities, AgentCard, AgentSkill, CancelTaskRequest, GetTaskRequest, Message, Part,
        SendMessageConfiguration, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, Task,
        TaskState, send_message_response::Payload,
    },
};
use registry::{ApplyOptions, Decision, EvidenceSettings, Keyrings, Prober, Registry};
use server::{
    Access, CALLBACKS, Delegation, Folder, Offering, Orchestrator, Parts, PushParts, ServeError,
    Settings, Workflows,
    access::{ApiKeys, NewKey, Scope, TokenSettings, Tokens},
};
use store::{AccountId, OpenOptions, SqliteStore, Store};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// Longer than anything takes that a test waits for, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A serving orchestrator.
pub(crate) struct Scene {
    pub(crate) url: String,
    pub(crate) client: Client,
    pub(crate) store: Arc<dyn Store>,
    folder: TempDir,
    served: Served,
    stop: CancellationToken,
    serving: JoinHandle<Result<(), ServeError>>,
}

/// What is served, and how.
#[derive(Clone)]
struct Served {
    files: Vec<String>,
    /// Whether workflows are read from the folder instead.
    is_folder: bool,
    settings: Settings,
    limits: RunLimits,
    /// URLs of agents that the directory has approved.
    agents: Vec<String>,
    /// Whether callers need an API key.
    has_keys: bool,
    /// Whose bearer tokens callers may show.
    issuer: Option<String>,
    /// Whether agents are probed by themselves, all the time.
    is_probing: bool,
    /// Whether agents tell of their Tasks, which are looked at once an hour then.
    has_callbacks: bool,
    /// Where cards are fetched from for other accounts.
    for_accounts: Policy,
}

impl Served {
    fn with(settings: Settings, limits: RunLimits) -> Self {
        Self {
            files: Vec::new(),
            is_folder: false,
            settings,
            limits,
            agents: Vec::new(),
            has_callbacks: false,
            is_probing: false,
            for_accounts: Policy::loopback(),
            has_keys: false,
            issuer: None,
        }
    }

    fn access(&self, store: &Arc<dyn Store>) -> Access {
        let access = match self.has_keys {
            true => Access::default().with_keys(keys(store)),
            false => Access::default(),
        };
        let Some(issuer) = self.issuer.clone() else { return access };
        let rules = TokenRules { issuer, audience: "convoke".to_owned(), jwks_url: None };
        let (scopes_claim, account_claim) = ("scope".to_owned(), "sub".to_owned());
        let settings =
            TokenSettings { rules, scopes_claim, account_claim, may_be_exchanged: false };
        access.with_tokens(Tokens::new(outbound(), settings))
    }
}

impl Scene {
    /// Serves workflow files, each without its first line.
    pub(crate) async fn new(files: &[String]) -> Self {
        Self::with(files, Settings::default(), RunLimits::NONE).await
    }

    /// As [`Scene::new`], with settings of its own.
    pub(crate) async fn with(files: &[String], settings: Settings, limits: RunLimits) -> Self {
        let served = Served { files: files.to_vec(), ..Served::with(settings, limits) };
        Self::over(TempDir::new().expect("a temporary folder"), served).await
    }

    /// As [`Scene::with`], for callers with an API key only.
    pub(crate) async fn guarded(files: &[String], settings: Settings) -> Self {
        Self::guarded_relaying(files, &[], settings).await
    }

    /// As [`Scene::relaying`], for callers with an API key only.
    pub(crate) async fn guarded_relaying(
        files: &[String],
        agents: &[&str],
        settings: Settings,
    ) -> Self {
        let agents = agents.iter().map(ToString::to_string).collect();
        let served = Served { files: files.to_vec(), ..Served::with(settings, RunLimits::NONE) };
        let served = Served { agents, has_keys: true, ..served };
        Self::over(TempDir::new().expect("a temporary folder"), served).await
    }

    /// As [`Scene::guarded`], without workflows, and with agents that are probed by themselves.
    pub(crate) async fn probing(settings: Settings) -> Self {
        let served = Served::with(settings, RunLimits::NONE);
        let served = Served { has_keys: true, is_probing: true, ..served };
        Self::over(TempDir::new().expect("a temporary folder"), served).await
    }

    /// As [`Scene::guarded`], where cards are fetched for other accounts by a policy of its own.
    pub(crate) async fn guarded_reaching(for_accounts: Policy) -> Self {
        let served = Served::with(Settings::default(), RunLimits::NONE);
        let served = Served { has_keys: true, for_accounts, ..served };
        Self::over(TempDir::new().expect("a temporary folder"), served).await
    }

    /// As [`Scene::with_callbacks`], for callers with an API key only.
    pub(crate) async fn guarded_with_callbacks(files: &[String]) -> Self {
        let served = Served::with(Settings::default(), RunLimits::NONE);
        let served = Served { files: files.to_vec(), has_keys: true, ..served };
        let served = Served { has_callbacks: true, ..served };
        Self::over(TempDir::new().expect("a temporary folder"), served).await
    }

    /// As [`Scene::guarded`], for callers with a token of an issuer as well.
    pub(crate) async fn trusting(files: &[String], issuer: String) -> Self {
        let served = Served::with(Settings::default(), RunLimits::NONE);
        let issuer = Some(issuer);
        let served = Served { files: files.to_vec(), has_keys: true, issuer, ..served };
        Self::over(TempDir::new().expect("a temporary folder"), served).await
    }

    /// Makes an API key of an account.
    pub(crate) async fn key(&self, account: &str, scopes: &[&str]) -> Secret {
        let scopes = scopes.iter().map(|scope| scope.parse::<Scope>().expect("a scope")).collect();
        let (account, label) = (AccountId::new(account), String::new());
        let (key, record) = NewKey { account, scopes, label, expires_at: None }.draw();
        keys(&self.store).add(&record).await.expect("it is taken in");
        key
    }

    /// As [`Scene::new`], for agents that tell of their Tasks, which are looked at once an hour otherwise.
    pub(crate) async fn with_callbacks(files: &[String], settings: Settings) -> Self {
        let served = Served::with(settings, RunLimits::NONE);
        let served = Served { files: files.to_vec(), has_callbacks: true, ..served };
        Self::over(TempDir::new().expect("a temporary folder"), served).await
    }

    /// Passes Messages on to agents that the directory has approved.
    pub(crate) async fn delegating(agents: &[&Running], delegation: Delegation) -> Self {
        let urls: Vec<&str> = agents.iter().map(|agent| agent.url.as_str()).collect();
        Self::delegating_to(&urls, delegation).await
    }

    /// As [`Scene::delegating`], to agents by their URLs: `agent-0`, and so on.
    pub(crate) async fn delegating_to(agents: &[&str], delegation: Delegation) -> Self {
        let settings = Settings { delegation, ..Settings::default() };
        Self::relaying(&[], agents, settings).await
    }

    /// Serves workflow files, with agents of the directory and settings of its own.
    pub(crate) async fn relaying(files: &[String], agents: &[&str], settings: Settings) -> Self {
        let agents = agents.iter().map(ToString::to_string).collect();
        let with = Served::with(settings, RunLimits::NONE);
        let served = Served { files: files.to_vec(), agents, ..with };
        Self::over(TempDir::new().expect("a temporary folder"), served).await
    }

    /// Serves the files of a folder, which may change.
    pub(crate) async fn of_folder(files: &[(&str, String)]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("workflows")).expect("a folder");
        for (name, text) in files {
            write(folder.path(), name, text);
        }
        let (settings, limits) = (Settings::default(), RunLimits::NONE);
        Self::over(folder, Served { is_folder: true, ..Served::with(settings, limits) }).await
    }

    /// Writes a file of the folder that is served.
    pub(crate) fn write(&self, name: &str, text: &str) {
        write(self.folder.path(), name, text);
    }

    /// Removes one.
    pub(crate) fn remove(&self, name: &str) {
        let path = self.folder.path().join("workflows").join(name);
        std::fs::remove_file(path).expect("it is there");
    }

    async fn over(folder: TempDir, served: Served) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let store = open(folder.path());
        let account = AccountId::new("local");
        let registry = Registry::open(Arc::clone(&store), outbound(), account.clone()).await;
        let registry = Arc::new(registry.expect("the directory opens"));
        for (at, agent) in served.agents.iter().enumerate() {
            let name = format!("agent-{at}");
            let by = Decision {
                who: "a test".to_owned(),
                why: String::new(),
                at: jiff::Timestamp::now(),
            };
            let options = ApplyOptions { approve: true, dry_run: false, by };
            let added = registry.add_url(agent, Some(&name), None, &options).await;
            added.unwrap_or_else(|error| panic!("{error}"));
        }
        let push = PushParts {
            store: Arc::clone(&store),
            outbound: outbound(),
            folder: folder.path().to_owned(),
        };
        let hour = Duration::from_secs(3600);
        let limits = match served.has_callbacks {
            true => Limits { polls: Polls { first: hour, longest: hour }, ..Limits::default() },
            false => Limits::default(),
        };
        let executor = Executor::with_limits(Arc::clone(&store), outbound(), account, limits).await;
        let mut executor = executor.expect("it opens").with_run_limits(served.limits);
        if served.has_callbacks {
            executor = executor.with_callbacks(Callbacks::new(&format!("{url}{CALLBACKS}"), hour));
        }
        executor.resume_all().await.expect("runs go on");
        let stop = CancellationToken::new();
        let offering = match served.is_folder {
            true => Offering::Folder(
                Folder::open(folder.path().join("workflows")).expect("it can be read"),
            ),
            false => Offering::Fixed(workflows(&served.files)),
        };
        let orchestrator = Orchestrator::new(Parts {
            executor: Arc::new(executor),
            prober: prober(&registry, served.is_probing),
            registry,
            offering,
            push,
            for_accounts: Outbound::new(served.for_accounts.clone()).expect("the client"),
            access: served.access(&store),
            settings: served.settings.clone(),
            public_url: url.clone(),
            stop: stop.clone(),
        })
        .expect("it has keys");
        let serving = tokio::spawn(server::serve(listener, orchestrator, stop.clone()));
        let client = client(&url, "");
        Self { url, client, store, folder, served, stop, serving }
    }

    /// Stops it in an orderly way, and serves again from the same folder.
    pub(crate) async fn restarted(self) -> Self {
        self.stop.cancel();
        let served = soon("the end", self.serving).await.expect("it does not break down");
        served.expect("it ends well");
        // It holds the folder.
        drop(self.store);
        Self::over(self.folder, self.served).await
    }

    /// As [`Scene::restarted`], with other workflow files.
    pub(crate) async fn restarted_with(mut self, files: &[String]) -> Self {
        self.served.files = files.to_vec();
        self.restarted().await
    }

    /// Sends a Message and waits for a terminal or interrupted state.
    pub(crate) async fn send(&self, message: Message) -> Task {
        self.try_send(message).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn try_send(&self, message: Message) -> Result<Task, ClientError> {
        send(&self.client, message.into()).await
    }

    /// Sends a Message and does not wait.
    pub(crate) async fn send_off(&self, message: Message) -> Task {
        let configuration =
            SendMessageConfiguration { return_immediately: true, ..Default::default() };
        let request = SendMessageRequest { configuration: Some(configuration), ..message.into() };
        send(&self.client, request).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Sends a Message and follows what comes of it.
    pub(crate) async fn stream(&self, message: Message) -> ClientStream {
        let stream = self.client.send_streaming_message(message.into(), PATIENCE).await;
        stream.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn subscribe(&self, id: &str) -> Result<ClientStream, ClientError> {
        let request = SubscribeToTaskRequest { id: id.to_owned(), ..Default::default() };
        self.client.subscribe_to_task(request, PATIENCE).await
    }

    pub(crate) async fn get(&self, id: &str) -> Task {
        let request = GetTaskRequest { id: id.to_owned(), ..Default::default() };
        self.client.get_task(request, PATIENCE).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) async fn cancel(&self, id: &str) -> Result<Task, ClientError> {
        let request = CancelTaskRequest { id: id.to_owned(), ..Default::default() };
        self.client.cancel_task(request, PATIENCE).await
    }

    /// Says one HTTP/1.1 request as it is written and returns the whole answer.
    pub(crate) async fn raw(&self, request: &str) -> String {
        let address = self.url.strip_prefix("http://").expect("its URL");
        let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it is read");
        let mut answer = String::new();
        soon("the answer", stream.read_to_string(&mut answer)).await.expect("text");
        answer
    }

    /// Reads a Task until it is as it should be.
    pub(crate) async fn until(&self, id: &str, is_so: impl Fn(&Task) -> bool) -> Task {
        soon("the state", async {
            loop {
                let task = self.get(id).await;
                if is_so(&task) {
                    return task;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}

/// Writes a workflow file without its first line.
fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join("workflows").join(name);
    std::fs::write(path, format!("convoke: 1\n{text}")).expect("it can be written");
}

/// Sends a request, to be answered with a Task.
pub(crate) async fn send(
    client: &Client,
    request: SendMessageRequest,
) -> Result<Task, ClientError> {
    match client.send_message(request, PATIENCE).await?.payload {
        Some(Payload::Task(task)) => Ok(task),
        other => panic!("no Task: {other:?}"),
    }
}

/// All events up to the end of a stream.
pub(crate) async fn rest(stream: &mut ClientStream) -> Vec<StreamResponse> {
    let mut events = Vec::new();
    while let Some(event) = soon("an event", next(stream)).await {
        events.push(event);
    }
    events
}

/// The next event of a stream.
pub(crate) async fn next(stream: &mut ClientStream) -> Option<StreamResponse> {
    use futures_util::StreamExt as _;
    let event = soon("an event", stream.next()).await;
    event.map(|event| event.unwrap_or_else(|error| panic!("{error}")))
}

/// Waits for something that must not take for ever.
pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.unwrap_or_else(|_| panic!("{what} did not come within {PATIENCE:?}"))
}

pub(crate) fn client(url: &str, tenant: &str) -> Client {
    client_of(url, Binding::JsonRpc, tenant)
}

/// A client of one binding of a server.
pub(crate) fn client_of(url: &str, binding: Binding, tenant: &str) -> Client {
    let shown = interface(binding, url);
    let (tenant, version) = (tenant.to_owned(), "1.0".to_owned());
    let interface = Interface { url: shown.url, binding, tenant, version };
    Client::new(outbound(), interface).expect("a client")
}

/// What probes agents when it is asked to.
fn prober(registry: &Arc<Registry>, is_probing: bool) -> Prober {
    let keyrings = Keyrings::new(Arc::clone(registry), outbound(), Vault::none());
    let interval = is_probing.then_some(Duration::from_millis(200));
    let settings = EvidenceSettings { interval, ..EvidenceSettings::default() };
    Prober::new(Arc::clone(registry), keyrings, outbound(), settings)
}

pub(crate) fn outbound() -> Outbound {
    Outbound::new(Policy::loopback()).expect("the client can be set up")
}

/// The API keys of a store.
pub(crate) fn keys(store: &Arc<dyn Store>) -> ApiKeys {
    ApiKeys::new(Arc::clone(store), AccountId::new("local"))
}

fn open(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(folder, OpenOptions::default()).expect("the folder opens"))
}

fn workflows(files: &[String]) -> Workflows {
    let mut workflows = Workflows::default();
    for file in files {
        let source = Source::new("test.yaml", &format!("convoke: 1\n{file}"));
        let workflow = planner::check(&source).unwrap_or_else(|it| panic!("{it:#?}\n{file}"));
        workflows.add(workflow).expect("names differ");
    }
    workflows
}

/// A workflow file: its name, its agents by name, then the rest.
pub(crate) fn workflow(name: &str, agents: &[(&str, &Running)], rest: &str) -> String {
    let agents: String = agents
        .iter()
        .map(|(name, agent)| format!("  {name}: {{url: \"{}\"}}\n", agent.url))
        .collect();
    format!("name: {name}\nagents:\n{agents}{rest}")
}

pub(crate) async fn example(kind: Kind, options: Options) -> Running {
    let anywhere: SocketAddr = ([127, 0, 0, 1], 0).into();
    examples::spawn(kind, anywhere, options).await.expect("the agent listens")
}

pub(crate) fn said(text: &str) -> Message {
    Message::user(vec![Part::text(text)])
}

/// The kind of error that was answered.
pub(crate) fn kind<T: std::fmt::Debug>(result: Result<T, ClientError>) -> ErrorKind {
    let error = result.expect_err("it is refused");
    error.kind.unwrap_or_else(|| panic!("{error:?}"))
}

/// The text of the first artifact.
pub(crate) fn output(task: &Task) -> String {
    assert_eq!(task.state(), TaskState::Completed, "{task:?}");
    task.artifacts.first().map(protocol::v1::Artifact::text).unwrap_or_default()
}

/// The card of an agent that has one skill and one interface, and declares what it is told to.
pub(crate) fn card(name: &str, url: &str, capabilities: AgentCapabilities) -> AgentCard {
    AgentCard {
        name: name.to_owned(),
        description: "Does what its test wants.".to_owned(),
        version: "1".to_owned(),
        supported_interfaces: vec![interface(Binding::JsonRpc, url)],
        capabilities: Some(capabilities),
        default_input_modes: vec!["text/plain".to_owned()],
        default_output_modes: vec!["text/plain".to_owned()],
        skills: vec![AgentSkill {
            id: "act".to_owned(),
            name: "Act".to_owned(),
            description: "Acts.".to_owned(),
            tags: vec!["test".to_owned()],
            ..AgentSkill::default()
        }],
        ..AgentCard::default()
    }
}
