use std::sync::Arc;

use protocol::v1::{AgentCard, AgentSkill};
use serde_json::{Value, json};
use url::Url;

use super::{PART, Published};
use crate::ard::document::{Is, items};
use crate::{Agent, CardDigest, Curation, Index};

fn card(name: &str) -> AgentCard {
    let skill = |id: &str| AgentSkill {
        id: id.into(),
        tags: vec!["booking".into()],
        examples: vec![format!("{id} something")],
        ..AgentSkill::default()
    };
    AgentCard {
        name: name.into(),
        description: "Books.".into(),
        version: "2.0".into(),
        skills: vec![skill("book"), skill("cancel")],
        ..AgentCard::default()
    }
}

pub(crate) fn agent(name: &str) -> Agent {
    let url = format!("https://{name}.example/card.json");
    let digest = CardDigest::of(&json!(name));
    Agent { is_public: true, ..Agent::new(name, &url, card(name), digest) }
}

pub(crate) fn published(agents: impl IntoIterator<Item = Agent>) -> Published {
    let index = Index::new(agents.into_iter().map(Arc::new));
    Published::new("https://peer.example:8443/", card("Convoke"), Some(&index))
}

fn entries(published: &Published, part: Option<usize>) -> Vec<Value> {
    published.catalog(part).unwrap()["entries"].as_array().unwrap().clone()
}

fn names(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["displayName"].as_str().unwrap()).collect()
}

#[test]
fn only_what_is_approved_and_public_is_published() {
    let mut proposed = agent("proposed");
    proposed.curation = Curation::Proposed;
    let mut deprecated = agent("deprecated");
    deprecated.curation = Curation::Deprecated;
    let private = Agent { is_public: false, ..agent("private") };
    let published = published([agent("flights"), proposed, deprecated, private]);
    let entries = entries(&published, None);
    assert_eq!(names(&entries), ["Convoke", "Search in this directory", "flights"]);
    let own = Published::new("https://peer.example", card("Convoke"), None);
    assert_eq!(own.catalog(None).unwrap()["entries"].as_array().unwrap().len(), 2);
}

#[test]
fn an_entry_speaks_in_the_words_of_all_drafts() {
    let published = published([agent("flights")]);
    insta::assert_json_snapshot!(published.catalog(None).unwrap(), @r#"
    {
      "entries": [
        {
          "capabilities": [
            "book",
            "cancel"
          ],
          "description": "Books.",
          "displayName": "Convoke",
          "identifier": "urn:air:peer.example:orchestrator",
          "mediaType": "application/a2a-agent-card+json",
          "representativeQueries": [
            "book something",
            "cancel something"
          ],
          "tags": [
            "booking"
          ],
          "type": "application/a2a-agent-card+json",
          "url": "https://peer.example:8443/.well-known/agent-card.json",
          "version": "2.0"
        },
        {
          "displayName": "Search in this directory",
          "identifier": "urn:air:peer.example:registry",
          "mediaType": "application/ai-registry+json",
          "type": "application/ai-registry+json",
          "url": "https://peer.example:8443/ard/"
        },
        {
          "capabilities": [
            "book",
            "cancel"
          ],
          "description": "Books.",
          "displayName": "flights",
          "identifier": "urn:air:peer.example:agent:flights",
          "mediaType": "application/a2a-agent-card+json",
          "representativeQueries": [
            "book something",
            "cancel something"
          ],
          "tags": [
            "booking"
          ],
          "type": "application/a2a-agent-card+json",
          "url": "https://flights.example/card.json",
          "version": "2.0"
        }
      ],
      "host": {
        "displayName": "Convoke",
        "identifier": "peer.example"
      },
      "specVersion": "1.0"
    }
    "#);
}

#[test]
fn what_curators_note_for_themselves_is_not_found_either() {
    let mut flights = agent("flights");
    flights.notes = Some("Ask Mira secretly.".into());
    flights.owner = Some("mira".into());
    flights.aliases = vec!["mirage".into()];
    let published = published([flights]);
    let text = published.catalog(None).unwrap().to_string();
    assert!(!text.contains("mira"), "{text}");
    assert!(published.index.search("mira").is_empty());
    assert!(published.index.by_name("mirage").is_none());
}

#[test]
fn a_card_without_an_address_of_its_own_is_in_the_catalog() {
    for url in ["", "https://host.example/ai-catalog.json#entry=urn:x:a"] {
        let published = published([Agent { url: url.into(), ..agent("flights") }]);
        let entry = entries(&published, None).remove(2);
        assert_eq!((entry.get("url"), &entry["data"]["name"]), (None, &json!("flights")));
    }
}

#[test]
fn a_large_directory_is_divided_and_lists_each_agent_once() {
    let agents = (0..PART * 2 + 3).map(|at| agent(&format!("a{at:05}")));
    let published = published(agents);
    let top = entries(&published, None);
    assert_eq!(top.len(), 5, "itself, the search and three parts");
    assert_eq!(top[4]["url"], "https://peer.example:8443/.well-known/ai-catalog/3.json");
    let of = |part| entries(&published, Some(part));
    assert_eq!([of(1).len(), of(2).len(), of(3).len()], [PART, PART, 3]);
    assert_eq!(of(2)[0]["displayName"], format!("a{PART:05}"));
    for none in [0, 4, usize::MAX] {
        assert!(published.catalog(Some(none)).is_none(), "{none}");
    }
}

#[test]
fn what_is_published_is_what_is_read_here() {
    let published = published([agent("flights"), Agent { url: String::new(), ..agent("hotels") }]);
    let base = Url::parse("https://peer.example:8443/.well-known/ai-catalog.json").unwrap();
    let items = items(&published.catalog(None).unwrap(), &base);
    let kinds: Vec<&str> = items
        .iter()
        .map(|item| match item.is {
            Is::CardAt(_) => "at",
            Is::Card(_) => "here",
            Is::Other(_) => "other",
            _ => "?",
        })
        .collect();
    assert_eq!(kinds, ["at", "other", "at", "here"]);
}

#[test]
fn identifiers_hold_whatever_host_there_is() {
    for (url, urn) in [
        ("http://127.0.0.1:8100", "urn:air:127.0.0.1:orchestrator"),
        ("http://[::1]:8100", "urn:air:1:orchestrator"),
        ("https://a.example/path/", "urn:air:a.example:orchestrator"),
    ] {
        let published = Published::new(url, card("Convoke"), None);
        assert_eq!(published.catalog(None).unwrap()["entries"][0]["identifier"], urn);
    }
}

#[test]
fn what_is_published_stays_while_only_more_was_seen_of_agents() {
    let of = |agents: [Agent; 2]| Index::new(agents.map(Arc::new));
    let before = of([agent("flights"), Agent { is_public: false, ..agent("private") }]);
    let with = |change: &dyn Fn(&mut Agent), name: &str| {
        let mut changed = Agent::clone(before.by_name(name).unwrap());
        change(&mut changed);
        before.replacing([Arc::new(changed)]).unwrap()
    };
    let seen = with(&|agent| agent.tier = Some(crate::Tier::Proven), "flights");
    assert!(Published::is_the_same(&before, &before) && Published::is_the_same(&before, &seen));
    let hidden = with(&|agent| agent.curation = Curation::Suspended, "private");
    assert!(Published::is_the_same(&before, &hidden));
    let suspended = with(&|agent| agent.curation = Curation::Suspended, "flights");
    assert!(!Published::is_the_same(&before, &suspended));
    assert!(!Published::is_the_same(&suspended, &before));
    assert!(!Published::is_the_same(&before, &of([agent("flights"), agent("hotels")])));
}
