//! Example agents: real A2A servers that book trips, echo, dawdle, fail and stream. Each speaks
//! JSON-RPC, HTTP+JSON and gRPC on one port.
//!
//! Tests, benches and `convoke demo` start them in their own process with [`spawn`]; the binary
//! `example-agents` starts them as processes. Their content depends on what they are sent alone,
//! so that two runs of the same workflow can be compared. They keep everything in memory.

mod agents;
mod conformance;
mod harness;
mod older;

use std::{io, net::SocketAddr, time::Duration};

use clap::ValueEnum;
use protocol::card::Binding;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub use conformance::{
    ConformanceProfile,
    access::{READ_TOKEN, TOKEN},
};
pub use harness::{
    calls::{CallLog, CallOutcome, ReceivedCall},
    holds::Holds,
};
pub use older::OlderCard;

/// The agents there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Books a flight: a text artifact `ticket` and a data artifact `flight`.
    Flights,
    /// Books a hotel, and a spa for an earlier reservation it is pointed at.
    Hotels,
    /// Books something to do on a day that the text names.
    Activities,
    /// Answers with the texts and data it was sent.
    Echo,
    /// Finishes after the delay that the text names.
    Slow,
    /// Fails a number of times per text, then does what echo does.
    Flaky,
    /// Streams one artifact in many pieces.
    Chunks,
    /// Asks questions before it answers (INPUT_REQUIRED).
    Asks,
    /// Waits until it is authorized elsewhere (AUTH_REQUIRED).
    Gate,
    /// Paints a sailboat, and repaints one that it painted before.
    Painter,
    /// Does what echo does. Its card is signed, and its key set is served at `/keys.json`.
    SignsItsCard,
    /// Drafts, reviews, translates and sums up texts.
    Writer,
    /// Reads facts out of texts, and leaves one out a number of times per text.
    Extractor,
    /// Diagnoses incidents of databases, and refuses others.
    Specialist,
    /// Diagnoses any incident.
    Generalist,
    /// Tells people.
    Notifier,
    /// All of A2A, with behaviours that a Message chooses, for suites that test A2A servers.
    Conformance,
}

impl Kind {
    /// Those of `examples/catalog.yaml`, in its order: all but the conformance agent, which tests
    /// servers and serves nobody.
    pub const ALL: [Self; 16] = [
        Self::Flights,
        Self::Hotels,
        Self::Activities,
        Self::Echo,
        Self::Slow,
        Self::Flaky,
        Self::Chunks,
        Self::Asks,
        Self::Gate,
        Self::Painter,
        Self::SignsItsCard,
        Self::Writer,
        Self::Extractor,
        Self::Specialist,
        Self::Generalist,
        Self::Notifier,
    ];

    /// The port on loopback where `examples/catalog.yaml` expects the agent: 9101 and up; 9100 for
    /// the one that is not in it.
    #[must_use]
    pub fn port(self) -> u16 {
        (9101..)
            .zip(Self::ALL)
            .find_map(|(port, kind)| (kind == self).then_some(port))
            .unwrap_or(9100)
    }
}

/// How a flaky agent fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Failure {
    /// The Task ends FAILED.
    Failed,
    /// The Message is refused with HTTP 503.
    Unavailable,
    /// The connection is dropped before the Message is looked at.
    Drop,
    /// The Message is taken and worked on, but the connection is dropped instead of an answer.
    Lost,
}

/// Settings of an agent. Each matters to the kinds it names and is ignored by the others.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether the card declares streaming; without it, streaming calls are refused.
    pub streaming: bool,
    /// How long visible progress lasts (flights, hotels, activities; chunks: over all pieces).
    /// None leaves it to the kind: a second for travel agents, nothing for the rest.
    pub pace: Option<Duration>,
    /// How long slow works when the text names no delay.
    pub delay: Duration,
    /// How often flaky fails for each distinct text, and extractor leaves something out.
    pub failures: u32,
    /// How flaky fails.
    pub failure: Failure,
    /// How many pieces chunks streams when the text names no number.
    pub chunks: u32,
    /// How many questions asks has.
    pub turns: u32,
    /// Whether echo answers with a Message instead of a Task.
    pub direct: bool,
    /// Which binding the card lists first; the others follow.
    pub binding: Binding,
    /// Whether A2A 0.3, 0.2 and 0.1 are spoken as well.
    pub older_versions: bool,
    /// The older version that the agent is of: its card is of that version alone, and older versions are spoken.
    pub card_of: Option<OlderCard>,
    /// What conformance declares.
    pub profile: ConformanceProfile,
    /// Whether conformance calls webhooks on this machine.
    pub loopback_webhooks: bool,
    /// The private key (PEM) that signs-its-card signs with. None makes one at each start.
    pub signing_key: Option<String>,
    /// Which work is held back, and until when.
    pub holds: Holds,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            streaming: true,
            pace: None,
            delay: Duration::from_secs(5),
            failures: 2,
            failure: Failure::Failed,
            chunks: 10,
            turns: 2,
            direct: false,
            binding: Binding::JsonRpc,
            older_versions: false,
            card_of: None,
            profile: ConformanceProfile::Full,
            loopback_webhooks: false,
            signing_key: None,
            holds: Holds::default(),
        }
    }
}

/// A listening agent. Dropping it stops it; so does [`Running::shutdown`], which also waits.
#[derive(Debug)]
pub struct Running {
    /// What it is.
    pub kind: Kind,
    /// Its address: `http://127.0.0.1:9101`, the base of its card's well-known path.
    pub url: String,
    /// Every Message it was sent.
    pub calls: CallLog,
    stop: CancellationToken,
    server: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    /// The URL of its Agent Card.
    #[must_use]
    pub fn card_url(&self) -> String {
        format!("{}/.well-known/agent-card.json", self.url)
    }

    /// Stops listening, drops unfinished work, and waits until both are done.
    ///
    /// # Errors
    /// When the server ended with one.
    pub async fn shutdown(mut self) -> io::Result<()> {
        self.stop.cancel();
        match self.server.take() {
            Some(server) => server.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Starts an agent on an address; port 0 takes a free one.
///
/// It listens when this returns, and works on in tasks of the current tokio runtime until it is
/// shut down or dropped.
///
/// # Errors
/// When the address cannot be listened on, the signing key cannot be read, or the client for webhooks cannot be set up.
pub async fn spawn(kind: Kind, address: SocketAddr, options: Options) -> io::Result<Running> {
    let listener = TcpListener::bind(address).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let calls = CallLog::default();
    let stop = CancellationToken::new();
    let router = agents::router(kind, &url, &options, &calls, &stop)?;
    let server = protocol::server::serve(listener, router, stop.clone());
    Ok(Running { kind, url, calls, stop, server: Some(tokio::spawn(server)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_lists_every_agent_at_its_port() {
        let catalog = include_str!("../catalog.yaml");
        for kind in Kind::ALL {
            let line = format!("url: \"http://127.0.0.1:{}\"", kind.port());
            assert!(catalog.contains(&line), "{kind:?} is missing: {line}");
        }
        assert_eq!(catalog.matches("url:").count(), Kind::ALL.len());
        assert_eq!(Kind::Activities.port(), 9103);
        assert_eq!(Kind::Conformance.port(), 9100);
    }
}
