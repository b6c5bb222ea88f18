//! Convoke beside agents and clients that nobody here wrote: the SDKs for Python and JavaScript.

mod answers;
mod cases;
mod listening;
mod node;
mod older;
mod peers;
mod readme;
mod served;
mod signatures;
mod venv;

use std::{env, path::PathBuf, thread};

use anyhow::{Context as _, Result, anyhow};

use self::{node::Node, peers::Peers, served::Served, venv::Venv};
use crate::{parts::Parts, process, suites::Built};

/// What is left out, and why.
const LEFT_OUT: [(&str, &str); 2] = [
    (
        "extended cards, and push notifications with the JavaScript SDK",
        "`convoke serve` has no extended card; the Python SDK's client registers webhooks",
    ),
    ("A2A 0.3 by gRPC", "it is another service than that of 1.0, which alone Convoke speaks"),
];

/// Makes the SDKs' environments, builds Convoke, and runs every case.
///
/// # Errors
/// When Python with venv, Node or npm is missing, or a case fails.
pub(crate) fn run() -> Result<()> {
    let mut parts = Parts::default();
    let mut sdks = None;
    parts.run("install the SDKs", || {
        sdks = Some(install()?);
        Ok(())
    });
    let Some((venv, node)) = sdks else { return parts.verdict() };
    let built = Built::workspace()?;
    let mut peers = None;
    parts.run("start 12 agents on the SDKs, echo and asks", || {
        peers = Some(Peers::start(&venv, &node, &built)?);
        Ok(())
    });
    let Some(peers) = peers else { return parts.verdict() };
    parts.run("Python client \u{b7} echo, asks", || peers.client(venv.script("client.py")));
    parts.run("JavaScript client \u{b7} echo, asks", || peers.client(node.script("client.js")));
    parts.run("card show \u{b7} each agent", || cases::cards(&peers));
    parts.run("card sign, card verify \u{b7} Python", || signatures::both_ways(&peers, &venv));
    parts.run("send \u{b7} each agent", || cases::send(&peers));
    parts.run("send --stream \u{b7} each agent", || cases::stream(&peers));
    parts.run("run mixed.yaml", || cases::mixed(&peers));
    parts.run("run asking.yaml, runs reply \u{b7} each agent", || cases::answer(&peers));
    parts.run("run asking.yaml, runs cancel", || cases::cancel(&peers));
    let older = older::run(&built, &mut parts)?;
    let served = serve(&venv, &node, &built, &mut parts)?;
    for (what, why) in LEFT_OUT {
        parts.skip(what, why);
    }
    println!("\n{parts}");
    let verdict = parts.verdict();
    if verdict.is_err() {
        eprintln!("{}{}", peers.logs()?, served.map_or(Ok(String::new()), |it| it.logs())?);
        eprintln!("{}", older.map_or(Ok(String::new()), |peers| peers.logs())?);
    }
    verdict
}

/// Clients of both SDKs in front of `convoke serve`: scripts of checks, and what README.md shows.
fn serve(venv: &Venv, node: &Node, built: &Built, parts: &mut Parts) -> Result<Option<Served>> {
    let mut served = None;
    parts.run("start convoke serve over 11 example agents", || {
        served = Some(Served::start(built)?);
        Ok(())
    });
    let Some(mut served) = served else { return Ok(None) };
    let (python, javascript) = (venv.script("serve.py"), node.script("serve.js"));
    parts.run("Python client \u{b7} serve, killed between answers", || served.client(python));
    parts.run("JavaScript client \u{b7} serve", || served.client(javascript));
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    parts.run("Python client of README.md", || {
        let client = readme::write("python", folder.path(), "readme.py", served.url())?;
        readme::run(&mut venv.run(&client))
    });
    parts.run("JavaScript client of README.md", || {
        let client = readme::write("javascript", node.folder(), "readme.mjs", served.url())?;
        readme::run(&mut node.run(&client))
    });
    Ok(Some(served))
}

/// Installs both SDKs at once: each mostly waits for its registry.
fn install() -> Result<(Venv, Node)> {
    let target = target();
    thread::scope(|scope| {
        let node = scope.spawn(|| Node::make(&target));
        let venv = Venv::make(&target);
        let node = node.join().map_err(|_| anyhow!("installing the JavaScript SDK panicked"))?;
        Ok((venv?, node?))
    })
}

/// The folder in which environments are kept.
fn target() -> PathBuf {
    let usual = process::root().join("target");
    env::var_os("CARGO_TARGET_DIR").map_or(usual, PathBuf::from)
}
