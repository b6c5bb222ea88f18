//! What a run yielded, on the screen or as files.

use std::path::{Path, PathBuf};

use anstream::{eprintln, println};
use executor::{
    Recorded, Runs,
    run::{Outcome, Phase, Settled, Step, StepId, StepIndex},
};
use planner::{StepResult, StepState, Version};
use protocol::v1::{Artifact, Part, part::Content};
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::Args,
    failure::Failure,
    output::{self, BOLD, DIM},
    progress::asked,
};

/// Shows a run that has ended: its outputs, and where each artifact came from.
pub(crate) async fn show_run(
    args: &Args,
    out: Option<&Path>,
    runs: &Runs,
    recorded: &Recorded,
) -> Result<(), Failure> {
    let outputs = runs.outputs(recorded).await?;
    let written = match out {
        Some(folder) => write_all(folder, &outputs, file_name)?,
        None => Vec::new(),
    };
    if args.json {
        let report = report(runs, recorded, outputs).await?;
        return output::json(&report);
    }
    for path in &written {
        println!("{}", path.display());
    }
    if out.is_none() {
        for artifact in &outputs {
            print_artifact(artifact);
        }
    }
    print_origins(runs, recorded).await?;
    if let Some(Outcome::Failed(error)) = recorded.run.outcome() {
        return Err(Failure::work(format!("run {} failed: {error}", recorded.id)));
    }
    Ok(())
}

/// A run as JSON.
#[derive(Serialize)]
pub(crate) struct RunReport {
    pub(crate) run: String,
    pub(crate) workflow: String,
    pub(crate) context_id: String,
    pub(crate) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    pub(crate) outputs: Vec<Artifact>,
    pub(crate) steps: Vec<StepReport>,
    /// The run that cleans up after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clean_up: Option<Box<RunReport>>,
}

/// A step as JSON.
#[derive(Serialize)]
pub(crate) struct StepReport {
    pub(crate) step: String,
    pub(crate) state: &'static str,
    pub(crate) attempts: u32,
    /// Rounds of `repeat` that have ended; absent where there was only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rounds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// Which of the step's further agents it is; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fallback: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reused_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// What it waits for itself: `input`, `auth` or `outcome`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waits_for: Option<&'static str>,
    /// What is asked then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) question: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outputs: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) artifacts: Vec<Artifact>,
    /// The run of another workflow that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sub_run: Option<Box<RunReport>>,
    /// Those of earlier rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) earlier: Vec<Version>,
}

/// Puts together what is known of a run.
pub(crate) async fn report(
    runs: &Runs,
    recorded: &Recorded,
    outputs: Vec<Artifact>,
) -> Result<RunReport, Failure> {
    let mut steps = Vec::new();
    let ids: Vec<StepId> = recorded.run.steps().map(|(id, _)| id.clone()).collect();
    for id in &ids {
        // What a clean-up has taken over is shown where it was done.
        let is_taken =
            |at| matches!(recorded.run.at(at).phase, Phase::Settled(Settled::Taken { .. }));
        if recorded.run.find(id).is_some_and(is_taken) {
            continue;
        }
        steps.push(step_report(runs, recorded, id).await?);
    }
    let run = &recorded.run;
    let error = match run.outcome() {
        Some(Outcome::Failed(error)) => Some(error.to_string()),
        _ => None,
    };
    Ok(RunReport {
        run: recorded.id.to_string(),
        workflow: recorded.plan.workflow.name.clone(),
        context_id: run.header().map(|header| header.context_id.clone()).unwrap_or_default(),
        state: executor::RunState::of(run).as_str(),
        error,
        outputs,
        steps,
        clean_up: clean_up_report(runs, recorded).await?.map(Box::new),
    })
}

/// What is known of the run that cleans up after another one.
async fn clean_up_report(runs: &Runs, recorded: &Recorded) -> Result<Option<RunReport>, Failure> {
    if recorded.run.outcome().is_none() {
        return Ok(None);
    }
    match runs.clean_up(&recorded.id).await? {
        Some(clean_up) => Box::pin(report(runs, &clean_up, Vec::new())).await.map(Some),
        None => Ok(None),
    }
}

async fn step_report(runs: &Runs, recorded: &Recorded, id: &StepId) -> Result<StepReport, Failure> {
    let mut result = runs.result(recorded, id).await?;
    let Some(at) = recorded.run.find(id) else {
        return Err(Failure::usage(format!("the run has no step `{id}`")));
    };
    let step = recorded.run.at(at);
    let pause = step.phase.pause().filter(|pause| pause.within.is_none());
    Ok(StepReport {
        step: id.to_string(),
        state: recorded.run.step_state(at).as_str(),
        attempts: step.attempts,
        rounds: rounds(step),
        agent: step.agent.clone(),
        fallback: (step.candidate > 0).then_some(step.candidate),
        task_id: step.task.as_ref().map(|task| task.task_id.clone()),
        reused_from: step.reused.as_ref().map(|from| from.run.to_string()),
        reason: step.skip_reason().map(ToString::to_string),
        error: result.as_ref().and_then(|result| result.error.as_ref()).map(|e| e.message.clone()),
        waits_for: pause.map(|pause| pause.kind.as_str()),
        question: pause.map(asked),
        outputs: result.as_ref().and_then(outputs),
        earlier: result.as_mut().map(|it| std::mem::take(&mut it.earlier)).unwrap_or_default(),
        artifacts: result.map(|result| result.artifacts).unwrap_or_default(),
        sub_run: sub_report(runs, recorded, at).await?.map(Box::new),
    })
}

/// What is known of the run of another workflow that a step is.
async fn sub_report(
    runs: &Runs,
    recorded: &Recorded,
    at: StepIndex,
) -> Result<Option<RunReport>, Failure> {
    let planned = recorded.run.planned(at).0 as usize;
    let is_one = recorded.plan.workflow.steps[planned].workflow.is_some();
    let task = recorded.run.at(at).task.as_ref().filter(|_| is_one);
    let Some(id) = task.and_then(|task| task.task_id.parse().ok()) else { return Ok(None) };
    let inside = runs.read(&id).await?;
    let outputs = runs.outputs(&inside).await?;
    // As deep as workflows may be inside each other.
    Box::pin(report(runs, &inside, outputs)).await.map(Some)
}

/// How many rounds a step has had: the one that was good enough is not counted by the run.
fn rounds(step: &Step) -> Option<u32> {
    let last = u32::from(step.state() == StepState::Completed);
    (step.rounds() > 0).then(|| step.rounds() + last)
}

/// What a step computed, or made of its agent's answer.
fn outputs(result: &StepResult) -> Option<Value> {
    let made = || (!result.outputs.is_empty()).then(|| Value::Object(result.outputs.clone()));
    result.computed.clone().or_else(made)
}

fn print_artifact(artifact: &Artifact) {
    println!("{BOLD}{}{BOLD:#}", clean(title(artifact)));
    for part in &artifact.parts {
        println!("{}", indent(&shown(part)));
    }
    println!();
}

/// Says for each artifact which step, agent and Task it came from.
async fn print_origins(runs: &Runs, recorded: &Recorded) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (id, step) in recorded.run.steps() {
        if step.state() != StepState::Completed {
            continue;
        }
        let result = runs.result(recorded, id).await?;
        let made = match (&step.reused, &step.task) {
            (Some(from), _) => format!("reused from run {}", from.run),
            (None, Some(task)) => of_task(&task.task_id),
            (None, None) => of_task("a direct Message"),
        };
        let agent = step.agent.as_deref().unwrap_or("?");
        let from = format!("step {id}, agent {}, {made}", clean(agent));
        let artifacts = result.map(|result| result.artifacts).unwrap_or_default();
        rows.extend(artifacts.iter().map(|artifact| (clean(title(artifact)), from.clone())));
    }
    if rows.is_empty() {
        return Ok(());
    }
    eprintln!("{DIM}artifact came from{DIM:#}");
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, from) in rows {
        eprintln!("  {name:width$}  {DIM}\u{2190}{DIM:#} {from}");
    }
    Ok(())
}

fn of_task(task: &str) -> String {
    if task.contains(' ') { task.to_owned() } else { format!("Task {}", clean(task)) }
}

/// A Part for a person.
pub(crate) fn shown(part: &Part) -> String {
    match &part.content {
        Some(Content::Text(text)) => clean(text),
        Some(Content::Data(data)) => {
            serde_json::to_string_pretty(&data.0).unwrap_or_else(|error| error.to_string())
        }
        Some(Content::Url(url)) => clean(url),
        Some(Content::Raw(bytes)) => {
            format!("[{} bytes of {}]", bytes.len(), media_type(part))
        }
        None => String::new(),
    }
}

/// Text of a stranger without what a terminal would obey.
pub(crate) fn clean(text: &str) -> String {
    document::printable(text).into_owned()
}

/// As [`clean`], in one line and not endless, for what stands among lines of our own.
pub(crate) fn brief(text: &str) -> String {
    document::brief(text, 1000)
}

fn title(artifact: &Artifact) -> &str {
    if artifact.name.is_empty() { &artifact.artifact_id } else { &artifact.name }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_owned()
}

/// Writes each Part as a file of its own, under the name it is given; of two with the same name the
/// second gets a number. Returns where they are.
pub(crate) fn write_all(
    folder: &Path,
    artifacts: &[Artifact],
    name: impl Fn(&Artifact, &Part, usize) -> String,
) -> Result<Vec<PathBuf>, Failure> {
    let cannot = |path: &Path, error: std::io::Error| {
        Failure::unavailable(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    let mut written = Vec::new();
    for artifact in artifacts {
        for (number, part) in artifact.parts.iter().enumerate() {
            let path = folder.join(unused(name(artifact, part, number), &written, folder));
            std::fs::write(&path, bytes(part)).map_err(|error| cannot(&path, error))?;
            written.push(path);
        }
    }
    Ok(written)
}

fn bytes(part: &Part) -> Vec<u8> {
    match &part.content {
        Some(Content::Text(text) | Content::Url(text)) => text.clone().into_bytes(),
        Some(Content::Raw(bytes)) => bytes.clone(),
        Some(Content::Data(data)) => serde_json::to_vec_pretty(&data.0).unwrap_or_default(),
        None => Vec::new(),
    }
}

/// The name, with a number where a file of this name has just been written.
fn unused(name: String, written: &[PathBuf], folder: &Path) -> String {
    let is_taken = |name: &str| written.contains(&folder.join(name));
    if !is_taken(&name) {
        return name;
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let dot = if extension.is_empty() { "" } else { "." };
    (2..)
        .map(|number| format!("{stem}-{number}{dot}{extension}"))
        .find(|name| !is_taken(name))
        .expect("there are more numbers than files")
}

/// The name the Part has itself, else the one of [`file_name`].
pub(crate) fn own_name(artifact: &Artifact, part: &Part, number: usize) -> String {
    let own = within_folder(&part.filename);
    if own.is_empty() { file_name(artifact, part, number) } else { own }
}

/// A name is data of a stranger: nothing of it may leave the folder.
fn within_folder(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    name.chars().map(plain).collect::<String>().trim_start_matches('.').to_owned()
}

/// The artifact's name, numbered from its second Part on, with the extension of the media type.
fn file_name(artifact: &Artifact, part: &Part, number: usize) -> String {
    let stem = within_folder(title(artifact));
    let stem = if stem.is_empty() { "artifact" } else { &stem };
    let number = if number == 0 { String::new() } else { format!("-{}", number + 1) };
    format!("{stem}{number}.{}", extension(part))
}

fn extension(part: &Part) -> &'static str {
    match media_type(part) {
        "text/plain" => "txt",
        "text/markdown" => "md",
        "application/json" => "json",
        "application/octet-stream" => "bin",
        "audio/mpeg" => "mp3",
        other => {
            let known = mime_guess::get_mime_extensions_str(other).unwrap_or_default();
            // They come by the alphabet, the usual one often as the type is called: html, not htm.
            let usual = known.iter().find(|known| other.ends_with(&format!("/{known}")));
            usual.or(known.first()).copied().unwrap_or("bin")
        }
    }
}

fn media_type(part: &Part) -> &str {
    if !part.media_type.is_empty() {
        return part.media_type.split(';').next().unwrap_or_default().trim();
    }
    match &part.content {
        Some(Content::Text(_)) => "text/plain",
        Some(Content::Data(_)) => "application/json",
        Some(Content::Url(_)) => "text/uri-list",
        Some(Content::Raw(_)) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_stays_in_its_folder() {
        let artifact = Artifact { name: "../../etc/passwd".to_owned(), ..Artifact::default() };
        assert_eq!(file_name(&artifact, &Part::text("x"), 0), "-..-etc-passwd.txt");
        assert_eq!(file_name(&artifact, &Part::text("x"), 1), "-..-etc-passwd-2.txt");
        let nameless = Artifact { name: "..".to_owned(), ..Artifact::default() };
        assert_eq!(file_name(&nameless, &Part::data(1), 0), "artifact.json");
    }

    #[test]
    fn a_part_with_a_name_of_its_own_keeps_it_within_the_folder() {
        let artifact = Artifact { name: "plan".to_owned(), ..Artifact::default() };
        let named = |name: &str| own_name(&artifact, &Part::raw("x").with_filename(name), 0);
        assert_eq!(named("Reise Plan.pdf"), "Reise-Plan.pdf");
        assert_eq!(named("../../.ssh/x"), "-..-.ssh-x");
        assert_eq!(named(".."), "plan.bin");
        assert_eq!(named(""), "plan.bin");
    }

    #[test]
    fn files_of_one_name_do_not_overwrite_each_other() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let artifact = |text: &str| Artifact::new("a", "a", vec![Part::text(text)]);
        let all = [artifact("1"), artifact("2"), artifact("3")];
        let written = write_all(folder.path(), &all, file_name).expect("a folder to write into");
        let names: Vec<_> = written.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names, ["a.txt", "a-2.txt", "a-3.txt"]);
        assert_eq!(std::fs::read_to_string(&written[2]).unwrap(), "3");
    }

    #[test]
    fn the_media_type_decides_the_extension() {
        let artifact = Artifact { name: "plan".to_owned(), ..Artifact::default() };
        let part = |kind: &str| Part::text("x").with_media_type(kind);
        assert_eq!(file_name(&artifact, &part("text/markdown; charset=utf-8"), 0), "plan.md");
        assert_eq!(file_name(&artifact, &part("image/png"), 0), "plan.png");
        assert_eq!(file_name(&artifact, &part("nothing/known"), 0), "plan.bin");
        assert_eq!(file_name(&artifact, &part("application/octet-stream"), 0), "plan.bin");
        assert_eq!(file_name(&artifact, &part("text/html"), 0), "plan.html");
        assert_eq!(file_name(&artifact, &part("image/jpeg"), 0), "plan.jpeg");
        assert_eq!(file_name(&artifact, &part("audio/mpeg"), 0), "plan.mp3");
    }

    #[test]
    fn a_terminal_obeys_nothing_in_a_strangers_text() {
        assert_eq!(clean("a\u{1b}[2Jb\nc"), "a?[2Jb\nc");
    }
}
