//! Agent Cards from before 1.0, and the fields by which older clients read one of ours.

use serde_json::{Value, json};

use super::{
    json::{Object, change, each, edit, put, take, text},
    security,
};
use crate::{card::Binding, version::Version};

/// Tells whether a card is of an older version. Before 1.0 a card had one `url` of its own, and its
/// other addresses elsewhere; one that has both is a 1.0 card.
pub(crate) fn is_older(card: &Object) -> bool {
    let has = |field: &str| card.contains_key(field);
    let is_current = has("supportedInterfaces") || has("supported_interfaces");
    let is_older = ["url", "preferredTransport", "additionalInterfaces", "protocolVersion"]
        .into_iter()
        .any(has);
    is_older && !is_current
}

/// Turns an older card into one of 1.0: its main address comes first, as the agent prefers it.
pub(crate) fn read(card: &Object) -> Object {
    let mut card = card.clone();
    let version = version(&card);
    let mut interfaces = vec![interface(
        take(&mut card, "url"),
        match take(&mut card, "preferredTransport") {
            Value::String(transport) if !transport.is_empty() => transport.into(),
            _ => Binding::JsonRpc.name().into(),
        },
        &version,
    )];
    if let Value::Array(others) = take(&mut card, "additionalInterfaces") {
        for other in others {
            // What is no object stays, for the reader of 1.0 to refuse.
            let other = edit(other, |it| {
                let (url, transport) = (take(it, "url"), take(it, "transport"));
                if let Value::Object(read) = interface(url, transport, &version) {
                    *it = read;
                }
            });
            if !interfaces.contains(&other) {
                interfaces.push(other);
            }
        }
    }
    card.remove("protocolVersion");
    card.insert("supportedInterfaces".to_owned(), interfaces.into());
    security::read_authentication(&mut card);
    change(&mut card, "securitySchemes", |schemes| {
        edit(schemes, |schemes| {
            for scheme in schemes.values_mut() {
                *scheme = security::read(scheme.take());
            }
        })
    });
    let has_extended_card = take(&mut card, "supportsAuthenticatedExtendedCard");
    if has_extended_card == true {
        let capabilities = card.entry("capabilities").or_insert_with(|| json!({}));
        *capabilities = edit(capabilities.take(), |all| {
            all.insert("extendedAgentCard".to_owned(), true.into());
        });
    }
    card
}

fn interface(url: Value, binding: Value, version: &str) -> Value {
    let mut interface = Object::new();
    for (name, value) in
        [("url", url), ("protocolBinding", binding), ("protocolVersion", version.into())]
    {
        put(&mut interface, name, value);
    }
    interface.into()
}

/// The version a card is of. Before 0.2.5 cards did not say; 0.1 is known by its authentication, or
/// by modes that are no media types.
fn version(card: &Object) -> String {
    let written = text(card, "protocolVersion");
    if !written.is_empty() {
        let parsed = written.trim_start_matches('v').parse::<Version>();
        return parsed.map_or_else(|_| written.to_owned(), |version| version.to_string());
    }
    let modes = ["defaultInputModes", "defaultOutputModes"].map(|name| card.get(name));
    let mut modes = modes.into_iter().flatten().filter_map(Value::as_array).flatten();
    let is_first = security::is_of_0_1(card)
        || modes.any(|mode| mode.as_str().is_some_and(|mode| !mode.contains('/')));
    let is_later = card.contains_key("preferredTransport");
    let version = match (is_first, is_later) {
        (_, true) => Version::V0_3,
        (true, false) => Version::V0_1,
        (false, false) => Version::V0_2,
    };
    version.to_string()
}

/// Adds to a 1.0 card what readers of older versions look for: its address, its other addresses,
/// security in OpenAPI's form, and, as interfaces, what else is spoken at its addresses.
pub(crate) fn add_older_fields(card: &mut Object) {
    let interfaces = match card.get("supportedInterfaces") {
        Some(Value::Array(interfaces)) => interfaces.clone(),
        _ => Vec::new(),
    };
    let spoken: Vec<&Value> = interfaces
        .iter()
        .filter(|one| one["protocolVersion"] == crate::card::VERSION && has_older_twin(one))
        .collect();
    let Some(main) = spoken.first() else { return };
    card.insert("protocolVersion".to_owned(), format!("{}.0", Version::V0_3).into());
    card.insert("url".to_owned(), main["url"].clone());
    card.insert("preferredTransport".to_owned(), main["protocolBinding"].clone());
    let all = spoken
        .iter()
        .map(|one| json!({"url": one["url"], "transport": one["protocolBinding"]}))
        .collect::<Vec<_>>();
    card.insert("additionalInterfaces".to_owned(), all.into());
    let older = spoken.iter().map(|one| edit((*one).clone(), age));
    let older: Vec<Value> = older.filter(|one| !interfaces.contains(one)).collect();
    card.insert("supportedInterfaces".to_owned(), [interfaces.clone(), older].concat().into());
    let has_extended_card = card.get("capabilities").map(|all| all["extendedAgentCard"] == true);
    card.insert("supportsAuthenticatedExtendedCard".to_owned(), has_extended_card.into());
    add_older_security(card);
    each(card, "skills", |skill| edit(skill, add_older_requirements));
}

/// Whether the older dialects are spoken at an address too: they know neither tenants nor our gRPC.
fn has_older_twin(interface: &Value) -> bool {
    let binding = interface["protocolBinding"].as_str().and_then(Binding::from_name);
    let has_tenant = interface["tenant"].as_str().is_some_and(|tenant| !tenant.is_empty());
    matches!(binding, Some(Binding::JsonRpc | Binding::HttpJson)) && !has_tenant
}

fn age(interface: &mut Object) {
    interface.insert("protocolVersion".to_owned(), Version::V0_3.to_string().into());
}

fn add_older_security(card: &mut Object) {
    change(card, "securitySchemes", |schemes| {
        edit(schemes, |schemes| {
            for scheme in schemes.values_mut() {
                *scheme = security::add_older(scheme.take());
            }
        })
    });
    add_older_requirements(card);
}

fn add_older_requirements(object: &mut Object) {
    if let Some(requirements) = object.get("securityRequirements") {
        let older = security::write_requirements(requirements);
        put(object, "security", older);
    }
}
