//! The rows, but for those of inputs.

use super::Keyword::Schema as JsonSchema;
use super::Type::{
    AgentUrl, AnyOf, Artifacts, Cron, Declared, Duration, Expression, FileInput, Flag, Given,
    Input, Integer, Items, Join, Keyword, List, Literal, Mapping, MediaType, MediaTypes, Name,
    NameOrMapping, Named, Names as NameList, NamesOrMappings, Number, OneOf, Question,
    Step as StepId, Steps, Template, TemplateMapping, TemplateMediaType, TemplateUrl, Text,
    TextOrList, Texts, TimeZone, Value, Values, Version, With, WorkflowName,
};
use super::{Field, Names, Place};
use crate::step::{ErrorClass, MAX_ROUNDS};
use crate::turn::MAX_ITEMS;
use crate::workflow::words;

pub(super) static WORKFLOW: [Field; 18] = [
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
    Field::new("concurrency", Mapping(Place::Concurrency), "how many runs go on at once"),
    Field::new(
        "timeout",
        Duration,
        "how long the whole run may take; then it fails and its remote Tasks are canceled",
    )
    .default("24h"),
    Field::new("budget", Mapping(Place::Budget), "how much one run may use"),
    Field::new("schedule", List(Place::Schedule), "when it starts by itself"),
    Field::new("steps", Named(Place::Step, Names::Steps), "what is done").required(),
    Field::new(
        "on_failure",
        Named(Place::Step, Names::Steps),
        "steps to run when a run has failed or was canceled, see [In the end](#in-the-end)",
    ),
    Field::new(
        "finally",
        Named(Place::Step, Names::Steps),
        "steps to run when a run has ended, however",
    ),
    Field::new("outputs", Named(Place::Output, Names::Any), "what comes of it")
        .otherwise("the artifacts of the steps that nothing depends on"),
];

pub(super) static AGENT: [Field; 1] =
    [Field::new("url", AgentUrl, "the URL of its card, or of its host").required()];

pub(super) static DEFAULTS: [Field; 4] = [
    Field::new("timeout", Duration, "`timeout` of every step that has none of its own")
        .default("10m"),
    Field::new(
        "retry",
        Mapping(Place::Retry),
        "`retry` of every step; a step changes it field by field",
    ),
    Field::new("on_error", OneOf(words::on_error), "`on_error` of every step that has none")
        .default("fail"),
    Field::new("pause_timeout", Duration, "`pause_timeout` of every step that has none")
        .default("7d"),
];

pub(super) static CONCURRENCY: [Field; 3] = [
    Field::new(
        "key",
        Expression,
        "runs for which it gives the same are counted together; without it all runs of the workflow are. It sees `inputs` and `run`, is evaluated before the run exists, and has at most 1,024 bytes",
    ),
    Field::new("limit", Integer(1, 10_000), "how many of them go on at once").default("1"),
    Field::new(
        "on_conflict",
        OneOf(words::on_conflict),
        "what becomes of one more: it waits, it is rejected, the oldest is canceled for it, or it is canceled itself",
    )
    .default("queue"),
];

pub(super) static BUDGET: [Field; 1] = [Field::new(
    "calls",
    Integer(1, 1_000_000),
    "how many Messages one run may send to agents, repeated attempts and answers counted; the one beyond that is not sent, and the run fails",
)
.required()];

pub(super) static SCHEDULE: [Field; 3] = [
    Field::new(
        "cron",
        Cron,
        "when: minute, hour, day of month, month, day of week, as in `0 7 * * MON`",
    )
    .required(),
    Field::new(
        "timezone",
        TimeZone,
        "where it is that time, by a name of the IANA database, as in `Europe/Helsinki`",
    )
    .default("UTC"),
    Field::new("inputs", Given, "gives every input that has no default"),
];

pub(super) static STEP: [Field; 30] = [
    Field::new("agent", NameOrMapping(Place::Selector), "who is to do it")
        .otherwise("required, or `workflow`, `ask` or `set`"),
    Field::new(
        "workflow",
        WorkflowName,
        "instead of an agent: the `name` of another workflow of the same folder. The step is a run of it, see [Workflows in workflows](#workflows-in-workflows)",
    ),
    Field::new("with", With, "what that run starts with: values of its inputs, by name"),
    Field::new(
        "ask",
        Question,
        "instead of an agent: a question. The run pauses until somebody answers; the answer is the `text` and `data` of the step, see [Questions](#questions)",
    ),
    Field::new(
        "schema",
        Keyword(JsonSchema),
        "what the answer to `ask` has to fit: a JSON Schema of the keywords of [inputs](#inputs). One that does not is told why, and the step waits on",
    ),
    Field::new(
        "set",
        Values,
        "instead of an agent: values to compute, by name. The step asks nobody; `data` and `outputs` of it are the values",
    ),
    Field::new(
        "outputs",
        Values,
        "values that are made of the agent's answer, `this`, by name. An answer of which they cannot be made is a failed attempt, `invalid`",
    ),
    Field::new(
        "expect",
        Keyword(JsonSchema),
        "a JSON Schema of the step's `data`, which the agent is told; an answer that does not fit is a failed attempt, `expect_mismatch`, see [Expected data](#expected-data)",
    ),
    Field::new(
        "accept",
        MediaTypes,
        "media types that the answer may have, or ranges such as `image/*`: agents that say they give none of them are not bound, and the one that is bound is told",
    ),
    Field::new("metadata", TemplateMapping, "metadata of the Message"),
    Field::new(
        "references",
        Steps,
        "the steps whose Tasks the Message refers to, see [Messages](#messages). Each is waited for",
    )
    .otherwise("the nearest steps before it that the same agent served"),
    Field::new(
        "push",
        OneOf(words::push),
        "`never`: the agent is not asked to [call us back](operations.md#notifications-of-agents). `auto`: it is where that is of use",
    )
    .default("auto"),
    Field::new("message", TextOrList(Place::Part), "what is sent: a text, or a list of Parts")
        .otherwise("the Parts of the Message that started the run"),
    Field::new(
        "undo",
        TextOrList(Place::Part),
        "what its agent is sent when the run fails or is canceled after the step, or an item of it, completed, see [In the end](#in-the-end)",
    ),
    Field::new(
        "needs",
        Steps,
        "steps to wait for, beside those that expressions and Parts refer to",
    ),
    Field::new(
        "join",
        Join,
        "how many dependencies are waited for: `all`, `any`, or a number of *completed* ones, see [Joins](#joins)",
    )
    .default("all"),
    Field::new(
        "run_if",
        OneOf(words::run_if),
        "with `join: all`: `succeeded` runs the step when every dependency completed, was skipped by its own `when`, or failed with `on_error: continue`; `settled` however they ended",
    )
    .default("succeeded"),
    Field::new(
        "cancel_rest",
        Flag,
        "with another `join`: the other dependencies are canceled once enough have completed",
    )
    .default("false"),
    Field::new(
        "when",
        Expression,
        "must be true or false, evaluated once, after the dependencies; false skips the step. A skip is no failure and does not spread",
    ),
    Field::new(
        "cache",
        Mapping(Place::Cache),
        "takes the result of an equal step that completed lately instead of asking the agent, see [Reuse](#reuse)",
    ),
    Field::new(
        "for_each",
        Items,
        "a list, or an expression that gives one: the step runs once for each item, see [Items](#items)",
    ),
    Field::new(
        "concurrency",
        Integer(1, MAX_ITEMS as u64),
        "items of `for_each` under way at once",
    )
    .otherwise("as many as `parallel` lets"),
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
    Field::new(
        "pause_timeout",
        Duration,
        "how long a pause may last; then the step fails, `timeout`, or `outcome_unknown` where nobody said [what became of its Message](#effects), and is not tried again. All other clocks stand still meanwhile",
    )
    .otherwise("that of `defaults`"),
    Field::new(
        "deadline",
        Duration,
        "how long all its attempts may take together, waits and rounds included and pauses not; then the remote Task is canceled, and the step fails with `timeout`. With `for_each`, each item",
    ),
    Field::new(
        "fallback",
        NamesOrMappings(Place::Selector),
        "who is tried, in this order, when its agent cannot do it, see [Further agents](#further-agents)",
    ),
    Field::new(
        "effect",
        OneOf(words::effect),
        "whether its agent may get a Message twice, see [Effects](#effects)",
    )
    .default("at_least_once"),
    Field::new(
        "repeat",
        Mapping(Place::Repeat),
        "its agent is asked again, in rounds, until its answer is good enough, see [Rounds](#rounds)",
    ),
];

pub(super) static REPEAT: [Field; 2] = [
    Field::new(
        "until",
        Expression,
        "must be true or false, evaluated over the answer of each round, `this`; true ends the step",
    )
    .required(),
    Field::new(
        "max",
        Integer(1, MAX_ROUNDS as u64),
        "how many rounds there are at most, the first included; when none of them was good enough, the step fails: `not_converged`",
    )
    .required(),
];

pub(super) static SELECTOR: [Field; 13] = [
    Field::new("name", Name, "its name or an alias"),
    Field::new("skill", Name, "id of a skill"),
    Field::new(
        "tags",
        NameList,
        "tags of its skills and of its curator, all of them; upper or lower case",
    ),
    Field::new("any_tags", NameList, "such tags of which it has at least one"),
    Field::new("provider", Name, "the organization that its card names, upper or lower case"),
    Field::new(
        "input_modes",
        MediaTypes,
        "media types that it takes, all of them: for the `skill`, where one is named, else for any",
    ),
    Field::new("output_modes", MediaTypes, "media types that it gives, in the same way"),
    Field::new(
        "requires",
        Declared,
        "what its card declares: `streaming`, `push_notifications`, URIs of protocol extensions",
    ),
    Field::new(
        "signed",
        Flag,
        "`true`: its card has a signature that is [trusted](directory.md#signed-cards)",
    )
    .default("false"),
    Field::new(
        "min_evidence",
        OneOf(words::tiers),
        "how much must have been [seen](directory.md#evidence) of it, at least. An agent of this file has the evidence of the directory's agent with the same card",
    ),
    Field::new("prefer", OneOf(words::prefer), "what decides between several that fit: what the curator says, how much was seen of them, or how fast they were")
        .default("priority"),
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
    ErrorClass::OF_ATTEMPTS.iter().map(|class| class.as_str()).collect()
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

pub(super) static CACHE: [Field; 2] = [
    Field::new("ttl", Duration, "how long a result may be reused, from its completion on")
        .required(),
    Field::new("key", Expression, "what equal steps have in common; it does not see `item`")
        .otherwise("all that the step sends"),
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
