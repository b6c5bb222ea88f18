//! JSON to card.

use serde_json::{Map, Value as Json};

use super::CardError;
use crate::{
    dialect,
    v1::{AgentCard, Required as _},
};

/// How much is said of what is wrong with a field, in characters.
const MAX_WHY: usize = 300;

/// Reads a card out of its JSON.
///
/// Unknown fields are ignored. `security`, as drafts of 1.0 called it, is read as
/// `securityRequirements`, on the card and on its skills. Cards of 0.3 and before are
/// read as what they would be in 1.0. A card that has both 1.0 interfaces and the
/// fields of older versions is a 1.0 card.
///
/// # Errors
/// [`CardError::NotAnObject`], [`CardError::Field`] and [`CardError::Missing`]. A missing description, version, capability or skill
/// is none: the agent can be called without.
pub fn read(json: &Json) -> Result<AgentCard, CardError> {
    let Json::Object(object) = json else {
        return Err(CardError::NotAnObject { found: kind(json) });
    };
    let card = match dialect::card::is_older(object) {
        true => decode(&dialect::card::read(object))?,
        false => decode(object)?,
    };
    let fields = indispensable(&card);
    if fields.is_empty() { Ok(card) } else { Err(CardError::Missing { fields }) }
}

/// Whether the JSON tries to be a card, of whatever version.
pub(super) fn is_card(json: &Json) -> bool {
    ["name", "supportedInterfaces", "supported_interfaces"]
        .iter()
        .any(|field| json.get(field).is_some())
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

fn decode(object: &Map<String, Json>) -> Result<AgentCard, CardError> {
    let object = with_renamed_security(object);
    serde_path_to_error::deserialize(Json::Object(object)).map_err(|error| CardError::Field {
        path: error.path().to_string(),
        why: shortened(error.inner().to_string()),
    })
}

/// What is wrong may repeat the whole of a text that is no number.
fn shortened(mut why: String) -> String {
    if let Some((at, _)) = why.char_indices().nth(MAX_WHY) {
        why.truncate(at);
        why.push('…');
    }
    why
}

fn with_renamed_security(object: &Map<String, Json>) -> Map<String, Json> {
    let mut object = object.clone();
    rename_security(&mut object);
    if let Some(Json::Array(skills)) = object.get_mut("skills") {
        skills.iter_mut().filter_map(Json::as_object_mut).for_each(rename_security);
    }
    object
}

fn rename_security(object: &mut Map<String, Json>) {
    let is_named = ["securityRequirements", "security_requirements"]
        .into_iter()
        .any(|field| object.contains_key(field));
    if is_named {
        return;
    }
    if let Some(Json::Array(requirements)) = object.remove("security") {
        let requirements = requirements.into_iter().map(requirement).collect();
        object.insert("securityRequirements".to_owned(), requirements);
    }
}

/// OpenAPI's `{"scheme": ["scope"]}`, which is what stands under `security`, in
/// the form of 1.0: `{"schemes": {"scheme": {"list": ["scope"]}}}`.
fn requirement(requirement: Json) -> Json {
    match requirement {
        Json::Object(schemes) if !schemes.contains_key("schemes") => {
            let schemes: Map<_, _> =
                schemes.into_iter().map(|(name, scopes)| (name, scope_list(scopes))).collect();
            serde_json::json!({ "schemes": schemes })
        }
        other => other,
    }
}

fn scope_list(scopes: Json) -> Json {
    if scopes.is_array() { serde_json::json!({ "list": scopes }) } else { scopes }
}

fn indispensable(card: &AgentCard) -> Vec<String> {
    let is_indispensable =
        |path: &String| path == "name" || path.starts_with("supportedInterfaces");
    card.missing_required().into_iter().filter(is_indispensable).collect()
}
