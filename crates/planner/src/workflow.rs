//! What a workflow file may contain, and the check that finds everything wrong with one at once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use document::{Diagnostic, Limits, Node, Source, Span, Value, parse};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::clean_up::CleanUp;
use crate::dag::{self, Edge};
use crate::expression::Locals;
use crate::inputs::Input;
use crate::language::Place;
use crate::limits::{Budget, Concurrency};
use crate::lock::Lock;
use crate::schedule::Schedule;
use crate::step::{OnError, Retry, Step};
use crate::template::Template;

mod asked;
mod clean_up;
mod computed;
mod data;
mod decoder;
pub(crate) mod duration;
mod each;
mod gate;
mod inputs;
mod kind;
mod limits;
mod look;
mod message;
mod policy;
mod reuse;
mod rounds;
mod schedule;
mod schemas;
mod selector;
mod steps;
mod sub;
mod values;
pub(crate) mod words;

use decoder::{Decoder, Fields};
use sub::is_workflow_name;
use values::Names;

/// The version of the language this crate reads.
pub const LANGUAGE_VERSION: u32 = 1;
/// Steps of one run in flight at once, unless the workflow says otherwise.
pub const DEFAULT_PARALLEL: usize = 16;
/// How long a whole run may take, unless the workflow says otherwise.
pub const DEFAULT_RUN_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// How long one attempt of a step may take, unless the workflow says otherwise.
pub const DEFAULT_STEP_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Holds a checked workflow: every reference resolved, every default merged in, no cycle.
///
/// It is a value that a run journals: its expressions are stored as their source and compiled again
/// when needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// The version of the language the file is written in.
    pub convoke: u32,
    /// `[a-z0-9-]`, 1 to 63 characters.
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the workflow does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Tags of the skill that the workflow becomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Examples of requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// The inputs, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// Agents known to this file only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<InlineAgent>,
    /// Steps of one run in flight at once.
    pub parallel: usize,
    /// How many runs of it go on at once; as many as there are without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// How long a whole run may take.
    pub timeout: Duration,
    /// How much a whole run may use; as much as it needs without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// When it starts by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<Schedule>,
    /// The steps, in the order of the file.
    pub steps: Vec<Step>,
    /// Why steps wait for each other.
    pub edges: Vec<Edge>,
    /// What is done when a run has ended.
    #[serde(default, skip_serializing_if = "CleanUp::is_empty")]
    pub clean_up: CleanUp,
    /// The outputs, in the order of the file; without them, the artifacts of the steps nothing
    /// depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
    /// The steps whose results the outputs read, in ascending order.
    pub outputs_read: Vec<usize>,
    /// The workflows that its steps are, and those that theirs are, once they have been looked for ([`crate::link()`]).
    #[serde(skip)]
    pub uses: BTreeMap<String, Arc<Workflow>>,
    /// The file itself, for the positions of later problems.
    pub source: Source,
    /// The agents, with their cards, that its steps are locked to. A plan is bound by it; a run has its plan.
    #[serde(skip)]
    pub lock: Option<Arc<Lock>>,
}

/// Describes an agent that only this file knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlineAgent {
    /// Its name in this file.
    pub name: String,
    /// The URL of its card, or of its host.
    pub url: String,
    /// Where it is named.
    pub span: Span,
}

/// Describes one output: it becomes an artifact of the run's Task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Its name, which is the artifact's.
    pub name: String,
    /// Where it is named.
    pub span: Span,
    /// What it holds: a string becomes a text Part, anything else a data Part.
    pub value: Template,
    /// The media type to state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// What it is, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[cfg(test)]
pub(crate) use kind::KINDS;
pub(crate) use message::CONTENT_KEYS;

pub use duration::{parse as parse_duration, show as show_duration};

/// Checks a workflow file.
///
/// # Errors
/// Everything that is wrong with it, in the order of the file.
pub fn check(source: &Source) -> Result<Workflow, Vec<Diagnostic>> {
    let root = parse(source, &Limits::default())?;
    let workflow = read(source, &root)?;
    #[cfg(feature = "drop-field")]
    if let Some(root) = crate::language::dropped::without_dropped(&root) {
        return read(source, &root);
    }
    Ok(workflow)
}

fn read(source: &Source, root: &Node) -> Result<Workflow, Vec<Diagnostic>> {
    let (decoder, names) = (Decoder::new(source), Names::collect(root));
    let mut checker = Checker { decoder, names, locals: &[] };
    let workflow = checker.workflow(root);
    let mut problems = checker.decoder.problems;
    match workflow {
        Some(workflow) if problems.is_empty() => Ok(workflow),
        _ => {
            problems.sort_by_key(Diagnostic::span);
            // What an alias stands for is read once for each use, and is wrong in one place only.
            let mut seen = HashSet::new();
            problems.retain(|problem| seen.insert((problem.span(), problem.message.clone())));
            Err(problems)
        }
    }
}

/// The settings of `defaults`, which steps may change for themselves.
struct Defaults {
    timeout: Duration,
    retry: Retry,
    on_error: OnError,
    pause_timeout: Duration,
}

struct Checker<'s, 'n> {
    decoder: Decoder<'s>,
    names: Names<'n>,
    /// What the position that is read has in scope beside inputs, steps and the run.
    locals: Locals,
}

impl<'n> Checker<'_, 'n> {
    fn workflow(&mut self, root: &'n Node) -> Option<Workflow> {
        if root.value == Value::Null {
            let message = "there is no workflow in this file".to_owned();
            let help = "begin with `convoke: 1`, then `name: …` and `steps:`";
            self.decoder.invalid(root.span, message, help);
            return None;
        }
        let fields = self.decoder.fields(root, "a workflow", Place::Workflow);
        root.as_mapping()?;
        let top = Span { start: root.span.start, end: root.span.start };
        let convoke = self.language_version(fields, top);
        let name = self.name(fields, top);
        let defaults = self.defaults(fields);
        let inputs = fields.get("inputs").map(|node| self.inputs(node)).unwrap_or_default();
        let agents = fields.get("agents").map(|node| self.agents(node)).unwrap_or_default();
        let mut edges = Vec::new();
        let steps = self.steps(fields, top, &defaults, &mut edges);
        dag::check_cycles(&steps_in_file(&self.names), &edges, &mut self.decoder.problems);
        let (outputs, outputs_read) = self.outputs(fields);
        let clean_up = self.clean_up(fields, &defaults);
        let schedule = self.schedules(fields, &inputs);
        let mut workflow = Workflow {
            convoke: convoke?,
            name: name?,
            title: self.text(fields, "title"),
            description: self.text(fields, "description"),
            tags: self.texts(fields, "tags"),
            examples: self.texts(fields, "examples"),
            inputs,
            agents,
            parallel: self.parallel(fields),
            concurrency: self.concurrency(fields),
            timeout: self.duration(fields, "timeout", "`timeout`").unwrap_or(DEFAULT_RUN_TIMEOUT),
            budget: self.budget(fields),
            schedule,
            steps,
            edges,
            clean_up,
            outputs,
            outputs_read,
            uses: BTreeMap::new(),
            source: self.decoder.source.clone(),
            lock: None,
        };
        // Edges go by the steps of the file, of which some may not have been read.
        if workflow.outputs.is_empty() && self.decoder.problems.is_empty() {
            workflow.outputs_read = workflow.last_steps();
        }
        Some(workflow)
    }

    fn language_version(&mut self, fields: Fields<'_>, top: Span) -> Option<u32> {
        let Some(node) = fields.get("convoke") else {
            self.decoder.missing(
                top,
                "the workflow",
                "convoke",
                "start the file with `convoke: 1`, the language version",
            );
            return None;
        };
        let is_known = matches!(&node.value, Value::Number(number) if number.as_u64() == Some(1));
        if !is_known {
            let message = "this language version is not known here".to_owned();
            self.decoder.invalid(
                node.head_span(),
                message,
                "write `convoke: 1`, or use a newer Convoke",
            );
        }
        is_known.then_some(LANGUAGE_VERSION)
    }

    fn name(&mut self, fields: Fields<'_>, top: Span) -> Option<String> {
        let Some(node) = fields.get("name") else {
            self.decoder.missing(
                top,
                "the workflow",
                "name",
                "add a name of letters a-z, digits and `-`, as in `name: my-trip`",
            );
            return None;
        };
        let name = self.decoder.string(node, "`name`")?;
        if !is_workflow_name(&name) {
            let message = format!("`{name}` cannot be the name of a workflow");
            self.decoder.invalid(
                node.span,
                message,
                "use 1 to 63 of the letters a-z, the digits and `-`",
            );
        }
        Some(name)
    }

    fn text(&mut self, fields: Fields<'_>, key: &str) -> Option<String> {
        self.decoder.string(fields.get(key)?, &format!("`{key}`"))
    }

    fn texts(&mut self, fields: Fields<'_>, key: &str) -> Vec<String> {
        let Some(node) = fields.get(key) else { return Vec::new() };
        self.decoder.strings(node, &format!("`{key}`")).into_iter().map(|(text, _)| text).collect()
    }

    fn duration(&mut self, fields: Fields<'_>, key: &str, what: &str) -> Option<Duration> {
        self.decoder.duration(fields.get(key)?, what)
    }

    fn parallel(&mut self, fields: Fields<'_>) -> usize {
        let Some(node) = fields.get("parallel") else { return DEFAULT_PARALLEL };
        let value = self.decoder.integer(node, "`parallel`", 1, 10_000);
        value.and_then(|value| usize::try_from(value).ok()).unwrap_or(DEFAULT_PARALLEL)
    }

    fn agents(&mut self, node: &'n Node) -> Vec<InlineAgent> {
        let mut agents = Vec::new();
        for entry in self.decoder.entries(node, "`agents`") {
            let what = format!("agent `{}`", entry.key);
            let fields = self.decoder.fields(&entry.value, &what, Place::Agent);
            let Some(node) = fields.get("url") else {
                if entry.value.as_mapping().is_some() {
                    self.decoder.missing(
                        entry.key_span,
                        &what,
                        "url",
                        "give the URL of its card, or of its host",
                    );
                }
                continue;
            };
            if let Some(url) = self.url(node, &what) {
                agents.push(InlineAgent { name: entry.key.clone(), url, span: entry.key_span });
            }
        }
        agents
    }

    fn url(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.decoder.literal(node, &format!("the URL of {what}"))?;
        let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        match url {
            // The parser would drop blanks and control characters silently.
            Some(url) if !text.contains(|c: char| c.is_whitespace() || c.is_control()) => {
                if url.username().is_empty() && url.password().is_none() {
                    return Some(text);
                }
                let message = format!("the URL of {what} holds credentials");
                self.decoder.invalid(node.span, message, "take `user:password@` out of it");
            }
            _ => {
                let message = format!("`{text}` is not the URL of an agent");
                let help = "write it in full, as in `https://agents.example.com`";
                self.decoder.invalid(node.span, message, help);
            }
        }
        None
    }
}

/// The id and place of every step the file names, also of those that could not be read.
fn steps_in_file<'n>(names: &Names<'n>) -> Vec<(&'n str, Span)> {
    names.steps.iter().map(|entry| (entry.key.as_str(), entry.key_span)).collect()
}

/// Step ids by name.
type StepIndex<'n> = HashMap<&'n str, usize>;

#[cfg(test)]
mod tests;
