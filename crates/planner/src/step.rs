//! A step of a workflow: which agent, which Message, and what happens when it fails.

use std::time::Duration;

use document::Span;
use serde::{Deserialize, Serialize};

use crate::ask::{Ask, DEFAULT_PAUSE_TIMEOUT};
use crate::clean_up::{Undo, Undoes};
use crate::criteria::Criteria;
use crate::expression::Expression;
use crate::link::SubWorkflow;
use crate::reuse::Cache;
use crate::schema::Schema;
use crate::template::{PartTemplate, Template};

mod retry;

pub use self::retry::{ErrorClass, Jitter, Retry};

/// Describes one step, with the workflow's defaults merged in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its id, `[a-z][a-z0-9_]*`.
    pub id: String,
    /// Where its id stands in the file.
    pub span: Span,
    /// Which agent serves it; absent for a step that asks no agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// Where the selector stands in the file.
    pub selector_span: Span,
    /// The values that it computes instead of asking an agent: a mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Template>,
    /// What it asks a person instead of asking an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// The workflow that it is a run of instead of asking an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<SubWorkflow>,
    /// What undoes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
    /// What it undoes: the step is one of a clean-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Undoes>,
    /// What is made of the result of each successful attempt, by name: a mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Template>,
    /// What goes along with its Message, and what is asked of the answer.
    #[serde(default, skip_serializing_if = "Asks::is_nothing")]
    pub asks: Asks,
    /// The Parts of its Message; without them it sends on the Parts of the Message that started the
    /// run.
    pub message: Option<Vec<PartTemplate>>,
    /// The steps its `needs` names.
    pub needs: Vec<usize>,
    /// The steps whose results its expressions and Parts read, in ascending order.
    pub reads: Vec<usize>,
    /// Evaluated once its dependencies are settled; false skips the step.
    pub when: Option<Expression>,
    /// The list for each item of which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_each: Option<ForEach>,
    /// Whether it may have the result of an equal step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// How many of its dependencies it waits for.
    #[serde(default, skip_serializing_if = "Join::is_all")]
    pub join: Join,
    /// How they must have ended.
    #[serde(default, skip_serializing_if = "RunIf::is_succeeded")]
    pub run_if: RunIf,
    /// Whether its other dependencies are canceled once enough have completed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancel_rest: bool,
    /// What its failure means for the run.
    pub on_error: OnError,
    /// When and how a failed attempt is repeated.
    pub retry: Retry,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How long a pause may last.
    #[serde(default = "default_pause")]
    pub pause_timeout: Duration,
    /// Who is tried when its agent cannot do it, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Fallback>,
    /// How long all its attempts may take together, pauses not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// How often its agent may get one Message.
    #[serde(default, skip_serializing_if = "StepEffect::is_usual")]
    pub effect: StepEffect,
    /// How often its agent is asked again, and until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

impl Step {
    /// The steps that it has to do with by itself: those it waits for, reads, refers to, or has the agent of. Some are named
    /// more than once.
    pub fn looks_at(&self) -> impl Iterator<Item = usize> {
        let same_as = match self.selector {
            Some(Selector::SameAs(other)) => Some(other),
            _ => None,
        };
        let named = self.asks.references.iter().flatten().map(|it| it.step);
        self.needs.iter().chain(&self.reads).copied().chain(named).chain(same_as)
    }
}

/// What holds in plans that were made before there was the field.
fn default_pause() -> Duration {
    DEFAULT_PAUSE_TIMEOUT
}

/// Says what goes along with a step's Message, and what is asked of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asks {
    /// What its `data` must be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Schema>,
    /// Media types, or ranges of them, that the answer may have; any when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// Metadata of its Message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// The steps whose Tasks its Message refers to, instead of its nearest ancestors on the same agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub references: Option<Vec<Named>>,
    /// Whether its agent may be asked to call us back.
    #[serde(default, skip_serializing_if = "Push::is_auto")]
    pub push: Push,
}

impl Asks {
    fn is_nothing(&self) -> bool {
        *self == Asks::default()
    }
}

/// Holds the metadata of a step's Message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Gives a mapping.
    pub values: Template,
    /// Where it stands in the file.
    pub span: Span,
}

/// Names a step at some place of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The step.
    pub step: usize,
    /// Where it is named.
    pub span: Span,
}

/// Says whether an agent may be asked to call us back when its Task changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Push {
    /// It is where that is of use.
    #[default]
    Auto,
    /// It is not.
    Never,
}

impl Push {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
    fn is_auto(&self) -> bool {
        *self == Push::Auto
    }
}

/// Says how many of its dependencies a step waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// Until all are settled.
    #[default]
    All,
    /// Until so many have completed.
    AtLeast(u32),
}

impl Join {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
    fn is_all(&self) -> bool {
        *self == Join::All
    }
}

/// Says how the dependencies of a step that waits for all of them must have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunIf {
    /// Completed, skipped by their own `when`, or failed in a way that dependents may see.
    #[default]
    Succeeded,
    /// In any way.
    Settled,
}

impl RunIf {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
    fn is_succeeded(&self) -> bool {
        *self == RunIf::Succeeded
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Says for which items a step runs, once for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForEach {
    /// Gives the list.
    pub list: Template,
    /// Where it stands in the file.
    pub span: Span,
    /// Items under way at once; as many as the run lets when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
}

/// Says who is tried when nobody before could do it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// How the agent is found. Never the one of another step.
    pub selector: Selector,
    /// Where it stands in the file.
    pub span: Span,
}

/// Says what it means that an agent gets a Message twice, which a crash or a lost answer may lead to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEffect {
    /// Nothing.
    Idempotent,
    /// Work done twice, which is better than work not done.
    #[default]
    AtLeastOnce,
    /// Harm: somebody has to decide.
    AtMostOnce,
}

impl StepEffect {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
    fn is_usual(&self) -> bool {
        *self == StepEffect::AtLeastOnce
    }
}

/// Says that the agent of a step is asked again, in rounds, until its answer is good enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// Evaluated over the answer of each round, `this`; true ends the step.
    pub until: Expression,
    /// The most rounds, the first included; 1 to [`MAX_ROUNDS`].
    pub max: u32,
}

/// The most rounds of a step.
pub const MAX_ROUNDS: u32 = 100;

/// Names one item of a step with `for_each`, counted from 0: the address of its pauses, and the step that its
/// artifacts say they come from.
#[must_use]
pub fn item_id(step: &str, item: usize) -> String {
    format!("{step}[{item}]")
}

/// Says how the agent of a step is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selector {
    /// An agent of the registry or of this file that fits everything given.
    Match(Criteria),
    /// The agent whose card is at this URL.
    Url(String),
    /// The agent that served another step.
    SameAs(usize),
}

/// Says what the failure of a step, its attempts exhausted, means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The run fails; steps under way are canceled.
    #[default]
    Fail,
    /// Dependents run all the same and can see the failure.
    Continue,
    /// Dependents are skipped, and theirs.
    SkipDependents,
}
