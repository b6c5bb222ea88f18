//! The names that mean something in expressions.

/// The names an expression can start from.
pub(super) const ROOTS: [&str; 3] = ["inputs", "steps", "run"];
/// The functions an expression can call.
pub(super) const FUNCTIONS: [&str; 3] = ["dict", "namespace", "range"];
/// What can be read of `run`.
pub(super) const RUN: [&str; 6] =
    ["id", "context_id", "workflow", "error", "started_at", "scheduled_at"];
/// What can be read of a step.
pub(super) const STEP_FIELDS: [&str; 11] = [
    "state",
    "text",
    "data",
    "artifacts",
    "items",
    "outputs",
    "task",
    "message",
    "error",
    "agent",
    "reason",
];
/// What can be read of the error of a step or of the run.
pub(super) const ERROR_FIELDS: [&str; 4] = ["class", "message", "attempt", "step"];
/// What can be read of a step's remote Task.
pub(super) const TASK_FIELDS: [&str; 2] = ["id", "context_id"];
/// What can be read of a direct Message.
pub(super) const MESSAGE_FIELDS: [&str; 4] = ["id", "text", "data", "parts"];
/// What can be read of an artifact.
pub(super) const ARTIFACT_FIELDS: [&str; 6] = ["id", "name", "text", "data", "parts", "versions"];
/// What the agent of a step answered.
pub(crate) const THIS: &str = "this";

/// What the expressions of a step with `for_each` have in scope, `when` and the list itself excepted.
pub(crate) const ITEM: [&str; 2] = ["item", "index"];

/// The filters of the engine that expressions may use.
pub(super) const FILTERS: [&str; 48] = [
    "abs",
    "attr",
    "batch",
    "bool",
    "capitalize",
    "chain",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "first",
    "float",
    "format",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "pprint",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "slice",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
    "zip",
];

/// The tests (`x is …`) of the engine that expressions may use.
pub(super) const TESTS: [&str; 36] = [
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "equalto",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "int",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "safe",
    "sameas",
    "sequence",
    "startingwith",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];
