use document::Source;
use insta::assert_snapshot;
use serde_json::json;

use super::{CardAt, Entry, read};
use crate::Details;

fn entries(text: &str) -> Vec<Entry> {
    let listing = read(Source::new("catalog.yaml", text)).unwrap_or_else(|error| panic!("{error}"));
    listing.entries
}

fn refusal(text: &str) -> String {
    read(Source::new("catalog.yaml", text)).expect_err("the catalog should be refused").to_string()
}

#[test]
fn every_key_of_a_catalog_is_read() {
    let entries = entries(
        "agents:\n- name: flights\n  url: https://flights.example\n  tags: [air, travel]\n  aliases: [planes]\n  owner: ada\n  notes: Good.\n  priority: -3\n- card: cards/hotel.json\n  tags: single\n- card: {name: Spa}\n",
    );
    assert_eq!(entries[0].name.as_deref(), Some("flights"));
    assert_eq!(entries[0].card, CardAt::Url("https://flights.example".into()));
    assert_eq!(
        entries[0].details,
        Details {
            tags: vec!["air".into(), "travel".into()],
            aliases: vec!["planes".into()],
            owner: Some("ada".into()),
            notes: Some("Good.".into()),
            priority: -3,
        }
    );
    assert_eq!(entries[1].card, CardAt::File("cards/hotel.json".into()));
    assert_eq!(entries[1].details.tags, ["single"]);
    let here = CardAt::Here { card: json!({"name": "Spa"}), pointer: "/agents/2/card".into() };
    assert_eq!(entries[2].card, here);
}

#[test]
fn one_card_and_a_list_of_cards_are_read_too() {
    let one = entries(r#"{"name": "Spa", "url": "https://old.example"}"#);
    assert!(matches!(&one[0].card, CardAt::Here { pointer, .. } if pointer.is_empty()));
    let list = entries(r#"[{"name": "Spa"}, {"name": "Hotel"}]"#);
    assert!(matches!(&list[1].card, CardAt::Here { pointer, .. } if pointer == "/1"));
    assert_eq!(entries("agents:\n"), []);
}

#[test]
fn everything_wrong_with_a_catalog_is_said_at_once() {
    let text = "agent: []\nagents:\n- nme: flights\n  url: https://a.example\n- url: https://b.example\n  card: b.json\n- tags: [x]\n- https://c.example\n- name: No Good\n  url: https://d.example\n  priority: high\n  tags: [1]\n  owner: [a]\n- url: 7\n- name: twice\n  url: https://e.example\n- card: f.json\n  aliases: [twice]\n";
    let problems = read(Source::new("catalog.yaml", text)).unwrap_err();
    let told = problems.diagnostics.iter().map(|problem| {
        let place = problems.source_file.place(problem.span().unwrap());
        let help = problem.help.as_deref().unwrap_or_default();
        format!("{place} {}: {}; {help}\n", problem.code, problem.message)
    });
    assert_snapshot!(told.collect::<String>(), @"
    catalog.yaml:1:1 catalog::unknown-key: a catalog has no key `agent`; did you mean `agents`?
    catalog.yaml:3:3 catalog::unknown-key: an agent of a catalog has no key `nme`; did you mean `name`?
    catalog.yaml:6:3 catalog::two-cards: an agent has `url` or `card`, not both; remove one of the two
    catalog.yaml:7:3 catalog::no-card: the agent has neither `url` nor `card`; say where its card is: `url: https://…`, or `card:` with a path or the card itself
    catalog.yaml:8:3 catalog::wrong-type: an agent of a catalog is a mapping; write `- url: https://…` or `- card: …`
    catalog.yaml:9:9 catalog::name: `No Good` is not a name for an agent: use 1 to 63 of a-z, 0-9, `-`, `_` and `.`, beginning with a letter or digit; 
    catalog.yaml:11:13 catalog::wrong-type: `priority` has to be a whole number; 
    catalog.yaml:12:10 catalog::wrong-type: `tags` has to be a list of strings; 
    catalog.yaml:13:11 catalog::wrong-type: `owner` has to be a string; 
    catalog.yaml:14:8 catalog::wrong-type: `url` has to be a URL; 
    catalog.yaml:17:3 catalog::repeated-name: two agents are called `twice`; give one of them another name or alias
    ");
}

#[test]
fn a_url_that_cannot_be_fetched_is_refused_before_anything_is() {
    let text = "agents:\n- url:\n- url: ''\n- url: nope\n- url: file:///etc/passwd\n- url: http://x:99999\n- url: https://me:secret@x.example\n- url: HTTPS://x.example\n";
    let problems = read(Source::new("catalog.yaml", text)).unwrap_err();
    let told = problems.diagnostics.iter().map(|problem| {
        let line = problems.source_file.position(problem.span().unwrap().start).line;
        format!(
            "{line} {}: {}; {}\n",
            problem.code,
            problem.message,
            problem.help.as_deref().unwrap_or_default()
        )
    });
    assert_snapshot!(told.collect::<String>(), @"
    2 catalog::wrong-type: `url` has to be a URL; 
    3 catalog::url: `` is not the URL of a card; write it in full, as in `https://agents.example.com`
    4 catalog::url: `nope` is not the URL of a card; write it in full, as in `https://agents.example.com`
    5 catalog::url: `file:///etc/passwd` is not the URL of a card; it begins with `https://` or `http://`
    6 catalog::url: `http://x:99999` is not the URL of a card; write it in full, as in `https://agents.example.com`
    7 catalog::url: the URL holds credentials; take `user:password@` out of it
    ");
}

#[test]
fn a_problem_of_a_catalog_is_shown_in_its_lines() {
    assert_snapshot!(refusal("agents:\n- url: https://b.example\n  card: b.json\n"), @"
    catalog::two-cards

      × an agent has `url` or `card`, not both
       ╭─[catalog.yaml:3:3]
     1 │ agents:
     2 │ - url: https://b.example
       ·   ─┬─
       ·    ╰── and here
     3 │   card: b.json
       ·   ──┬─
       ·     ╰── the card is here
       ╰────
      help: remove one of the two
    ");
}

#[test]
fn a_file_that_lists_no_agents_is_refused() {
    assert_snapshot!(refusal("steps: {}\n"), @"
    catalog::unknown-form

      × this is neither a catalog nor an Agent Card
       ╭─[catalog.yaml:1:1]
     1 │ steps: {}
       · ──┬──
       ·   ╰── a mapping without `agents` or `name`
       ╰────
      help: a catalog begins with `agents:` and a list; an Agent Card is an object with a `name`
    ");
    assert_snapshot!(refusal("- 1\n"), @"
    catalog::unknown-form

      × this is neither a catalog nor an Agent Card
       ╭─[catalog.yaml:1:3]
     1 │ - 1
       ·   ┬
       ·   ╰── a number without `agents` or `name`
       ╰────
      help: a catalog begins with `agents:` and a list; an Agent Card is an object with a `name`
    ");
    assert_snapshot!(refusal("agents: {a: 1}\n"), @"
    catalog::wrong-type

      × `agents` has to be a list of agents
       ╭─[catalog.yaml:1:10]
     1 │ agents: {a: 1}
       ·          ┬
       ·          ╰── this is a mapping
       ╰────
    ");
}
