//! The same with the 0.3 lines of both SDKs: agents and clients of A2A before 1.0.

use std::thread;

use anyhow::{Result, anyhow};

use super::{
    cases, content,
    files::FileServer,
    fronted::{Fronted, Setup},
    node::Node,
    peers::Peers,
};
use crate::{parts::Parts, process, suites::Built, venv::Venv};

const SOURCE: &str = "tests/interop/v0_3";
const SCRIPTS: [&str; 4] = ["agents.js", "client.js", "content.js", "push.js"];

/// Installs the SDKs and runs every case.
///
/// # Errors
/// None: what goes wrong is a part that failed.
pub(super) fn run(
    built: &Built,
    files: &FileServer,
    fronted: Option<&Fronted>,
    parts: &mut Parts,
) -> Result<Option<Peers>> {
    let mut sdks = None;
    parts.run("install the SDKs of A2A 0.3", || {
        sdks = Some(install()?);
        Ok(())
    });
    let Some((venv, node)) = sdks else { return Ok(None) };
    let mut started = None;
    parts.run("start 8 agents of A2A 0.3, echo and asks", || {
        started = Some(Peers::start_older((&venv, &node), built)?);
        Ok(())
    });
    let Some(peers) = started else { return Ok(None) };
    parts.run("Python 0.3 client \u{b7} echo, asks", || peers.client(venv.script("client.py")));
    parts.run("JavaScript 0.3 client \u{b7} echo, asks", || peers.client(node.script("client.js")));
    parts.run("card show \u{b7} each 0.3 agent", || cases::cards(&peers));
    parts.run("agents add by the host, run \u{b7} each 0.3 SDK", || cases::hosts(&peers));
    parts.run("send \u{b7} each 0.3 agent", || cases::send(&peers));
    parts.run("send --stream \u{b7} each 0.3 agent", || stream(&peers));
    parts.run("run, runs reply \u{b7} each 0.3 agent", || cases::answer(&peers));
    parts.run("run, runs cancel \u{b7} each 0.3 agent", || cancel(&peers));
    parts.run("send in any script, files of 10 MB \u{b7} each 0.3 agent", || {
        content::sent(&peers, files)
    });
    parts.run("send --push, webhook listen \u{b7} each 0.3 agent", || content::pushed(&peers));
    if let Some(fronted) = fronted {
        front(&venv, &node, fronted, files, parts);
    }
    Ok(Some(peers))
}

/// Clients of both SDKs before the agent that can do everything, and before `convoke serve`.
fn front(venv: &Venv, node: &Node, fronted: &Fronted, files: &FileServer, parts: &mut Parts) {
    let urls = Setup::BOTH.map(|it| fronted.url(it));
    for (name, mut script) in
        [("Python", venv.script("content.py")), ("JavaScript", node.script("content.js"))]
    {
        parts.run(
            &format!("{name} 0.3 client \u{b7} turns, any script, files of 10 MB, nothing"),
            || process::run(script.args(urls).arg(files.url())),
        );
    }
    for (name, mut script) in
        [("Python", venv.script("push.py")), ("JavaScript", node.script("push.js"))]
    {
        parts.run(&format!("{name} 0.3 webhook \u{b7} conformance, serve"), || {
            process::run(script.args(urls))
        });
    }
}

fn install() -> Result<(Venv, Node)> {
    let target = process::target();
    thread::scope(|scope| {
        let node = scope.spawn(|| Node::make_of(&target, "interop-node-0.3", SOURCE, &SCRIPTS));
        let venv = Venv::make(&target, "interop-venv-0.3", SOURCE);
        let node = node.join().map_err(|_| anyhow!("installing the JavaScript SDK panicked"))?;
        Ok((venv?, node?))
    })
}

/// `send --stream` prints each event of an agent that streams. How the others refuse it was not
/// agreed on.
fn stream(peers: &Peers) -> Result<()> {
    for agent in peers.strangers().filter(|agent| agent.name.ends_with("streaming")) {
        cases::streamed(peers, agent)?;
    }
    Ok(())
}

/// All ask; the run is canceled; so is each of their Tasks. How they refuse what comes later was not agreed on.
fn cancel(peers: &Peers) -> Result<()> {
    cases::canceled(peers, |_, _| Ok(()))
}
