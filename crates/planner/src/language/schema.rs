//! The table as JSON Schema, for editors and for whoever writes workflows by program.

use serde_json::{Map, Value as Json, json};

use super::{Absent, Field, Keyword, Names, Place, Type};
use crate::criteria::{PUSH, STREAMING};
use crate::turn::MAX_ITEMS;

/// An expression or a block begins.
const OPENING: &str = r"\$\{[{%#]";
/// No expression or block stands anywhere.
const NO_OPENING: &str = r"^(?![\s\S]*\$\{[{%#])";
const STEP_ID: &str = "^[a-z][a-z0-9_]*$";
const DURATION: &str = r"^(?=[\s\S]*[1-9])\s*([0-9]+(ms|s|m|h|d))+\s*$";
const ARTIFACTS: &str = r#"^[a-z][a-z0-9_]*\s*(\[\s*("[\s\S]*"|'[\s\S]*')\s*\])?\s*$"#;
const MEDIA_TYPE: &str =
    r"^\s*[A-Za-z0-9!#$%&'*+.^_`|~-]+/[A-Za-z0-9!#$%&'*+.^_`|~-]+\s*(;[\s\S]*)?$";
const CRON: &str = r"^\s*(@[A-Za-z]+|\S+(\s+\S+){4})\s*$";
const URL: &str = r"^\s*[A-Za-z][A-Za-z0-9+.-]*:";
const AGENT_URL: &str = r"^[hH][tT][tT][pP][sS]?:\S+$";

/// The language as JSON Schema (2020-12).
///
/// It accepts whatever [`crate::check`] accepts, and refuses what can be refused without knowing the
/// rest of the file: names that the file does not define, cycles, what stands in expressions, and how
/// YAML itself is written are not seen. Each field has a title and a description.
#[must_use]
pub fn schema() -> Json {
    let mut definitions: Map<String, Json> = Place::ALL
        .into_iter()
        .filter(|place| *place != Place::Workflow)
        .map(|place| (place.name().to_owned(), mapping(place)))
        .collect();
    definitions.insert("duration".to_owned(), duration());
    definitions.insert("expressions".to_owned(), expressions());
    definitions.insert("schema".to_owned(), keywords());
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A workflow of Convoke",
        "description": "Steps that agents do, and what depends on what.",
    });
    if let (Json::Object(root), Json::Object(workflow)) = (&mut root, mapping(Place::Workflow)) {
        root.extend(workflow);
        root.insert("$defs".to_owned(), Json::Object(definitions));
    }
    root
}

/// The mapping of one kind: its fields, and what holds between them.
fn mapping(place: Place) -> Json {
    let properties: Map<String, Json> = place
        .fields()
        .iter()
        .map(|field| (field.key.to_owned(), described(place, field)))
        .collect();
    let required: Vec<&str> = place
        .fields()
        .iter()
        .filter(|field| field.absent == Absent::Wrong)
        .map(|field| field.key)
        .collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if let (Json::Object(schema), Json::Object(rules)) = (&mut schema, between(place)) {
        schema.extend(rules);
    }
    schema
}

/// What one field takes, with what an editor shows about it.
fn described(place: Place, field: &Field) -> Json {
    let mut schema = takes(&field.takes);
    let description = match field.absent {
        Absent::Wrong => format!("{} (required)", field.meaning),
        Absent::Nothing => field.meaning.to_owned(),
        Absent::Value(value) => format!("{} (default: {value})", field.meaning),
        Absent::Otherwise(words) => format!("{} (default: {words})", field.meaning),
    };
    schema["title"] = json!(format!("{} ({})", field.key, place.name()));
    schema["description"] = json!(plain(&description));
    if let Some(default) = default_value(field.absent) {
        schema["default"] = default;
    }
    schema
}

/// A default that is a text, a number or a flag; what is written in another way stands in the description.
fn default_value(absent: Absent) -> Option<Json> {
    match absent {
        Absent::Value(value) if value.starts_with('[') => None,
        Absent::Value(value) => Some(serde_json::from_str(value).unwrap_or_else(|_| json!(value))),
        _ => None,
    }
}

/// Markdown without its links, which lead nowhere from an editor.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, word, after)) = link(rest) {
        text.push_str(before);
        text.push_str(word);
        rest = after;
    }
    text + rest
}

/// The text before the first `[word](target)`, the word, and the text after.
fn link(markdown: &str) -> Option<(&str, &str, &str)> {
    let (head, tail) = markdown.split_once("](")?;
    let (_, after) = tail.split_once(')')?;
    let (before, word) = head.rsplit_once('[')?;
    Some((before, word, after))
}

fn takes(of: &Type) -> Json {
    match of {
        Type::Version => json!({"type": "integer", "const": 1}),
        Type::WorkflowName => json!({"type": "string", "pattern": "^[a-z0-9-]{1,63}$"}),
        Type::Text | Type::Template => json!({"type": "string"}),
        Type::Literal => json!({"type": "string", "pattern": NO_OPENING}),
        Type::Name => name(),
        Type::Texts => list(&json!({"type": "string"})),
        Type::Names => list(&name()),
        Type::AgentUrl => literal(AGENT_URL),
        Type::Step | Type::Input => json!({"type": "string", "pattern": STEP_ID}),
        Type::Steps => list(&json!({"type": "string", "pattern": STEP_ID})),
        Type::FileInput => or_expression(STEP_ID),
        Type::Artifacts => json!({"type": "string", "pattern": ARTIFACTS}),
        Type::Integer(least, most) => number_between("integer", &json!(least), &json!(most)),
        Type::Number(least, most) => number_between("number", &json!(least), &json!(most)),
        Type::Duration => json!({"$ref": "#/$defs/duration"}),
        Type::Expression => json!({"type": ["string", "boolean"]}),
        Type::TemplateUrl => or_expression(URL),
        Type::TemplateMediaType => or_expression(MEDIA_TYPE),
        Type::TemplateMapping => json!({
            "anyOf": [
                {"type": "string", "pattern": OPENING},
                {"type": "object", "allOf": [{"$ref": "#/$defs/expressions"}]},
            ],
        }),
        Type::Value => json!({"$ref": "#/$defs/expressions"}),
        Type::Values => values(),
        Type::MediaType => literal(MEDIA_TYPE),
        Type::MediaTypes => list(&literal(MEDIA_TYPE)),
        Type::Flag => json!({"type": "boolean"}),
        Type::Join => json!({"oneOf": [
            {"type": "string", "enum": ["all", "any"]},
            {"type": "integer", "minimum": 1, "maximum": 10_000},
        ]}),
        Type::Items => items(),
        Type::Cron => literal(CRON),
        Type::TimeZone => name(),
        Type::Given => {
            json!({"type": ["object", "null"], "propertyNames": {"pattern": STEP_ID}})
        }
        Type::Declared => list(&declared()),
        Type::OneOf(words) => json!({"type": "string", "enum": words()}),
        Type::AnyOf(words) => list(&json!({"type": "string", "enum": words()})),
        Type::Mapping(place) => reference(*place),
        Type::List(place) => list(&reference(*place)),
        Type::Named(place, names) => named(*place, *names),
        Type::TextOrList(place) => json!({
            "type": ["string", "array"],
            "items": reference(*place),
            "minItems": 1,
        }),
        Type::NameOrMapping(place) => json!({"anyOf": [name(), reference(*place)]}),
        Type::Question => json!({"type": "string", "pattern": r"\S"}),
        Type::With => {
            json!({"type": ["object", "null"], "allOf": [{"$ref": "#/$defs/expressions"}]})
        }
        Type::NamesOrMappings(place) => names_or_mappings(*place),
        Type::Keyword(of) => keyword(*of),
    }
}

fn number_between(kind: &str, least: &Json, most: &Json) -> Json {
    json!({"type": kind, "minimum": least, "maximum": most})
}

/// Values by name, any of which may hold expressions.
fn values() -> Json {
    json!({"type": "object", "minProperties": 1, "allOf": [{"$ref": "#/$defs/expressions"}]})
}

/// An expression that gives a list, or the list itself.
fn items() -> Json {
    let item = json!({"$ref": "#/$defs/expressions"});
    json!({"type": ["string", "array"], "items": item, "maxItems": MAX_ITEMS})
}

/// Agents, of which none is that of another step.
fn names_or_mappings(place: Place) -> Json {
    let described = json!({"allOf": [reference(place)], "properties": {"same_as": false}});
    json!({"type": "array", "items": {"anyOf": [name(), described]}, "minItems": 1})
}

fn reference(place: Place) -> Json {
    json!({"$ref": format!("#/$defs/{}", place.name())})
}

fn name() -> Json {
    literal(r"\S")
}

/// Text of this form, without expressions.
fn literal(pattern: &str) -> Json {
    json!({"type": "string", "pattern": pattern, "allOf": [{"pattern": NO_OPENING}]})
}

/// Text that is an expression, or of this form.
fn or_expression(pattern: &str) -> Json {
    json!({"type": "string", "anyOf": [{"pattern": OPENING}, {"pattern": pattern}]})
}

fn list(of: &Json) -> Json {
    json!({"type": "array", "items": of})
}

/// A capability by its name, or an extension by its URI.
fn declared() -> Json {
    let mut declared = literal("");
    declared["anyOf"] = json!([{"enum": [STREAMING, PUSH]}, {"pattern": ":"}]);
    declared
}

fn named(place: Place, names: Names) -> Json {
    let each = reference(place);
    match names {
        Names::Steps => json!({
            "type": "object",
            "minProperties": 1,
            "propertyNames": {"pattern": STEP_ID, "maxLength": 128},
            "additionalProperties": each,
        }),
        Names::Inputs => json!({
            "type": ["object", "null"],
            "propertyNames": {"pattern": STEP_ID},
            "additionalProperties": each,
        }),
        Names::Any => json!({"type": ["object", "null"], "additionalProperties": each}),
    }
}

fn duration() -> Json {
    json!({
        "type": "string",
        "pattern": DURATION,
        "examples": ["500ms", "30s", "5m", "1h30m", "7d"],
    })
}

/// Any YAML whose texts may hold expressions, and whose keys may not.
fn expressions() -> Json {
    json!({
        "type": ["null", "boolean", "number", "string", "array", "object"],
        "items": {"$ref": "#/$defs/expressions"},
        "propertyNames": {"pattern": NO_OPENING},
        "additionalProperties": {"$ref": "#/$defs/expressions"},
    })
}

/// What holds between the fields of a mapping, besides which of them are required.
fn between(place: Place) -> Json {
    match place {
        Place::Part => {
            let contents = crate::workflow::CONTENT_KEYS;
            json!({"oneOf": contents.map(|key| json!({"required": [key]}))})
        }
        Place::Selector => {
            let alone = ["url", "same_as"];
            let mut choices: Vec<Json> =
                alone.iter().map(|key| json!({"required": [key], "maxProperties": 1})).collect();
            choices.push(json!({
                "not": {"anyOf": alone.map(|key| json!({"required": [key]}))},
                "anyOf": [
                    {"required": ["name"]},
                    {"required": ["skill"]},
                    {"required": ["provider"]},
                    {"required": ["tags"], "properties": {"tags": {"minItems": 1}}},
                    {"required": ["any_tags"], "properties": {"any_tags": {"minItems": 1}}},
                ],
            }));
            json!({"oneOf": choices})
        }
        Place::Step => gates(),
        // A file has the type that it has.
        Place::Input => json!({
            "if": {"required": ["from"], "properties": {"from": {"const": "file"}}},
            "then": {"properties": {"type": {"const": "object"}}},
        }),
        _ => json!({}),
    }
}

/// What the fields of a step ask of each other.
fn gates() -> Json {
    let has =
        |key: &str, value: Json| json!({"required": [key], "properties": {key: {"const": value}}});
    json!({
        "dependentRequired": {"concurrency": ["for_each"]},
        // An agent is asked, or a person, or another workflow is run, or something is computed without anybody.
        "oneOf": [
            only("agent", &["workflow", "ask", "set", "schema", "with"]),
            only("workflow", &[&["agent", "ask", "set", "schema", "message"][..], &OF_AGENTS].concat()),
            only("ask", &[&["agent", "workflow", "set", "with", "message", "retry", "timeout", "outputs"][..], &OF_AGENTS].concat()),
            only("set", &[&["agent", "workflow", "ask", "with", "schema", "pause_timeout", "message", "retry", "timeout", "outputs"][..], &OF_AGENTS].concat()),
        ],
        "allOf": [
            {
                "if": has("cancel_rest", json!(true)),
                "then": {"required": ["join"], "not": has("join", json!("all"))},
            },
            {
                "if": has("run_if", json!("settled")),
                "then": {"properties": {"join": {"const": "all"}}},
            },
        ],
    })
}

/// What is asked of agents alone.
const OF_AGENTS: [&str; 11] = [
    "expect",
    "repeat",
    "accept",
    "metadata",
    "references",
    "push",
    "cache",
    "undo",
    "fallback",
    "deadline",
    "effect",
];

/// A step that has this, and none of those.
fn only(key: &str, without: &[&str]) -> Json {
    let without: Map<String, Json> =
        without.iter().map(|key| ((*key).to_owned(), json!(false))).collect();
    json!({"required": [key], "properties": without})
}

/// A schema within that of an input: the same keywords, and others.
fn keywords() -> Json {
    let properties: Map<String, Json> = Place::Input
        .fields()
        .iter()
        .filter(|field| matches!(field.takes, Type::Keyword(_)))
        .map(|field| (field.key.to_owned(), takes(&field.takes)))
        .collect();
    json!({"type": ["object", "boolean"], "properties": properties})
}

fn keyword(of: Keyword) -> Json {
    let schema = json!({"$ref": "#/$defs/schema"});
    let types = json!({
        "enum": ["array", "boolean", "integer", "null", "number", "object", "string"],
    });
    match of {
        Keyword::Types => json!({"anyOf": [
            types,
            {"type": "array", "items": types, "minItems": 1, "uniqueItems": true},
        ]}),
        Keyword::Any => json!({}),
        Keyword::Values => json!({"type": "array"}),
        Keyword::Text => json!({"type": "string"}),
        Keyword::Flag => json!({"type": "boolean"}),
        Keyword::Number => json!({"type": "number"}),
        Keyword::Positive => json!({"type": "number", "exclusiveMinimum": 0}),
        Keyword::Count => json!({"type": "integer", "minimum": 0}),
        Keyword::Regex => json!({"type": "string", "format": "regex"}),
        Keyword::Schema => schema,
        Keyword::Schemas => json!({"type": "array", "items": schema, "minItems": 1}),
        Keyword::NamedSchemas => json!({"type": "object", "additionalProperties": schema}),
        Keyword::RegexSchemas => json!({
            "type": "object",
            "additionalProperties": schema,
            "propertyNames": {"format": "regex"},
        }),
        Keyword::Names => names(),
        Keyword::NamedNames => json!({"type": "object", "additionalProperties": names()}),
        Keyword::Reference => json!({"type": "string", "pattern": "^#"}),
    }
}

fn names() -> Json {
    json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})
}
