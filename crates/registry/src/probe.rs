//! Whether an agent speaks A2A as its card says: questions that ask for no work and change nothing.

mod work;

use std::time::Duration;

use futures_util::StreamExt;
use protocol::client::{Client, ClientError, ClientStream, Delivery, FailureClass, Interface};
use protocol::error::ErrorKind;
use protocol::v1::{
    AgentCapabilities, AgentCard, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, SubscribeToTaskRequest,
};
use protocol::version::Version;

use crate::Shortfall;

pub(crate) use work::try_out;

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The id of a Task that no agent has: a random UUID, the same for all, so that operators who find it
/// in their logs can look it up.
const UNKNOWN: &str = "8f0a4c1e-5d0b-4b7e-9d57-c0a70ce0b0b5";

/// A version that no agent speaks.
const NO_VERSION: Version = Version { major: 99, minor: 9 };

/// What a question came to.
enum Reply {
    /// As it should be.
    Good,
    /// Another answer.
    Wrong(String),
    /// No answer, or none now.
    Silent(String),
    /// It could not be asked, for a reason on this side.
    Unasked(String),
}

/// What came of the questions to one interface.
#[derive(Default)]
pub(crate) struct Answers {
    /// What was not as it should be.
    pub(crate) shortfalls: Vec<Shortfall>,
    /// Why some questions could not be asked, for a reason on this side.
    pub(crate) unasked: Option<String>,
}

/// Asks an agent over one interface what its card says of it there. Stops where nobody answers.
pub(crate) async fn ask(client: &Client, card: &AgentCard) -> Answers {
    let Interface { binding, version, .. } = client.interface();
    let over = format!("over {binding} {version}");
    let client = &client.clone().with_extensions(required(card));
    let mut answers = Answers::default();
    for question in Question::of(card, client) {
        let (why, is_silent) = match question.ask(client).await {
            Reply::Good => continue,
            Reply::Wrong(why) => (why, false),
            Reply::Silent(why) => (why, true),
            Reply::Unasked(why) => {
                answers.unasked = Some(why);
                break;
            }
        };
        let what = format!("{} {over}", question.as_str());
        let shortfall = Shortfall::new(&what, &why, is_silent);
        answers.shortfalls.push(shortfall.declared_at(question.declared_at()));
        if is_silent {
            break;
        }
    }
    answers
}

/// The protocol extensions without which the agent refuses each call. Nothing is done about them: what is asked is of
/// A2A itself.
fn required(card: &AgentCard) -> impl Iterator<Item = &str> {
    let extensions = card.capabilities.iter().flat_map(|it| &it.extensions);
    extensions.filter(|it| it.required).map(|it| it.uri.as_str())
}

/// What is asked.
#[derive(Clone, Copy)]
enum Question {
    /// An unknown Task is not found.
    Task,
    /// A version that is not spoken is refused.
    Version,
    /// Streaming is there, as declared.
    Streaming,
    /// Push notifications are there, as declared.
    Push,
    /// The extended card is there, as declared.
    ExtendedCard,
}

impl Question {
    /// Those that the card gives occasion to.
    fn of(card: &AgentCard, client: &Client) -> Vec<Self> {
        let is_first = client.interface().version.parse() == Ok(Version::V1_0);
        let declared = card.capabilities.clone().unwrap_or_default();
        let AgentCapabilities { streaming, push_notifications, extended_agent_card, .. } = declared;
        let asked = [
            (Self::Task, true),
            (Self::Version, is_first),
            (Self::Streaming, streaming == Some(true)),
            (Self::Push, push_notifications == Some(true)),
            (Self::ExtendedCard, extended_agent_card == Some(true)),
        ];
        asked.into_iter().filter(|it| it.1).map(|it| it.0).collect()
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Task => "GetTask of an unknown id",
            Self::Version => "a call in version 99.9",
            Self::Streaming => "streaming, which the card declares,",
            Self::Push => "push notifications, which the card declares,",
            Self::ExtendedCard => "the extended card, which the card declares,",
        }
    }

    /// Where the card declares what is asked for.
    fn declared_at(self) -> Option<&'static str> {
        match self {
            Self::Task | Self::Version => None,
            Self::Streaming => Some("/capabilities/streaming"),
            Self::Push => Some("/capabilities/pushNotifications"),
            Self::ExtendedCard => Some("/capabilities/extendedAgentCard"),
        }
    }

    async fn ask(self, client: &Client) -> Reply {
        match self {
            Self::Task => refused(get_task(client).await, ErrorKind::TaskNotFound),
            Self::Version => {
                let client = client.clone().claiming(NO_VERSION);
                refused(get_task(&client).await, ErrorKind::VersionNotSupported)
            }
            Self::Streaming => {
                let request =
                    SubscribeToTaskRequest { id: UNKNOWN.to_owned(), ..Default::default() };
                let stream = client.subscribe_to_task(request, PATIENCE).await;
                declared(begun(stream).await)
            }
            Self::Push => {
                let task_id = UNKNOWN.to_owned();
                let id = UNKNOWN.to_owned();
                let request =
                    GetTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
                declared(client.get_push_config(request, PATIENCE).await.map(drop))
            }
            Self::ExtendedCard => {
                let request = GetExtendedAgentCardRequest::default();
                match client.get_extended_card(request, PATIENCE).await {
                    Ok(_) => Reply::Good,
                    // It is for those whom the agent knows.
                    Err(error) if !error.is_ours && error.class == FailureClass::Unauthorized => {
                        Reply::Good
                    }
                    Err(error) => missing(error),
                }
            }
        }
    }
}

async fn get_task(client: &Client) -> Result<(), ClientError> {
    let request = GetTaskRequest { id: UNKNOWN.to_owned(), ..Default::default() };
    client.get_task(request, PATIENCE).await.map(drop)
}

/// Whether a stream begins; its first event may be the refusal.
async fn begun(stream: Result<ClientStream, ClientError>) -> Result<(), ClientError> {
    let mut stream = stream?;
    match tokio::time::timeout(PATIENCE, stream.next()).await {
        Ok(Some(event)) => event.map(drop),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// An answer that has to be this error.
fn refused(answer: Result<(), ClientError>, expected: ErrorKind) -> Reply {
    match answer {
        Err(error) if error.kind == Some(expected) && error.remote.is_some() => Reply::Good,
        Ok(()) => Reply::Wrong(format!("it answered as if there were one, not {expected}")),
        Err(error) => other(error, &format!("not {expected}")),
    }
}

/// The answer of an operation that the card declares, about a Task that is not there.
fn declared(answer: Result<(), ClientError>) -> Reply {
    match answer {
        Err(error) if error.class == FailureClass::NotFound && error.remote.is_some() => {
            Reply::Good
        }
        Ok(()) => Reply::Wrong("it answered about a Task that is not there".to_owned()),
        Err(error) => missing(error),
    }
}

/// An operation that did not do what the card says. What the version of the interface does not have,
/// no agent can be asked for.
fn missing(error: ClientError) -> Reply {
    if error.class == FailureClass::Unsupported && error.delivery == Delivery::NotSent {
        return Reply::Good;
    }
    other(error, "it does not work as declared")
}

fn other(error: ClientError, expected: &str) -> Reply {
    if error.is_ours {
        return Reply::Unasked(error.message);
    }
    match error.class {
        FailureClass::Unavailable | FailureClass::Timeout | FailureClass::RateLimited => {
            Reply::Silent(error.message)
        }
        _ => Reply::Wrong(format!("{expected}: {}", error.message)),
    }
}

#[cfg(test)]
mod tests;
