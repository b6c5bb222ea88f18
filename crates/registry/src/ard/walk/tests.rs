use serde_json::{Value, json};
use url::Url;

use super::{
    AGENTS, At, Document, NOTES, Place, Reach, Walk, Walked, entry_url, is_catalog_address,
    split_entry,
};

const CARD: &str = "application/a2a-agent-card+json";
const CATALOG: &str = "application/ai-catalog+json";

/// What one document lists, without those that it names.
fn walked(url: &str, json: Value) -> Walked {
    let mut walk = Walk::of(url);
    walk.enter(&Document { url: Url::parse(url).unwrap(), json }, Place::FIRST);
    walk.end()
}

fn nested(depth: usize, inner: Value) -> Value {
    (0..depth).fold(inner, |inner, _| {
        json!({ "entries": [{ "displayName": "inner", "type": CATALOG, "data": inner }] })
    })
}

#[test]
fn the_address_of_an_entry_is_read_as_it_was_written() {
    let document = Url::parse("https://host.example/a.json?b=c").unwrap();
    for identifier in ["urn:air:host.example:agent:a", "a b", "100%", "x&y=z+1", "ü#/?", ""] {
        let url = entry_url(&document, identifier);
        let split = split_entry(&url);
        assert_eq!(split, Some((document.to_string(), identifier.to_owned())), "{url}");
    }
    let plain = entry_url(&document, "urn:air:host.example:agent:a");
    assert_eq!(plain, "https://host.example/a.json?b=c#entry=urn:air:host.example:agent:a");
    for other in ["https://host.example/a.json", "https://host.example/a#skills", "no url"] {
        assert_eq!(split_entry(other), None, "{other}");
    }
}

#[test]
fn a_catalog_is_known_by_its_usual_name() {
    assert!(is_catalog_address("https://host.example/.well-known/ai-catalog.json"));
    assert!(is_catalog_address("https://host.example/x/ai-catalog.json?part=2"));
    assert!(!is_catalog_address("https://host.example/.well-known/agent-card.json"));
}

#[test]
fn catalogs_in_catalogs_are_read_four_levels_deep() {
    let agent =
        json!({ "entries": [{ "displayName": "A", "type": CARD, "url": "https://a.example/" }] });
    let read = walked("https://host.example/", nested(3, agent.clone()));
    assert_eq!((read.agents.len(), read.skipped.len()), (1, 0));
    assert_eq!(read.agents[0].source.via, ["https://host.example/"]);
    let deeper = walked("https://host.example/", nested(4, agent));
    assert!(deeper.agents.is_empty());
    assert!(deeper.skipped[0].why.contains("4 deep") && deeper.skipped[0].is_failure);
}

#[test]
fn a_card_in_a_catalog_has_the_address_of_its_entry() {
    let entry = json!({ "identifier": "urn:x:a", "type": CARD, "data": { "name": "A" } });
    let unnamed = json!({ "displayName": "B b", "type": CARD, "data": { "name": "B" } });
    let read = walked("https://host.example/c", json!({ "entries": [entry, unnamed] }));
    let urls: Vec<&str> = read
        .agents
        .iter()
        .map(|found| match &found.at {
            At::Here { url, .. } => url.as_str(),
            At::Url(url) => panic!("{url}"),
        })
        .collect();
    assert_eq!(urls, ["https://host.example/c#entry=urn:x:a", "https://host.example/c#entry=B+b"]);
}

#[test]
fn how_far_an_agent_was_named_from_is_kept() {
    let json = json!({ "entries": [{ "type": CARD, "url": "http://127.0.0.1:1/" }] });
    assert_eq!(walked("http://127.0.0.1:2/", json.clone()).agents[0].reach, Reach::Any);
    assert_eq!(walked("http://far.example/", json).agents[0].reach, Reach::Beyond);
}

#[test]
fn an_endless_list_is_cut_and_counted() {
    let agent = |at: usize| json!({ "displayName": "a", "type": CARD, "url": format!("https://a.example/{at}") });
    let others = (0..NOTES + 7).map(
        |_| json!({ "displayName": "m", "type": "application/x", "url": "https://a.example/" }),
    );
    let entries: Vec<Value> = (0..AGENTS + 5).map(agent).chain(others).collect();
    let read = walked("https://host.example/", json!({ "entries": entries }));
    assert_eq!((read.agents.len(), read.skipped.len()), (AGENTS, NOTES + 2));
    let [agents, others] = &read.skipped[NOTES..] else { panic!("two notes") };
    assert!(agents.why.contains("5 more agents") && agents.is_failure, "{agents:?}");
    // None of its agents may count as gone.
    assert_eq!(agents.url.as_deref(), Some("https://host.example/"));
    assert!(others.why.contains("7 more entries") && !others.is_failure, "{others:?}");
}
