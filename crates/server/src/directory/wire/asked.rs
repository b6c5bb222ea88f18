//! What is asked for.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A file that a person wrote, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct FileIn {
    /// What its author knows it by; it is not opened.
    pub name: String,
    /// All of it: YAML or JSON.
    pub text: String,
}

impl TryFrom<Map<String, Value>> for FileIn {
    type Error = String;

    fn try_from(mut members: Map<String, Value>) -> Result<Self, String> {
        let mut text = |member: &str| match members.remove(member) {
            Some(Value::String(text)) => Ok(text),
            _ => Err(format!("`{member}` of a file has to be a text")),
        };
        let file = Self { name: text("name")?, text: text("text")? };
        match members.keys().next() {
            Some(unknown) => Err(format!("a file has no `{unknown}`, but `name` and `text`")),
            None => Ok(file),
        }
    }
}

/// Takes agents in: `POST /v1/agents`. One of `url`, `card` and `file`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AddIn {
    /// Where the agent's card is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The card itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Value>,
    /// A card, a list of cards, or a catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileIn>,
    /// The texts of the files which that one names, by the paths it names them with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// The agent's name, with `url` or `card`; made from its card's without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the catalog in `file` is known by: agents that an earlier one of that name listed and this
    /// one does not are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// Approves what is proposed in one go.
    pub approve: bool,
    /// Only says what would happen.
    pub dry_run: bool,
}

/// Looks at cards again: `POST /v1/agents:refresh`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RefreshIn {
    /// Which; all without.
    pub names: Vec<String>,
    /// Only says what would happen.
    pub dry_run: bool,
}

/// Looks at agents and asks them: `POST /v1/agents:probe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeIn {
    /// Which; all that are in use or wait to be without.
    pub names: Vec<String>,
}

/// Decides about an agent: `POST /v1/agents/{name}:approve` and the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionIn {
    /// Why.
    pub why: String,
    /// When an approval has to be reviewed; with `approve` alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_by: Option<Timestamp>,
}

/// Gives and takes curator's tags: `POST /v1/agents/{name}:tag`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TagsIn {
    /// Those to give.
    pub add: Vec<String>,
    /// Those to take away.
    pub remove: Vec<String>,
}

/// Says whether others may learn of an agent: `POST /v1/agents/{name}:publish`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishIn {
    /// Whether they may, once it is approved.
    pub public: bool,
}

/// Cards to be looked over: `POST /v1/agents:lint`. One of `url`, `card` and `file`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LintIn {
    /// Where the card is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The card itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Value>,
    /// A card, a list of cards, or a catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileIn>,
    /// The texts of the files which that one names, by the paths it names them with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}

/// Replaces the policy: `PUT /v1/policy`. One of `policy` and `file`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyIn {
    /// The policy, as `GET /v1/policy` gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Value>,
    /// The policy as a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileIn>,
    /// The texts of the key files which that one names, by the paths it names them with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
}
