//! What Convoke says to agents of the SDKs arrives as it was: text of any script, files of 10 MB, and nothing empty.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{
    answers::{self, list},
    files::{self, FileServer},
    hook::{self, Hook},
    peers::Peers,
};

/// What agents give back as it came.
const ECHO: &str = "Echo.";
/// Chinese and Japanese, a family of one cluster, a combining accent, right to left, line separators. NUL cannot stand
/// in an argument, so it comes from a file.
const ANY_SCRIPT: &str = "你好 こんにちは 👨\u{200d}👩\u{200d}👧 e\u{301} مرحبا שלום \u{202b}x\u{202c} \u{2028} \u{2029} \u{85} \u{feff} \"\\/ end";

/// Agents that get the file of 10 MB by its bytes as well as by its address: it takes its time.
const LARGE: [&str; 4] = [
    "python-jsonrpc-streaming",
    "javascript-http-streaming",
    "python-0-3-jsonrpc-plain",
    "javascript-0-3-jsonrpc-plain",
];
/// Agents whose SDK drops the names of files.
const NAMELESS: &str = "javascript-0-3-http-";

/// `send` to each agent.
pub(super) fn sent(peers: &Peers, server: &FileServer) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let large = files::write(folder.path())?;
    let small = folder.path().join(format!("{ANY_SCRIPT}.txt").replace('/', "-"));
    fs::write(&small, ANY_SCRIPT).context("cannot write a file")?;
    let data = json!({ANY_SCRIPT: [format!("{ANY_SCRIPT}\0"), null, {"": ANY_SCRIPT}]});
    let data_file = folder.path().join("data.json");
    fs::write(&data_file, data.to_string()).context("cannot write a file")?;
    for agent in peers.strangers() {
        let is_large = LARGE.contains(&agent.name.as_str());
        let file = if is_large { &large } else { &small };
        let out = folder.path().join(&agent.name);
        let arguments = [
            format!("--text={ANY_SCRIPT}"),
            format!("--file={}", file.display()),
            format!("--file-url={}", server.url()),
            format!("--data-part=@{}", data_file.display()),
            format!("--metadata={}={ANY_SCRIPT}", "ключ 🔑"),
            format!("--context={ANY_SCRIPT}"),
            format!("--message-id={ANY_SCRIPT} {}", agent.name),
            format!("--out={}", out.display()),
        ];
        let mut call = vec!["send", &agent.url, ECHO];
        call.extend(arguments.iter().map(String::as_str));
        let sent = peers.convoke(0, &call)?;
        let task = &sent.one()?["task"];
        let name = match agent.name.starts_with(NAMELESS) {
            true => String::new(),
            false => file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        check(task, &name, server.url(), &data, is_large)
            .with_context(|| format!("{} did not get what was sent", agent.name))?;
        if is_large {
            let same = fs::read(out.join(files::NAME)).context("no file came back")?;
            ensure!(same == files::content(), "{} gave back another file", agent.name);
        }
    }
    Ok(())
}

fn check(task: &Value, name: &str, url: &str, data: &Value, is_large: bool) -> Result<()> {
    ensure!(task["contextId"] == ANY_SCRIPT, "another context: {}", task["contextId"]);
    let parts = &task["artifacts"][0]["parts"];
    ensure!(parts[0]["text"] == ECHO && parts[1]["text"] == ANY_SCRIPT, "another text: {parts:#}");
    let named = parts[2]["filename"].as_str().unwrap_or_default();
    ensure!(named == name, "another name: {named}");
    ensure!(parts[2]["mediaType"] == "text/plain", "another type: {}", parts[2]["mediaType"]);
    ensure!(parts[3]["url"] == url, "another address: {}", parts[3]["url"]);
    ensure!(parts[4]["data"] == *data, "other data: {:#}", parts[4]["data"]);
    let seen = &parts[5]["data"];
    ensure!(seen["metadata"]["ключ 🔑"] == ANY_SCRIPT, "other metadata: {:#}", seen["metadata"]);
    let hashes: Vec<&Value> = list(&seen["hashes"]).collect();
    ensure!(hashes.len() == 2 && hashes[1] == files::SHA256, "other files by address: {hashes:?}");
    ensure!(!is_large || hashes[0] == files::SHA256, "another file: {hashes:?}");
    Ok(())
}

/// A workflow hands a file of 10 MB to a Python agent, and what that gives back to a JavaScript one.
pub(super) fn ran(peers: &Peers, server: &FileServer) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let large = files::write(folder.path())?;
    let file = format!("--file=book=@{}", large.display());
    let address = format!("address={}", server.url());
    let workflow = peers.workflow("files.yaml");
    let ran = peers.convoke(0, &["run", &workflow, &file, "--input", &address])?;
    let run = ran.one()?;
    ensure!(run["state"] == "completed", "the run did not complete");
    for (step, count) in [("python", 2), ("javascript", 2)] {
        let step = answers::step(run, step, "completed")?;
        let parts = list(&step["artifacts"][0]["parts"]);
        let seen = parts.last().context("a step yielded nothing")?;
        let hashes: Vec<&Value> = list(&seen["data"]["hashes"]).collect();
        let is_right = hashes.len() == count && hashes.iter().all(|it| **it == files::SHA256);
        ensure!(is_right, "other files at step {}: {hashes:?}", step["step"]);
    }
    Ok(())
}

/// `send` says itself that there is nothing to send.
pub(super) fn empty(peers: &Peers) -> Result<()> {
    let agent = peers.strangers().next().context("there are no agents")?;
    let nothing = peers.convoke(2, &["send", &agent.url])?;
    ensure!(nothing.told.contains("there is nothing to send"), "{}", nothing.told);
    let empty = peers.convoke(2, &["send", &agent.url, ""])?;
    ensure!(empty.told.contains("a text is empty"), "{}", empty.told);
    Ok(())
}

/// Each agent tells `convoke webhook listen` that its Task is completed.
pub(super) fn pushed(peers: &Peers) -> Result<()> {
    let hook = Hook::start(peers.command())?;
    for agent in peers.strangers() {
        let push = [&format!("--push={}", hook.url()), &format!("--push-token={}", hook::TOKEN)];
        let sent = peers.convoke(0, &["send", &agent.url, "hello", push[0], push[1]])?;
        let task = sent.one()?["task"]["id"].as_str().context("there is no Task")?.to_owned();
        hook.completed(&task).with_context(|| format!("{} does not push", agent.name))?;
    }
    Ok(())
}
