//! Security schemes: OpenAPI's, by a `type`, before 1.0; one field of several since.

use serde_json::{Value, json};

use super::json::{Object, change, edit, put, rename, take, text, wrapped};

/// The types, and the fields of 1.0.
const TYPES: [[&str; 2]; 5] = [
    ["apiKey", "apiKeySecurityScheme"],
    ["http", "httpAuthSecurityScheme"],
    ["oauth2", "oauth2SecurityScheme"],
    ["openIdConnect", "openIdConnectSecurityScheme"],
    ["mutualTLS", "mtlsSecurityScheme"],
];

/// The flows of OAuth, the better ones first: a scheme of 1.0 has one.
const FLOWS: [&str; 4] = ["authorizationCode", "clientCredentials", "implicit", "password"];

/// Reads a scheme; one that is in the form of 1.0 stays.
pub(super) fn read(value: Value) -> Value {
    let Value::Object(mut scheme) = value else { return value };
    let kind = take(&mut scheme, "type");
    let known = TYPES.iter().find(|[name, _]| kind == *name);
    let Some([name, field]) = known else { return scheme.into() };
    match *name {
        "apiKey" => rename(&mut scheme, "in", "location"),
        "oauth2" => change(&mut scheme, "flows", one_flow),
        _ => {}
    }
    wrapped(field, scheme.into())
}

fn one_flow(flows: Value) -> Value {
    let Value::Object(mut flows) = flows else { return flows };
    let first = FLOWS.into_iter().find(|name| flows.contains_key(*name));
    first.map_or_else(|| json!({}), |name| wrapped(name, take(&mut flows, name)))
}

/// Adds the older form of a scheme to it, so that readers of both versions find theirs.
pub(super) fn add_older(value: Value) -> Value {
    edit(value, |scheme| {
        let known = TYPES.iter().find(|[_, field]| scheme.contains_key(*field));
        let Some([name, field]) = known else { return };
        let Some(Value::Object(mut older)) = scheme.get(*field).cloned() else { return };
        if *name == "apiKey" {
            rename(&mut older, "location", "in");
        }
        put(&mut older, "type", (*name).into());
        scheme.extend(older);
    })
}

/// What 0.1 says of authentication: names of HTTP schemes, of which any will do.
pub(super) fn read_authentication(card: &mut Object) {
    let authentication = take(card, "authentication");
    let names = authentication["schemes"].as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    if names.is_empty() || card.contains_key("securitySchemes") {
        return;
    }
    let schemes: Object = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"httpAuthSecurityScheme": {"scheme": name}})))
        .collect();
    let required: Vec<Value> =
        names.iter().map(|name| json!({"schemes": {*name: {"list": []}}})).collect();
    card.insert("securitySchemes".to_owned(), schemes.into());
    card.insert("securityRequirements".to_owned(), required.into());
}

/// Writes requirements in the older form, OpenAPI's.
pub(super) fn write_requirements(requirements: &Value) -> Value {
    let older = requirements.as_array().into_iter().flatten().map(|requirement| {
        let schemes = requirement["schemes"].as_object().into_iter().flatten();
        let scopes = |list: &Value| list.get("list").cloned().unwrap_or_else(|| json!([]));
        schemes.map(|(name, list)| (name.clone(), scopes(list))).collect::<Object>().into()
    });
    Value::Array(older.collect())
}

/// Tells whether a card says what 0.1 calls authentication.
pub(super) fn is_of_0_1(card: &Object) -> bool {
    card.contains_key("authentication") && text(card, "protocolVersion").is_empty()
}
