//! Starting an agent and asking it, for the tests of this folder.

use std::{net::SocketAddr, time::Duration};

use examples::{Kind, Options, Running, spawn};
use futures_util::StreamExt as _;
use protocol::{
    card::{self, interfaces_spoken},
    client::{Client, ClientError, ClientStream, Interface},
    outbound::{Outbound, Policy},
    v1::{
        GetTaskRequest, Message, Part, SendMessageConfiguration, SendMessageRequest,
        StreamResponse, SubscribeToTaskRequest, Task, send_message_response::Payload,
    },
};

/// Longer than any test takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A listening agent and a client of it, found by its card.
pub(crate) struct Asked {
    /// The agent.
    pub(crate) agent: Running,
    /// Calls it.
    pub(crate) client: Client,
    /// What the client goes through.
    pub(crate) outbound: Outbound,
}

/// Starts an agent without pace, unless the options name one.
pub(crate) async fn start(kind: Kind, options: Options) -> Asked {
    let anywhere: SocketAddr = ([127, 0, 0, 1], 0).into();
    let options = Options { pace: options.pace.or(Some(Duration::ZERO)), ..options };
    let agent = spawn(kind, anywhere, options).await.expect("a free port");
    let outbound = Outbound::new(Policy::loopback()).expect("a client");
    let fetched = card::fetch(&outbound, &agent.url).await.expect("a card");
    let interface = interfaces_spoken(&fetched.card)[0];
    let interface = Interface::of(interface).expect("a known binding");
    let client = Client::new(outbound.clone(), interface).expect("an interface that is spoken");
    Asked { agent, client, outbound }
}

/// A request with one text.
pub(crate) fn text(text: &str) -> SendMessageRequest {
    Message::user(vec![Part::text(text)]).into()
}

impl Asked {
    /// Sends a request and waits for the Task's end.
    pub(crate) async fn task(&self, request: impl Into<SendMessageRequest>) -> Task {
        self.try_task(request).await.expect("a Task")
    }

    /// As [`Asked::task`], for a call that may fail.
    pub(crate) async fn try_task(
        &self,
        request: impl Into<SendMessageRequest>,
    ) -> Result<Task, ClientError> {
        let answer = self.client.send_message(request.into(), PATIENCE).await?;
        match answer.payload {
            Some(Payload::Task(task)) => Ok(task),
            other => panic!("a Task was expected, not {other:?}"),
        }
    }

    /// Sends a request and returns the Task as it is at once.
    pub(crate) async fn begun(&self, mut request: SendMessageRequest) -> Task {
        request.configuration = Some(SendMessageConfiguration {
            return_immediately: true,
            ..SendMessageConfiguration::default()
        });
        self.task(request).await
    }

    /// Reads a Task.
    pub(crate) async fn get(&self, id: &str) -> Task {
        let request = GetTaskRequest { id: id.to_owned(), ..GetTaskRequest::default() };
        self.client.get_task(request, PATIENCE).await.expect("a Task")
    }

    /// Sends a request and follows its stream.
    pub(crate) async fn stream(&self, request: SendMessageRequest) -> ClientStream {
        let stream = self.client.send_streaming_message(request, PATIENCE);
        stream.await.expect("a stream")
    }

    /// Subscribes to a Task.
    pub(crate) async fn subscribe(&self, id: &str) -> Result<ClientStream, ClientError> {
        let request =
            SubscribeToTaskRequest { id: id.to_owned(), ..SubscribeToTaskRequest::default() };
        self.client.subscribe_to_task(request, PATIENCE).await
    }
}

/// All events of a stream.
pub(crate) async fn all(stream: ClientStream) -> Vec<StreamResponse> {
    stream.map(|event| event.expect("an event")).collect().await
}

/// The text of an artifact; the test fails when there is none of that name.
pub(crate) fn artifact_text(task: &Task, name: &str) -> String {
    let artifact = task.artifacts.iter().find(|artifact| artifact.name == name);
    artifact.expect("the artifact is there").text()
}

/// The data of an artifact; the test fails when there is none of that name.
pub(crate) fn artifact_data(task: &Task, name: &str) -> serde_json::Value {
    let artifact = task.artifacts.iter().find(|artifact| artifact.name == name);
    let data = artifact.expect("the artifact is there").data();
    data.expect("it holds data").clone()
}
