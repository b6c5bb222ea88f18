use std::path::Path;

use document::{Limits, Source};
use jiff::Timestamp;
use protocol::card::Binding;
use protocol::outbound::Policy;
use serde_json::{Value, json};
use store::{OpenOptions, SqliteStore};

use super::*;
use crate::{ApplyOptions, Curation, Decision};

fn decision() -> Decision {
    Decision { who: "ada".into(), why: String::new(), at: Timestamp::from_second(1).unwrap() }
}

fn card(url: &str) -> Value {
    json!({
        "name": "It", "description": "Works.", "version": "1", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "skills": [{"id": "work", "name": "Work", "description": "Works.", "tags": ["work"]}]
    })
}

fn interface(url: &str) -> Interface {
    let (tenant, version) = (String::new(), "1.0".to_owned());
    Interface { url: url.to_owned(), binding: Binding::JsonRpc, tenant, version }
}

/// A directory with one agent, whose card is in the catalog, with one credential.
async fn keyrings(folder: &Path) -> (Arc<Registry>, Keyrings) {
    let store = SqliteStore::open(folder, OpenOptions::default()).unwrap();
    let outbound = Outbound::new(Policy::loopback()).unwrap();
    let registry = Registry::open(Arc::new(store), outbound.clone(), "me".into()).await.unwrap();
    let path = folder.join("catalog.yaml");
    let card = card("https://it.example/a2a");
    let text = format!(
        "agents:\n- name: it\n  card: {card}\n  credentials: [{{bearer: {{env: PATH}}}}]\n  origins: ['https://more.example']\n"
    );
    std::fs::write(&path, text).unwrap();
    let source = Source::read(&path, &Limits::default()).unwrap();
    let options = ApplyOptions { approve: true, dry_run: false, by: decision() };
    registry.apply(source, &options).await.unwrap();
    let registry = Arc::new(registry);
    (Arc::clone(&registry), Keyrings::new(registry, outbound, Vault::none()))
}

async fn is_shown(keyring: &Keyring, url: &str) -> bool {
    keyring.proof(&url.parse().unwrap()).await.is_ok()
}

#[tokio::test]
async fn an_agent_s_credentials_go_to_its_origins_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let (_registry, keyrings) = keyrings(folder.path()).await;
    let keyring = keyrings.of("it", &interface("https://it.example/a2a")).unwrap();
    assert!(!keyring.is_empty());
    for (url, is_approved) in [
        ("https://it.example/other", true),
        ("https://more.example/", true),
        ("https://it.example:8443/", false),
        ("http://it.example/", false),
    ] {
        assert_eq!(is_shown(&keyring, url).await, is_approved, "{url}");
    }
}

#[tokio::test]
async fn a_workflow_s_own_agent_of_the_same_name_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (_registry, keyrings) = keyrings(folder.path()).await;
    assert!(keyrings.of("it", &interface("https://own.example/")).unwrap().is_empty());
    assert!(keyrings.of("own", &interface("https://it.example/a2a")).unwrap().is_empty());
}

#[tokio::test]
async fn credentials_are_withheld_from_an_agent_that_is_not_approved() {
    let folder = tempfile::tempdir().unwrap();
    let (registry, keyrings) = keyrings(folder.path()).await;
    registry.transition("it", Curation::Suspended, &decision()).await.unwrap();
    let error = keyrings.of("it", &interface("https://it.example/a2a")).unwrap_err();
    insta::assert_snapshot!(error, @"
    the credentials of `it` are withheld, because it is suspended; `convoke agents approve it` lets it be called
    ");
    assert!(!keyrings.by_name("it").unwrap().1.is_empty());
}

#[tokio::test]
async fn what_is_stored_of_a_credential_is_where_its_secret_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (registry, _keyrings) = keyrings(folder.path()).await;
    let stored = serde_json::to_value(registry.record("it").await.unwrap()).unwrap();
    let expected = json!([{"scheme": null, "method": {"bearer": {"env": "PATH"}}}]);
    assert_eq!(stored["details"]["credentials"], expected);
}

#[tokio::test]
async fn another_look_at_an_agent_leaves_its_keyring_and_other_credentials_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let (registry, _keyrings) = keyrings(folder.path()).await;
    let agent = Agent::clone(&*registry.get("it").unwrap());
    let looked_at = Agent { tier: Some(crate::Tier::Valid), ..agent.clone() };
    assert!(calls_the_same(&agent, &looked_at));
    assert!(!calls_the_same(&agent, &Agent { access: Access::default(), ..agent.clone() }));
    let digest = crate::CardDigest::of(&json!({}));
    assert!(!calls_the_same(&agent, &Agent { digest, ..agent.clone() }));
}
