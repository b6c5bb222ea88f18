//! What a step makes of the results before it: what it sends; and what the run gives back.

use std::borrow::Cow;
use std::sync::Arc;

use document::{Diagnostic, Span};
use protocol::v1::{self, Part, part::Content};
use protocol::wkt;
use serde_json::{Map, Value as Json};

use crate::expect::ask_for_data;
use crate::expression::{Artifact, Context, ExpressionError};
use crate::inputs::{data_part, file_part, text_part};
use crate::result::StepResult;
use crate::scope::Scope;
use crate::step::{Step, item_id};
use crate::template::{PartContent, PartTemplate, Template, text_of};
use crate::workflow::{Output, Workflow};

/// Makes the Parts of the Message a step sends; without `message`, the Parts that started the run. They ask for what
/// the step expects.
///
/// # Errors
/// An expression fails, an artifact that is named does not exist, or no Part comes of it.
pub fn render_message(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<Vec<Part>, ExpressionError> {
    let step = &workflow.steps[step];
    let mut parts = match &step.message {
        None => scope.start.to_vec(),
        Some(templates) => {
            let renderer = Renderer { workflow, scope, context: Context::new(scope) };
            let parts: Vec<Vec<Part>> =
                templates.iter().map(|it| renderer.parts(it)).collect::<Result<_, _>>()?;
            parts.concat()
        }
    };
    ask_for_data(step, &mut parts);
    if parts.is_empty() { Err(nothing_to_send(workflow, step)) } else { Ok(parts) }
}

/// Makes the metadata of the Message a step sends, beside what Convoke itself puts there.
///
/// # Errors
/// An expression fails, or gives no mapping.
pub fn render_metadata(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<Map<String, Json>, ExpressionError> {
    let Some(metadata) = &workflow.steps[step].asks.metadata else { return Ok(Map::new()) };
    let renderer = Renderer { workflow, scope, context: Context::new(scope) };
    renderer.mapping(&metadata.values, metadata.span)
}

/// Makes the artifacts of the run's own Task: one for each output, or those of the last steps when
/// there are none.
///
/// # Errors
/// An expression fails; reading the result of a skipped step suggests `default(…)`.
pub fn evaluate_outputs(
    workflow: &Workflow,
    scope: &Scope,
) -> Result<Vec<v1::Artifact>, ExpressionError> {
    if workflow.outputs.is_empty() {
        return Ok(last_artifacts(workflow, scope));
    }
    let renderer = Renderer { workflow, scope, context: Context::new(scope) };
    workflow.outputs.iter().map(|output| renderer.output(output)).collect()
}

fn nothing_to_send(workflow: &Workflow, step: &Step) -> ExpressionError {
    let message = format!("step `{}` has nothing to send: its message has no Parts", step.id);
    let problem = Diagnostic::error("workflow::empty-message", message).at(step.span, "");
    ExpressionError::new(&workflow.source, problem.help("add a `text` Part to its `message`"))
}

struct Renderer<'a> {
    workflow: &'a Workflow,
    scope: &'a Scope,
    context: Context,
}

impl Renderer<'_> {
    fn parts(&self, template: &PartTemplate) -> Result<Vec<Part>, ExpressionError> {
        let mut parts = match &template.content {
            PartContent::Text(text) => vec![text_part(self.text(text)?)],
            PartContent::Data(data) => vec![data_part(self.value(data, template.span)?)],
            PartContent::Url(url) => {
                vec![Part { content: Some(Content::Url(self.text(url)?)), ..Part::default() }]
            }
            PartContent::File(file) => vec![self.file(file, template.span)?],
            PartContent::Input(name) => self.input(name).into_iter().collect(),
            PartContent::Artifacts { step, name } => {
                self.artifacts(*step, name.as_deref(), template)?
            }
        };
        for part in &mut parts {
            self.describe(part, template)?;
        }
        Ok(parts)
    }

    /// The value of a template at `span`. The parts of a mapping may be flat enough each, and
    /// together too deep to be sent.
    fn value(&self, template: &Template, span: Span) -> Result<Json, ExpressionError> {
        let value = template.evaluate(self.scope, &self.context, &self.workflow.source)?;
        match wkt::check_depth(&value) {
            Ok(()) => Ok(value),
            Err(error) => {
                let problem = Diagnostic::error("expression::too-deep", error.to_string());
                Err(ExpressionError::new(&self.workflow.source, problem.at(span, "")))
            }
        }
    }

    fn text(&self, template: &Template) -> Result<String, ExpressionError> {
        template.render(self.scope, &self.context, &self.workflow.source)
    }

    /// A file input, or any other value as the bytes of its text.
    fn file(&self, template: &Template, span: Span) -> Result<Part, ExpressionError> {
        let value = self.value(template, span)?;
        Ok(file_part(&value).unwrap_or_else(|| {
            let bytes = text_of(value).into_bytes();
            Part { content: Some(Content::Raw(bytes)), ..Part::default() }
        }))
    }

    fn input(&self, name: &str) -> Option<Part> {
        let value = self.scope.inputs.get(name)?;
        Some(match value {
            Json::String(text) => text_part(text.clone()),
            value => file_part(value).unwrap_or_else(|| data_part(value.clone())),
        })
    }

    /// The Parts of a step's artifacts, or of its direct Message when it made none; nothing of a
    /// skipped step.
    fn artifacts(
        &self,
        step: usize,
        name: Option<&str>,
        template: &PartTemplate,
    ) -> Result<Vec<Part>, ExpressionError> {
        let id = &self.workflow.steps[step].id;
        let Some(result) = self.scope.steps.get(id).filter(|result| !result.is_skipped()) else {
            return Ok(Vec::new());
        };
        let Some(name) = name else {
            return Ok(result
                .leaves()
                .flat_map(|(item, leaf)| all_parts(id, item, leaf))
                .collect());
        };
        let newest: Vec<Vec<Part>> = result
            .leaves()
            .filter_map(|(item, leaf)| {
                let (task_id, artifact) = leaf.artifact(leaf.newest_named(name)?);
                let step = address(id, item);
                let origin = Origin { task_id, ..Origin::of(&step, leaf) };
                Some(artifact_parts(origin, artifact))
            })
            .collect();
        match newest.is_empty() {
            true => Err(self.no_such_artifact(id, name, result, template)),
            false => Ok(newest.concat()),
        }
    }

    fn no_such_artifact(
        &self,
        id: &str,
        name: &str,
        result: &StepResult,
        template: &PartTemplate,
    ) -> ExpressionError {
        let newest = result.leaves().flat_map(|(_, leaf)| leaf.newest());
        let mut names: Vec<&str> = newest.map(|(_, artifact)| artifact.name.as_str()).collect();
        names.dedup();
        let message = format!("step `{id}` has no artifact `{name}`");
        let problem = Diagnostic::error("workflow::no-artifact", message).at(template.span, "");
        let help = match names.is_empty() {
            true => "it yielded no artifacts".to_owned(),
            false => format!("it yielded: {}", names.join(", ")),
        };
        ExpressionError::new(&self.workflow.source, problem.help(help))
    }

    /// Puts what the file says of a Part over what the content brought along.
    fn describe(&self, part: &mut Part, template: &PartTemplate) -> Result<(), ExpressionError> {
        if let Some(media_type) = &template.media_type {
            part.media_type = self.text(media_type)?;
        }
        if let Some(filename) = &template.filename {
            part.filename = self.text(filename)?;
        }
        let Some(metadata) = &template.metadata else { return Ok(()) };
        let metadata = self.mapping(metadata, template.span)?;
        part.metadata.get_or_insert_default().0.extend(metadata);
        Ok(())
    }

    /// Metadata, at `span`.
    fn mapping(
        &self,
        template: &Template,
        span: Span,
    ) -> Result<Map<String, Json>, ExpressionError> {
        match self.value(template, span)? {
            Json::Object(mapping) => Ok(mapping),
            _ => {
                let message = "`metadata` must give a mapping";
                let problem = Diagnostic::error("expression::not-a-mapping", message);
                Err(ExpressionError::new(&self.workflow.source, problem.at(span, "")))
            }
        }
    }

    fn output(&self, output: &Output) -> Result<v1::Artifact, ExpressionError> {
        let parts = match self.single_artifact(&output.value) {
            Some((step, artifact)) => {
                let (task_id, found) = artifact.leaf().artifact(artifact.index);
                let origin = Origin { task_id, ..Origin::of(&step, artifact.leaf()) };
                artifact_parts(origin, found)
            }
            None => match self.value(&output.value, output.span)? {
                Json::String(text) => vec![text_part(text)],
                value => vec![data_part(value)],
            },
        };
        Ok(output_artifact(output, parts))
    }

    /// The artifact an output passes on as it is, with the step or item it is of.
    fn single_artifact(&self, value: &Template) -> Option<(String, Arc<Artifact>)> {
        let Template::Expression(expression) = value else { return None };
        let artifact = expression.artifact(&self.context)?;
        let is_it = |result: &Arc<StepResult>| Arc::ptr_eq(result, &artifact.result);
        let step = self.scope.steps.iter().find_map(|(step, result)| {
            if is_it(result) {
                return Some(address(step, artifact.item).into_owned());
            }
            Some(item_id(step, result.items.as_ref()?.iter().position(is_it)?))
        });
        Some((step?, artifact))
    }
}

/// Says where an artifact or a Message comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The step, or the item of a step.
    pub step: &'a str,
    /// The agent that served it.
    pub agent: Option<&'a str>,
    /// The id of the remote Task.
    pub task_id: Option<&'a str>,
}

impl<'a> Origin<'a> {
    fn of(step: &'a str, result: &'a StepResult) -> Origin<'a> {
        Origin { step, agent: result.agent.as_deref(), task_id: result.task_id.as_deref() }
    }

    fn provenance(self, artifact: Option<&str>) -> Map<String, Json> {
        let known = [
            ("artifactId", artifact),
            ("taskId", self.task_id),
            ("step", Some(self.step)),
            ("agent", self.agent),
        ];
        known
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), Json::from(value?))))
            .collect()
    }
}

/// A step, or an item of one.
fn address(step: &str, item: Option<usize>) -> Cow<'_, str> {
    item.map_or(Cow::Borrowed(step), |item| Cow::Owned(item_id(step, item)))
}

/// The Parts of all artifacts of a step or an item, or of its direct Message when it made none.
fn all_parts(step: &str, item: Option<usize>, leaf: &StepResult) -> Vec<Part> {
    let step = address(step, item);
    if leaf.artifacts.is_empty() {
        return message_parts(&step, leaf);
    }
    let artifacts = leaf.artifacts.iter();
    artifacts.flat_map(|artifact| artifact_parts(Origin::of(&step, leaf), artifact)).collect()
}

/// The Parts of an artifact, each saying where it comes from.
pub(crate) fn artifact_parts(origin: Origin<'_>, artifact: &v1::Artifact) -> Vec<Part> {
    let provenance = origin.provenance(Some(&artifact.artifact_id));
    artifact.parts.iter().map(|part| with_provenance(part, &provenance)).collect()
}

/// What was computed, or the Parts of a direct Message, each saying where it comes from.
fn message_parts(step: &str, result: &StepResult) -> Vec<Part> {
    let provenance = Origin::of(step, result).provenance(None);
    let computed = result.computed.iter().map(|computed| data_part(computed.clone()));
    let parts = result.message.iter().flat_map(|message| message.parts.clone());
    computed.chain(parts).map(|part| with_provenance(&part, &provenance)).collect()
}

/// The artifact that an output becomes.
pub(crate) fn output_artifact(output: &Output, mut parts: Vec<Part>) -> v1::Artifact {
    if let Some(media_type) = &output.media_type {
        parts.iter_mut().for_each(|part| part.media_type.clone_from(media_type));
    }
    v1::Artifact {
        artifact_id: output.name.clone(),
        name: output.name.clone(),
        description: output.description.clone().unwrap_or_default(),
        parts,
        ..v1::Artifact::default()
    }
}

fn with_provenance(part: &Part, provenance: &Map<String, Json>) -> Part {
    let mut part = part.clone();
    let metadata: &mut wkt::Struct = part.metadata.get_or_insert_default();
    metadata.0.extend(provenance.clone());
    part
}

/// What an artifact of a step that nothing depends on becomes: all of it, or a piece.
///
/// Its id counts the step's artifacts: agents tend to choose other ids in each attempt, and whoever
/// follows the run has to know the artifact again.
pub(crate) fn last_artifact(
    origin: Origin<'_>,
    index: usize,
    artifact: &v1::Artifact,
) -> v1::Artifact {
    v1::Artifact {
        artifact_id: format!("{}/{}", origin.step, index + 1),
        parts: artifact_parts(origin, artifact),
        name: artifact.name.clone(),
        description: artifact.description.clone(),
        metadata: artifact.metadata.clone(),
        extensions: artifact.extensions.clone(),
    }
}

/// The artifacts of the steps that nothing depends on, under ids that name the step.
fn last_artifacts(workflow: &Workflow, scope: &Scope) -> Vec<v1::Artifact> {
    let mut artifacts = Vec::new();
    for step in workflow.last_steps() {
        let id = &workflow.steps[step].id;
        let Some(result) = scope.steps.get(id).filter(|result| !result.is_skipped()) else {
            continue;
        };
        for (item, leaf) in result.leaves() {
            artifacts.extend(artifacts_of(&address(id, item), leaf));
        }
    }
    artifacts
}

/// What the run has of a step or an item that nothing depends on.
fn artifacts_of(step: &str, leaf: &StepResult) -> Vec<v1::Artifact> {
    let origin = Origin::of(step, leaf);
    let own = leaf.artifacts.iter().enumerate();
    let own: Vec<_> = own.map(|(index, artifact)| last_artifact(origin, index, artifact)).collect();
    let parts = if own.is_empty() { message_parts(step, leaf) } else { Vec::new() };
    if parts.is_empty() {
        return own;
    }
    let (artifact_id, name) = (step.to_owned(), step.to_owned());
    vec![v1::Artifact { artifact_id, name, parts, ..v1::Artifact::default() }]
}

#[cfg(test)]
mod tests;
