//! How a run looks on the wire: as a Task, and as the events of a stream.

use std::collections::HashMap;

use executor::{
    ExecutorError, Recorded, RunState, Runs, TaskRecord,
    run::{Outcome, Pause, PauseKind, RunEvent, StepId},
};
use jiff::Timestamp;
use protocol::{
    model::metadata,
    v1::{
        Artifact, Message, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
        TaskStatusUpdateEvent,
    },
    wkt::Struct,
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::relay;

/// What in the metadata of a question says what an answer has to fit.
const EXPECTED: [&str; 2] = ["mimeType", "schema"];

/// How much of a Task is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// How many of the newest Messages; all when absent.
    pub(crate) history: Option<usize>,
    /// Whether artifacts are.
    pub(crate) artifacts: bool,
}

impl Extent {
    /// Everything, of the history at most so much. A negative length was refused by the binding.
    pub(crate) fn with_history(length: Option<i32>) -> Self {
        let history = length.map(|length| usize::try_from(length).unwrap_or_default());
        Self { history, artifacts: true }
    }
}

/// The Task.
pub(crate) async fn task(
    runs: &Runs,
    record: &TaskRecord,
    extent: Extent,
) -> Result<Task, ExecutorError> {
    let status = status(runs, record, record.since()).await?;
    let mut task = Task::new(record.id().as_str(), record.context_id(), status);
    task.history = history(runs, record, extent.history).await?;
    if extent.artifacts {
        task.artifacts = artifacts(runs, record).await?;
    }
    let workflow = match record {
        TaskRecord::Opening(opening) => opening.workflow.as_deref(),
        TaskRecord::Run(recorded) => Some(recorded.plan.workflow.name.as_str()),
    };
    Ok(of_workflow(task, workflow))
}

/// A Task that says which workflow it runs, once that is clear.
pub(crate) fn of_workflow(task: Task, workflow: Option<&str>) -> Task {
    match workflow {
        Some(workflow) => task.with_metadata(metadata::WORKFLOW, workflow),
        None => task,
    }
}

/// What clients have said: the newest Messages, in the order they came.
async fn history(
    runs: &Runs,
    record: &TaskRecord,
    length: Option<usize>,
) -> Result<Vec<Message>, ExecutorError> {
    let said = relay::said(record.events());
    let older = length.map_or(0, |length| said.len().saturating_sub(length));
    let mut history = Vec::new();
    for body in &said[older..] {
        history.push(runs.load(record.id(), body).await?);
    }
    Ok(history)
}

/// The outputs of a run that has completed; of any other what has come of them in chunks.
async fn artifacts(runs: &Runs, record: &TaskRecord) -> Result<Vec<Artifact>, ExecutorError> {
    match record {
        TaskRecord::Run(recorded) => match recorded.run.outcome() {
            Some(Outcome::Completed(_)) => runs.outputs(recorded).await,
            _ => Ok(recorded.streamed.artifacts().cloned().collect()),
        },
        TaskRecord::Opening(_) => Ok(Vec::new()),
    }
}

/// Where the Task stands, and what it waits for or died of.
async fn status(
    runs: &Runs,
    record: &TaskRecord,
    at: Timestamp,
) -> Result<TaskStatus, ExecutorError> {
    if let TaskRecord::Run(recorded) = record
        && let Some(status) = relay::status(runs, recorded, at).await?
    {
        return Ok(status);
    }
    let state = record.state();
    let status = TaskStatus::new(state.task_state(), at);
    let message = match record {
        TaskRecord::Opening(opening) => match &opening.answer {
            Some(body) => Some(runs.load(&opening.id, body).await?),
            None => None,
        },
        TaskRecord::Run(recorded) => match recorded.run.outcome() {
            Some(Outcome::Failed(error)) => Some(vec![Part::text(error.to_string())]),
            Some(Outcome::Completed(_) | Outcome::Canceled) => None,
            None if matches!(state, RunState::Submitted | RunState::Working) => None,
            None => {
                let mut parts = Vec::new();
                for (step, pause) in recorded.run.pauses() {
                    let part = question(runs, record, step, pause).await?;
                    parts.push(part.with_metadata(metadata::STEP, step.as_str()));
                }
                Some(parts)
            }
        }
        .map(|parts| said(record, parts)),
    };
    Ok(TaskStatus { message, ..status })
}

/// The status of a Task of which only its row is at hand.
pub(crate) fn plain_status(state: RunState, at: Timestamp) -> TaskStatus {
    TaskStatus::new(state.task_state(), at)
}

/// A Message of ours about the status. Its id follows from the journal, so that all who ask read the same one.
fn said(record: &TaskRecord, parts: Vec<Part>) -> Message {
    let (id, state) = (record.id(), record.state().as_str());
    let name = format!("{id}/status/{}/{state}", record.since());
    let message_id = Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string();
    Message::agent(parts)
        .with_id(message_id)
        .with_task(id.as_str())
        .with_context(record.context_id())
}

/// What is asked, with what the answer has to fit where that is said.
async fn question(
    runs: &Runs,
    record: &TaskRecord,
    step: &StepId,
    pause: &Pause,
) -> Result<Part, ExecutorError> {
    let message: Option<Message> = match &pause.question {
        Some(body) => Some(runs.load(record.id(), body).await?),
        None => None,
    };
    let text = message.as_ref().map(Message::text).or_else(|| pause.why.clone());
    let text = text.unwrap_or_default();
    let text = match (text.is_empty(), pause.kind, &pause.mismatch) {
        (false, _, None) => text,
        (false, _, Some(why)) => format!("{text}\n(not what step {step} expects: {why})"),
        (true, _, Some(why)) => {
            format!("The answer of the agent of step {step} is not what it expects: {why}")
        }
        (true, PauseKind::Input | PauseKind::Outcome, None) => {
            format!("The agent of step {step} waits for an answer.")
        }
        (true, PauseKind::Auth, None) => {
            format!("The agent of step {step} waits for authorization.")
        }
    };
    let about = message.and_then(|message| message.parts.into_iter().next()?.metadata);
    let expected = about.into_iter().flat_map(|about| about.0);
    let expected = expected.filter(|(key, _)| EXPECTED.contains(&key.as_str()));
    Ok(expected.fold(Part::text(text), |part, (key, value)| part.with_metadata(&key, value)))
}

/// What a stream tells of an event, once it is applied to the record: nothing of what only we need.
pub(crate) async fn updates(
    runs: &Runs,
    record: &TaskRecord,
    event: &RunEvent,
) -> Result<Vec<StreamResponse>, ExecutorError> {
    let mut updates: Vec<StreamResponse> = Vec::new();
    let mut relayed = None;
    if let TaskRecord::Run(recorded) = record {
        relayed = Some(recorded).filter(|recorded| recorded.run.is_relay());
        let told = artifact_updates(runs, recorded, event).await?;
        updates.extend(told.into_iter().map(|update| addressed(record, update).into()));
    }
    if relayed.map_or_else(|| is_news(event), |recorded| relay::is_news(recorded, event)) {
        let update = TaskStatusUpdateEvent {
            task_id: record.id().to_string(),
            context_id: record.context_id().to_owned(),
            status: Some(status(runs, record, record.now()).await?),
            metadata: match relayed {
                Some(_) => None,
                None => step_metadata(record, event).map(Struct),
            },
        };
        updates.push(update.into());
    }
    Ok(updates)
}

/// Chunks as they come, and in the end each output that is not what its chunks have told already.
async fn artifact_updates(
    runs: &Runs,
    recorded: &Recorded,
    event: &RunEvent,
) -> Result<Vec<TaskArtifactUpdateEvent>, ExecutorError> {
    Ok(match event {
        RunEvent::ArtifactChunked { chunk, .. } => vec![runs.chunk(&recorded.id, chunk).await?],
        RunEvent::RunFinished { .. } => {
            let streamed = recorded.streamed.artifacts();
            let told: HashMap<&str, &Artifact> =
                streamed.map(|artifact| (artifact.artifact_id.as_str(), artifact)).collect();
            let outputs = runs.outputs(recorded).await?.into_iter();
            let is_news =
                |output: &Artifact| told.get(output.artifact_id.as_str()) != Some(&output);
            outputs.filter(is_news).map(whole).collect()
        }
        _ => Vec::new(),
    })
}

/// An artifact that comes in one piece.
fn whole(artifact: Artifact) -> TaskArtifactUpdateEvent {
    let artifact = Some(artifact);
    TaskArtifactUpdateEvent { artifact, append: false, last_chunk: true, ..Default::default() }
}

fn addressed(record: &TaskRecord, update: TaskArtifactUpdateEvent) -> TaskArtifactUpdateEvent {
    let (task_id, context_id) = (record.id().to_string(), record.context_id().to_owned());
    TaskArtifactUpdateEvent { task_id, context_id, ..update }
}

fn is_news(event: &RunEvent) -> bool {
    match event {
        RunEvent::RunDeferred { .. }
        | RunEvent::RunRejected { .. }
        | RunEvent::RunStarted { .. }
        | RunEvent::RunQueued { .. }
        | RunEvent::RunAdmitted { .. }
        | RunEvent::StepSkipped { .. }
        | RunEvent::StepCanceled { .. }
        | RunEvent::StepExpanded { .. }
        | RunEvent::StepGathered { .. }
        | RunEvent::StepAsked { .. }
        | RunEvent::StepAskedAgain { .. }
        | RunEvent::StepAnswered { .. }
        | RunEvent::AttemptStarted { .. }
        | RunEvent::AttemptPaused { .. }
        | RunEvent::AttemptUnpaused { .. }
        | RunEvent::AttemptAnswered { .. }
        | RunEvent::AnswerRefused { .. }
        | RunEvent::OutcomeUnknown { .. }
        | RunEvent::OutcomeChosen { .. }
        | RunEvent::AttemptFailed { .. }
        | RunEvent::StepCompleted { .. }
        | RunEvent::RoundEnded { .. }
        | RunEvent::StepComputed { .. }
        | RunEvent::StepReused { .. }
        | RunEvent::StepFailed { .. }
        | RunEvent::AttemptCanceled { .. }
        | RunEvent::CancelRequested { .. }
        | RunEvent::RunTimedOut { .. }
        | RunEvent::BudgetSpent { .. }
        | RunEvent::RunFinished { .. } => true,
        RunEvent::RunResumed { .. }
        | RunEvent::ContextRefused { .. }
        | RunEvent::CallbackRefused { .. }
        | RunEvent::AttemptBound { .. }
        | RunEvent::CallsCounted { .. }
        | RunEvent::StepTaken { .. }
        | RunEvent::AnswerPassed { .. }
        | RunEvent::ArtifactChunked { .. }
        | RunEvent::AttemptReported { .. }
        | RunEvent::AnswerDelivered { .. } => false,
    }
}

/// The step that an event is about, and where it stands now.
fn step_metadata(record: &TaskRecord, event: &RunEvent) -> Option<Map<String, Value>> {
    let TaskRecord::Run(recorded) = record else { return None };
    let id = event.step()?;
    let index = recorded.run.find(id)?;
    let step = recorded.run.at(index);
    let mut about = Map::new();
    about.insert("step".to_owned(), json!(id.as_str()));
    about.insert("state".to_owned(), json!(recorded.run.step_state(index).as_str()));
    if step.attempts > 0 {
        about.insert("attempt".to_owned(), json!(step.attempts));
    }
    if let Some(agent) = &step.agent {
        about.insert("agent".to_owned(), json!(agent));
    }
    Some(Map::from_iter([(metadata::STEP.to_owned(), Value::Object(about))]))
}
