//! What can be typed.

mod agents;
mod client;
mod keys;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use protocol::signature::Algorithm;
use store::AccountId;
use url::Url;

pub(crate) use self::{
    agents::{AgentsArgs, AgentsCommand, Decision, FindArgs, ServerArgs},
    client::{
        AgentArgs, CallArgs, ListArgs, PageArgs, PushCommand, SendArgs, TaskArgs, TaskCommand,
    },
    keys::KeysCommand,
};
use crate::{command::card, telemetry};

/// Runs workflows over agents that speak A2A, and keeps a directory of them.
#[derive(Clone, Debug, Parser)]
#[command(name = "convoke", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Folder that holds runs and the agent directory.
    #[arg(long, global = true, env = "CONVOKE_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Whose runs it is about, where callers of `serve` have accounts of their own; `local` when absent.
    #[arg(long, global = true, env = "CONVOKE_ACCOUNT", value_name = "NAME", value_parser = server::access::account)]
    pub(crate) account: Option<AccountId>,
    /// Print data as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to log to stderr, such as `info` or `executor=debug`.
    #[arg(long, global = true, env = "CONVOKE_LOG", value_name = "FILTER", value_parser = telemetry::filter)]
    pub(crate) log: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workflow here, or go on with one that was interrupted.
    Run(RunArgs),
    /// The thirty-second tour: real agents, a real run, a crash in the middle, and the end of it.
    Demo(DemoArgs),
    /// Be an A2A agent: each workflow of a folder is a skill.
    Serve(ConfigArgs),
    /// Show the settings of `serve` as they hold, and where each comes from.
    Config(ConfigArgs),
    /// Check workflow files; shows every problem of each.
    Validate {
        /// The files; of a folder its `*.yaml`.
        #[arg(required = true, value_name = "FILE|DIR")]
        paths: Vec<PathBuf>,
    },
    /// Print the workflow language as JSON Schema, for editors.
    Schema,
    /// Write a first workflow that runs with the example agents, and the schema beside it.
    Init {
        /// The folder; `workflows` is made in it.
        #[arg(default_value = ".", value_name = "DIR")]
        folder: PathBuf,
    },
    /// Show which agents a workflow would be bound to, and why.
    Plan {
        /// The workflow file.
        file: PathBuf,
        /// How to show it.
        #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
        format: PlanFormat,
        /// Choose agents anew, and write them with their cards into FILE.lock.yaml beside the file: runs refuse other
        /// agents and other cards from then on.
        #[arg(long)]
        lock: bool,
    },
    /// The agent directory.
    Agents(AgentsArgs),
    /// Runs, past and present.
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Push notifications to the webhooks of clients.
    #[command(subcommand)]
    Deliveries(DeliveriesCommand),
    /// API keys of callers of `serve`.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// A webhook of one's own.
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Send a Message to any agent and print what comes back.
    Send(Box<SendArgs>),
    /// Tasks at any agent.
    #[command(subcommand)]
    Task(TaskCommand),
    /// Agent Cards.
    #[command(subcommand)]
    Card(CardCommand),
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// A workflow file, or the name of one in ./workflows.
    #[arg(value_name = "FILE|NAME", required_unless_present = "resume")]
    pub(crate) workflow: Option<String>,
    /// An input; a value that is not meant as text is written as YAML.
    #[arg(short, long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// The text of the Message that starts the run; fills the input that is `from: text`.
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// An input that is a file.
    #[arg(long = "file", value_name = "NAME=@PATH")]
    pub(crate) files: Vec<String>,
    /// Go on with a run that was interrupted.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["workflow", "inputs", "message", "files"])]
    pub(crate) resume: Option<String>,
    /// Write the outputs as files into this folder instead of printing them.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

// Settings of a server; what is not given here comes from the environment, the file, or the defaults.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ConfigArgs {
    /// The configuration file; `convoke config` shows every setting.
    #[arg(short, long, env = "CONVOKE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen. Port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The folder with the workflow files.
    #[arg(long, value_name = "DIR")]
    pub(crate) workflows: Option<PathBuf>,
    /// The URL under which clients reach it, for its Agent Card; made from the address when absent.
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<Url>,
    /// Listen on other addresses than loopback, behind a proxy that ends TLS.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Speak A2A 0.3, 0.2 and 0.1 as well, for clients that do not speak 1.0 yet.
    #[arg(long)]
    pub(crate) older_versions: bool,
    /// Any setting by its key, as in `runs.max_active=8`; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl ConfigArgs {
    /// The settings that have a flag of their own: key, flag, value.
    pub(crate) fn flags(&self) -> impl Iterator<Item = (&'static str, &'static str, String)> {
        [
            ("listen", "--listen", self.listen.map(|it| it.to_string())),
            (
                "workflows",
                "--workflows",
                self.workflows.as_ref().map(|it| it.display().to_string()),
            ),
            ("public_url", "--public-url", self.public_url.as_ref().map(ToString::to_string)),
            ("insecure", "--insecure", self.insecure.then(|| true.to_string())),
            ("older_versions", "--older-versions", self.older_versions.then(|| true.to_string())),
        ]
        .into_iter()
        .filter_map(|(key, flag, value)| Some((key, flag, value?)))
    }
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct DemoArgs {
    /// Leave the agents running until Ctrl-C.
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For each step its agent, why no other, and what it waits for.
    Text,
    Json,
    /// A flow chart for Markdown.
    Mermaid,
    /// A graph for Graphviz.
    Dot,
    /// A picture.
    Svg,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, the newest first.
    List {
        /// How many at most.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
    },
    /// Show one run: its steps, attempts, artifacts and errors.
    Show { run: String },
    /// Follow a run until it ends; Ctrl-C leaves it alone.
    Watch { run: String },
    /// Answer a pause, and drive the run on.
    Reply {
        run: String,
        #[command(flatten)]
        reply: ReplyArgs,
    },
    /// Cancel a run: its agents are told.
    Cancel { run: String },
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ReplyArgs {
    /// The step that asked, where several do; then the answer.
    #[arg(num_args = 1..=2, value_names = ["STEP", "TEXT"], required_unless_present_any = ["resend", "failed", "task"], conflicts_with_all = ["resend", "failed", "task"])]
    pub(crate) answer: Vec<String>,
    /// The step that asked, where several do.
    #[arg(long)]
    pub(crate) step: Option<String>,
    /// Where nobody knows whether the agent has received a Message: send it once more.
    #[arg(long, group = "decision")]
    pub(crate) resend: bool,
    /// Where nobody knows that: have the attempt fail.
    #[arg(long, group = "decision")]
    pub(crate) failed: bool,
    /// Where nobody knows that: follow the Task that the agent has made of it.
    #[arg(long, group = "decision", value_name = "ID")]
    pub(crate) task: Option<String>,
}

impl ReplyArgs {
    /// What its flags decide.
    pub(crate) fn decision(&self) -> Option<executor::Decision> {
        use executor::Decision;
        match &self.task {
            Some(id) => Some(Decision::Task(id.clone())),
            None if self.resend => Some(Decision::Resend),
            None => self.failed.then_some(Decision::Failed),
        }
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DeliveriesCommand {
    /// List webhooks, how far each was told, and what it did not take.
    List {
        /// Only those with something that is not tried any more.
        #[arg(long)]
        dead: bool,
    },
    /// Send anew what a webhook did not take, and what came after it.
    Retry {
        /// The Task.
        task: String,
        /// The configuration; all of the Task when absent.
        configuration: Option<String>,
    },
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Receive the push notifications of any agent, check them, and print one line for each.
    Listen(ListenArgs),
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct ListenArgs {
    /// Where to listen. Port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8101", value_name = "ADDRESS:PORT")]
    pub(crate) listen: SocketAddr,
    /// The token that every notification has to bring, as it stands in the configuration.
    #[arg(long, env = "CONVOKE_WEBHOOK_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Where the sender publishes its keys: every notification has to be signed by one of them.
    #[arg(long, value_name = "URL")]
    pub(crate) jwks: Option<Url>,
    /// The environment variable with a shared secret: every notification has to bring an HMAC-SHA-256 of its body in
    /// X-Hub-Signature-256.
    #[arg(long, value_name = "NAME")]
    pub(crate) hmac_env: Option<String>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CardCommand {
    /// Fetch or read a card and show it, with what its signatures are worth.
    Show {
        /// A URL, or a file.
        #[arg(value_name = "URL|FILE")]
        from: String,
        /// Public keys that you trust (JWK set, JWK or PEM); may be given more than once.
        #[arg(long, value_name = "URL|FILE")]
        keys: Vec<String>,
        /// The card for callers who authenticate: asks the agent itself for it.
        #[arg(long)]
        extended: bool,
        /// Send this header along, to the origin of the URL alone; may be given more than once.
        #[arg(long = "header", value_name = "NAME:VALUE")]
        headers: Vec<String>,
    },
    /// Sign a card; prints it, or writes it to a file.
    Sign(SignArgs),
    /// Check the signatures of a card; exits with 0 when one is by a key that you trust.
    Verify {
        /// A URL, or a file.
        #[arg(value_name = "URL|FILE")]
        from: String,
        /// Public keys that you trust (JWK set, JWK or PEM); may be given more than once.
        #[arg(long, value_name = "URL|FILE")]
        keys: Vec<String>,
    },
    /// Keys for signing cards.
    #[command(subcommand)]
    Keys(CardKeysCommand),
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct SignArgs {
    /// The card.
    pub(crate) file: PathBuf,
    /// The private key (PEM).
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Id of the key; its thumbprint when absent.
    #[arg(long = "kid", value_name = "ID")]
    pub(crate) key_id: Option<String>,
    /// Where you publish the public keys.
    #[arg(long = "jku", value_name = "URL")]
    pub(crate) key_set_url: Option<Url>,
    /// ES256, ES384, RS256, PS256 or EdDSA; what the key is for when absent.
    #[arg(long = "alg", value_name = "NAME", value_parser = card::algorithm)]
    pub(crate) algorithm: Option<Algorithm>,
    /// Write the card to this file instead of printing it.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CardKeysCommand {
    /// Make a key pair: writes the private key to a file, prints the public one as a JWK set.
    Generate {
        /// Where the private key goes (PEM); must not be there yet.
        file: PathBuf,
        /// ES256, ES384, RS256, PS256 or EdDSA.
        #[arg(long = "alg", default_value = "ES256", value_name = "NAME", value_parser = card::algorithm)]
        algorithm: Algorithm,
        /// Id of the key; its thumbprint when absent.
        #[arg(long = "kid", value_name = "ID")]
        key_id: Option<String>,
    },
    /// Print the public key of a private one as a JWK set.
    Public {
        /// The private key (PEM).
        file: PathBuf,
        /// ES256, ES384, RS256, PS256 or EdDSA; what the key is for when absent.
        #[arg(long = "alg", value_name = "NAME", value_parser = card::algorithm)]
        algorithm: Option<Algorithm>,
        /// Id of the key; its thumbprint when absent.
        #[arg(long = "kid", value_name = "ID")]
        key_id: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
