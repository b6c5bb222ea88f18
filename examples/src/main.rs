//! `example-agents`: starts one of the example agents, or all of them, as A2A servers.

use std::{
    fs,
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    time::Duration,
};

use anyhow::{Context as _, Result};
use clap::{Parser, ValueEnum as _};
use examples::{ConformanceProfile, Failure, Holds, Kind, OlderCard, Options, Running, spawn};
use protocol::card::Binding;
use serde_json::json;

/// Starts example A2A agents; each prints one line of JSON with its addresses once it listens.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Which agent, or `all` for those of the catalog: all but conformance.
    #[arg(value_parser = parse_agents)]
    agent: Agents,
    /// Address to listen on; port 0 takes a free one. With `all`, the first of consecutive ports.
    #[arg(long)]
    listen: Option<SocketAddr>,
    /// How long travel agents and chunks show progress: "250ms"; a second for travel agents.
    #[arg(long, value_parser = parse_duration)]
    pace: Option<Duration>,
    /// Declares no streaming and refuses streaming calls.
    #[arg(long)]
    no_streaming: bool,
    /// How long slow works when the text names no delay.
    #[arg(long, value_parser = parse_duration, default_value = "5s")]
    delay: Duration,
    /// How often flaky fails for each distinct text, and extractor leaves something out.
    #[arg(long, default_value_t = 2)]
    failures: u32,
    /// How flaky fails.
    #[arg(long, value_enum, default_value_t = Failure::Failed)]
    failure: Failure,
    /// How many pieces chunks streams when the text names no number.
    #[arg(long, default_value_t = 10)]
    chunks: u32,
    /// How many questions asks has.
    #[arg(long, default_value_t = 2)]
    turns: u32,
    /// Makes echo answer with a Message instead of a Task.
    #[arg(long)]
    direct: bool,
    /// Which binding the card lists first: JSONRPC, HTTP+JSON or GRPC. All three are served.
    #[arg(long, value_parser = parse_binding, default_value = "JSONRPC")]
    binding: Binding,
    /// Speaks A2A 0.3, 0.2 and 0.1 as well.
    #[arg(long)]
    older_versions: bool,
    /// Is an agent of an older version, with a card of that version alone.
    #[arg(long, value_enum, value_name = "VERSION")]
    card_of: Option<OlderCard>,
    /// What conformance declares; in auth, its tokens are conformance-all and conformance-read.
    #[arg(long, value_enum, default_value_t = ConformanceProfile::Full)]
    profile: ConformanceProfile,
    /// Lets conformance call webhooks on this machine.
    #[arg(long)]
    loopback_webhooks: bool,
    /// The private key (PEM) that signs-its-card signs with; it makes one when absent.
    #[arg(long, value_name = "FILE")]
    signing_key: Option<PathBuf>,
}

#[derive(Clone)]
struct Agents(Vec<Kind>);

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let options = arguments.options()?;
    let mut running = Vec::new();
    for (kind, address) in arguments.addresses()? {
        let agent = spawn(kind, address, options.clone()).await;
        let agent = agent.with_context(|| format!("cannot start an agent on {address}"))?;
        announce(&agent)?;
        running.push(agent);
    }
    tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")?;
    for agent in running {
        agent.shutdown().await.context("an agent ended badly")?;
    }
    Ok(())
}

impl Arguments {
    fn options(&self) -> Result<Options> {
        let signing_key = self.signing_key.as_ref().map(|path| {
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
        });
        Ok(Options {
            streaming: !self.no_streaming,
            pace: self.pace,
            delay: self.delay,
            failures: self.failures,
            failure: self.failure,
            chunks: self.chunks,
            turns: self.turns,
            direct: self.direct,
            binding: self.binding,
            older_versions: self.older_versions,
            card_of: self.card_of,
            profile: self.profile,
            loopback_webhooks: self.loopback_webhooks,
            signing_key: signing_key.transpose()?,
            holds: Holds::default(),
        })
    }

    /// Where each agent listens: its port of the catalog, unless `--listen` says otherwise.
    fn addresses(&self) -> Result<Vec<(Kind, SocketAddr)>> {
        let mut addresses = Vec::new();
        for (index, kind) in (0_u16..).zip(self.agent.0.iter().copied()) {
            let mut address = self.listen.unwrap_or(([127, 0, 0, 1], kind.port()).into());
            if self.listen.is_some() && address.port() != 0 {
                let port = address.port().checked_add(index);
                address.set_port(port.context("--listen leaves too few ports for all agents")?);
            }
            addresses.push((kind, address));
        }
        Ok(addresses)
    }
}

/// Prints the line that tests and people wait for.
fn announce(agent: &Running) -> Result<()> {
    let line = json!({"name": name(agent.kind), "url": agent.url, "card": agent.card_url()});
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).context("cannot print")
}

/// The name that is typed.
fn name(kind: Kind) -> String {
    kind.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn parse_agents(word: &str) -> Result<Agents, String> {
    if word == "all" {
        return Ok(Agents(Kind::ALL.to_vec()));
    }
    let known: Vec<String> = Kind::ALL.into_iter().map(name).collect();
    Kind::from_str(word, false)
        .map(|kind| Agents(vec![kind]))
        .map_err(|_| format!("there are {}, conformance and all", known.join(", ")))
}

fn parse_binding(word: &str) -> Result<Binding, String> {
    let names = Binding::ALL.map(Binding::name);
    Binding::from_name(word).ok_or_else(|| format!("there are {}", names.join(", ")))
}

fn parse_duration(word: &str) -> Result<Duration, String> {
    let duration: jiff::SignedDuration =
        word.parse().map_err(|error: jiff::Error| error.to_string())?;
    Duration::try_from(duration).map_err(|_| "a duration cannot be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(words: &[&str]) -> Vec<String> {
        let words = ["example-agents"].iter().chain(words);
        let arguments = Arguments::try_parse_from(words).expect("the arguments are well formed");
        let addresses = arguments.addresses().expect("there are enough ports");
        addresses.iter().map(|(_, address)| address.to_string()).collect()
    }

    #[test]
    fn agents_listen_where_the_catalog_says_unless_told_otherwise() {
        assert_eq!(addresses(&["hotels"]), ["127.0.0.1:9102"]);
        assert_eq!(addresses(&["conformance"]), ["127.0.0.1:9100"]);
        assert_eq!(addresses(&["hotels", "--listen", "127.0.0.1:0"]), ["127.0.0.1:0"]);
        let all = addresses(&["all", "--listen", "127.0.0.1:7000"]);
        assert_eq!((all.len(), all[9].as_str()), (16, "127.0.0.1:7009"));
        assert_eq!(addresses(&["all", "--listen", "127.0.0.1:0"])[9], "127.0.0.1:0");
    }

    #[test]
    fn every_flag_reaches_the_options() {
        let words = "example-agents flaky --pace 250ms --no-streaming --delay 2s --failures 3 \
                     --failure drop --chunks 7 --turns 5 --direct --binding http+json --signing-key catalog.yaml \
                     --profile min --loopback-webhooks --older-versions --card-of 0.1";
        let options = Arguments::try_parse_from(words.split_whitespace())
            .expect("the arguments are well formed")
            .options()
            .expect("there is such a file");
        assert_eq!(options.pace, Some(Duration::from_millis(250)));
        assert!(!options.streaming && options.direct && options.older_versions);
        assert_eq!(options.delay, Duration::from_secs(2));
        assert_eq!((options.failures, options.chunks, options.turns), (3, 7, 5));
        assert_eq!(options.failure, Failure::Drop);
        assert_eq!(options.binding, Binding::HttpJson);
        assert_eq!(options.profile, ConformanceProfile::Min);
        assert!(options.loopback_webhooks);
        assert_eq!(options.card_of, Some(OlderCard::V0_1));
        assert!(options.signing_key.is_some_and(|text| text.contains("agents:")));
    }

    #[test]
    fn an_unknown_binding_is_answered_with_the_known_ones() {
        let error = parse_binding("SOAP").expect_err("there is none");
        assert_eq!(error, "there are JSONRPC, HTTP+JSON, GRPC");
    }

    #[test]
    fn an_unknown_agent_is_answered_with_the_known_ones() {
        let error = parse_agents("trains").err().expect("there are none");
        assert_eq!(
            error,
            "there are flights, hotels, activities, echo, slow, flaky, chunks, asks, gate, \
             painter, signs-its-card, writer, extractor, specialist, generalist, notifier, conformance and all"
        );
    }
}
