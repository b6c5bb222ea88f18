//! What an agent answers: shown as it comes, or kept and written as files.

mod files;

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use anstream::{eprintln, println};
use futures_util::StreamExt as _;
use protocol::{
    artifacts::{Aggregator, Change},
    client::{ClientStream, FailureClass},
    v1::{
        Artifact, GetTaskRequest, Message, Part, StreamResponse, SubscribeToTaskRequest, Task,
        TaskArtifactUpdateEvent, TaskState, TaskStatus, part::Content, stream_response::Payload,
    },
};

use crate::{
    agent::Agent,
    args::Args,
    content,
    failure::{Exit, Failure},
    output::{BOLD, DIM},
};

/// How often a stream that was cut is taken up again.
const AGAIN: usize = 3;

/// What comes of one call. With `--json` nothing is shown for people; who calls prints what came.
pub(crate) struct Reply<'a> {
    args: &'a Args,
    agent: &'a Agent,
    out: Option<&'a Path>,
    shows_history: bool,
    artifacts: Aggregator,
    /// Those that came in pieces.
    chunked: HashSet<String>,
    /// How many Parts of each artifact have been shown.
    shown: HashMap<String, usize>,
    task_id: String,
    state: Option<TaskState>,
    /// Whether a Message was the answer.
    is_message: bool,
    has_files: bool,
}

impl<'a> Reply<'a> {
    pub(crate) fn new(args: &'a Args, agent: &'a Agent, out: Option<&'a Path>) -> Self {
        Self {
            args,
            agent,
            out,
            shows_history: false,
            artifacts: Aggregator::default(),
            chunked: HashSet::new(),
            shown: HashMap::new(),
            task_id: String::new(),
            state: None,
            is_message: false,
            has_files: false,
        }
    }

    /// Shows the history of a Task when it was asked for.
    pub(crate) fn with_history(self, asked: Option<i32>) -> Self {
        Self { shows_history: asked.is_some(), ..self }
    }

    /// Takes the only answer of a call.
    pub(crate) async fn only(mut self, answer: StreamResponse) -> Result<Exit, Failure> {
        self.take(answer)?;
        self.end().await
    }

    /// Follows a stream until the Task ends or asks, over cuts.
    pub(crate) async fn follow(mut self, first: ClientStream) -> Result<Exit, Failure> {
        let mut events = first;
        for left in (0..=AGAIN).rev() {
            let Some(why) = self.drain(events).await? else { return self.end().await };
            if self.task_id.is_empty() {
                let url = self.agent.peer.preferred().url();
                return Err(Failure::unavailable(format!("the stream of {url} broke: {why}")));
            }
            if left == 0 {
                break;
            }
            let why = content::clean(&why);
            eprintln!("{DIM}the stream was cut ({why}); it is taken up again{DIM:#}");
            events = match self.subscribe().await? {
                Some(events) => events,
                None => return self.end().await,
            };
        }
        self.ask().await?;
        if self.is_over() { self.end().await } else { Err(self.left_alone()) }
    }

    /// Follows a Task from now on.
    pub(crate) async fn rejoin(mut self, task: &str) -> Result<Exit, Failure> {
        task.clone_into(&mut self.task_id);
        match self.subscribe().await? {
            Some(events) => self.follow(events).await,
            None => self.end().await,
        }
    }

    /// Opens a stream of the Task; nothing when it is over, and was shown.
    async fn subscribe(&mut self) -> Result<Option<ClientStream>, Failure> {
        let request = SubscribeToTaskRequest {
            id: self.task_id.clone(),
            ..SubscribeToTaskRequest::default()
        };
        match self.agent.peer.subscribe_to_task(request, self.agent.timeout).await {
            Ok(events) => Ok(Some(events)),
            // A Task that has ended has no stream (A2A §3.1.6).
            Err(error) if error.class == FailureClass::Unsupported => {
                self.ask().await?;
                if self.is_over() { Ok(None) } else { Err(error.into()) }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Asks how the Task stands.
    async fn ask(&mut self) -> Result<(), Failure> {
        let request = GetTaskRequest { id: self.task_id.clone(), ..GetTaskRequest::default() };
        let task = self.agent.peer.get_task(request, self.agent.timeout).await?;
        self.event(task.into())
    }

    /// Takes all events of a stream. Says why it was cut if it ended too early.
    async fn drain(&mut self, mut events: ClientStream) -> Result<Option<String>, Failure> {
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => self.event(event)?,
                Err(error) if error.is_retryable() => return Ok(Some(error.message)),
                Err(error) => return Err(error.into()),
            }
            // The stream of a Task that asks stays open (A2A §3.1.2), and nothing comes before the answer.
            if self.is_over() {
                return Ok(None);
            }
        }
        Ok(Some("it ended before the Task did".to_owned()))
    }

    fn event(&mut self, event: StreamResponse) -> Result<(), Failure> {
        if self.args.json {
            println!("{}", serde_json::to_string(&event)?);
        }
        self.take(event)
    }

    fn is_over(&self) -> bool {
        self.is_message || self.state.is_some_and(|it| it.is_terminal() || it.is_interrupted())
    }

    fn take(&mut self, event: StreamResponse) -> Result<(), Failure> {
        if let Some(state) = event.state() {
            self.state = Some(state);
        }
        if !event.task_id().is_empty() {
            event.task_id().clone_into(&mut self.task_id);
        }
        match event.payload {
            Some(Payload::Task(task)) => self.task(task),
            Some(Payload::Message(message)) => self.message(message),
            Some(Payload::StatusUpdate(update)) => {
                let said = update.status.as_ref().and_then(said);
                let said = said.map(|text| format!(": {text}")).unwrap_or_default();
                self.say(&format!("{DIM}{}{DIM:#}{said}", update.state().word()));
            }
            Some(Payload::ArtifactUpdate(update)) => self.artifact(&update)?,
            None => return Err(Failure::work("the agent answered with nothing")),
        }
        Ok(())
    }

    fn task(&mut self, task: Task) {
        let (id, state) = (content::clean(&task.id), task.state().word());
        self.say(&format!("{DIM}Task {id} {state}{DIM:#}"));
        if let Some(said) = task.status.as_ref().and_then(said) {
            self.say(&said);
        }
        for message in task.history.iter().filter(|_| self.shows_history) {
            let speaker = message.role().as_str_name().trim_start_matches("ROLE_").to_lowercase();
            self.say(&format!("{DIM}{speaker}{DIM:#} {}", of_parts(&message.parts)));
        }
        for artifact in &task.artifacts {
            let shown = self.shown.get(&artifact.artifact_id).copied().unwrap_or(0);
            if shown == 0 {
                self.say(&format!("{BOLD}{}{BOLD:#}", content::clean(&artifact.name)));
            }
            self.show(artifact.parts.get(shown..).unwrap_or_default());
            let count = shown.max(artifact.parts.len());
            self.shown.insert(artifact.artifact_id.clone(), count);
        }
        self.artifacts.replace_all(task.artifacts);
    }

    fn message(&mut self, message: Message) {
        self.is_message = true;
        self.show(&message.parts);
        self.artifacts.replace_all(vec![Artifact::new("message", "message", message.parts)]);
    }

    fn artifact(&mut self, update: &TaskArtifactUpdateEvent) -> Result<(), Failure> {
        let change = self.artifacts.apply(update).map_err(|error| {
            Failure::work(format!("the answer of {} is not usable: {error}", self.agent.name))
        })?;
        let Some(artifact) = &update.artifact else { return Ok(()) };
        self.show(&artifact.parts);
        let shown = self.shown.entry(artifact.artifact_id.clone()).or_default();
        match change {
            Change::Extended => {
                *shown += artifact.parts.len();
                self.chunked.insert(artifact.artifact_id.clone());
            }
            Change::Added | Change::Replaced => *shown = artifact.parts.len(),
        }
        Ok(())
    }

    fn say(&self, line: &str) {
        if !self.args.json {
            eprintln!("{line}");
        }
    }

    /// Shows Parts, unless they become files.
    fn show(&mut self, parts: &[Part]) {
        if self.args.json || self.out.is_some() {
            return;
        }
        for part in parts {
            self.has_files |= matches!(part.content, Some(Content::Raw(_)));
            println!("{}", content::shown(part));
        }
    }

    /// Writes the files, says what can be done next, and tells how it ended.
    async fn end(mut self) -> Result<Exit, Failure> {
        if let Some(folder) = self.out {
            self.write(folder).await?;
        }
        if self.has_files {
            eprintln!("{DIM}--out DIR writes files instead of naming their size{DIM:#}");
        }
        let (agent, task) = (content::clean(&self.agent.again), content::clean(&self.task_id));
        match self.state {
            Some(TaskState::InputRequired) => {
                self.say(&format!("{DIM}answer with:{DIM:#} convoke send {agent} --task {task} TEXT"));
            }
            Some(TaskState::AuthRequired) => self.say(&format!(
                "{DIM}authorize it where it says, then:{DIM:#} convoke task subscribe {agent} {task}"
            )),
            _ => (),
        }
        Ok(self.state.map_or(Exit::Ok, exit))
    }

    async fn write(&mut self, folder: &Path) -> Result<(), Failure> {
        let artifacts = std::mem::take(&mut self.artifacts).into_artifacts();
        let joined = artifacts.into_iter().map(|artifact| {
            let is_chunked = self.chunked.contains(&artifact.artifact_id);
            if is_chunked { files::joined(artifact) } else { artifact }
        });
        let (artifacts, missing) = files::fetched(self.agent, joined.collect()).await?;
        for path in content::write_all(folder, &artifacts, content::own_name)? {
            if self.args.json {
                eprintln!("{DIM}{}{DIM:#}", path.display());
            } else {
                println!("{}", path.display());
            }
        }
        missing.map_or(Ok(()), Err)
    }

    fn left_alone(&self) -> Failure {
        let (Agent { name, again, .. }, task) = (self.agent, &self.task_id);
        let state = self.state.unwrap_or_default().word();
        Failure::unavailable(format!(
            "the streams of {name} end before Task {task} does, which is {state}; \
             ask for it with `convoke task get {again} {task}`"
        ))
    }
}

/// What an agent says with a status, all of it.
fn said(status: &TaskStatus) -> Option<String> {
    let parts = &status.message.as_ref()?.parts;
    (!parts.is_empty()).then(|| of_parts(parts))
}

fn of_parts(parts: &[Part]) -> String {
    parts.iter().map(content::shown).collect::<Vec<_>>().join("\n")
}

/// The exit code that tells how a Task stands.
fn exit(state: TaskState) -> Exit {
    match state {
        TaskState::Failed | TaskState::Rejected | TaskState::Canceled => Exit::WorkFailed,
        TaskState::InputRequired | TaskState::AuthRequired => Exit::Paused,
        TaskState::Unspecified
        | TaskState::Submitted
        | TaskState::Working
        | TaskState::Completed => Exit::Ok,
    }
}
