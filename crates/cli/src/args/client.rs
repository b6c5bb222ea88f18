//! What can be typed to call an agent: `send`, `task`, `card show`.

use std::{path::PathBuf, time::Duration};

use clap::{Args as ClapArgs, Subcommand};
use protocol::{card::Binding, v1::TaskState, wkt::Timestamp};

/// Which agent is called, and how.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct AgentArgs {
    /// URL of the agent's card or of its host, or its name in the directory.
    #[arg(value_name = "URL|NAME")]
    pub(crate) agent: String,
    #[command(flatten)]
    pub(crate) call: CallArgs,
}

// How an agent is called.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct CallArgs {
    /// Call by this binding alone: `jsonrpc`, `http+json` or `grpc`.
    #[arg(long, value_name = "BINDING", value_parser = binding)]
    pub(crate) binding: Option<Binding>,
    /// Call this interface of the card, or, with --binding, one that is not on it.
    #[arg(long, value_name = "URL")]
    pub(crate) interface: Option<String>,
    /// Name this tenant in every request, instead of the card's.
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Send this header along, to the origin of the typed URLs alone; may be given more than once.
    #[arg(long = "header", value_name = "NAME:VALUE")]
    pub(crate) headers: Vec<String>,
    /// Send the bearer token in this environment variable, where --header goes too.
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) bearer_env: Option<String>,
    /// Ask for this protocol extension; may be given more than once.
    #[arg(long = "extension", value_name = "URI")]
    pub(crate) extensions: Vec<String>,
    /// How long to wait for the agent, in seconds.
    #[arg(long, default_value = "300", value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Duration,
}

/// How long an agent is waited for when nobody says.
const PATIENCE: Duration = Duration::from_secs(300);

impl CallArgs {
    /// As the card says, with further headers.
    pub(crate) fn with_headers(headers: Vec<String>) -> Self {
        Self {
            binding: None,
            interface: None,
            tenant: None,
            headers,
            bearer_env: None,
            extensions: Vec::new(),
            timeout: PATIENCE,
        }
    }
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) to: AgentArgs,
    /// What to say; each text is a Part of its own.
    #[arg(value_name = "TEXT")]
    pub(crate) texts: Vec<String>,
    /// A further text; `-` reads it from stdin.
    #[arg(long = "text", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) more: Vec<String>,
    /// Send a file; its media type is guessed from its name when it is left out.
    #[arg(long = "file", value_name = "PATH[:MEDIA]")]
    pub(crate) files: Vec<String>,
    /// Send the address of a file.
    #[arg(long = "file-url", value_name = "URL")]
    pub(crate) file_urls: Vec<String>,
    /// Send structured data, typed or from a file.
    #[arg(long = "data-part", value_name = "JSON|@FILE")]
    pub(crate) data_parts: Vec<String>,
    /// Print what comes as it comes.
    #[arg(long)]
    pub(crate) stream: bool,
    /// Continue this Task.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Work in this context.
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
    /// Point the agent at an earlier Task of its own; may be given more than once.
    #[arg(long = "reference", value_name = "TASK")]
    pub(crate) references: Vec<String>,
    /// A media type that the answer may have; may be given more than once.
    #[arg(long = "accept", value_name = "MEDIA")]
    pub(crate) accept: Vec<String>,
    /// Show at most so many Messages of the Task's history.
    #[arg(long, value_name = "COUNT", value_parser = count())]
    pub(crate) history: Option<i32>,
    /// Answer as soon as the Task is there, not when it ends or asks.
    #[arg(long)]
    pub(crate) return_immediately: bool,
    /// The Message's id; a random one when absent.
    #[arg(long, value_name = "ID")]
    pub(crate) message_id: Option<String>,
    /// Metadata of the Message; a value that is JSON counts as JSON.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) metadata: Vec<String>,
    /// Have the agent call this webhook about the Task.
    #[arg(long, value_name = "URL")]
    pub(crate) push: Option<String>,
    /// What the webhook is shown, to know who asked.
    #[arg(long, value_name = "TOKEN", requires = "push")]
    pub(crate) push_token: Option<String>,
    /// Write what comes as files into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Show a Task.
    Get {
        #[command(flatten)]
        at: TaskArgs,
        /// Show at most so many Messages of its history.
        #[arg(long, value_name = "COUNT", value_parser = count())]
        history: Option<i32>,
        /// Write its artifacts as files into this folder.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// List Tasks, the latest first.
    List(ListArgs),
    /// Ask for a Task to be canceled.
    Cancel {
        #[command(flatten)]
        at: TaskArgs,
        /// Metadata of the request; a value that is JSON counts as JSON.
        #[arg(long, value_name = "KEY=VALUE")]
        metadata: Vec<String>,
    },
    /// Follow a Task until it ends or asks.
    Subscribe {
        #[command(flatten)]
        at: TaskArgs,
        /// Write its artifacts as files into this folder.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Webhooks that hear of a Task.
    #[command(subcommand)]
    Push(PushCommand),
}

// A Task of an agent.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct TaskArgs {
    #[command(flatten)]
    pub(crate) of: AgentArgs,
    /// The Task.
    pub(crate) task: String,
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) of: AgentArgs,
    /// Only those of this context.
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
    /// Only those in this state: `working`, `input-required`.
    #[arg(long, value_name = "STATE", value_parser = state)]
    pub(crate) status: Option<TaskState>,
    /// Only those whose status is of this time or later: `2026-03-01T09:00:00Z`.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<Timestamp>,
    /// Show at most so many Messages of the history of each.
    #[arg(long, value_name = "COUNT", value_parser = count())]
    pub(crate) history: Option<i32>,
    /// With their artifacts.
    #[arg(long)]
    pub(crate) artifacts: bool,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

// Which part of a long list.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct PageArgs {
    /// So many a page, 1 to 100.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..=100))]
    pub(crate) page_size: Option<i32>,
    /// The page that an earlier one named as the next.
    #[arg(long, value_name = "TOKEN", conflicts_with = "all")]
    pub(crate) page_token: Option<String>,
    /// All pages.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PushCommand {
    /// Have the agent call a webhook about a Task.
    Create {
        #[command(flatten)]
        at: TaskArgs,
        /// The webhook.
        #[arg(long, value_name = "URL")]
        url: String,
        /// The registration's id; made by the agent when absent.
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// What the webhook is shown, to know who asked.
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
        /// How the agent authenticates at the webhook, as in `Bearer`.
        #[arg(long, value_name = "SCHEME", requires = "credentials_env")]
        scheme: Option<String>,
        /// The environment variable that holds the credentials for that.
        #[arg(long, value_name = "VARIABLE", requires = "scheme")]
        credentials_env: Option<String>,
    },
    /// Show one registration.
    Get {
        #[command(flatten)]
        at: TaskArgs,
        /// The registration.
        id: String,
    },
    /// List the registrations of a Task.
    List {
        #[command(flatten)]
        at: TaskArgs,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Remove a registration; one that is not there is no error.
    Delete {
        #[command(flatten)]
        at: TaskArgs,
        /// The registration.
        id: String,
    },
}

fn binding(typed: &str) -> Result<Binding, String> {
    let names = || Binding::ALL.map(|binding| binding.name().to_ascii_lowercase()).join(", ");
    Binding::from_name(typed).ok_or_else(|| format!("there are {}", names()))
}

fn seconds(typed: &str) -> Result<Duration, String> {
    let seconds: u64 = typed.parse().map_err(|_| "it is no number of seconds".to_owned())?;
    if seconds == 0 {
        Err("nothing answers at once".to_owned())
    } else {
        Ok(Duration::from_secs(seconds))
    }
}

fn count() -> clap::builder::RangedI64ValueParser<i32> {
    clap::value_parser!(i32).range(0..)
}

/// The states as A2A writes them, with or without what all begin with, in any case.
fn state(typed: &str) -> Result<TaskState, String> {
    let word = typed.to_ascii_uppercase().replace(['-', ' '], "_");
    let word = word.strip_prefix("TASK_STATE_").unwrap_or(&word);
    let state = TaskState::from_str_name(&format!("TASK_STATE_{word}"));
    state.filter(|state| *state != TaskState::Unspecified).ok_or_else(|| {
        "there are submitted, working, completed, failed, canceled, input-required, rejected and \
         auth-required"
            .to_owned()
    })
}

fn time(typed: &str) -> Result<Timestamp, String> {
    let time: jiff::Timestamp = typed.parse().map_err(|error: jiff::Error| error.to_string())?;
    Ok(time.into())
}
