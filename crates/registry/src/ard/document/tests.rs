use protocol::outbound::{Outbound, Policy};
use serde_json::{Value, json};
use url::Url;

use super::{Clients, Documents, Is, Item, Reach, items};

fn base() -> Url {
    Url::parse("https://host.example/catalogs/all.json?x=1").unwrap()
}

fn read(json: &Value) -> Vec<Item> {
    items(json, &base())
}

/// What the only entry of a list is.
fn is(entry: &Value) -> Is {
    let mut items = read(&json!({ "specVersion": "1.0", "entries": [entry] }));
    assert_eq!(items.len(), 1);
    items.remove(0).is
}

fn at(url: &str) -> Is {
    Is::CardAt(Url::parse(url).unwrap())
}

const CARD: &str = "application/a2a-agent-card+json";

#[test]
fn every_spelling_of_the_drafts_is_read_alike() {
    let url = "https://a.example/card.json";
    let spellings = [
        json!({ "entries": [{ "identifier": "urn:air:a.example:agent:a", "displayName": "A", "type": CARD, "url": url }] }),
        json!({ "entries": [{ "identifier": "urn:air:a.example:agent:a", "displayName": "A", "mediaType": CARD, "url": url }] }),
        json!({ "host": { "name": "Host" }, "agents": [{ "id": "urn:air:a.example:agent:a", "name": "A", "description": "Acts.", "tags": ["x"], "cardUrl": url, "updatedAt": "2026-01-01T00:00:00Z" }] }),
        json!({ "services": [{ "id": "urn:air:a.example:agent:a", "name": "A", "cardUrl": url }] }),
        json!({ "agents": [{ "id": "urn:air:a.example:agent:a", "name": "A", "url": url, "card": {} }] }),
    ];
    for spelling in spellings {
        let [Item { label, identifier, is }] = &*read(&spelling) else { panic!("{spelling}") };
        assert_eq!((label.as_str(), is), ("A", &at(url)), "{spelling}");
        assert_eq!(identifier.as_deref(), Some("urn:air:a.example:agent:a"), "{spelling}");
    }
}

#[test]
fn an_entry_is_what_its_media_type_says() {
    let typed = |media_type: &str| is(&json!({ "type": media_type, "url": "https://a.example/x" }));
    for card in
        [CARD, "Application/A2A-Agent-Card+JSON; charset=utf-8", "application/agent-card+json"]
    {
        assert_eq!(typed(card), at("https://a.example/x"), "{card}");
    }
    let nested = Url::parse("https://a.example/x").unwrap();
    assert_eq!(typed("application/ai-catalog+json"), Is::CatalogAt(nested));
    let other = typed("application/mcp-server-card+json");
    assert_eq!(other, Is::Other("application/mcp-server-card+json, no Agent Card".into()));
    assert!(matches!(is(&json!({ "url": "https://a.example/x" })), Is::Wrong(_)));
}

#[test]
fn what_an_entry_has_in_itself_needs_no_address() {
    let card = json!({ "name": "A" });
    assert_eq!(is(&json!({ "type": CARD, "data": card })), Is::Card(card));
    let nested = json!({ "entries": [] });
    let entry = json!({ "type": "application/ai-catalog+json", "data": nested });
    assert_eq!(is(&entry), Is::Catalog(nested));
    for nothing in
        [json!({ "type": CARD }), json!({ "type": CARD, "url": "", "data": 1 }), json!(7)]
    {
        assert!(matches!(is(&nothing), Is::Wrong(_)), "{nothing}");
    }
}

#[test]
fn an_address_is_relative_to_its_document_and_no_less_protected() {
    let to = |url: &str| is(&json!({ "type": CARD, "url": url }));
    assert_eq!(to("../a.json"), at("https://host.example/a.json"));
    assert_eq!(to("/a.json"), at("https://host.example/a.json"));
    assert!(matches!(to("http://a.example/"), Is::Wrong(why) if why.contains("not protected")));
    assert!(matches!(to("https://"), Is::Wrong(_)));
}

#[test]
fn texts_of_strangers_are_as_long_as_people_read() {
    let long = "x".repeat(1 << 20);
    let items = read(&json!({ "entries": [
        { "identifier": long, "displayName": "A", "type": CARD, "url": "https://a.example/" },
        { "displayName": long, "type": CARD, "url": "https://a.example/" },
        { "displayName": "B", "type": CARD, "url": format!("https://a.example/{long}") },
        { "displayName": "C", "type": long, "url": "https://a.example/" },
    ]}));
    assert!(matches!(&items[0].is, Is::Wrong(why) if why.contains("identifier")));
    assert_eq!(items[0].identifier, None);
    assert!(items[1].label.chars().count() <= 81, "{}", items[1].label.len());
    assert!(matches!(&items[2].is, Is::Wrong(why) if why.contains("address") && why.len() < 200));
    assert!(matches!(&items[3].is, Is::Other(why) if why.len() < 200));
}

#[test]
fn of_several_versions_the_latest_counts() {
    let entry = |id: &str, version: &str, at: &str, url: &str| json!({ "identifier": id, "version": version, "updatedAt": at, "type": CARD, "url": url });
    let items = read(&json!({ "entries": [
        entry("a", "2.9.0", "", "https://a.example/old"),
        entry("a", "2.10.0", "", "https://a.example/new"),
        entry("a", "2.1.0", "", "https://a.example/older"),
        entry("b", "", "2026-02-01T00:00:00Z", "https://b.example/new"),
        entry("b", "", "2026-01-01T00:00:00Z", "https://b.example/old"),
    ]}));
    let taken: Vec<&Is> =
        items.iter().map(|it| &it.is).filter(|is| matches!(is, Is::CardAt(_))).collect();
    assert_eq!(taken, [&at("https://a.example/new"), &at("https://b.example/new")]);
}

#[test]
fn a_list_in_pages_goes_on_at_the_next_one() {
    let items = read(&json!({ "agents": [], "next_page_token": "a&b" }));
    let [Item { is: Is::Next(url), .. }] = &*items else { panic!("{items:?}") };
    assert_eq!(url.as_str(), "https://host.example/catalogs/all.json?x=1&page_token=a%26b");
    let items = read(&json!({ "items": [], "pageToken": "t" }));
    let [Item { is: Is::Next(url), .. }] = &*items else { panic!("{items:?}") };
    assert_eq!(url.as_str(), "https://host.example/catalogs/all.json?x=1&pageToken=t");
    assert!(read(&json!({ "agents": [], "next_page_token": "" })).is_empty());
}

#[tokio::test]
async fn a_catalog_elsewhere_cannot_make_us_ask_this_machine() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let catalog = axum::routing::get(|| async { r#"{"entries": []}"# });
    let router = axum::Router::new().route("/", catalog);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let documents = Documents::new(&Clients::new(&Outbound::new(Policy::loopback()).unwrap()));
    assert!(documents.get(&url, Reach::Any).await.is_ok());
    let refused = documents.get(&url, Reach::Beyond).await.unwrap_err().to_string();
    assert!(refused.contains("loopback"), "{refused}");
    let (near, far) = (Url::parse(&url).unwrap(), base());
    assert_eq!(Reach::Any.through(&near), Reach::Any);
    assert_eq!(Reach::Any.through(&far), Reach::Beyond);
    assert_eq!(Reach::Beyond.through(&near), Reach::Beyond);
}
