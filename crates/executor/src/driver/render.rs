//! From a step's templates to the Message that its agent gets.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use planner::{
    Binding, ErrorClass, ExpressionError, Item, MAX_REFERENCES, Plan, Push, RunView, Scope,
    StepError, StepResult, StepState, Undoes,
};
use protocol::{
    model::metadata::{self, ATTEMPT},
    v1::{Message, Part},
};
use serde_json::{Map, Value};
use store::Write;

use super::{
    Driver,
    serving::{index, serving},
};
use crate::{
    ExecutorError,
    callback::{Callback, Callbacks},
    id::{Purpose, message_id},
    report::{Report, body_of, clip},
    run::{Input, Intent, Rendered, RunError, StepId, StepIndex},
};

/// The most steps that are looked at for Tasks to refer to.
const MAX_LOOKED_AT: usize = 4_096;

impl Driver {
    /// Evaluates what a step does when its turn comes (before the first attempt), and its message.
    pub(super) async fn render(&mut self, at: StepIndex) -> Result<Report, ExecutorError> {
        let plan = Arc::clone(&self.plan);
        let planned = self.run.planned(at).position();
        let mut scope = self.scope(&plan.workflow.steps[planned].reads).await?;
        let is_begun = self.run.at(at).attempts > 0;
        if !is_begun
            && self.run.at(at).item_of.is_none()
            && let Some(report) = self.begin_step(at, &plan, &scope).await?
        {
            return Ok(report);
        }
        scope.item = self.item(at).await?;
        let undoes = plan.workflow.steps[planned].undoes.as_ref();
        if let Some(undoes) = undoes {
            self.look_back(undoes, &mut scope).await?;
        }
        let undone = scope.this.as_ref().filter(|_| undoes.is_some());
        let undone = undone.and_then(|this| this.task_id.clone());
        if undoes.is_none() {
            scope.this = self.round_before(at).await?;
        }
        let Some(binding) = serving(&plan, &self.run, at) else {
            if let Some(report) = self.sub_run(at, &plan, &scope)? {
                return Ok(report);
            }
            if let Some(report) = self.question(at, &plan, &scope)? {
                return Ok(report);
            }
            return self.computed(at, planner::evaluate_set(&plan.workflow, planned, &scope));
        };
        let built = planner::render_message(&plan.workflow, planned, &scope).and_then(|parts| {
            Ok((parts, planner::render_metadata(&plan.workflow, planned, &scope)?))
        });
        match built {
            Ok((parts, metadata)) => {
                match self.intend(at, binding, (parts, metadata), undone).await {
                    Err(error @ ExecutorError::TooLarge { .. }) => {
                        let agent = &binding.agent;
                        self.cannot_render(
                            at,
                            &format!("the Message for `{agent}` is too large: {error}"),
                        )
                    }
                    report => report,
                }
            }
            Err(error) => self.cannot_render(at, &error.to_string()),
        }
    }

    /// Evaluates `when`, looks whether an equal step has a result, evaluates `for_each`; nothing when the step simply
    /// runs.
    async fn begin_step(
        &mut self,
        at: StepIndex,
        plan: &Plan,
        scope: &Scope,
    ) -> Result<Option<Report>, ExecutorError> {
        let (workflow, step) = (&plan.workflow, at.position());
        let is_skipped = planner::evaluate_when(workflow, step, scope).map(|runs| !runs);
        let rendered = match is_skipped {
            Ok(true) => {
                let condition = workflow.steps[step].when.as_ref();
                let condition = condition.map(|it| it.source().to_owned()).unwrap_or_default();
                self.rendered(at, Rendered::Skip { condition })
            }
            Ok(false) => match self.reused(at, plan, scope).await? {
                Some(reused) => reused,
                None => match planner::evaluate_items(workflow, step, scope) {
                    Ok(None) => return Ok(None),
                    Ok(Some(items)) => self.expanded(at, &items)?,
                    Err(error) => self.cannot_render(at, &error.to_string())?,
                },
            },
            Err(error) => self.cannot_render(at, &error.to_string())?,
        };
        Ok(Some(rendered))
    }

    /// What comes of a step that asks no agent.
    fn computed(
        &self,
        at: StepIndex,
        computed: Result<Option<StepResult>, ExpressionError>,
    ) -> Result<Report, ExecutorError> {
        let result = match computed {
            Ok(result) => result.expect("a checked step has an agent or computes something"),
            Err(error) => return self.cannot_render(at, &error.to_string()),
        };
        let mut blobs = Vec::new();
        match body_of(&self.shared.account, &result, &mut blobs) {
            Ok(body) => {
                let report = self.rendered(at, Rendered::Computed { result: body });
                Ok(Report { blobs, result: Some(Arc::new(result)), ..report })
            }
            Err(error @ ExecutorError::TooLarge { .. }) => {
                self.cannot_render(at, &format!("what `set` computes is too large: {error}"))
            }
            Err(error) => Err(error),
        }
    }

    fn expanded(&self, at: StepIndex, items: &[Value]) -> Result<Report, ExecutorError> {
        let mut blobs = Vec::new();
        let count = u32::try_from(items.len()).expect("there are at most MAX_ITEMS");
        match body_of(&self.shared.account, &items, &mut blobs) {
            Ok(items) => {
                let report = self.rendered(at, Rendered::Expand { items, count });
                Ok(Report { blobs, ..report })
            }
            Err(error @ ExecutorError::TooLarge { .. }) => {
                self.cannot_render(at, &format!("the items of `for_each` are too large: {error}"))
            }
            Err(error) => Err(error),
        }
    }

    /// Evaluates the outputs of the run.
    pub(super) async fn conclude(&mut self) -> Result<Report, ExecutorError> {
        let plan = Arc::clone(&self.plan);
        let scope = self.scope(&plan.workflow.outputs_read).await?;
        let mut blobs = Vec::new();
        let accepts = self.run.header().map(|header| header.accepts.clone()).unwrap_or_default();
        let is_clean_up = self.run.header().is_some_and(|header| header.cleans_up.is_some());
        let yielded = match self.run.is_relay() {
            // Nobody looks for outputs of it.
            false if is_clean_up => Ok(Vec::new()),
            true => Ok(self.result(index(0)).await?.artifacts.clone()),
            false => planner::evaluate_outputs(&plan.workflow, &scope)
                .map(|artifacts| planner::accepted(artifacts, &accepts)),
        };
        let outputs = match yielded {
            Ok(artifacts) => match body_of(&self.shared.account, &artifacts, &mut blobs) {
                Err(error @ ExecutorError::TooLarge { .. }) => {
                    Err(no_outputs(&format!("the outputs of the run are too large: {error}")))
                }
                body => Ok(body?),
            },
            Err(error) => Err(no_outputs(&error.to_string())),
        };
        let input = Input::Concluded { at: Timestamp::now(), outputs };
        Ok(Report { blobs, ..Report::of(input) })
    }

    pub(super) async fn scope(&mut self, reads: &[usize]) -> Result<Scope, ExecutorError> {
        let start = self.start().await?;
        let plan = Arc::clone(&self.plan);
        let mut steps = BTreeMap::new();
        for position in reads {
            let result = self.result(index(*position)).await?;
            steps.insert(plan.workflow.steps[*position].id.clone(), result);
        }
        let header = self.run.header();
        let cleans_up = header.and_then(|header| header.cleans_up.as_deref());
        let started_at = cleans_up.map(|it| it.started_at).or(self.run.started_at());
        let run = RunView {
            id: cleans_up.map_or(&self.id, |it| &it.run).to_string(),
            context_id: header.map(|header| header.context_id.clone()).unwrap_or_default(),
            workflow: plan.workflow.name.clone(),
            error: cleans_up.and_then(|it| it.error.as_ref()).map(error_view),
            scheduled_at: header.and_then(|header| header.scheduled_at).map(|at| at.to_string()),
            started_at: started_at.map(|at| at.to_string()).unwrap_or_default(),
        };
        Ok(Scope { inputs: start.inputs, steps, run, item: None, this: None, start: start.parts })
    }

    /// What a step of a clean-up undoes, and the item that it was.
    async fn look_back(&mut self, undoes: &Undoes, scope: &mut Scope) -> Result<(), ExecutorError> {
        let whole = self.result(index(undoes.step)).await?;
        let item = undoes.item.and_then(|item| whole.items.as_ref()?.get(item).cloned());
        scope.this = Some(item.unwrap_or_else(|| Arc::clone(&whole)));
        let value = Arc::new(undoes.value.clone());
        scope.item = undoes.item.map(|index| Item { value, index });
        Ok(())
    }

    async fn intend(
        &mut self,
        at: StepIndex,
        binding: &Binding,
        (parts, metadata): (Vec<Part>, Map<String, Value>),
        undone: Option<String>,
    ) -> Result<Report, ExecutorError> {
        let attempt = self.run.at(at).attempts + 1;
        let step = self.run.at(at).id.clone();
        let id = message_id(&self.id, step.as_str(), attempt, Purpose::Send);
        let mut message = self.spoken(parts, binding).await?;
        if !metadata.is_empty() {
            message.metadata.get_or_insert_default().0.extend(metadata);
        }
        let mut message = message
            .with_id(id.as_str())
            .with_context(self.contexts.offer(&binding.agent))
            .with_metadata(ATTEMPT, id.as_str());
        message = self.with_origin(message);
        message.reference_task_ids.extend(self.references(at));
        message.reference_task_ids.extend(undone);
        let mut blobs: Vec<Write> = Vec::new();
        let (interface, fallbacks) = self.shared.interfaces.order(binding);
        let intent = Intent {
            message_id: id,
            agent: binding.agent.clone(),
            interface,
            fallbacks,
            streaming: binding.streaming,
            message: body_of(&self.shared.account, &message, &mut blobs)?,
            callback: self.callback_for(at, binding),
            is_sub_run: false,
        };
        let report = self.rendered(at, Rendered::Send(Arc::new(intent)));
        Ok(Report { blobs, message: Some(Arc::new(message)), ..report })
    }

    /// A callback for an agent that sends notifications and has to be polled, where the step lets it.
    fn callback_for(&self, at: StepIndex, binding: &Binding) -> Option<Callback> {
        let step = &self.plan.workflow.steps[self.run.planned(at).position()];
        let is_of_use = binding.push && !binding.streaming && step.asks.push == Push::Auto;
        self.shared.callbacks.as_ref().filter(|_| is_of_use).map(Callbacks::draw)
    }

    /// Tells the agent which Message started the run.
    pub(super) fn with_origin(&self, message: Message) -> Message {
        match self.run.header().and_then(|header| header.origin.as_deref()) {
            Some(origin) => message.with_metadata(metadata::ORIGIN, origin),
            None => message,
        }
    }

    /// The Task of the round before; in the first round, the Task ids of the nearest ancestors on the same agent, those of all items of one; one that left no Task stands
    /// back for its own.
    pub(super) fn references(&self, at: StepIndex) -> Vec<String> {
        if let Some(task) = self.run.at(at).round.as_ref().and_then(|round| round.task.as_ref()) {
            return vec![task.task_id.clone()];
        }
        let Some(agent) = serving(&self.plan, &self.run, at) else { return Vec::new() };
        let mut ids = Vec::new();
        let mut open = self.referable(self.run.planned(at));
        let mut seen = std::collections::BTreeSet::new();
        while let Some(position) = open.pop() {
            if seen.len() == MAX_LOOKED_AT || !seen.insert(position) {
                continue;
            }
            let tasks = self.tasks_with(agent, index(position));
            if tasks.is_empty() {
                open.extend(self.referable(index(position)));
            }
            let tasks = tasks.into_iter().take(MAX_REFERENCES).enumerate();
            ids.extend(tasks.map(|(nth, id)| (position, nth, id)));
        }
        ids.sort();
        ids.into_iter().map(|(_, _, id)| id).take(MAX_REFERENCES).collect()
    }

    pub(super) fn cannot_render(&self, at: StepIndex, why: &str) -> Result<Report, ExecutorError> {
        let error = StepError {
            step: self.run.at(at).id.to_string(),
            class: ErrorClass::Invalid,
            message: clip(why),
            attempt: self.run.at(at).attempts,
        };
        let result =
            StepResult { error: Some(error.clone()), ..StepResult::new(StepState::Failed) };
        let mut blobs = Vec::new();
        let body = body_of(&self.shared.account, &result, &mut blobs)?;
        let report = self.rendered(at, Rendered::Fail { error, result: body });
        Ok(Report { blobs, result: Some(Arc::new(result)), ..report })
    }

    pub(super) fn rendered(&self, at: StepIndex, rendered: Rendered) -> Report {
        let step: StepId = self.run.at(at).id.clone();
        Report::of(Input::Rendered { step, at: Timestamp::now(), rendered })
    }
}

/// Why a run failed, as expressions see it.
fn error_view(error: &RunError) -> StepError {
    let step = error.step.as_ref().map(ToString::to_string).unwrap_or_default();
    StepError { step, ..error.error.clone() }
}

fn no_outputs(why: &str) -> StepError {
    StepError { step: String::new(), class: ErrorClass::Invalid, message: clip(why), attempt: 0 }
}
