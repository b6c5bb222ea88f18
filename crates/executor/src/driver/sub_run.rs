//! Steps that are runs of other workflows: each attempt is a sub-run, followed by its journal as an agent is by its
//! stream.
//!
//! A task per attempt, owned by the driver of the run above. Cancel stops following, and nothing else: the sub-run has
//! a driver of its own.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use planner::{ErrorClass, Plan, Scope, StepResult, StepState};
use protocol::{
    card::Binding,
    client::Interface,
    v1::{Artifact, Part, part::Content},
};
use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};

use super::Driver;
use crate::{
    ExecutorError, Recorded, RunId,
    executor::{NewSubRun, SubRuns},
    flights::Slot,
    id::{Purpose, message_id},
    remote::until,
    report::{Report, Reporter, body_of},
    run::{
        Flight, Intent, Outcome, Parent, Pause, PauseKind, Phase, RemoteTask, Rendered, StepId,
        StepIndex, Within,
    },
};

/// How long to wait for news of a sub-run before looking whether somebody drives it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait before a sub-run is taken up again that could not be.
const PAUSE: Duration = Duration::from_millis(200);

/// All that following one sub-run needs.
struct Attendant {
    sub_runs: Arc<dyn SubRuns>,
    id: RunId,
    intent: Arc<Intent>,
    /// What it is made of, should it not exist.
    new: Option<NewSubRun>,
    is_bound: bool,
    /// What of it the run above knows to be paused.
    known: Option<Pause>,
    deadline: Option<Timestamp>,
    timeout: Duration,
    context_id: String,
    reporter: Reporter,
}

impl Driver {
    /// What a step starts with that is a run of another workflow; nothing for any other step.
    pub(super) fn sub_run(
        &self,
        at: StepIndex,
        plan: &Plan,
        scope: &Scope,
    ) -> Result<Option<Report>, ExecutorError> {
        let planned = self.run.planned(at).position();
        let Some(sub) = &plan.workflow.steps[planned].workflow else { return Ok(None) };
        let given = match planner::evaluate_with(&plan.workflow, planned, scope) {
            Ok(given) => given.unwrap_or_default(),
            Err(error) => return self.cannot_render(at, &error.to_string()).map(Some),
        };
        let Some(child) = plan.children.get(&sub.name) else {
            let why = format!("the plan does not have the workflow `{}`", sub.name);
            return self.cannot_render(at, &why).map(Some);
        };
        let inputs = match child.workflow.check_inputs(given) {
            Ok(inputs) => inputs,
            Err(problems) => {
                let why: Vec<String> = problems.iter().map(ToString::to_string).collect();
                let why = format!("workflow `{}` cannot start: {}", sub.name, why.join("; "));
                return self.cannot_render(at, &why).map(Some);
            }
        };
        let mut blobs = Vec::new();
        let attempt = self.run.at(at).attempts + 1;
        let step = self.run.at(at).id.as_str();
        let intent = Intent {
            message_id: message_id(&self.id, step, attempt, Purpose::Send),
            agent: sub.name.clone(),
            interface: Interface {
                url: format!("convoke:{}", sub.name),
                binding: Binding::JsonRpc,
                tenant: String::new(),
                version: String::new(),
            },
            fallbacks: Vec::new(),
            streaming: true,
            message: body_of(&self.shared.account, &inputs, &mut blobs)?,
            callback: None,
            is_sub_run: true,
        };
        let report = self.rendered(at, Rendered::Send(Arc::new(intent)));
        Ok(Some(Report { blobs, ..report }))
    }

    /// Begins to follow the sub-run of an attempt.
    pub(super) async fn attend(
        &mut self,
        at: StepIndex,
        attempt: u32,
    ) -> Result<(), ExecutorError> {
        let Some(sub_runs) = self.sub_runs.clone() else { return Ok(()) };
        let phase = self.run.at(at).phase.clone();
        let Some(flight) = self.run.at(at).flight().cloned() else { return Ok(()) };
        let is_wanted = !matches!(phase, Phase::Canceling { .. });
        let (known, is_paused) = match phase {
            Phase::Paused { pause, .. } => (Some(pause), true),
            _ => (None, false),
        };
        let attendant = Attendant {
            sub_runs,
            id: self.id.of_sub_run(self.run.at(at).id.as_str(), attempt),
            new: if is_wanted { Some(self.new_sub_run(at, &flight).await?) } else { None },
            is_bound: !matches!(self.run.at(at).phase, Phase::Sending(_) | Phase::Canceling { .. }),
            known,
            deadline: (!is_paused).then(|| self.run.limit(at, &flight).at),
            timeout: self.run.shape_of(at).timeout,
            context_id: self.contexts.ours().to_owned(),
            intent: flight.intent,
            reporter: self.reporter(at, attempt),
        };
        self.flights.start(Slot::Flight(at, attempt), attendant.attend());
        Ok(())
    }

    async fn new_sub_run(
        &self,
        at: StepIndex,
        flight: &Flight,
    ) -> Result<NewSubRun, ExecutorError> {
        let step = self.run.at(at).id.clone();
        let name = &flight.intent.agent;
        let child = &self.plan.children[name];
        let plan = Plan { children: self.plan.children.clone(), ..Plan::clone(child) };
        let inputs: Map<String, Value> = self.load(&flight.intent.message).await?;
        let header = self.run.header();
        let above = header.and_then(|header| header.parent.as_ref());
        let root = above.map_or_else(|| self.id.clone(), |above| above.root.clone());
        Ok(NewSubRun {
            id: self.id.of_sub_run(step.as_str(), flight.attempt),
            start: plan.workflow.parts_from_inputs(&inputs),
            plan: Arc::new(plan),
            inputs,
            context_id: self.contexts.ours().to_owned(),
            origin: header.and_then(|header| header.origin.clone()),
            parent: Parent { run: self.id.clone(), step, attempt: flight.attempt, root },
        })
    }

    /// Cancels a sub-run. It tells its agents itself, and waits for them as long as any run does.
    pub(super) fn cancel_sub_run(&mut self, at: StepIndex, attempt: u32) {
        let Some(sub_runs) = self.sub_runs.clone() else { return };
        let id = self.id.of_sub_run(self.run.at(at).id.as_str(), attempt);
        let reporter = self.reporter(at, attempt);
        self.flights.start(Slot::Cancel(at, attempt), async move {
            let confirmed = match sub_runs.cancel(&id).await {
                Ok(recorded) => {
                    reporter.counted(recorded.run.calls()).await;
                    true
                }
                Err(error) => {
                    tracing::warn!(run = %id, %error, "a sub-run cannot be canceled");
                    false
                }
            };
            reporter.cancel_settled(confirmed).await;
        });
    }
}

impl Attendant {
    async fn attend(mut self) {
        let left = self.deadline.map(until);
        let ended = match left {
            Some(left) => timeout(left, self.follow()).await,
            None => Ok(self.follow().await),
        };
        let reporter = self.reporter.clone();
        match ended {
            Ok(Ok(())) => (),
            Ok(Err(error)) => {
                let why = format!("workflow `{}` cannot be run: {error}", self.intent.agent);
                reporter.sub_run_failed(&self.intent, ErrorClass::Failed, why, true).await;
            }
            Err(_) => {
                let why = format!(
                    "workflow `{}` did not finish within the step's timeout of {} s",
                    self.intent.agent,
                    self.timeout.as_secs_f64()
                );
                reporter.sub_run_failed(&self.intent, ErrorClass::Timeout, why, false).await;
            }
        }
    }

    /// Until there is something to tell that ends this flight.
    async fn follow(&mut self) -> Result<(), ExecutorError> {
        if !self.begin().await? {
            let why = "it had not begun".to_owned();
            self.reporter.sub_run_failed(&self.intent, ErrorClass::Failed, why, true).await;
            return Ok(());
        }
        if !self.is_bound {
            self.reporter.bound_sub_run(self.task()).await;
        }
        let runs = self.sub_runs.runs();
        let mut recorded = runs.read(&self.id).await?;
        loop {
            if let Some(outcome) = recorded.run.outcome().cloned() {
                return self.ended(&recorded, outcome).await;
            }
            let pause = pause_of(&recorded, &self.reporter.step);
            if pause != self.known {
                match pause {
                    Some(pause) => self.reporter.sub_run_paused(self.task(), pause).await,
                    None => self.reporter.went_on().await,
                }
                return Ok(());
            }
            if runs.follow(&mut recorded, PATIENCE).await?.is_empty() {
                self.take_up().await?;
            }
        }
    }

    /// Whether there is such a sub-run.
    async fn begin(&mut self) -> Result<bool, ExecutorError> {
        match self.new.take() {
            Some(new) => match self.sub_runs.drive(new).await {
                Err(ExecutorError::OwnedElsewhere { .. }) => self.take_up().await.map(|()| true),
                driven => driven.map(|()| true),
            },
            None => match self.sub_runs.resume(&self.id).await {
                Err(ExecutorError::UnknownRun { .. }) => Ok(false),
                Err(ExecutorError::OwnedElsewhere { .. }) => self.take_up().await.map(|()| true),
                resumed => resumed.map(|()| true),
            },
        }
    }

    /// Goes on with the sub-run. Who looks for runs to be taken up may just have it in hand.
    async fn take_up(&self) -> Result<(), ExecutorError> {
        loop {
            match self.sub_runs.resume(&self.id).await {
                Err(error)
                    if error.is_retryable()
                        || matches!(error, ExecutorError::OwnedElsewhere { .. }) =>
                {
                    sleep(PAUSE).await;
                }
                resumed => return resumed,
            }
        }
    }

    async fn ended(&self, recorded: &Recorded, outcome: Outcome) -> Result<(), ExecutorError> {
        self.reporter.counted(recorded.run.calls()).await;
        let name = &self.intent.agent;
        let why = match outcome {
            Outcome::Completed(_) => {
                let outputs = self.sub_runs.runs().outputs(recorded).await?;
                let result = StepResult {
                    agent: Some(name.clone()),
                    task_id: Some(self.id.to_string()),
                    context_id: Some(self.context_id.clone()),
                    outputs: values(&outputs),
                    artifacts: outputs,
                    ..StepResult::new(StepState::Completed)
                };
                self.reporter.sub_run_completed(&self.intent, self.task(), result).await;
                return Ok(());
            }
            Outcome::Failed(error) => format!("workflow `{name}` failed: {error}"),
            Outcome::Canceled => format!("workflow `{name}` was canceled"),
        };
        self.reporter.sub_run_failed(&self.intent, ErrorClass::Failed, why, true).await;
        Ok(())
    }

    fn task(&self) -> RemoteTask {
        RemoteTask {
            task_id: self.id.to_string(),
            context_id: self.context_id.clone(),
            interface: None,
        }
    }
}

/// What a sub-run waits for, under addresses of the run above.
fn pause_of(recorded: &Recorded, step: &StepId) -> Option<Pause> {
    let kind: PauseKind = recorded.run.pause_kind()?;
    let address = |inner: &StepId| StepId::new(&format!("{step}/{inner}"));
    let pauses = recorded
        .run
        .pauses()
        .map(|(inner, pause)| (address(inner), Pause { within: None, ..pause.clone() }));
    let within =
        Within { pauses: pauses.collect(), goes_on: !recorded.run.is_waiting_for_people() };
    Some(Pause {
        kind,
        message_id: None,
        question: None,
        mismatch: None,
        why: None,
        within: Some(Box::new(within)),
    })
}

/// The outputs of a sub-run as values: a text, data, or the Parts of anything else as JSON.
fn values(outputs: &[Artifact]) -> Map<String, Value> {
    let value = |parts: &[Part]| match parts {
        [Part { content: Some(Content::Text(text)), .. }] => Value::String(text.clone()),
        [Part { content: Some(Content::Data(data)), .. }] => data.0.clone(),
        parts => serde_json::to_value(parts).unwrap_or_default(),
    };
    outputs.iter().map(|output| (output.name.clone(), value(&output.parts))).collect()
}
