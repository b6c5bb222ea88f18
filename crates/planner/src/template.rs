//! Values of a workflow file that may hold expressions: the Parts of Messages and the values of
//! outputs.

use document::{Source, Span};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::expression::{Context, Expression, ExpressionError};
use crate::scope::Scope;

/// Holds a value any scalar of which may be an expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    /// A value without expressions in it.
    Literal(Json),
    /// A scalar with expressions.
    Expression(Expression),
    /// A list with expressions somewhere in it.
    Sequence(Vec<Template>),
    /// A mapping with expressions somewhere in it; keys are always literal.
    Mapping(Vec<(String, Template)>),
}

impl Template {
    /// Evaluates every expression in the value.
    pub(crate) fn evaluate(
        &self,
        scope: &Scope,
        context: &Context,
        source: &Source,
    ) -> Result<Json, ExpressionError> {
        match self {
            Template::Literal(value) => Ok(value.clone()),
            Template::Expression(expression) => expression.evaluate(scope, context, source),
            Template::Sequence(items) => items
                .iter()
                .map(|item| item.evaluate(scope, context, source))
                .collect::<Result<_, _>>()
                .map(Json::Array),
            Template::Mapping(entries) => {
                let mut map = Map::new();
                for (key, value) in entries {
                    map.insert(key.clone(), value.evaluate(scope, context, source)?);
                }
                Ok(Json::Object(map))
            }
        }
    }

    /// A value without mappings or lists that hold expressions, as it was written.
    pub(crate) fn written(&self) -> String {
        match self {
            Template::Expression(expression) => expression.source().to_owned(),
            Template::Literal(value) => text_of(value.clone()),
            Template::Sequence(_) | Template::Mapping(_) => String::new(),
        }
    }

    /// What kind of value it gives, as JSON Schema names it, where that shows without a run.
    pub(crate) fn kind(&self) -> Option<&'static str> {
        match self {
            Template::Expression(expression) => expression.is_text().then_some("string"),
            Template::Sequence(_) => Some("array"),
            Template::Mapping(_) => Some("object"),
            Template::Literal(_) => None,
        }
    }

    /// Evaluates to text; what is no string becomes JSON.
    pub(crate) fn render(
        &self,
        scope: &Scope,
        context: &Context,
        source: &Source,
    ) -> Result<String, ExpressionError> {
        Ok(text_of(self.evaluate(scope, context, source)?))
    }
}

/// A value as text: a string as it is, anything else as JSON.
pub(crate) fn text_of(value: Json) -> String {
    match value {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

/// Describes one entry of a `message`: one Part, or the Parts of a step's artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartTemplate {
    /// What it holds.
    pub content: PartContent,
    /// Where it stands in the file.
    pub span: Span,
    /// The media type to state, instead of the content's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<Template>,
    /// The file name to state, instead of the content's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<Template>,
    /// Metadata to add; a mapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Template>,
}

/// Says what a Part is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartContent {
    /// `text`: a text Part.
    Text(Template),
    /// `data`: a data Part of any value.
    Data(Template),
    /// `file`: the file of a file input, or the text of an expression as bytes.
    File(Template),
    /// `url`: a link.
    Url(Template),
    /// `artifacts`: the Parts of a step's artifacts, or of its newest artifact of one name.
    Artifacts {
        /// The step.
        step: usize,
        /// The artifact's name; every artifact without it.
        name: Option<String>,
    },
    /// `input`: an input as a Part of the fitting kind.
    Input(String),
}
