//! Goal 12: planning large workflows, beside PyYAML with networkx; and binding against a large directory, beside a
//! linear scan of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use document::{Source, Style, render};
use planner::{Plan, Workflow};
use protocol::v1::{AgentCard, AgentInterface};
use registry::{Agent, Index};
use serde::Serialize;

use crate::directory;

/// What to measure.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Steps of the large workflow
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub steps: u32,
    /// Steps that select an agent of the directory, each by other tags
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub selectors: u32,
    /// Agents in the directory
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..))]
    pub agents: u32,
    /// Times each is measured; the middle one counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// A Python that has PyYAML and networkx; it is not measured without
    #[arg(long)]
    pub python: Option<PathBuf>,
    /// How the same is asked for once more, when another program asked
    #[arg(long, hide = true)]
    pub again: Option<String>,
}

/// What was measured, in seconds; the middle of the rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Steps of the large workflow.
    pub steps: u32,
    /// Reading, checking and binding it.
    pub planned: f64,
    /// The same in Python.
    pub python: Option<Python>,
    /// Steps that select an agent.
    pub selectors: u32,
    /// Agents to select from.
    pub agents: u32,
    /// Binding all of them.
    pub bound: f64,
    /// Looking through the whole directory for each of them.
    pub scanned: f64,
}

/// How long it takes in Python.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Python {
    /// With the reader that PyYAML comes with.
    pub python: f64,
    /// With the one in C.
    pub libyaml: f64,
}

/// Measures all of it.
///
/// # Errors
/// When Python fails, or binding and scanning disagree.
pub fn run(options: &Options, folder: &Path) -> Result<Measured> {
    let text = large(options.steps);
    let agents = Index::new((0..100).map(|number| Arc::new(callable(directory::tagged(number)))));
    let rounds = options.rounds;
    let planned = middle(rounds, || {
        let plan = plan(&text, &agents)?;
        ensure!(plan.bindings.len() == usize::try_from(options.steps)?, "a step is missing");
        Ok(())
    })?;
    let python = options.python.as_ref();
    let python = python.map(|python| in_python(python, &text, folder, rounds)).transpose()?;
    let many: Vec<Arc<Agent>> =
        directory::agents(options.agents).map(|agent| Arc::new(callable(agent))).collect();
    let wanted = wanted(&many, options.selectors);
    let index = Index::new(many.iter().cloned());
    let workflow = Arc::new(read(&selecting(&wanted))?);
    let mut chosen = Vec::new();
    let bound = middle(rounds, || {
        let plan = planner::bind(Arc::clone(&workflow), &index, &BTreeMap::new());
        let plan = plan.map_err(|problems| anyhow!("{}", problems[0].message))?;
        chosen = plan.bindings.into_iter().flatten().map(|it| it.agent).collect();
        Ok(())
    })?;
    let mut found = Vec::new();
    let scanned = middle(1, || {
        found = wanted.iter().filter_map(|tags| scan(&many, tags)).collect();
        Ok(())
    })?;
    ensure!(chosen == found, "both sides choose the same agents");
    let Options { steps, selectors, agents, .. } = *options;
    Ok(Measured { steps, planned, python, selectors, agents, bound, scanned })
}

/// A workflow for twenty agents: chains of ten steps, each step with a look back at an earlier one.
fn large(steps: u32) -> String {
    let mut text =
        "convoke: 1\nname: large\ninputs:\n  topic: {type: string, default: it}\nsteps:\n"
            .to_owned();
    for step in 0..steps {
        let _ = writeln!(text, "  s{step}:");
        if step % 10 != 0 {
            let _ = writeln!(text, "    needs: [s{}]", step - 1);
        }
        let _ = writeln!(text, "    agent: {{tags: [tag{}]}}", step % 20);
        match step {
            0 => text.push_str("    message: Begin with ${{ inputs.topic }}.\n"),
            _ => {
                let _ = writeln!(
                    text,
                    "    message: Go on with ${{{{ steps.s{}.text }}}} about ${{{{ inputs.topic }}}}.",
                    step / 2
                );
            }
        }
    }
    text
}

fn read(text: &str) -> Result<Workflow> {
    let source = Source::new("large.yaml", text);
    let style = Style { color: false, width: 100 };
    planner::check(&source).map_err(|problems| anyhow!(render(&source, &problems, style)))
}

fn plan(text: &str, index: &Index) -> Result<Plan> {
    let workflow = Arc::new(read(text)?);
    let plan = planner::bind(workflow, index, &BTreeMap::new());
    plan.map_err(|problems| anyhow!("{}", problems[0].message))
}

fn in_python(python: &Path, text: &str, folder: &Path, rounds: u32) -> Result<Python> {
    let file = folder.join(format!("planning-{}.yaml", std::process::id()));
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/planning.py");
    let output = Command::new(python).arg(script).arg(&file).arg(rounds.to_string()).output();
    std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    let output = output.with_context(|| format!("cannot run {}", python.display()))?;
    ensure!(output.status.success(), "Python failed: {}", String::from_utf8_lossy(&output.stderr));
    let mut seconds: BTreeMap<String, Vec<f64>> = serde_json::from_slice(&output.stdout)?;
    let mut of = |name: &str| {
        let mut taken = seconds.remove(name).with_context(|| format!("no times of {name}"))?;
        taken.sort_by(f64::total_cmp);
        taken.get(taken.len() / 2).copied().context("no rounds")
    };
    Ok(Python { python: of("python")?, libyaml: of("libyaml")? })
}

/// The middle of this many rounds, in seconds.
fn middle(rounds: u32, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut taken: Vec<Duration> = Vec::new();
    for _ in 0..rounds {
        let started = Instant::now();
        work()?;
        taken.push(started.elapsed());
    }
    taken.sort_unstable();
    Ok(taken[taken.len() / 2].as_secs_f64())
}

/// The same agent with an interface to call.
fn callable(agent: Agent) -> Agent {
    let interface = AgentInterface {
        url: format!("https://{}.example", agent.name),
        protocol_binding: "JSONRPC".to_owned(),
        protocol_version: "1.0".to_owned(),
        ..AgentInterface::default()
    };
    let card = AgentCard { supported_interfaces: vec![interface], ..AgentCard::clone(&agent.card) };
    Agent { card: Arc::new(card), ..agent }
}

/// Tags that some agent has together, each pair once.
fn wanted(agents: &[Arc<Agent>], count: u32) -> Vec<[String; 2]> {
    let mut pairs = BTreeSet::new();
    let stride = agents.len() / usize::try_from(count).unwrap_or(1).min(agents.len());
    for agent in agents.iter().step_by(stride.max(1)).chain(agents) {
        let [common, rare] = agent.card.skills[0].tags.as_slice() else { continue };
        if common != rare && pairs.len() < usize::try_from(count).unwrap_or(0) {
            pairs.insert([common.clone(), rare.clone()]);
        }
    }
    pairs.into_iter().collect()
}

fn selecting(wanted: &[[String; 2]]) -> String {
    let mut text = "convoke: 1\nname: selecting\nsteps:\n".to_owned();
    for (step, [one, other]) in wanted.iter().enumerate() {
        let _ = writeln!(text, "  s{step}: {{agent: {{tags: [{one}, {other}]}}, message: Go.}}");
    }
    text
}

/// Looks at every agent there is: the first by name of those that have both tags.
fn scan(agents: &[Arc<Agent>], wanted: &[String; 2]) -> Option<String> {
    let has = |agent: &Agent, tag: &String| {
        agent.card.skills.iter().any(|skill| skill.tags.contains(tag))
    };
    let fitting = agents.iter().filter(|agent| wanted.iter().all(|tag| has(agent, tag)));
    fitting.map(|agent| &agent.name).min().cloned()
}

/// What people read.
#[must_use]
pub fn text(measured: &Measured, command: &str) -> String {
    let Measured { steps, planned, python, selectors, agents, bound, scanned } = measured;
    let millis = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
    let mut text = format!("reading, checking and binding {steps} steps: {}\n", millis(*planned));
    match python {
        Some(Python { python, libyaml }) => {
            for (with, taken) in [("PyYAML", python), ("libyaml", libyaml)] {
                let ratio = planned / taken;
                let _ = writeln!(
                    text,
                    "  {with} + networkx: {}, 1/{:.1} of it (must 1/15, aim 1/25)",
                    millis(*taken),
                    1.0 / ratio
                );
            }
        }
        None => text.push_str("  Python was not measured: `cargo xtask planning` does\n"),
    }
    let _ = write!(
        text,
        "binding {selectors} selectors among {agents} agents: {}\n  \
         a linear scan: {}, 1/{:.0} of it (must 1/100)\n\nAgain with: {command}\n",
        millis(*bound),
        millis(*scanned),
        scanned / bound,
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_measured_and_the_text_says_how_fast() {
        let options =
            Options { steps: 50, selectors: 20, agents: 300, rounds: 1, python: None, again: None };
        let measured = run(&options, Path::new(".")).unwrap();
        assert!(measured.planned > 0.0 && measured.bound > 0.0 && measured.scanned > 0.0);
        let text = text(&measured, "this");
        assert!(text.contains("50 steps") && text.contains("20 selectors among 300"), "{text}");
        assert!(text.contains("Again with: this"), "{text}");
    }
}
