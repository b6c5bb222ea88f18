//! JSON to card.

use serde_json::{Map, Value as Json};

use super::{CardError, requirements};
use crate::{
    dialect,
    v1::{AgentCard, Required as _},
};

/// How much is said of what is wrong with a field, in characters.
const MAX_WHY: usize = 300;

/// Reads a card out of its JSON.
///
/// Unknown fields are ignored. `security`, as drafts of 1.0 called it, is read as
/// `securityRequirements`, on the card and on its skills, and so are requirements in OpenAPI's form
/// ([`older_security`](super::older_security) tells where). Cards of 0.3 and before are
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
    let mut object = object.clone();
    requirements::mend(&mut object);
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

fn indispensable(card: &AgentCard) -> Vec<String> {
    let is_indispensable =
        |path: &String| path == "name" || path.starts_with("supportedInterfaces");
    card.missing_required().into_iter().filter(is_indispensable).collect()
}
