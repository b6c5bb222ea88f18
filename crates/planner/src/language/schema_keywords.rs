//! The rows of inputs: `from`, and the keywords of JSON Schema (2020-12) that mean something for the
//! value of an input. Any other would be ignored silently, and is refused.

use super::Keyword::{
    Any, Count, Flag, NamedNames, NamedSchemas, Names, Number, Positive, Reference, Regex,
    RegexSchemas, Schema, Schemas, Text, Types, Values,
};
use super::Type::OneOf;
use super::{Field, Keyword, Type};
use crate::workflow::words;

const fn row(key: &'static str, takes: Keyword, meaning: &'static str) -> Field {
    Field::new(key, Type::Keyword(takes), meaning)
}

pub(super) static INPUT: [Field; 44] = [
    Field::new(
        "from",
        OneOf(words::from),
        "which Parts of the Message that starts the run fill it",
    )
    .otherwise("the member of its name in the first data Part"),
    row("type", Types, "its type, or a list of types"),
    row("default", Any, "its value when none is given").otherwise("the input is required"),
    row("title", Text, "a name for people"),
    row("description", Text, "what it is, for people"),
    row("examples", Values, "values that it may have"),
    row("deprecated", Flag, "whether it should no longer be given"),
    row("enum", Values, "the values that it may have"),
    row("const", Any, "the one value that it may have"),
    row("format", Text, "a kind of text, such as `date`, `email` or `uri`"),
    row("minimum", Number, "the least number"),
    row("maximum", Number, "the greatest number"),
    row("exclusiveMinimum", Number, "a number that it must be above"),
    row("exclusiveMaximum", Number, "a number that it must be below"),
    row("multipleOf", Positive, "a number that it must be a multiple of"),
    row("minLength", Count, "the least characters of a text"),
    row("maxLength", Count, "the most characters of a text"),
    row("pattern", Regex, "a regular expression that must match somewhere in a text"),
    row("items", Schema, "what each item of a list must be, after those of `prefixItems`"),
    row("prefixItems", Schemas, "what the first items of a list must be"),
    row("contains", Schema, "what at least one item of a list must be"),
    row("minContains", Count, "how many items must be as `contains` says, at least"),
    row("maxContains", Count, "how many items may be as `contains` says, at most"),
    row("minItems", Count, "the least items of a list"),
    row("maxItems", Count, "the most items of a list"),
    row("uniqueItems", Flag, "whether no item of a list may be there twice"),
    row("properties", NamedSchemas, "what members of a mapping must be, by their names"),
    row("patternProperties", RegexSchemas, "what members must be whose names match"),
    row("additionalProperties", Schema, "what all other members must be; `false` for none"),
    row("propertyNames", Schema, "what the names of members must be"),
    row("required", Names, "members that a mapping must have"),
    row("minProperties", Count, "the least members of a mapping"),
    row("maxProperties", Count, "the most members of a mapping"),
    row("dependentRequired", NamedNames, "members that must be there when another is"),
    row("dependentSchemas", NamedSchemas, "what a mapping must be when it has a member"),
    row("allOf", Schemas, "what it must be, all of these"),
    row("anyOf", Schemas, "what it must be, one of these or more"),
    row("oneOf", Schemas, "what it must be, exactly one of these"),
    row("not", Schema, "what it must not be"),
    row("if", Schema, "decides between `then` and `else`"),
    row("then", Schema, "what it must be where `if` fits"),
    row("else", Schema, "what it must be where `if` does not fit"),
    row("$defs", NamedSchemas, "schemas that `$ref` refers to"),
    row("$ref", Reference, "a schema of the same input, as in `#/$defs/NAME`"),
];
