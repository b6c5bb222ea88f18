//! Cards of strangers who mean harm: whatever stands in them is shown as harmless text, by every
//! verb, and is evaluated by nothing.

use std::fmt::Write as _;

use axum::{Json, response::IntoResponse as _};
use serde_json::{Value, json};
use tests::{
    agent::{Scripted, card},
    convoke::{Convoke, Done, finish},
};

/// What a terminal obeys, also when text goes through it in UTF-8.
const OBEYED: [char; 8] =
    ['\u{1b}', '\u{7}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{2066}', '\u{200f}', '\r'];

/// Escape sequences, marks of direction, HTML, templates, and lines that look like ours. The
/// product of the template stands nowhere, unless somebody calculates it.
const HARM: &str = "\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{7f}\u{202e}cba\u{2066}\u{200f}\r\
    <script>alert(1)</script> ${{ 12345678 * 9 }} {{ 12345678 * 9 }} ${{ secrets.key }} $(id)\
    \nFORGED approved\n\n";
const PRODUCT: &str = "111111102";

/// A card with harm in every text, whose interface is that of an agent that is there.
fn harmful(url: &str) -> Value {
    let mut card = card("x", url);
    card["name"] = json!(format!("Evil {HARM}"));
    card["description"] = json!(HARM);
    card["version"] = json!(HARM);
    card["documentationUrl"] = json!(HARM);
    card["iconUrl"] = json!(HARM);
    card["provider"] = json!({"organization": HARM, "url": HARM});
    card["defaultInputModes"] = json!(["text/plain", HARM]);
    card["skills"][0]["tags"] = json!(["acting", HARM]);
    card["skills"][0]["examples"] = json!([HARM]);
    let skill = json!({"id": HARM, "name": HARM, "description": HARM, "tags": [HARM]});
    card["skills"].as_array_mut().expect("a list").push(skill);
    card["securitySchemes"] = json!({HARM: {"apiKeySecurityScheme":
        {"location": "header", "name": "X-Key", "description": HARM}}});
    card["signatures"] = json!([{"protected": HARM, "signature": HARM, "header": {"kid": HARM}}]);
    let interfaces = card["supportedInterfaces"].as_array_mut().expect("a list");
    // A URL that can be called, and what is after its fragment is only shown.
    interfaces[0]["url"] = json!(format!("{url}/#{HARM}"));
    interfaces.push(json!({"url": HARM, "protocolBinding": HARM, "protocolVersion": HARM}));
    interfaces.push(json!({"url": HARM, "protocolBinding": "GRPC", "protocolVersion": "1.0"}));
    card
}

/// JSON of plain ASCII, as a file of people may hold it.
fn ascii(card: &Value) -> String {
    let mut text = String::new();
    for c in card.to_string().chars() {
        if matches!(c, ' '..='~') {
            text.push(c);
        } else {
            write!(text, "\\u{:04x}", u32::from(c)).expect("a string can be written to");
        }
    }
    text
}

async fn host(made: impl Fn(&str) -> Value + Clone + Send + Sync + 'static) -> Scripted {
    Scripted::with_card(move |url| Json(made(url)).into_response()).await
}

/// Runs a command as if it wrote to a terminal: what strips styles from files would hide what a
/// terminal is told.
async fn run(convoke: &Convoke, args: &[&str]) -> Done {
    let mut command = convoke.command(args);
    command.env("CLICOLOR_FORCE", "1");
    finish(command).await
}

/// Our own styles, and nothing else that begins with an escape.
fn without_styles(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let style = piece.strip_prefix('[').and_then(|it| it.split_once('m'));
        let is_style = |codes: &str| codes.chars().all(|c| c.is_ascii_digit() || c == ';');
        match style {
            Some((codes, rest)) if is_style(codes) => plain.push_str(rest),
            _ => write!(plain, "\u{1b}{piece}").expect("a string can be written to"),
        }
    }
    plain
}

fn is_harmless(what: &str, done: &Done) {
    for text in [&done.stdout, &done.stderr] {
        let plain = without_styles(text);
        let line = plain.lines().find(|line| line.contains(OBEYED));
        assert_eq!(line.map(|line| format!("{line:?}")), None, "{what}");
        assert!(!plain.contains(PRODUCT), "{what} calculates: {plain}");
        let forged = plain.lines().find(|line| line.trim_start().starts_with("FORGED"));
        assert_eq!(forged, None, "{what}: {plain}");
    }
}

/// All verbs that show something of an agent `it`, and what becomes of it; then those that decide.
const VERBS: [&[&str]; 19] = [
    &["agents", "list"],
    &["agents", "list", "--facets"],
    &["agents", "search", "acting"],
    &["agents", "search", "script"],
    &["agents", "show", "it"],
    &["agents", "diff", "it"],
    &["agents", "lint", "it"],
    &["agents", "export"],
    &["agents", "refresh"],
    &["agents", "refresh", "it", "--dry-run"],
    &["agents", "tag", "it", "mine"],
    &["agents", "propose", "it"],
    &["agents", "approve", "it"],
    &["plan", "w.yaml"],
    &["plan", "w.yaml", "--format", "mermaid"],
    &["plan", "w.yaml", "--format", "json"],
    &["validate", "w.yaml"],
    &["agents", "policy"],
    &["agents", "login", "it"],
];

const WORKFLOW: &str = "convoke: 1\nname: w\nsteps:\n  a: {agent: it, message: Hello.}\n  b: {agent: {tags: [acting]}, message: Hello.}\n";

#[tokio::test]
async fn what_stands_in_a_card_is_shown_harmlessly_by_every_verb() {
    let convoke = Convoke::default();
    let changed = convoke.folder().join("changed");
    let agent = host(move |url| {
        let mut card = harmful(url);
        if changed.exists() {
            card["skills"].as_array_mut().expect("a list").pop();
            card["description"] = json!(format!("{HARM}{HARM}"));
        }
        card
    })
    .await;
    convoke.write("w.yaml", WORKFLOW);
    let by_url = WORKFLOW.replace("agent: it", &format!("agent: {{url: \"{}\"}}", agent.url));
    convoke.write("by-url.yaml", by_url);
    let card = ascii(&harmful(&agent.url));
    convoke.write("card.json", &card);
    convoke.write("file.yaml", format!("agents: [{{name: of-file, card: {card}}}]\n"));
    let no_card = json!({"name": "x", "supportedInterfaces": HARM, HARM: {HARM: 1}});
    convoke.write("none.json", ascii(&no_card));
    let said = async |args: &[&str]| {
        let done = run(&convoke, args).await;
        is_harmless(&args.join(" "), &done);
        let json = run(&convoke, &[&["--json"], args].concat()).await;
        is_harmless(&format!("--json {}", args.join(" ")), &json);
        (done, json)
    };
    let (added, _) = said(&["agents", "add", &agent.url, "--name", "it", "--approve"]).await;
    assert!(added.exits(0).stdout.contains("card::relative-url"), "it is looked over");
    for args in [
        &["agents", "add", "card.json"][..],
        &["agents", "apply", "file.yaml", "--approve"],
        &["agents", "add", "none.json"],
        &["agents", "lint", "card.json"],
        &["agents", "lint", "none.json"],
        &["agents", "lint", &agent.url],
        &["card", "show", &agent.url],
        &["card", "verify", &agent.url],
        &["plan", "by-url.yaml"],
    ] {
        said(args).await;
    }
    convoke.write("changed", "");
    let (_, refreshed) = said(&["agents", "refresh", "it"]).await;
    assert_eq!(refreshed.json()["agents"][0]["outcome"], "unchanged", "the second time");
    said(&["agents", "show", "it"]).await;
    let (diff, _) = said(&["agents", "diff", "it"]).await;
    assert!(diff.stdout.contains("was removed"), "{}", diff.stdout);
    said(&["agents", "approve", "it"]).await;
    for args in VERBS {
        said(args).await;
    }
    let (_, shown) = said(&["agents", "show", "it"]).await;
    assert_eq!(shown.json()["card"]["version"], HARM, "programs get it as it is");
    assert_eq!(exported(&convoke, "of-file").await, harmful(&agent.url));
    for verb in ["deprecate", "retire", "suspend", "reject"] {
        said(&["agents", verb, "it"]).await;
    }
    said(&["agents", "remove", "it"]).await;
}

/// The card of an agent that was exported from one directory and applied in another.
async fn exported(convoke: &Convoke, name: &str) -> Value {
    let exported = run(convoke, &["agents", "export", name]).await.exits(0);
    let other = Convoke::default();
    other.write("catalog.yaml", &exported.stdout);
    let _applied = other.run(["agents", "apply", "catalog.yaml"]).await.exits(0);
    other.run(["--json", "agents", "show", name]).await.exits(0).json()["card"].clone()
}

#[tokio::test]
async fn a_run_evaluates_nothing_of_a_card() {
    let agent = Scripted::start(|request| request.error(-32603, HARM)).await;
    let convoke = Convoke::default();
    let card = ascii(&harmful(&agent.url));
    convoke.write("catalog.yaml", format!("agents: [{{name: it, card: {card}}}]\n"));
    let _applied = convoke.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    convoke.write("w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: it, message: Hello.}}\n");
    let ran = run(&convoke, &["--log", "trace", "run", "w.yaml"]).await;
    assert!(!agent.received("SendStreamingMessage").is_empty(), "{}", ran.stderr);
    let sent = format!("{:?}", agent.received("SendStreamingMessage"));
    assert!(!sent.contains("12345678") && !sent.contains(PRODUCT), "{sent}");
    assert!(!ran.stderr.contains(PRODUCT) && !ran.stdout.contains(PRODUCT), "{}", ran.stderr);
}

/// The parts of a card that a megabyte may stand in, one at a time: a card may be no larger.
const LARGE: [&str; 11] = [
    "/name",
    "/description",
    "/version",
    "/provider/organization",
    "/provider/url",
    "/documentationUrl",
    "/skills/0/id",
    "/skills/0/name",
    "/skills/0/description",
    "/skills/0/tags/1",
    "/supportedInterfaces/1/url",
];

#[tokio::test]
async fn a_megabyte_in_a_card_drowns_nothing() {
    for pointer in LARGE {
        let agent = host(move |url| {
            let mut card = card("Large", url);
            card["documentationUrl"] = json!("https://a.example/");
            card["provider"] = json!({"organization": "o", "url": "https://a.example/"});
            card["skills"][0]["tags"] = json!(["acting", "x"]);
            let more =
                json!({"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
            card["supportedInterfaces"].as_array_mut().expect("a list").push(more);
            *card.pointer_mut(pointer).expect("it is there") = json!("m".repeat(1_000_000));
            card
        })
        .await;
        let convoke = Convoke::default();
        convoke.write("w.yaml", WORKFLOW);
        let add = ["agents", "add", &agent.url, "--name", "it", "--approve"];
        let mut said = vec![(add.join(" "), convoke.run(add).await.exits(0))];
        let verbs: [&[&str]; 8] = [
            &["agents", "list", "--facets"],
            &["agents", "search", "acting"],
            &["agents", "show", "it"],
            &["agents", "lint", "it"],
            &["agents", "export"],
            &["agents", "refresh"],
            &["plan", "w.yaml"],
            &["card", "show", &agent.url],
        ];
        for args in verbs {
            said.push((args.join(" "), convoke.run(args).await));
        }
        for (what, done) in said {
            let bytes = done.stdout.len() + done.stderr.len();
            assert!(bytes < 20_000, "{what} with a large {pointer} says {bytes} bytes");
        }
    }
    let agent = host(|url| {
        let mut card = card("Wrong", url);
        card["capabilities"] = json!("m".repeat(1_000_000));
        card
    })
    .await;
    let refused = Convoke::default().run(["agents", "add", &agent.url]).await.exits(3);
    assert!(refused.stderr.contains("capabilities"), "{:.1000}", refused.stderr);
    assert!(refused.stderr.len() < 2_000, "{} bytes", refused.stderr.len());
}
