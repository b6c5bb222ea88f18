//! Many streams of an agent that never waits, over every binding: nothing is lost, nothing changes places,
//! and what is not read is not made. `cargo xtask long streams` has more of it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, future::join_all, stream};
use tokio::{
    io::copy,
    net::{TcpListener, TcpSocket},
    sync::Notify,
};

use crate::{
    card::Binding,
    client::{Client, ClientStream, Interface},
    echo::{self, Echo, Running, says},
    error::Error,
    limits::ServerLimits,
    outbound::{Outbound, Policy},
    server,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCard, Artifact, CancelTaskRequest, GetTaskRequest, ListTasksRequest,
        ListTasksResponse, Message, Part, SendMessageRequest, SendMessageResponse, StreamResponse,
        SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
        TaskStatusUpdateEvent, stream_response::Payload,
    },
    wkt::Timestamp,
};

/// How many streams there are at once.
const STREAMS: usize = 64;

/// How large a chunk is where memory is looked at, in bytes.
const LARGE: usize = 64 << 10;

/// What may lie between an agent and somebody who does not read, in bytes: what the system keeps of a
/// connection (up to 4 MiB where it is written, and [`RECEIVED`]), and what the server has under way.
const MOST_UNREAD: usize = 6 << 20;

/// How much the system keeps of a connection where it is not read, in bytes.
const RECEIVED: u32 = 256 << 10;

/// Longer than any of this takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// How many chunks a stream has.
fn chunks() -> usize {
    let set = std::env::var("CONVOKE_CHUNKS").ok();
    set.map_or(40, |set| set.parse().expect("CONVOKE_CHUNKS is a number"))
}

/// An agent whose next event is always there.
struct Ready {
    card: Arc<AgentCard>,
    chunks: usize,
    /// How large each of them is.
    size: usize,
    /// How many streams were opened.
    opened: AtomicUsize,
    /// How many chunks of the first and of the second were taken.
    taken: Arc<[AtomicUsize; 2]>,
}

impl Ready {
    async fn serve(chunks: usize, size: usize) -> (Arc<Self>, Running) {
        let card = Arc::clone(&Echo::default().card);
        let (opened, taken) = (AtomicUsize::new(0), Arc::default());
        let ready = Arc::new(Self { card, chunks, size, opened, taken });
        let running = echo::serve(Arc::clone(&ready) as _, ServerLimits::default()).await;
        (ready, running)
    }

    /// The events of a Task whose id is also what its chunks say.
    fn events(&self, id: &str) -> EventStream {
        let place = self.opened.fetch_add(1, Relaxed) % 2;
        let (count, size, taken) = (self.chunks, self.size, Arc::clone(&self.taken));
        let (first, end) = (task(id, TaskState::Working), task(id, TaskState::Completed));
        let id = id.to_owned();
        let chunks = (0..count).map(move |n| {
            taken[place].fetch_add(1, Relaxed);
            StreamResponse::from(TaskArtifactUpdateEvent {
                task_id: id.clone(),
                artifact: Some(Artifact::new("a", "", vec![Part::text(text(&id, n, size))])),
                append: n > 0,
                last_chunk: n + 1 == count,
                ..TaskArtifactUpdateEvent::default()
            })
        });
        let end =
            TaskStatusUpdateEvent { task_id: end.id, status: end.status, ..Default::default() };
        let events = std::iter::once(first.into()).chain(chunks).chain([end.into()]);
        stream::iter(events).map(Ok).boxed()
    }
}

fn task(id: &str, state: TaskState) -> Task {
    Task::new(id, "", TaskStatus::new(state, Timestamp::default()))
}

/// What chunk `n` says, filled up to its size.
fn text(id: &str, n: usize, size: usize) -> String {
    let said = format!("{id} {n} ");
    let filling = ".".repeat(size.saturating_sub(said.len()));
    said + &filling
}

#[async_trait]
impl A2aService for Ready {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    async fn send_streaming_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        let id = request.message.as_ref().map(Message::text).unwrap_or_default();
        Ok(self.events(&id))
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        Ok(self.events(&request.id))
    }

    async fn send_message(
        &self,
        _call: &Call,
        _request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        Err(Error::unsupported("it only streams"))
    }

    async fn get_task(&self, _call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        Err(Error::task_not_found(&request.id))
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        _request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        Ok(ListTasksResponse::default())
    }

    async fn cancel_task(&self, _call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        Err(Error::task_not_found(&request.id))
    }
}

fn client(url: &str, binding: Binding) -> Client {
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    let interface = Interface::of(&server::interface(binding, url)).expect("a known binding");
    Client::new(outbound, interface).expect("it can be called")
}

/// Reads a stream to its end, which has to hold every chunk in its place and nothing else.
async fn check_whole(mut stream: ClientStream, id: &str, ready: &Ready) {
    let mut next = async || {
        let event = tokio::time::timeout(PATIENCE, stream.next()).await.expect("an event in time");
        event.map(|event| event.expect("an event"))
    };
    let first = next().await;
    assert_eq!(first.and_then(|event| event.state()), Some(TaskState::Working));
    for n in 0..ready.chunks {
        let Some(Payload::ArtifactUpdate(update)) = next().await.and_then(|it| it.payload) else {
            panic!("chunk {n} of {id} is something else");
        };
        let artifact = update.artifact.expect("a chunk is of an artifact");
        assert!(artifact.text() == text(id, n, ready.size), "chunk {n} of {id} is another");
        assert_eq!((update.append, update.last_chunk), (n > 0, n + 1 == ready.chunks));
    }
    assert_eq!(next().await.and_then(|event| event.state()), Some(TaskState::Completed));
    assert_eq!(next().await, None, "the stream goes on after its end");
}

#[tokio::test]
async fn many_streams_at_once_have_all_of_their_chunks_in_order() {
    for binding in Binding::ALL {
        let (ready, running) = Ready::serve(chunks(), 0).await;
        let client = client(&running.url, binding);
        let all = (0..STREAMS).map(|stream| {
            let (client, ready, id) = (client.clone(), Arc::clone(&ready), stream.to_string());
            async move {
                let stream = client.send_streaming_message(says(&id), PATIENCE).await;
                check_whole(stream.expect("it opens"), &id, &ready).await;
            }
        });
        join_all(all).await;
        let taken: usize = ready.taken.iter().map(|taken| taken.load(Relaxed)).sum();
        assert_eq!(taken, STREAMS * chunks(), "{binding}");
        println!("{binding}: {STREAMS} streams, {taken} chunks");
    }
}

/// A way to an agent on which nothing comes back until it is opened.
async fn narrow(agent: &Running, opened: Arc<Notify>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    let agent = agent.address.parse().expect("an address");
    tokio::spawn(async move {
        let (near, _) = listener.accept().await.expect("somebody connects");
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(RECEIVED).expect("a size");
        let far = socket.connect(agent).await.expect("the agent listens");
        let (mut near_in, mut near_out) = near.into_split();
        let (mut far_in, mut far_out) = far.into_split();
        let back = async {
            opened.notified().await;
            copy(&mut far_in, &mut near_out).await
        };
        // Either may end as it likes: what was read is what counts.
        let _ended = tokio::join!(copy(&mut near_in, &mut far_out), back);
    });
    url
}

fn subscription(id: &str) -> SubscribeToTaskRequest {
    SubscribeToTaskRequest { id: id.to_owned(), ..SubscribeToTaskRequest::default() }
}

#[tokio::test]
async fn one_that_does_not_read_slows_no_other_and_is_not_written_for() {
    let count = chunks().max(MOST_UNREAD * 5 / 4 / LARGE);
    for binding in Binding::ALL {
        let (ready, running) = Ready::serve(count, LARGE).await;
        let opened = Arc::new(Notify::new());
        let slow = client(&narrow(&running, Arc::clone(&opened)).await, binding);
        let of_slow = Arc::clone(&ready);
        let slow = tokio::spawn(async move {
            let stream = slow.subscribe_to_task(subscription("t"), PATIENCE).await;
            check_whole(stream.expect("it opens"), "t", &of_slow).await;
        });
        let is_open = async {
            while ready.opened.load(Relaxed) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, is_open).await.expect("the first subscribes");
        let fast = client(&running.url, binding);
        let stream = fast.subscribe_to_task(subscription("t"), PATIENCE).await;
        check_whole(stream.expect("it opens"), "t", &ready).await;
        let unread = ready.taken[0].load(Relaxed) * LARGE;
        assert!(unread <= MOST_UNREAD, "{binding}: {unread} bytes lie unread");
        println!("{binding}: {count} chunks of {LARGE} bytes, {unread} bytes unread at most");
        opened.notify_one();
        slow.await.expect("the slow one gets the same");
    }
}
