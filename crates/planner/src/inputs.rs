//! The inputs of a workflow: what they are, whether given values fit, and how they travel in a
//! Message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use document::{Span, nearest};
use protocol::v1::{Part, part::Content};
use protocol::wkt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::schema::{shown, validator, with_article};
use crate::workflow::Workflow;

/// Describes one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Its name, as in `inputs.NAME`.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
    /// The JSON Schema its value must fit.
    pub schema: Json,
    /// Which Parts of the incoming Message fill it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<InputFrom>,
    /// Its value when none is given; an input without one is required.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "presence")]
    pub default: Option<Json>,
}

/// Says which Parts of the incoming Message fill an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputFrom {
    /// The text Parts, joined by newlines.
    Text,
    /// The first data Part: its member of the input's name, or the whole of it.
    Data,
    /// A file Part: a mapping of `filename`, `media_type` and either `bytes` (base64) or `url`.
    File,
}

impl InputFrom {
    /// The source as workflows write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            InputFrom::Text => "text",
            InputFrom::Data => "data",
            InputFrom::File => "file",
        }
    }
}

/// Says what is wrong with the values given for the inputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InputProblem {
    /// The input, or the unknown name that was given.
    pub input: String,
    /// Whether the input is required and has no value.
    pub is_missing: bool,
    /// What is wrong: the input, what was expected, what was given.
    pub message: String,
}

impl Workflow {
    /// Checks the values given for the inputs and fills in defaults.
    ///
    /// # Errors
    /// Every unknown name, every missing required input and every value that does not fit its
    /// schema.
    pub fn check_inputs(
        &self,
        given: Map<String, Json>,
    ) -> Result<Map<String, Json>, Vec<InputProblem>> {
        let mut values = given;
        let mut problems: Vec<InputProblem> = Vec::new();
        for name in values.keys().filter(|name| self.input(name).is_none()) {
            problems.push(self.unknown(name));
        }
        for input in &self.inputs {
            match values.get(&input.name) {
                Some(value) => problems.extend(input.problems(value)),
                None => match &input.default {
                    Some(default) => {
                        values.insert(input.name.clone(), default.clone());
                    }
                    None => problems.push(input.missing()),
                },
            }
        }
        if problems.is_empty() { Ok(values) } else { Err(problems) }
    }

    /// Reads the value of an input from text, as a command line gives it: JSON where the schema
    /// does not ask for text.
    #[must_use]
    pub fn input_from_text(&self, name: &str, text: &str) -> Json {
        let takes_text = self.input(name).is_some_and(Input::takes_text);
        match serde_json::from_str(text) {
            Ok(value) if !takes_text => value,
            _ => Json::String(text.to_owned()),
        }
    }

    /// The values that the Parts of a Message give for the inputs; not checked yet.
    #[must_use]
    pub fn inputs_from_parts(&self, parts: &[Part]) -> Map<String, Json> {
        let text = joined_text(parts);
        let data = crate::result::first_data(parts);
        let mut files = parts.iter().filter_map(file_value);
        let mut values = Map::new();
        for input in &self.inputs {
            let member = || data.and_then(|data| data.get(&input.name)).cloned();
            let value = match input.from {
                Some(InputFrom::Text) => text.clone().map(Json::String),
                Some(InputFrom::Data) => member().or_else(|| data.cloned()),
                Some(InputFrom::File) => files.next(),
                None => member(),
            };
            values.extend(value.map(|value| (input.name.clone(), value)));
        }
        values
    }

    /// The Parts that carry checked inputs: the reverse of [`Workflow::inputs_from_parts`]. They
    /// are what a step without `message` sends on when a run was started with inputs and not with a
    /// Message.
    #[must_use]
    pub fn parts_from_inputs(&self, values: &Map<String, Json>) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut data = Map::new();
        for input in &self.inputs {
            let Some(value) = values.get(&input.name) else { continue };
            match (input.from, value) {
                (Some(InputFrom::Text), Json::String(text)) => parts.push(text_part(text.clone())),
                (Some(InputFrom::File), value) => parts.extend(file_part(value)),
                _ => {
                    data.insert(input.name.clone(), value.clone());
                }
            }
        }
        if !data.is_empty() {
            parts.push(data_part(Json::Object(data)));
        }
        parts
    }

    fn input(&self, name: &str) -> Option<&Input> {
        self.inputs.iter().find(|input| input.name == name)
    }

    fn unknown(&self, name: &str) -> InputProblem {
        let known: Vec<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "this workflow takes no inputs".to_owned(),
            None => format!("its inputs are: {}", known.join(", ")),
        };
        let message = format!("the workflow has no input `{name}`: {hint}");
        InputProblem { input: name.to_owned(), is_missing: false, message }
    }
}

impl Input {
    fn takes_text(&self) -> bool {
        self.from == Some(InputFrom::Text)
            || self.schema.get("type").is_some_and(|kind| kind == "string")
    }

    fn missing(&self) -> InputProblem {
        let title = match self.schema.get("title").and_then(Json::as_str) {
            Some(title) => format!(" ({title})"),
            None => String::new(),
        };
        let message = format!(
            "the input `{}`{title} is required and has no value: {}",
            self.name,
            self.expected()
        );
        InputProblem { input: self.name.clone(), is_missing: true, message }
    }

    /// Everything that makes a value unfit; the schema itself was checked with the workflow.
    pub(crate) fn problems(&self, value: &Json) -> Vec<InputProblem> {
        let problem =
            |message| InputProblem { input: self.name.clone(), is_missing: false, message };
        if self.from == Some(InputFrom::File) && file_part(value).is_none() {
            let message = format!("the input `{}` must be a file, not {}", self.name, shown(value));
            return vec![problem(message)];
        }
        let Ok(validator) = validator(&self.schema) else { return Vec::new() };
        validator.iter_errors(value).map(|error| problem(self.explain(&error))).collect()
    }

    fn explain(&self, error: &jsonschema::ValidationError<'_>) -> String {
        use jsonschema::error::ValidationErrorKind;
        let path = error.instance_path().to_string();
        let subject = if path.is_empty() {
            format!("the input `{}`", self.name)
        } else {
            format!("{path} of the input `{}`", self.name)
        };
        match error.kind() {
            ValidationErrorKind::Type { .. } if path.is_empty() => {
                format!(
                    "{subject} must be {}, not {}",
                    self.expected_kind(),
                    shown(error.instance())
                )
            }
            _ => format!("{subject} does not fit: {error}"),
        }
    }

    fn expected(&self) -> String {
        let kind = match self.schema.get("description").and_then(Json::as_str) {
            Some(description) => format!("{} ({description})", self.expected_kind()),
            None => format!("give {}", self.expected_kind()),
        };
        match self.schema.pointer("/examples/0") {
            Some(example) => format!("{kind}, such as {example}"),
            None => kind,
        }
    }

    fn expected_kind(&self) -> String {
        match (self.schema.get("type"), self.from) {
            (Some(Json::String(kind)), _) => with_article(kind),
            (Some(Json::Array(kinds)), _) => kinds
                .iter()
                .filter_map(Json::as_str)
                .map(with_article)
                .collect::<Vec<_>>()
                .join(" or "),
            (_, Some(InputFrom::Text)) => "a string".to_owned(),
            (_, Some(InputFrom::File)) => "a file".to_owned(),
            _ => "a value".to_owned(),
        }
    }
}

fn joined_text(parts: &[Part]) -> Option<String> {
    let texts = parts.iter().filter_map(|part| match &part.content {
        Some(Content::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

pub(crate) fn text_part(text: String) -> Part {
    Part { content: Some(Content::Text(text)), ..Part::default() }
}

pub(crate) fn data_part(value: Json) -> Part {
    Part { content: Some(Content::Data(wkt::Value(value))), ..Part::default() }
}

/// A file Part as the value of a file input.
fn file_value(part: &Part) -> Option<Json> {
    let mut value = match &part.content {
        Some(Content::Raw(bytes)) => json!({ "bytes": STANDARD.encode(bytes) }),
        Some(Content::Url(url)) => json!({ "url": url }),
        _ => return None,
    };
    for (key, text) in [("filename", &part.filename), ("media_type", &part.media_type)] {
        if !text.is_empty() {
            value[key] = Json::String(text.clone());
        }
    }
    Some(value)
}

/// The value of a file input as a Part; none when it is no such value.
pub(crate) fn file_part(value: &Json) -> Option<Part> {
    let text = |key: &str| value.get(key).and_then(Json::as_str);
    let content = match (text("bytes"), text("url")) {
        (Some(bytes), None) => Content::Raw(STANDARD.decode(bytes).ok()?),
        (None, Some(url)) => Content::Url(url.to_owned()),
        _ => return None,
    };
    Some(Part {
        content: Some(content),
        filename: text("filename").unwrap_or_default().to_owned(),
        media_type: text("media_type").unwrap_or_default().to_owned(),
        metadata: None,
    })
}

/// Keeps a default of `null` apart from no default.
mod presence {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value as Json;

    #[expect(clippy::ref_option, reason = "the signature serde asks for")]
    pub(super) fn serialize<S: Serializer>(
        value: &Option<Json>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Json>, D::Error> {
        Json::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests;
