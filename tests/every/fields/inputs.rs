//! The rows of inputs: each keyword refuses a value that it does not allow.

use super::{Act, Row, Seen};

/// What is there for people and editors alone, and changes nothing that Convoke does.
pub(super) const UNFELT: [&str; 1] = ["input.deprecated"];

/// The value that was given is refused, before anything is sent.
fn is_refused(seen: &Seen) -> bool {
    seen.done.code == 2 && seen.done.stderr.contains("the input `v`") && seen.sent.is_empty()
}

macro_rules! keyword {
    ($field:literal, $schema:literal, $value:literal) => {
        Row {
            field: concat!("input.", $field),
            act: Act::Run(&["-i", concat!("v=", $value)]),
            file: concat!("inputs: {v: ", $schema, "}\nsteps: {a: {agent: it, message: hi}}"),
            shows: is_refused,
        }
    };
}

const DESCRIBED: &str = "
inputs:
  v: {type: string, title: The title, description: What it is, examples: [such and such]}
steps: {a: {agent: it, message: hi}}
";

pub(super) static ROWS: [Row; 42] = [
    Row {
        field: "input.default",
        act: Act::Run(&[]),
        file: "inputs: {v: {default: 7}}\nsteps: {a: {agent: it, message: \"${{ inputs.v }}!\"}}",
        shows: |seen| seen.part()["text"] == "7!",
    },
    Row {
        field: "input.title",
        act: Act::Run(&[]),
        file: DESCRIBED,
        shows: |seen| seen.done.stderr.contains("The title"),
    },
    Row {
        field: "input.description",
        act: Act::Run(&[]),
        file: DESCRIBED,
        shows: |seen| seen.done.stderr.contains("What it is"),
    },
    Row {
        field: "input.examples",
        act: Act::Run(&[]),
        file: DESCRIBED,
        shows: |seen| seen.done.stderr.contains("such and such"),
    },
    keyword!("type", "{type: integer}", "x"),
    keyword!("enum", "{enum: [a, b]}", "c"),
    keyword!("const", "{const: 1}", "2"),
    keyword!("format", "{type: string, format: date}", "soon"),
    keyword!("minimum", "{minimum: 3}", "2"),
    keyword!("maximum", "{maximum: 3}", "4"),
    keyword!("exclusiveMinimum", "{exclusiveMinimum: 3}", "3"),
    keyword!("exclusiveMaximum", "{exclusiveMaximum: 3}", "3"),
    keyword!("multipleOf", "{multipleOf: 2}", "3"),
    keyword!("minLength", "{minLength: 3}", "ab"),
    keyword!("maxLength", "{maxLength: 1}", "ab"),
    keyword!("pattern", "{pattern: ^a}", "b"),
    keyword!("items", "{items: {type: string}}", "[1]"),
    keyword!("prefixItems", "{prefixItems: [{type: string}]}", "[1]"),
    keyword!("contains", "{contains: {const: 1}}", "[2]"),
    keyword!("minContains", "{contains: {const: 1}, minContains: 2}", "[1]"),
    keyword!("maxContains", "{contains: {const: 1}, maxContains: 1}", "[1, 1]"),
    keyword!("minItems", "{minItems: 2}", "[1]"),
    keyword!("maxItems", "{maxItems: 1}", "[1, 2]"),
    keyword!("uniqueItems", "{uniqueItems: true}", "[1, 1]"),
    keyword!("properties", "{properties: {k: {const: 1}}}", "{\"k\": 2}"),
    keyword!("patternProperties", "{patternProperties: {^k: {const: 1}}}", "{\"kl\": 2}"),
    keyword!("additionalProperties", "{additionalProperties: false}", "{\"k\": 1}"),
    keyword!("propertyNames", "{propertyNames: {maxLength: 1}}", "{\"kl\": 1}"),
    keyword!("required", "{required: [k]}", "{}"),
    keyword!("minProperties", "{minProperties: 1}", "{}"),
    keyword!("maxProperties", "{maxProperties: 1}", "{\"k\": 1, \"l\": 1}"),
    keyword!("dependentRequired", "{dependentRequired: {k: [l]}}", "{\"k\": 1}"),
    keyword!("dependentSchemas", "{dependentSchemas: {k: {required: [l]}}}", "{\"k\": 1}"),
    keyword!("allOf", "{allOf: [{const: 1}]}", "2"),
    keyword!("anyOf", "{anyOf: [{const: 1}, {const: 2}]}", "3"),
    keyword!("oneOf", "{oneOf: [{minimum: 1}, {minimum: 2}]}", "3"),
    keyword!("not", "{not: {const: 1}}", "1"),
    keyword!("if", "{if: {const: 1}, then: false}", "1"),
    keyword!("then", "{if: {const: 1}, then: false}", "1"),
    keyword!("else", "{if: {const: 1}, else: false}", "2"),
    keyword!("$defs", "{$ref: '#/$defs/k', $defs: {k: {const: 1}}}", "2"),
    keyword!("$ref", "{$ref: '#/$defs/k', $defs: {k: {const: 1}}}", "2"),
];
