//! `convoke send`

use std::time::Duration;

use anstream::{eprintln, println};
use futures_util::StreamExt;
use protocol::{
    card,
    client::{Client, Interface},
    v1::{
        Message, Part, SendMessageRequest, StreamResponse, Task, send_message_response,
        stream_response::Payload,
    },
};

use crate::{
    args::{Args, SendArgs},
    content,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
    place,
};

pub(crate) async fn run(args: &Args, send: &SendArgs) -> Result<Exit, Failure> {
    let outbound = place::outbound()?;
    let fetched = card::fetch(&outbound, &send.url).await.map_err(Failure::unavailable)?;
    let spoken = card::interfaces_spoken(&fetched.card);
    let interface = spoken.first().and_then(|interface| Interface::of(interface));
    let interface = interface.ok_or_else(|| {
        Failure::unavailable(format!("the agent at {} has no interface spoken here", send.url))
    })?;
    let client = Client::new(outbound, interface).map_err(Failure::unavailable)?;
    let mut message =
        Message::user(vec![Part::text(&send.text)]).with_id(uuid::Uuid::new_v4().to_string());
    message.task_id = send.task.clone().unwrap_or_default();
    message.context_id = send.context.clone().unwrap_or_default();
    let request = SendMessageRequest { message: Some(message), ..Default::default() };
    let timeout = Duration::from_secs(send.timeout);
    if send.stream {
        stream(args, &client, request, timeout).await
    } else {
        once(args, &client, request, timeout).await
    }
}

async fn once(
    args: &Args,
    client: &Client,
    request: SendMessageRequest,
    timeout: Duration,
) -> Result<Exit, Failure> {
    let response = client.send_message(request, timeout).await.map_err(Failure::unavailable)?;
    if args.json {
        output::json(&response)?;
    }
    Ok(match response.payload {
        Some(send_message_response::Payload::Task(task)) => {
            if !args.json {
                print_task(&task);
            }
            exit_of(&task)
        }
        Some(send_message_response::Payload::Message(message)) => {
            if !args.json {
                print_message(&message);
            }
            Exit::Ok
        }
        None => return Err(Failure::unavailable("the agent answered with nothing")),
    })
}

async fn stream(
    args: &Args,
    client: &Client,
    request: SendMessageRequest,
    timeout: Duration,
) -> Result<Exit, Failure> {
    let mut events =
        client.send_streaming_message(request, timeout).await.map_err(Failure::unavailable)?;
    let mut exit = Exit::Ok;
    while let Some(event) = events.next().await {
        let event = event.map_err(Failure::unavailable)?;
        if args.json {
            println!("{}", serde_json::to_string(&event)?);
        } else {
            print_event(&event);
        }
        if let Some(state) = event.state() {
            exit = exit_of_state(state);
            // The stream of a Task that asks stays open (A2A §3.1.2), and nothing comes before the answer.
            if state.is_interrupted() {
                break;
            }
        }
    }
    Ok(exit)
}

fn print_event(event: &StreamResponse) {
    match &event.payload {
        Some(Payload::Task(task)) => print_task(task),
        Some(Payload::Message(message)) => print_message(message),
        Some(Payload::StatusUpdate(update)) => {
            let said = update.status.as_ref().and_then(protocol::v1::TaskStatus::text);
            let said = said.map(|text| format!(": {}", content::clean(&text)));
            eprintln!("{DIM}{}{DIM:#}{}", update.state().word(), said.unwrap_or_default());
        }
        Some(Payload::ArtifactUpdate(update)) => {
            for part in update.artifact.iter().flat_map(|artifact| &artifact.parts) {
                println!("{}", content::shown(part));
            }
        }
        None => (),
    }
}

fn print_task(task: &Task) {
    eprintln!("{DIM}Task {} {}{DIM:#}", content::clean(&task.id), task.state().word());
    if let Some(said) = task.status_text() {
        eprintln!("{}", content::clean(&said));
    }
    for artifact in &task.artifacts {
        eprintln!("{BOLD}{}{BOLD:#}", content::clean(&artifact.name));
        for part in &artifact.parts {
            println!("{}", content::shown(part));
        }
    }
}

fn print_message(message: &Message) {
    for part in &message.parts {
        println!("{}", content::shown(part));
    }
}

fn exit_of(task: &Task) -> Exit {
    exit_of_state(task.state())
}

fn exit_of_state(state: protocol::v1::TaskState) -> Exit {
    use protocol::v1::TaskState;
    match state {
        TaskState::Failed | TaskState::Rejected | TaskState::Canceled => Exit::WorkFailed,
        TaskState::InputRequired | TaskState::AuthRequired => Exit::Paused,
        _ => Exit::Ok,
    }
}
