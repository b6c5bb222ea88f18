//! From a workflow file to a plan: read, check, fetch the agents it names itself, bind.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anstream::eprintln;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use document::{Diagnostic, Limits, Source};
use planner::{Lock, Plan, Workflow};
use protocol::v1::Part;
use serde_json::{Map, Value, json};
use server::BindError;

use crate::{args::RunArgs, failure::Failure, output, place::Place};

/// Reads and checks a workflow, the lock beside it and those of its folder that its steps are; a failure shows every
/// problem.
pub(crate) fn load(path: &Path) -> Result<Workflow, Failure> {
    let workflow = server::load_workflow(path)
        .map_err(|problems| Failure::file(output::problems(&problems)))?;
    let source = workflow.source.clone();
    link(path, workflow).map_err(|problems| Failure::file(output::diagnostics(&source, &problems)))
}

/// Has a workflow carry along those of its folder that its steps are.
fn link(path: &Path, workflow: Workflow) -> Result<Workflow, Vec<Diagnostic>> {
    server::link_beside(path, workflow, planner::DEFAULT_MAX_DEPTH)
}

/// Checks a workflow, and that those of its folder can be steps of it.
pub(crate) fn check(path: &Path, source: &Source) -> Result<Workflow, Vec<Diagnostic>> {
    planner::check(source).and_then(|workflow| link(path, workflow))
}

/// Reads a file a person wrote.
pub(crate) fn read(path: &Path) -> Result<Source, Failure> {
    Source::read(path, &Limits::default())
        .map_err(|problems| Failure::file(output::problems(&problems)))
}

/// The file that a person means by a path or by a name.
pub(crate) fn find(file_or_name: &str) -> PathBuf {
    let path = PathBuf::from(file_or_name);
    let in_folder = Path::new("workflows").join(format!("{file_or_name}.yaml"));
    if !path.exists() && in_folder.exists() { in_folder } else { path }
}

/// A path for people.
pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Binds a workflow against the directory and the agents that the file itself names, and shows what should be known of
/// the plan.
pub(crate) async fn bind(place: &Place, workflow: Workflow) -> Result<Plan, Failure> {
    let registry = place.registry().await?;
    let workflow = Arc::new(workflow);
    let bound = server::bind(&registry, &workflow).await;
    let plan = bound.map_err(|error| unbound(&workflow.source, error))?;
    warn(&plan);
    Ok(plan)
}

fn warn(plan: &Plan) {
    if !plan.warnings.is_empty() {
        let shown = output::diagnostics(&plan.workflow.source, &plan.warnings);
        eprintln!("{}\n", shown.trim_end());
    }
}

/// Reads and checks a workflow without its lock; a failure shows every problem.
pub(crate) fn load_unlocked(path: &Path) -> Result<Workflow, Failure> {
    let source = read(path)?;
    check(path, &source).map_err(|problems| Failure::file(output::diagnostics(&source, &problems)))
}

/// Binds a workflow anew, and makes the lock that will be kept at `beside`.
pub(crate) async fn bind_and_lock(
    place: &Place,
    workflow: Workflow,
    beside: &Path,
) -> Result<(Plan, Lock), Failure> {
    let source = workflow.source.clone();
    let registry = place.registry().await?;
    let bound = server::bind_and_lock(&registry, workflow, &shown(beside)).await;
    let (plan, lock) = bound.map_err(|error| unbound(&source, error))?;
    warn(&plan);
    Ok((plan, lock))
}

fn unbound(source: &Source, error: BindError) -> Failure {
    match error {
        BindError::Unreachable(_) => Failure::unavailable(error),
        BindError::NoAgent(problems) => {
            Failure::file_as_things_are(output::diagnostics(source, &problems))
        }
    }
}

/// What a run starts with: checked inputs, and the Parts that a step without `message` sends on.
pub(crate) struct Start {
    pub(crate) inputs: Map<String, Value>,
    pub(crate) parts: Vec<Part>,
}

/// The inputs as typed, checked against what the workflow declares.
pub(crate) fn start(workflow: &Workflow, args: &RunArgs) -> Result<Start, Failure> {
    let said: Vec<Part> = args.message.iter().map(Part::text).collect();
    let mut given = workflow.inputs_from_parts(&said);
    for typed in &args.inputs {
        let (name, value) = split(typed, "-i NAME=VALUE")?;
        given.insert(name.to_owned(), workflow.input_from_text(name, value));
    }
    for typed in &args.files {
        let (name, path) = split(typed, "--file NAME=@PATH")?;
        let path = path.strip_prefix('@').unwrap_or(path);
        given.insert(name.to_owned(), file_input(Path::new(path))?);
    }
    let inputs = workflow.check_inputs(given).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::usage(lines.join("\n       "))
    })?;
    let parts = if said.is_empty() { workflow.parts_from_inputs(&inputs) } else { said };
    Ok(Start { inputs, parts })
}

/// A file as the value of an input that is `from: file`.
fn file_input(path: &Path) -> Result<Value, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    let media_type = mime_guess::from_path(path).first_or_octet_stream();
    Ok(json!({
        "filename": path.file_name().map(|name| name.to_string_lossy()),
        "media_type": media_type.essence_str(),
        "bytes": STANDARD.encode(bytes),
    }))
}

/// The two sides of what is typed as `NAME=VALUE`.
pub(crate) fn split<'a>(typed: &'a str, form: &str) -> Result<(&'a str, &'a str), Failure> {
    typed
        .split_once('=')
        .ok_or_else(|| Failure::usage(format!("`{typed}` is not of the form {form}")))
}
