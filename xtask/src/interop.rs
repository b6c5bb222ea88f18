//! Convoke beside agents and clients that nobody here wrote: the SDKs for Python and JavaScript.

mod answers;
mod cases;
mod content;
mod files;
mod fronted;
mod hook;
mod listening;
mod node;
mod older;
mod peers;
mod proof;
mod readme;
mod served;
mod server;
mod signatures;

use std::{process::Command, thread};

use anyhow::{Context as _, Result, anyhow};

use self::{
    files::FileServer,
    fronted::{Fronted, Setup},
    node::Node,
    peers::Peers,
    served::Served,
};
use crate::{parts::Parts, process, suites::Built, venv::Venv};

/// What is left out, and why.
const LEFT_OUT: [(&str, &str); 2] = [
    ("extended cards", "they are for callers with credentials; Convoke's own tests have some"),
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
    parts.run("agents add by the host, run \u{b7} each SDK", || cases::hosts(&peers));
    parts.run("card sign, card verify \u{b7} Python", || signatures::both_ways(&peers, &venv));
    parts.run("send \u{b7} each agent", || cases::send(&peers));
    parts.run("send --stream \u{b7} each agent", || cases::stream(&peers));
    parts.run("run mixed.yaml", || cases::mixed(&peers));
    parts.run("run asking.yaml, runs reply \u{b7} each agent", || cases::answer(&peers));
    parts.run("run asking.yaml, runs cancel", || cases::cancel(&peers));
    let files = FileServer::start()?;
    parts.run("send in any script, files of 10 MB \u{b7} each agent", || {
        content::sent(&peers, &files)
    });
    parts.run("run files.yaml", || content::ran(&peers, &files));
    parts.run("send of nothing", || content::empty(&peers));
    parts.run("send --push, webhook listen \u{b7} each agent", || content::pushed(&peers));
    let served = serve(&venv, &node, &built, &mut parts)?;
    let fronted = front(&venv, &node, &built, &files, &mut parts)?;
    let older = older::run(&built, &files, fronted.as_ref(), &mut parts)?;
    for (what, why) in LEFT_OUT {
        parts.skip(what, why);
    }
    println!("\n{parts}");
    let verdict = parts.verdict();
    if verdict.is_err() {
        eprintln!("{}{}", peers.logs()?, served.map_or(Ok(String::new()), |it| it.logs())?);
        eprintln!("{}", fronted.map_or(Ok(String::new()), |it| it.logs())?);
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

/// The agent that can do everything, by itself and behind `convoke serve`: what is asked of both.
fn front(
    venv: &Venv,
    node: &Node,
    built: &Built,
    files: &FileServer,
    parts: &mut Parts,
) -> Result<Option<Fronted>> {
    let mut fronted = None;
    parts.run("start conformance, and convoke serve before it", || {
        fronted = Some(Fronted::start(built)?);
        Ok(())
    });
    let Some(fronted) = fronted else { return Ok(None) };
    for setup in Setup::BOTH {
        let name = format!("a2a-proof \u{b7} {}", setup.name());
        parts.run(&name, || proof::run(venv, &fronted, setup));
    }
    let asks = |mut script: Command| {
        process::run(script.args(Setup::BOTH.map(|it| fronted.url(it))).arg(files.url()))
    };
    let (python, javascript) = (venv.script("content.py"), node.script("content.js"));
    parts
        .run("Python client \u{b7} any script, files of 10 MB, webhooks, nothing", || asks(python));
    parts.run("JavaScript client \u{b7} any script, files of 10 MB, webhooks, nothing", || {
        asks(javascript)
    });
    Ok(Some(fronted))
}

/// Installs both SDKs at once: each mostly waits for its registry.
fn install() -> Result<(Venv, Node)> {
    let target = process::target();
    thread::scope(|scope| {
        let node = scope.spawn(|| Node::make(&target));
        let venv = Venv::make(&target, "interop-venv", "tests/interop");
        let node = node.join().map_err(|_| anyhow!("installing the JavaScript SDK panicked"))?;
        Ok((venv?, node?))
    })
}
