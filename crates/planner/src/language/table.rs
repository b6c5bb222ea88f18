//! The rows, but for those of inputs.

use super::Type::{
    AgentUrl, AnyOf, Artifacts, Duration, Expression, FileInput, Input, Integer, Literal, Mapping,
    MediaType, Name, NameOrMapping, Named, Names as NameList, Number, OneOf, Step as StepId, Steps,
    Template, TemplateMapping, TemplateMediaType, TemplateUrl, Text, TextOrList, Texts, Value,
    Version, WorkflowName,
};
use super::{Field, Names, Place};
use crate::step::ErrorClass;
use crate::workflow::words;

pub(super) static WORKFLOW: [Field; 13] = [
    Field::new("convoke", Version, "version of the language: `1`").required(),
    Field::new("name", WorkflowName, "`[a-z0-9-]`, 1 to 63 characters").required(),
    Field::new("title", Text, "a name for people"),
    Field::new("description", Text, "what the workflow does, for people and for directories"),
    Field::new("tags", Texts, "tags of the skill that the workflow becomes"),
    Field::new("examples", Texts, "requests that it is made for"),
    Field::new("inputs", Named(Place::Input, Names::Inputs), "what a run is started with"),
    Field::new(
        "agents",
        Named(Place::Agent, Names::Any),
        "agents that only this file knows; they need no approval, because whoever wrote the file named them",
    ),
    Field::new("defaults", Mapping(Place::Defaults), "holds for every step that says nothing else"),
    Field::new("parallel", Integer(1, 10_000), "steps of one run in flight at once").default("16"),
    Field::new(
        "timeout",
        Duration,
        "how long the whole run may take; then it fails and its remote Tasks are canceled",
    )
    .default("24h"),
    Field::new("steps", Named(Place::Step, Names::Steps), "what is done").required(),
    Field::new("outputs", Named(Place::Output, Names::Any), "what comes of it")
        .otherwise("the artifacts of the steps that nothing depends on"),
];

pub(super) static AGENT: [Field; 1] =
    [Field::new("url", AgentUrl, "the URL of its card, or of its host").required()];

pub(super) static DEFAULTS: [Field; 3] = [
    Field::new("timeout", Duration, "`timeout` of every step that has none of its own")
        .default("10m"),
    Field::new(
        "retry",
        Mapping(Place::Retry),
        "`retry` of every step; a step changes it field by field",
    ),
    Field::new("on_error", OneOf(words::on_error), "`on_error` of every step that has none")
        .default("fail"),
];

pub(super) static STEP: [Field; 7] = [
    Field::new("agent", NameOrMapping(Place::Selector), "who is to do it").required(),
    Field::new("message", TextOrList(Place::Part), "what is sent: a text, or a list of Parts")
        .otherwise("the Parts of the Message that started the run"),
    Field::new(
        "needs",
        Steps,
        "steps to wait for, beside those that expressions and Parts refer to",
    ),
    Field::new(
        "when",
        Expression,
        "must be true or false, evaluated once, after the dependencies; false skips the step. A skip is no failure and does not spread",
    ),
    Field::new(
        "on_error",
        OneOf(words::on_error),
        "`fail`: the run fails, steps in flight are canceled. `continue`: dependents run and can see the failure. `skip_dependents`: they are skipped, and theirs",
    )
    .otherwise("that of `defaults`"),
    Field::new("retry", Mapping(Place::Retry), "which failures are tried again, and when")
        .otherwise("that of `defaults`"),
    Field::new(
        "timeout",
        Duration,
        "how long one attempt may take; the remote Task is then canceled",
    )
    .otherwise("that of `defaults`"),
];

pub(super) static SELECTOR: [Field; 6] = [
    Field::new("name", Name, "its name or an alias"),
    Field::new("skill", Name, "id of a skill"),
    Field::new(
        "tags",
        NameList,
        "tags of its skills and of its curator, all of them; upper or lower case",
    ),
    Field::new(
        "min_evidence",
        OneOf(words::tiers),
        "how much must have been [seen](directory.md#evidence) of it, at least; goes with one of those above. An agent of this file has the evidence of the directory's agent with the same card",
    ),
    Field::new(
        "url",
        AgentUrl,
        "the agent at this URL, whether or not the directory has it; goes with no other key",
    ),
    Field::new(
        "same_as",
        StepId,
        "the agent that served another step; goes with no other key, and is an edge",
    ),
];

pub(super) static RETRY: [Field; 3] = [
    Field::new("attempts", Integer(1, 100), "how often it is tried in all").default("3"),
    Field::new("backoff", Mapping(Place::Backoff), "how long to wait before the next attempt"),
    Field::new("on", AnyOf(error_classes), "which failures are tried again")
        .default("[unavailable, timeout, rate_limited]"),
];

fn error_classes() -> Vec<&'static str> {
    ErrorClass::ALL.iter().map(|class| class.as_str()).collect()
}

pub(super) static BACKOFF: [Field; 4] = [
    Field::new("initial", Duration, "the wait before the second attempt").default("500ms"),
    Field::new("max", Duration, "the longest wait").default("30s"),
    Field::new("factor", Number(1, 100), "what each wait is multiplied by to give the next")
        .default("2"),
    Field::new(
        "jitter",
        OneOf(words::jitter),
        "`full`: any time up to the wait, so that many steps do not come back at once. `none`: the wait itself",
    )
    .default("full"),
];

pub(super) static PART: [Field; 9] = [
    Field::new("text", Template, "a text"),
    Field::new("data", Value, "any YAML"),
    Field::new(
        "file",
        FileInput,
        "the name of an input that is `from: file`, or an expression that gives `{bytes, filename, media_type}`",
    ),
    Field::new("url", TemplateUrl, "a file by its URL"),
    Field::new(
        "artifacts",
        Artifacts,
        "the artifacts of a step, or its newest one of that name. Each Part says in its metadata where it came from: `{artifactId, taskId, step, agent}`",
    ),
    Field::new("input", Input, "the value of an input"),
    Field::new("media_type", TemplateMediaType, "the media type to state")
        .otherwise("the content's own"),
    Field::new("filename", Template, "the file name to state").otherwise("the content's own"),
    Field::new("metadata", TemplateMapping, "metadata to add"),
];

pub(super) static OUTPUT: [Field; 3] = [
    Field::new(
        "value",
        Value,
        "what it holds: a text becomes a text Part, anything else a data Part",
    )
    .required(),
    Field::new("media_type", MediaType, "the media type to state").otherwise("the content's own"),
    Field::new("description", Literal, "what it is, for people"),
];
