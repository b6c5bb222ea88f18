//! What expressions read: inputs, step results and the run, as values of the engine; and results
//! back as JSON.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, Serde, ValueKind};
use protocol::v1;
use protocol::wkt::MAX_DEPTH;
use serde_json::{Map, Value as Json};

use super::MAX_RESULT_BYTES;
use super::names::STEP_FIELDS;
use super::program::Trouble;
use crate::result::{StepResult, artifact_data, artifact_text};
use crate::scope::Scope;

/// Everything in scope, built once for all expressions of one rendering; what no expression asks
/// for is not converted.
pub(crate) struct Context(Value);

impl Context {
    pub(crate) fn new(scope: &Scope) -> Context {
        let run = serde_value(&scope.run);
        let always = [
            ("inputs", Value::from_object(Inputs(scope.inputs.clone()))),
            ("steps", Value::from_object(Steps(scope.steps.clone()))),
            ("run", run),
        ];
        let this = scope.this.iter().map(|it| ("this", Value::from_object(Step(Arc::clone(it)))));
        let item = scope.item.iter().flat_map(|item| {
            [("item", serde_value(&*item.value)), ("index", Value::from(item.index))]
        });
        Context(Value::from_pairs(always.into_iter().chain(item).chain(this)))
    }

    pub(super) fn value(&self) -> Value {
        self.0.clone()
    }
}

#[derive(Debug)]
struct Inputs(Arc<Map<String, Json>>);

impl Object for Inputs {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?).map(serde_value)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.keys().map(Value::from).collect())
    }
}

#[derive(Debug)]
struct Steps(BTreeMap<String, Arc<StepResult>>);

impl Object for Steps {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?).map(|result| Value::from_object(Step(result.clone())))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.keys().map(Value::from).collect())
    }
}

/// One step's result. Of a skipped step only `state` and `reason` can be read; all else is
/// undefined.
#[derive(Debug)]
struct Step(Arc<StepResult>);

impl Object for Step {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let result = &self.0;
        match key.as_str()? {
            "state" => Some(Value::from(result.state.as_str())),
            "reason" => Some(Value::from(result.reason.clone())),
            _ if result.is_skipped() => None,
            "text" => result.text().map(Value::from),
            "data" => match &result.items {
                // As many as there are items, so that both lists go together.
                Some(items) => Some(items.iter().map(|item| serde_value(item.data())).collect()),
                None => result.data().map(serde_value),
            },
            "artifacts" => Some(Value::from_object(Artifacts(result.clone()))),
            "items" => {
                let items = result.items.as_ref()?.iter();
                Some(items.map(|item| Value::from_object(Step(Arc::clone(item)))).collect())
            }
            "outputs" => Some(match &result.computed {
                Some(computed) => serde_value(computed),
                None => serde_value(&result.outputs),
            }),
            "agent" => Some(Value::from(result.agent.clone())),
            "task" => Some(Value::from_pairs([
                ("id", Value::from(result.task_id.clone())),
                ("context_id", Value::from(result.context_id.clone())),
            ])),
            "message" => result.message.as_ref().map(message),
            // None rather than undefined, so that `if steps.x.error` can be asked.
            "error" => Some(serde_value(&result.error)),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let fields = STEP_FIELDS.iter().map(|field| Value::from(*field));
        Enumerator::Values(fields.filter(|field| self.get_value(field).is_some()).collect())
    }
}

fn message(message: &v1::Message) -> Value {
    Value::from_pairs([
        ("id", Value::from(message.message_id.as_str())),
        ("text", Value::from(crate::result::message_text(message))),
        ("data", serde_value(crate::result::first_data(&message.parts))),
        ("parts", serde_value(&message.parts)),
    ])
}

/// The artifacts of a step by name; each is the newest version of its name.
#[derive(Debug)]
struct Artifacts(Arc<StepResult>);

impl Object for Artifacts {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        let (item, index) = self
            .0
            .leaves()
            .rev()
            .find_map(|(item, leaf)| Some((item, leaf.newest_named(name)?)))?;
        Some(Value::from_object(Artifact { result: self.0.clone(), item, index }))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let key = |artifact: &v1::Artifact| match artifact.name.as_str() {
            "" => Value::from(artifact.artifact_id.as_str()),
            name => Value::from(name),
        };
        let newest = self.0.leaves().flat_map(|(_, leaf)| {
            let earlier = leaf.earlier.iter().map(|version| &version.artifact);
            let named = earlier.filter(|artifact| !artifact.name.is_empty());
            leaf.newest().map(|(_, artifact)| artifact).chain(named)
        });
        let mut seen = HashSet::new();
        let first = newest
            .filter(|artifact| artifact.name.is_empty() || seen.insert(artifact.name.as_str()));
        Enumerator::Values(first.map(key).collect())
    }
}

/// One artifact of a step.
#[derive(Debug)]
pub(crate) struct Artifact {
    /// The step's result.
    pub(crate) result: Arc<StepResult>,
    /// The item that it is of, with `for_each`.
    pub(crate) item: Option<usize>,
    /// Its position among all artifacts of the step or item.
    pub(crate) index: usize,
}

impl Artifact {
    pub(crate) fn artifact(&self) -> &v1::Artifact {
        self.leaf().artifact(self.index).1
    }

    /// The result of the step or item that it is of.
    pub(crate) fn leaf(&self) -> &StepResult {
        let items = self.result.items.as_deref().unwrap_or_default();
        self.item.and_then(|item| items.get(item)).map_or(&self.result, |item| &**item)
    }
}

impl Object for Artifact {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let artifact = self.artifact();
        match key.as_str()? {
            "id" => Some(Value::from(artifact.artifact_id.as_str())),
            "name" => Some(Value::from(artifact.name.as_str())),
            "text" => artifact_text(artifact).map(Value::from),
            "data" => artifact_data(artifact).map(serde_value),
            "parts" => Some(serde_value(&artifact.parts)),
            "versions" => Some(self.versions()),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let fields = ["id", "name", "text", "data", "parts"].into_iter().map(Value::from);
        Enumerator::Values(fields.filter(|field| self.get_value(field).is_some()).collect())
    }
}

impl Artifact {
    /// All versions of this name, oldest first.
    fn versions(&self) -> Value {
        let name = &self.artifact().name;
        let all = self.result.leaves().flat_map(|(item, leaf)| {
            let named = leaf.all_artifacts().enumerate();
            named.filter(|(_, (_, other))| other.name == *name).map(move |(index, _)| (item, index))
        });
        let version = |(item, index)| {
            Value::from_object(Artifact { result: self.result.clone(), item, index })
        };
        all.map(version).collect()
    }
}

fn serde_value(value: impl serde::Serialize) -> Value {
    Value::from(Serde(value))
}

/// Turns a result into JSON, within the caps on size and depth; an undefined value anywhere in it
/// is an error.
pub(super) fn to_json(value: &Value) -> Result<Json, Trouble> {
    let mut budget = MAX_RESULT_BYTES;
    convert(value, &mut budget, MAX_DEPTH)
}

/// `levels` is how many lists and mappings may still lie inside each other.
fn convert(value: &Value, budget: &mut usize, levels: usize) -> Result<Json, Trouble> {
    let deeper = || {
        levels.checked_sub(1).ok_or_else(|| {
            Trouble::other(format!("the result is nested deeper than {MAX_DEPTH} levels"))
        })
    };
    match value.kind() {
        ValueKind::Undefined => Err(Trouble::undefined()),
        ValueKind::None => Ok(Json::Null),
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::Number => number(value),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            spend(budget, text.len())?;
            Ok(Json::String(text.to_owned()))
        }
        ValueKind::Seq | ValueKind::Iterable => sequence(value, budget, deeper()?).map(Json::Array),
        ValueKind::Map => mapping(value, budget, deeper()?).map(Json::Object),
        kind => Err(Trouble::other(format!("a value of kind {kind} cannot be a result"))),
    }
}

fn number(value: &Value) -> Result<Json, Trouble> {
    match serde_json::to_value(value) {
        Ok(json @ Json::Number(_)) => Ok(json),
        _ => Err(Trouble::other(format!("{value} cannot be written as a JSON number"))),
    }
}

fn sequence(value: &Value, budget: &mut usize, levels: usize) -> Result<Vec<Json>, Trouble> {
    let items = value.try_iter().map_err(|error| Trouble::other(error.kind().to_string()))?;
    let mut list = Vec::new();
    for item in items {
        spend(budget, 1)?;
        list.push(convert(&item, budget, levels)?);
    }
    Ok(list)
}

fn mapping(value: &Value, budget: &mut usize, levels: usize) -> Result<Map<String, Json>, Trouble> {
    let keys = value.try_iter().map_err(|error| Trouble::other(error.kind().to_string()))?;
    let mut map = Map::new();
    for key in keys {
        let name = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
        spend(budget, name.len() + 1)?;
        let item =
            value.get_item(&key).map_err(|error| Trouble::other(error.kind().to_string()))?;
        map.insert(name, convert(&item, budget, levels)?);
    }
    Ok(map)
}

fn spend(budget: &mut usize, bytes: usize) -> Result<(), Trouble> {
    match budget.checked_sub(bytes) {
        Some(left) => {
            *budget = left;
            Ok(())
        }
        None => Err(Trouble::too_large()),
    }
}
