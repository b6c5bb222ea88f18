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
        "agents:\n- name: flights\n  url: https://flights.example\n  tags: [air, travel]\n  category: trips\n  aliases: [planes]\n  owner: ada\n  notes: Good.\n  notes_review_by: 2027-06-30\n  priority: -3\n  probe_message: Here?\n  public: true\n- card: cards/hotel.json\n  probe_message: false\n  tags: single\n- card: {name: Spa}\n",
    );
    assert_eq!(entries[0].name.as_deref(), Some("flights"));
    assert_eq!(entries[0].card, CardAt::Url("https://flights.example".into()));
    assert_eq!(
        entries[0].details,
        Details {
            tags: vec!["air".into(), "travel".into()],
            category: Some("trips".into()),
            aliases: vec!["planes".into()],
            owner: Some("ada".into()),
            notes: Some("Good.".into()),
            notes_review_by: Some(jiff::civil::date(2027, 6, 30)),
            priority: -3,
            probe_message: Some("Here?".into()),
            public: true,
            ..Details::default()
        }
    );
    assert_eq!(entries[1].card, CardAt::File("cards/hotel.json".into()));
    assert_eq!(entries[1].details.tags, ["single"]);
    assert_eq!(entries[1].details.probe_message.as_deref(), Some(""), "nothing is to be sent");
    assert_eq!(entries[2].details.probe_message, None);
    let here = CardAt::Here { card: json!({"name": "Spa"}), pointer: "/agents/2/card".into() };
    assert_eq!(entries[2].card, here);
    assert!(!entries[2].details.public);
    let wrong = refusal("agents: [{card: {name: a}, public: maybe}]");
    assert!(wrong.contains("`public` has to be `true` or `false`"), "{wrong}");
    for day in ["tomorrow", "2027-02-30", "[]"] {
        let wrong = refusal(&format!("agents: [{{card: {{name: a}}, notes_review_by: {day}}}]"));
        assert!(wrong.contains("a day, as in 2027-06-30"), "{wrong}");
    }
    for message in ["true", "' '", "7", "[a]"] {
        let wrong = refusal(&format!("agents: [{{card: {{name: a}}, probe_message: {message}}}]"));
        assert!(wrong.contains("the text of a Message, or false"), "{wrong}");
    }
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

fn credentials(text: &str) -> Vec<String> {
    let indented = text.replace('\n', "\n    ");
    let entries =
        entries(&format!("agents:\n- url: https://a.example\n  credentials:\n    {indented}\n"));
    entries[0].details.credentials.iter().map(|it| serde_json::to_string(it).unwrap()).collect()
}

#[test]
fn every_kind_of_credential_is_read() {
    let read = credentials(
        "- api_key: {env: KEY}\n- {header: {name: X-Door, value: {file: /run/door}}, scheme: door}\n- basic: {username: ada, password: {command: [pass, show, ada]}}\n- bearer: {env: TOKEN}\n- oauth2: {client_id: c, client_secret: {env: S}, scopes: [a, b], issuer: 'https://login.example/x', flow: device_code}\n- oauth2: {client_id: public}\n- certificate: {certificate: {file: /c.pem}, key: {file: /k.pem}, authorities: {file: /a.pem}}",
    );
    assert_snapshot!(read.join("\n"), @r#"
    {"scheme":null,"method":{"api_key":{"env":"KEY"}}}
    {"scheme":"door","method":{"header":{"name":"X-Door","value":{"file":"/run/door"}}}}
    {"scheme":null,"method":{"basic":{"username":"ada","password":{"command":["pass","show","ada"]}}}}
    {"scheme":null,"method":{"bearer":{"env":"TOKEN"}}}
    {"scheme":null,"method":{"oauth2":{"client_id":"c","client_secret":{"env":"S"},"scopes":["a","b"],"issuer":"https://login.example/x","flow":"device_code"}}}
    {"scheme":null,"method":{"oauth2":{"client_id":"public","client_secret":null,"scopes":[],"issuer":null,"flow":null}}}
    {"scheme":null,"method":{"certificate":{"certificate":{"file":"/c.pem"},"key":{"file":"/k.pem"},"authorities":{"file":"/a.pem"}}}}
    "#);
}

#[test]
fn files_of_secrets_are_looked_for_beside_the_catalog() {
    let text = "agents:\n- url: https://a.example\n  credentials: [{bearer: {file: secrets/token}}]\n  origins: [https://api.example/x, 'http://127.0.0.1:9']\n";
    let listing = read(Source::new("/etc/convoke/catalog.yaml", text)).unwrap();
    let details = &listing.entries[0].details;
    assert_eq!(
        details.credentials[0].to_string(),
        "bearer from the file /etc/convoke/secrets/token"
    );
    let origins: Vec<String> = details.origins.iter().map(ToString::to_string).collect();
    assert_eq!(origins, ["https://api.example", "http://127.0.0.1:9"]);
}

#[test]
fn everything_wrong_with_credentials_is_said_without_showing_a_secret() {
    let text = "agents:\n- url: https://a.example\n  origins: [nowhere]\n  credentials:\n  - planted-1\n  - bearer: planted-2\n  - api_key: {value: planted-3}\n  - api-key: planted-4\n  - {basic: {username: ada}, bearer: {env: T}}\n  - basic: {username: ada, pasword: planted-5}\n  - header: planted-6\n  - oauth2: {client_id: c, client_secret: planted-7, flow: implicit, issuer: login}\n  - bearer: {env: A, file: b}\n  - bearer: {command: []}\n  - scheme: x\n- url: https://b.example\n  credentials: planted-8\n";
    let problems = read(Source::new("catalog.yaml", text)).unwrap_err();
    let shown = problems.to_string();
    assert!(!shown.contains("planted"), "{shown}");
    let told = problems.diagnostics.iter().map(|problem| {
        let help = problem.help.as_deref().unwrap_or_default();
        format!("{}: {}; {help}\n", problem.code, problem.message)
    });
    assert_snapshot!(told.collect::<String>(), @"
    catalog::origin: `nowhere` names no origin; write scheme, host and port, as in `https://api.example.com:8443`; 
    catalog::wrong-type: a credential is a mapping (catalog.yaml:5:5); write what it is, as in `- bearer: {env: NAME}`
    catalog::plain-secret: `bearer` does not say where its secret is kept (catalog.yaml:6:5); a secret does not stand in the catalog itself; write where it is kept: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, ARGUMENT]}`
    catalog::plain-secret: `api_key` does not say where its secret is kept (catalog.yaml:7:5); a secret does not stand in the catalog itself; write where it is kept: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, ARGUMENT]}`
    catalog::unknown-key: a credential has no key `api-key` (catalog.yaml:8:5); did you mean `api_key`?
    catalog::no-method: the credential does not say what it is (catalog.yaml:8:5); give it one of api_key, header, basic, bearer, oauth2, token_exchange, certificate
    catalog::two-methods: a credential is one thing (catalog.yaml:9:30); make each an item of the list
    catalog::unknown-key: `basic` has no key `pasword` (catalog.yaml:10:28); did you mean `password`?
    catalog::missing-key: `basic` lacks password (catalog.yaml:10:5); 
    catalog::wrong-type: `header` has to be a mapping of name, value (catalog.yaml:11:13); 
    catalog::plain-secret: `client_secret` does not say where its secret is kept (catalog.yaml:12:28); a secret does not stand in the catalog itself; write where it is kept: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, ARGUMENT]}`
    catalog::issuer: `login` names no origin; write scheme, host and port, as in `https://api.example.com:8443` (catalog.yaml:12:78); 
    catalog::flow: `implicit` is no flow; there are client_credentials, device_code, authorization_code (catalog.yaml:12:60); 
    catalog::plain-secret: `bearer` does not say where its secret is kept (catalog.yaml:13:5); a secret does not stand in the catalog itself; write where it is kept: `{env: NAME}`, `{file: PATH}` or `{command: [PROGRAM, ARGUMENT]}`
    catalog::wrong-type: `command` has to be a list: the program, then its arguments (catalog.yaml:14:23); 
    catalog::no-method: the credential does not say what it is (catalog.yaml:15:5); give it one of api_key, header, basic, bearer, oauth2, token_exchange, certificate
    catalog::wrong-type: `credentials` has to be a list of credentials (catalog.yaml:17:16);
    ");
}
