//! What gates a change: counts that do not depend on the machine.

use std::net::Ipv4Addr;

use anyhow::Result;
use benches::{
    agent::{self, Calls},
    convoke::Convoke,
    floor::Floor,
    workload::Workload,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::LocalSet};

/// What one run came to.
struct Counted {
    steps: usize,
    flushes: u64,
    calls: u64,
    messages: usize,
    journal_bytes: usize,
}

impl Counted {
    fn flushes_per_step(&self) -> f64 {
        self.flushes as f64 / self.steps as f64
    }

    fn bytes_per_step(&self) -> f64 {
        self.journal_bytes as f64 / self.steps as f64
    }
}

/// Serves the agent in this runtime and returns its URL.
async fn agent(kind: &str, calls: Calls) -> Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/{kind}", listener.local_addr()?);
    tokio::spawn(agent::serve(listener, calls));
    Ok(url)
}

async fn count(workload: &Workload, kind: &str) -> Result<Counted> {
    let folder = TempDir::new()?;
    let calls = Calls::default();
    let url = agent(kind, calls.clone()).await?;
    let convoke = Convoke::open(folder.path()).await?;
    let plan = convoke.plan(workload, &url).await?;
    let (run, sample) = convoke.run(&plan).await?;
    let counted = Counted {
        steps: workload.steps(),
        flushes: sample.flushes,
        calls: calls.total(),
        messages: calls.messages(),
        journal_bytes: convoke.journal_bytes(&run).await?,
    };
    convoke.close().await?;
    println!(
        "{} to {kind}: {} flushes, {} calls, {} journal bytes",
        workload.name, counted.flushes, counted.calls, counted.journal_bytes
    );
    Ok(counted)
}

#[tokio::test]
async fn a_chain_costs_one_flush_per_step() -> Result<()> {
    let chain = count(&Workload::chain(50), "plain").await?;
    assert!(chain.flushes_per_step() <= 1.1, "{} flushes", chain.flushes);
    // Fewer would mean that a step was sent before the result it quotes was durable.
    assert!(chain.flushes >= 50, "{} flushes", chain.flushes);
    Ok(())
}

#[tokio::test]
async fn a_streaming_agent_costs_a_chain_at_most_one_flush_more() -> Result<()> {
    let chain = count(&Workload::chain(50), "streaming").await?;
    assert!(chain.flushes_per_step() <= 2.1, "{} flushes", chain.flushes);
    assert!(chain.flushes >= 50, "{} flushes", chain.flushes);
    Ok(())
}

#[tokio::test]
async fn a_fan_out_shares_its_flushes() -> Result<()> {
    let fan_out = count(&Workload::fan_out(200), "plain").await?;
    assert!(fan_out.flushes_per_step() <= 0.10, "{} flushes", fan_out.flushes);
    Ok(())
}

#[tokio::test]
async fn every_step_is_one_call() -> Result<()> {
    for (workload, kind) in [
        (Workload::chain(20), "plain"),
        (Workload::fan_out(200), "plain"),
        (Workload::lattice(10, 20), "plain"),
        (Workload::lattice(5, 4), "streaming"),
    ] {
        let counted = count(&workload, kind).await?;
        assert_eq!(counted.calls, counted.steps as u64);
        assert_eq!(counted.messages, counted.steps);
    }
    Ok(())
}

#[tokio::test]
async fn bytes_per_step_do_not_grow_with_the_run() -> Result<()> {
    for shape in [Workload::chain, Workload::fan_out] {
        let small = count(&shape(100), "plain").await?.bytes_per_step();
        let large = count(&shape(1_000), "plain").await?.bytes_per_step();
        assert!(
            large <= small * 1.01,
            "{large} bytes a step in the large run, {small} in the small"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_floor_flushes_what_it_promises() -> Result<()> {
    let folder = TempDir::new()?;
    let calls = Calls::default();
    let url = agent("plain", calls.clone()).await?;
    let mut floor = Floor::open(folder.path(), &url)?;
    let workload = Workload::chain(10);
    let sample = LocalSet::new().run_until(floor.run(&workload)).await?;
    assert_eq!((sample.flushes, calls.total()), (11, 10));
    Ok(())
}
