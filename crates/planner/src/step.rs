//! A step of a workflow: which agent, which Message, and what happens when it fails.

use std::collections::BTreeSet;
use std::time::Duration;

use document::Span;
use serde::{Deserialize, Serialize};

use crate::criteria::Criteria;
use crate::expression::Expression;
use crate::reuse::Cache;
use crate::schema::Schema;
use crate::template::{PartTemplate, Template};

/// Describes one step, with the workflow's defaults merged in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its id, `[a-z][a-z0-9_]*`.
    pub id: String,
    /// Where its id stands in the file.
    pub span: Span,
    /// Which agent serves it; absent for a step that computes values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// Where the selector stands in the file.
    pub selector_span: Span,
    /// The values that it computes instead of asking an agent: a mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Template>,
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

/// Says which failures are tried again, how often, and after what delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Attempts in all, the first included; 1 to 100.
    pub attempts: u32,
    /// The delay before the second attempt.
    pub initial: Duration,
    /// The longest delay.
    pub max: Duration,
    /// What each delay is multiplied by to give the next; at least 1.
    pub factor: f64,
    /// How delays are spread.
    pub jitter: Jitter,
    /// The failures that are tried again.
    pub on: BTreeSet<ErrorClass>,
}

impl Default for Retry {
    /// Three attempts for an agent that is unavailable, too slow or too busy: 0.5 s, 1 s, at most
    /// 30 s apart.
    fn default() -> Self {
        Retry {
            attempts: 3,
            initial: Duration::from_millis(500),
            max: Duration::from_secs(30),
            factor: 2.0,
            jitter: Jitter::Full,
            on: BTreeSet::from([
                ErrorClass::Unavailable,
                ErrorClass::Timeout,
                ErrorClass::RateLimited,
            ]),
        }
    }
}

impl Retry {
    /// How long to wait after an attempt (from 1) that failed so; none when it is not tried again.
    ///
    /// `jitter`, from 0 to 1, is drawn by the caller, so that this stays a function of its inputs.
    #[must_use]
    pub fn delay_after(&self, attempt: u32, class: ErrorClass, jitter: f64) -> Option<Duration> {
        if attempt >= self.attempts || !self.on.contains(&class) {
            return None;
        }
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let grown = self.initial.as_secs_f64() * self.factor.powi(exponent);
        let longest = grown.min(self.max.as_secs_f64());
        let drawn = match self.jitter {
            Jitter::Full => longest * jitter.clamp(0.0, 1.0),
            Jitter::None => longest,
        };
        Some(Duration::try_from_secs_f64(drawn).unwrap_or(self.max))
    }
}

/// Says how the delays before retries are spread, so that many steps do not come back at the same
/// instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// Anything from nothing to the whole delay.
    #[default]
    Full,
    /// The delay as computed.
    None,
}

/// Names the kinds of failure. Those of an attempt are the only values of `retry.on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The agent could not be reached or said that it is unavailable.
    Unavailable,
    /// The attempt took longer than the step's `timeout`.
    Timeout,
    /// The agent asked to come back later.
    RateLimited,
    /// The remote Task failed.
    Failed,
    /// The agent rejected the Task.
    Rejected,
    /// The result was not what the step expects.
    ExpectMismatch,
    /// The request or the answer cannot be right, however often it is sent.
    Invalid,
    /// The agent wants credentials, or others.
    Unauthorized,
    /// Nobody can say whether the agent received the Message.
    OutcomeUnknown,
    /// No round of `repeat` was good enough. Of a step, never of an attempt.
    NotConverged,
}

impl ErrorClass {
    /// Every class that an attempt can fail with, in the order of the documentation.
    pub const OF_ATTEMPTS: [ErrorClass; 9] = [
        ErrorClass::Unavailable,
        ErrorClass::Timeout,
        ErrorClass::RateLimited,
        ErrorClass::Failed,
        ErrorClass::Rejected,
        ErrorClass::ExpectMismatch,
        ErrorClass::Invalid,
        ErrorClass::Unauthorized,
        ErrorClass::OutcomeUnknown,
    ];

    /// The class as workflows write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorClass::Unavailable => "unavailable",
            ErrorClass::Timeout => "timeout",
            ErrorClass::RateLimited => "rate_limited",
            ErrorClass::Failed => "failed",
            ErrorClass::Rejected => "rejected",
            ErrorClass::ExpectMismatch => "expect_mismatch",
            ErrorClass::Invalid => "invalid",
            ErrorClass::Unauthorized => "unauthorized",
            ErrorClass::OutcomeUnknown => "outcome_unknown",
            ErrorClass::NotConverged => "not_converged",
        }
    }
}
