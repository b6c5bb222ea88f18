//! A serving `convoke`, and a client that speaks to it.

use std::sync::atomic::{AtomicU16, Ordering};

use futures_util::StreamExt as _;
use protocol::{
    card::Binding,
    client::{Client, ClientStream, Interface},
    outbound::{Outbound, Policy},
    v1::{
        GetTaskRequest, Message, Part, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest, Task, TaskState, send_message_response::Payload,
    },
};
use tests::{
    PATIENCE,
    convoke::{Convoke, Process},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A client of whoever speaks JSON-RPC at a URL.
pub(crate) fn client_of(url: &str) -> Client {
    let outbound = Outbound::new(Policy::loopback()).expect("a client");
    let interface = Interface {
        url: url.to_owned(),
        binding: Binding::JsonRpc,
        tenant: String::new(),
        version: "1.0".to_owned(),
    };
    Client::new(outbound, interface).expect("a client")
}

/// A serving process, and a client of it.
pub(crate) struct Served {
    pub(crate) process: Process,
    pub(crate) client: Client,
    /// Where it is reached.
    pub(crate) url: String,
}

/// Agents get the calls that a test makes, and no others, unless it says so.
const UNPROBED: [&str; 2] = ["--set", "evidence.interval=off"];

pub(crate) const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

impl Served {
    pub(crate) async fn start(convoke: &Convoke) -> Self {
        Self::with(convoke, &[]).await
    }

    /// Starts with further arguments.
    pub(crate) async fn with(convoke: &Convoke, args: &[&str]) -> Self {
        Self::of(convoke.start(SERVE.iter().chain(&UNPROBED).chain(args))).await
    }

    /// Waits until a process serves.
    pub(crate) async fn of(mut process: Process) -> Self {
        let line = process.until("its card: ").await;
        let (_, card) = line.split_once("its card: ").expect("the line that was waited for");
        let url = card.strip_suffix("/.well-known/agent-card.json").expect("the card's address");
        Self { process, client: client_of(url), url: url.to_owned() }
    }

    /// Sends one HTTP/1.1 request without a body, and returns the whole answer.
    pub(crate) async fn get(&self, path: &str, host: &str) -> String {
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).await
    }

    /// Sends one HTTP/1.1 request that closes its connection, and returns the whole answer.
    pub(crate) async fn raw(&self, request: &str) -> String {
        let address = self.url.strip_prefix("http://").expect("its URL");
        let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        stream.write_all(request.as_bytes()).await.expect("it is read");
        let mut answer = String::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
        read.expect("it answers").expect("text");
        answer
    }

    pub(crate) async fn send(&self, message: Message, return_immediately: bool) -> Task {
        let configuration = SendMessageConfiguration { return_immediately, ..Default::default() };
        let request = SendMessageRequest { configuration: Some(configuration), ..message.into() };
        match self.client.send_message(request, PATIENCE).await.expect("an answer").payload {
            Some(Payload::Task(task)) => task,
            other => panic!("no Task: {other:?}"),
        }
    }

    pub(crate) async fn task(&self, id: &str) -> Task {
        let request = GetTaskRequest { id: id.to_owned(), ..Default::default() };
        self.client.get_task(request, PATIENCE).await.expect("a Task")
    }

    /// Waits until a Task is in a state.
    pub(crate) async fn until(&self, id: &str, state: TaskState) {
        let is_so = async { while self.task(id).await.state() != state {} };
        tokio::time::timeout(PATIENCE, is_so).await.expect("the state comes");
    }

    pub(crate) async fn subscribe(&self, id: &str) -> ClientStream {
        let request = SubscribeToTaskRequest { id: id.to_owned(), ..Default::default() };
        self.client.subscribe_to_task(request, PATIENCE).await.expect("a stream")
    }

    /// Follows a Task to its end, and returns the states that it was told.
    pub(crate) async fn follow(&self, id: &str) -> Vec<TaskState> {
        let stream = self.subscribe(id).await;
        let states = stream.filter_map(async |event| event.expect("an event").state()).collect();
        tokio::time::timeout(PATIENCE, states).await.expect("it ends")
    }
}

/// A port to listen on more than once. Nobody listens there, and no connection gets it meanwhile: it is below those that
/// systems choose themselves.
pub(crate) fn port() -> u16 {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).expect("it fits");
    loop {
        let port = first + TRIED.fetch_add(1, Ordering::Relaxed);
        if std::net::TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
}

pub(crate) fn said(text: &str) -> Message {
    Message::user(vec![Part::text(text)])
}
