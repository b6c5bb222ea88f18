//! What Convoke does with the agents of both SDKs.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::{
    answers::{self, list, step_of},
    listening::Agent,
    peers::{Called, Peers},
};

/// What an agent of `asking.yaml` asks.
const QUESTION: &str = "For whom?";
const TEXT: &str = "hello from Convoke";

/// `card show` reads every card.
pub(super) fn cards(peers: &Peers) -> Result<()> {
    for agent in peers.strangers() {
        let shown = peers.convoke(0, &["card", "show", &agent.url])?;
        let card = shown.one()?;
        ensure!(
            card["name"] == agent.name.as_str(),
            "another card than {}'s: {card:#}",
            agent.name
        );
    }
    Ok(())
}

/// `agents add` takes the first agent of each host in by the URL of the host alone, and a step runs by it.
pub(super) fn hosts(peers: &Peers) -> Result<()> {
    for agent in peers.firsts() {
        let ran = peers.alone(agent, TEXT)?;
        let run = ran.one()?;
        let step = answers::step(run, "a", "completed")?;
        answers::check(&agent.name, &step["artifacts"], &[TEXT], 0)?;
    }
    Ok(())
}

/// `send` gets a finished Task from every agent.
pub(super) fn send(peers: &Peers) -> Result<()> {
    for agent in peers.strangers() {
        let sent = peers.convoke(0, &["send", &agent.url, TEXT])?;
        let task = &sent.one()?["task"];
        let state = &task["status"]["state"];
        ensure!(state == "TASK_STATE_COMPLETED", "{}'s Task is {state}", agent.name);
        answers::check(&agent.name, &task["artifacts"], &[TEXT], 0)?;
    }
    Ok(())
}

/// `send --stream` prints each event of an agent that streams; the others refuse it.
pub(super) fn stream(peers: &Peers) -> Result<()> {
    for agent in peers.strangers() {
        if agent.name.ends_with("plain") {
            let refused = peers.convoke(1, &["send", "--stream", &agent.url, TEXT])?;
            let is_right = refused.told.contains("UNSUPPORTED_OPERATION");
            ensure!(is_right, "{} refused with another error: {}", agent.name, refused.told);
            continue;
        }
        streamed(peers, agent)?;
    }
    Ok(())
}

/// `send --stream` prints each event of this agent.
pub(super) fn streamed(peers: &Peers, agent: &Agent) -> Result<()> {
    let events = peers.convoke(0, &["send", "--stream", &agent.url, TEXT])?.values;
    let last = events.last().map(|event| &event["statusUpdate"]["status"]["state"]);
    let is_completed = last.is_some_and(|state| state == "TASK_STATE_COMPLETED");
    ensure!(is_completed, "{}'s stream ended with {last:?}", agent.name);
    answers::check(&agent.name, &put_together(&events), &[TEXT], 0)
}

/// Twelve agents of both SDKs beside Rust ones in one workflow: every artifact of every step.
pub(super) fn mixed(peers: &Peers) -> Result<()> {
    let ran =
        peers.convoke(0, &["run", &peers.workflow("mixed.yaml"), "--input", "topic=otters"])?;
    let run = ran.one()?;
    ensure!(run["state"] == "completed", "the run did not complete: {run:#}");
    let draft = "A draft on otters.";
    let summary = format!("Summarise. | {draft}");
    let counts = answers::output(run, "counts")?;
    let mut lines = Vec::new();
    for agent in peers.strangers() {
        let name = step_of(&agent.name);
        let step = answers::step(run, &name, "completed")?;
        ensure!(step["agent"] == agent.name.as_str(), "another agent than {name}'s: {step:#}");
        let texts = if agent.name.starts_with("python") {
            vec!["Summarise.", draft]
        } else {
            vec!["Summarise.", "Python read: ", &summary]
        };
        // The data Part is the count that comes with a Python agent's summary.
        let data = texts.len() - 2;
        answers::check(&agent.name, &step["artifacts"], &texts, data)?;
        let counted = (&counts[&name]["texts"], &counts[&name]["data"]);
        ensure!(counted == (&float(texts.len()), &float(data)), "{name} in `counts`: {counted:?}");
        if agent.name.starts_with("javascript") {
            lines.push(format!("JavaScript read: {}", texts.join(" | ")));
        }
    }
    let report = answers::output(run, "report")?;
    ensure!(report == lines.join("\n"), "the report is {report}");
    Ok(())
}

/// All ask; another branch goes on; each answer reaches the agent that asked.
pub(super) fn answer(peers: &Peers) -> Result<()> {
    let run = paused(peers)?;
    let agents: Vec<_> = peers.strangers().collect();
    let said = |name: &str| format!("For {name}.");
    let mut last = None;
    for (left, agent) in (0..agents.len()).zip(&agents).rev() {
        let step = step_of(&agent.name);
        let status = if left == 0 { 0 } else { 4 };
        last = Some(peers.convoke(status, &["runs", "reply", &run, &step, &said(&agent.name)])?);
        if left > 0 {
            let shown = peers.convoke(0, &["runs", "show", &run])?;
            answers::step(shown.one()?, &step, "completed")?;
        }
    }
    let Some(last) = last else { bail!("there are no agents") };
    let ended = last.one()?;
    ensure!(ended["state"] == "completed", "the run did not complete: {ended:#}");
    let mut lines = Vec::new();
    for agent in agents {
        let step = answers::step(ended, &step_of(&agent.name), "completed")?;
        ensure!(step["attempts"] == 1, "{} was tried more than once: {step:#}", agent.name);
        answers::check(&agent.name, &step["artifacts"], &[&said(&agent.name)], 0)?;
        let text = list(&step["artifacts"][0]["parts"]).filter_map(|part| part["text"].as_str());
        lines.push(text.collect::<String>());
    }
    let report = answers::output(ended, "report")?;
    ensure!(report == lines.join("\n"), "the report is {report}");
    Ok(())
}

/// All twelve ask; the run is canceled; so is each of their Tasks.
pub(super) fn cancel(peers: &Peers) -> Result<()> {
    canceled(peers, |agent, late| {
        let is_right = late.told.contains("UNSUPPORTED_OPERATION");
        ensure!(is_right, "{} refused with another error: {}", agent.name, late.told);
        Ok(())
    })
}

/// Cancels a run that waits for every agent. Each of their Tasks has then ended as canceled, so it refuses what comes
/// too late, in words that `check` looks at.
pub(super) fn canceled(peers: &Peers, check: impl Fn(&Agent, &Called) -> Result<()>) -> Result<()> {
    let run = paused(peers)?;
    peers.convoke(0, &["runs", "cancel", &run])?;
    let shown = peers.convoke(0, &["runs", "show", &run])?;
    let shown = shown.one()?;
    ensure!(shown["state"] == "canceled", "the run is not canceled: {shown:#}");
    for agent in peers.strangers() {
        let step = answers::step(shown, &step_of(&agent.name), "canceled")?;
        let Some(task) = step["task_id"].as_str() else {
            bail!("{} has no Task: {step:#}", agent.name);
        };
        // A Task that still waited would take this for its answer.
        check(agent, &peers.convoke(1, &["send", &agent.url, "too late", "--task", task])?)?;
    }
    Ok(())
}

/// Starts `asking.yaml` and returns the run's id once everything it can do without answers is done.
pub(super) fn paused(peers: &Peers) -> Result<String> {
    let left = peers.convoke(4, &["run", &peers.workflow("asking.yaml")])?;
    let runs = peers.convoke(0, &["runs", "list", "--limit", "1"])?;
    let newest = &runs.one()?[0];
    let Some(id) = newest["id"].as_str() else { bail!("no run is listed: {newest}") };
    ensure!(newest["state"] == "input_required", "the run does not wait: {newest}");
    let shown = peers.convoke(0, &["runs", "show", id])?;
    answers::step(shown.one()?, "meanwhile", "completed")?;
    for agent in peers.strangers() {
        let step = step_of(&agent.name);
        answers::step(shown.one()?, &step, "paused")?;
        let told = [format!("{step} asks: {QUESTION}"), format!("runs reply {id} {step} TEXT")];
        for line in told {
            ensure!(left.told.contains(&line), "`{line}` is missing in\n{}", left.told);
        }
    }
    Ok(id.to_owned())
}

/// The artifacts that a stream's events amount to, when none is out of order.
fn put_together(events: &[Value]) -> Value {
    let mut artifacts: Vec<Value> = Vec::new();
    for update in events.iter().map(|event| &event["artifactUpdate"]) {
        let artifact = &update["artifact"];
        match artifacts.last_mut() {
            Some(last) if update["append"] == true => {
                if let Some(parts) = last["parts"].as_array_mut() {
                    parts.extend(list(&artifact["parts"]).cloned());
                }
            }
            _ if artifact.is_object() => artifacts.push(artifact.clone()),
            _ => (),
        }
    }
    artifacts.into()
}

/// A count as a number of ProtoJSON.
fn float(count: usize) -> Value {
    u32::try_from(count).map(f64::from).ok().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_of_a_stream_are_put_together_in_their_order() {
        let piece = |name: &str, text: &str, append: bool| {
            let artifact = json!({"name": name, "parts": [{"text": text}]});
            json!({"artifactUpdate": {"artifact": artifact, "append": append}})
        };
        let events = [
            json!({"task": {}}),
            piece("one", "a", false),
            piece("one", "b", true),
            piece("two", "c", false),
            json!({"statusUpdate": {}}),
        ];
        let expected = json!([
            {"name": "one", "parts": [{"text": "a"}, {"text": "b"}]},
            {"name": "two", "parts": [{"text": "c"}]},
        ]);
        assert_eq!(put_together(&events), expected);
    }
}
