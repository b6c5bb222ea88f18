use serde_json::{Map, Value, json};

use crate::{Details, Record};

/// Writes agents down as a catalog, which brings them back when it is applied. Standings and what
/// was seen of agents are not in it; neither are secrets, of which only the places are known.
#[must_use]
pub fn to_catalog<'a>(records: impl IntoIterator<Item = &'a Record>) -> Value {
    json!({ "agents": records.into_iter().map(entry).collect::<Vec<_>>() })
}

fn entry(record: &Record) -> Value {
    let Details {
        tags,
        category,
        aliases,
        owner,
        notes,
        notes_review_by,
        priority,
        credentials,
        origins,
        probe_message,
        public,
    } = &record.details;
    let probe_message = probe_message.as_deref().map(|text| match text {
        "" => json!(false),
        text => json!(text),
    });
    let mut entry = Map::new();
    let (key, at) = match record.asked_url.as_str() {
        "" => ("card", record.card.clone()),
        url => ("url", json!(url)),
    };
    entry.insert(key.to_owned(), at);
    entry.insert("name".to_owned(), json!(record.name));
    let said = [
        ("tags", json!(tags)),
        ("category", json!(category)),
        ("aliases", json!(aliases)),
        ("owner", json!(owner)),
        ("notes", json!(notes)),
        ("notes_review_by", json!(notes_review_by)),
        ("priority", json!(Some(*priority).filter(|priority| *priority != 0))),
        ("credentials", credentials.iter().map(credential).collect()),
        ("origins", json!(origins)),
        ("probe_message", json!(probe_message)),
        ("public", json!(public.then_some(true))),
    ];
    for (key, value) in said {
        if !is_nothing(&value) {
            entry.insert(key.to_owned(), value);
        }
    }
    Value::Object(entry)
}

fn credential(credential: &protocol::auth::Credential) -> Value {
    let mut written = json!(credential.method);
    strip(&mut written);
    if let (Some(scheme), Some(members)) = (&credential.scheme, written.as_object_mut()) {
        members.insert("scheme".to_owned(), json!(scheme));
    }
    written
}

/// Leaves out what says nothing.
fn strip(value: &mut Value) {
    if let Some(members) = value.as_object_mut() {
        members.values_mut().for_each(strip);
        members.retain(|_, value| !is_nothing(value));
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use document::Source;
    use jiff::Timestamp;
    use serde_json::json;

    use super::to_catalog;
    use crate::{CardAt, CardDigest, Decision, History, Record, read_catalog};

    fn record(name: &str, url: &str) -> Record {
        let card = json!({ "name": name });
        let by = Decision { who: "ada".into(), why: String::new(), at: Timestamp::UNIX_EPOCH };
        let digest = CardDigest::of(&card);
        let mut record = Record::new(name.into(), card, digest, History::proposed(by));
        record.asked_url = url.into();
        record
    }

    #[test]
    fn a_catalog_that_was_written_is_read_as_it_was() {
        let written = "agents:
  - url: https://a.example/
    name: a
    tags: [x]
    category: k
    aliases: [alpha]
    owner: me
    notes: Ask first.
    notes_review_by: 2027-06-30
    priority: 3
    origins: ['https://b.example']
    probe_message: Are you there?
    public: true
    credentials:
      - {api_key: {env: KEY}, scheme: s}
      - {header: {name: X-Key, value: {file: key.txt}}}
      - {basic: {username: u, password: {command: [pass, show]}}}
      - {bearer: {env: TOKEN}}
      - {oauth2: {client_id: c, client_secret: {env: S}, scopes: [all], issuer: 'https://i.example/', flow: device_code}}
      - {token_exchange: {client_id: c, client_secret: {env: S}, token_endpoint: 'https://i.example/token', audience: [x], resource: ['urn:y'], scopes: [z]}}
      - {certificate: {certificate: {env: C}, key: {env: K}, authorities: {env: A}}}
  - card: {name: b}
    name: b
    probe_message: false
";
        let listing = read_catalog(Source::new("c.yaml", written)).unwrap();
        let mut a = record("a", "https://a.example/");
        a.details = listing.entries[0].details.clone();
        assert_eq!(a.details.credentials.len(), 7);
        assert!(a.details.category.is_some() && a.details.notes_review_by.is_some());
        let mut b = record("b", "");
        b.details = listing.entries[1].details.clone();
        assert_eq!(b.details.probe_message.as_deref(), Some(""));
        let again = to_catalog([&a, &b]).to_string();
        let again = read_catalog(Source::new("c.yaml", &again)).unwrap();
        assert_eq!(again.entries.len(), 2);
        for (before, after) in listing.entries.iter().zip(&again.entries) {
            assert_eq!((&before.name, &before.details), (&after.name, &after.details));
        }
        assert_eq!(again.entries[0].card, CardAt::Url("https://a.example/".into()));
        assert!(matches!(&again.entries[1].card, CardAt::Here { card, .. } if card["name"] == "b"));
    }
}
