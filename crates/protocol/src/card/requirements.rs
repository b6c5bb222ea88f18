//! Who may call, as drafts of 1.0 said it: under another name, or in OpenAPI's form. Not to see that would be to call a
//! protected agent openly.

use serde_json::{Map, Value as Json, json};

use crate::dialect;

/// What 1.0 calls it, in both spellings that ProtoJSON takes.
const NAMES: [&str; 2] = ["securityRequirements", "security_requirements"];

/// What OpenAPI, older versions and drafts call it.
const OLDER: &str = "security";

/// Where a 1.0 card says its security as drafts did, as JSON pointers (RFC 6901): a field of the card or of a skill by
/// its older name, or a requirement in OpenAPI's form. All of that is read as what it means. Empty for cards of older
/// versions, in which it is right.
#[must_use]
pub fn older_security(json: &Json) -> Vec<String> {
    match json {
        Json::Object(object) if !dialect::card::is_older(object) => mend(&mut object.clone()),
        _ => Vec::new(),
    }
}

/// Says the security of a card and its skills as 1.0 does, and returns where that was needed.
pub(super) fn mend(card: &mut Map<String, Json>) -> Vec<String> {
    let mut mended = mend_one(card, "");
    if let Some(Json::Array(skills)) = card.get_mut("skills") {
        for (at, skill) in skills.iter_mut().enumerate() {
            let skill = skill.as_object_mut();
            mended.extend(skill.into_iter().flat_map(|it| mend_one(it, &format!("/skills/{at}"))));
        }
    }
    mended
}

/// The same for one object; the name of 1.0 counts where both say something.
fn mend_one(object: &mut Map<String, Json>, pointer: &str) -> Vec<String> {
    let says = |value: &Json| !value.is_null() && *value != json!([]);
    let named = NAMES.into_iter().find(|name| object.get(*name).is_some_and(says));
    if let Some(name) = named {
        let Some(Json::Array(requirements)) = object.get_mut(name) else { return Vec::new() };
        let mended = requirements.iter_mut().enumerate().filter_map(|(at, requirement)| {
            is_openapi(requirement).then(|| {
                *requirement = read(requirement.take());
                format!("{pointer}/{name}/{at}")
            })
        });
        return mended.collect();
    }
    let Some(Json::Array(requirements)) = object.remove(OLDER) else { return Vec::new() };
    let is_empty = requirements.is_empty();
    NAMES.into_iter().for_each(|name| drop(object.remove(name)));
    let requirements = requirements.into_iter().map(read).collect();
    object.insert(NAMES[0].to_owned(), requirements);
    if is_empty { Vec::new() } else { vec![format!("{pointer}/{OLDER}")] }
}

/// Whether a requirement is `{"scheme": ["scope"]}` rather than `{"schemes": {"scheme": {"list": ["scope"]}}}`. An empty
/// one means the same in both.
fn is_openapi(requirement: &Json) -> bool {
    let fields = requirement.as_object();
    fields.is_some_and(|it| !it.is_empty() && !it.get("schemes").is_some_and(Json::is_object))
}

fn read(requirement: Json) -> Json {
    match requirement {
        Json::Object(schemes) if !schemes.get("schemes").is_some_and(Json::is_object) => {
            let schemes: Map<_, _> =
                schemes.into_iter().map(|(name, scopes)| (name, scope_list(scopes))).collect();
            json!({ "schemes": schemes })
        }
        other => other,
    }
}

fn scope_list(scopes: Json) -> Json {
    if scopes.is_array() { json!({ "list": scopes }) } else { scopes }
}
