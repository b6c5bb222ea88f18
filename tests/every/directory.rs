//! `convoke agents`

use axum::{Json, response::IntoResponse as _};
use examples::{Kind, Options, Running};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::{
    agent::{Scripted, card, example},
    convoke::{Convoke, feed},
};

use crate::steady;

async fn echo() -> Running {
    example(Kind::Echo, Options::default()).await
}

/// What `agents list` has of each agent.
async fn listed(convoke: &Convoke, flags: &[&str], field: &str) -> Vec<Value> {
    let args = ["--json", "agents", "list"].iter().chain(flags);
    let listed = convoke.run(args).await.exits(0).json();
    listed.as_array().expect("a list").iter().map(|agent| agent[field].clone()).collect()
}

#[tokio::test]
async fn an_added_agent_waits_for_its_approval() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let added = convoke.run(["agents", "add", &echo.url]).await.exits(0);
    assert_eq!(listed(&convoke, &[], "standing").await, ["proposed"]);
    let added_json = convoke.run(["--json", "agents", "add", &echo.url]).await.exits(0).json();
    assert_eq!(added_json["agents"][0]["name"], "echo");
    assert_eq!(added_json["agents"][0]["outcome"], "unchanged");
    assert_eq!(added_json["agents"][0]["standing"], "proposed");
    assert_snapshot!(added.stdout, @r"
    added     echo (proposed)
    1 added, 0 changed, 0 unchanged, 0 removed
    ");
    assert_snapshot!(added.stderr, @"proposed agents wait for `convoke agents approve NAME`");
}

#[tokio::test]
async fn an_agent_is_added_under_a_name_and_approved_in_one_go() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let args = ["agents", "add", &echo.url, "--name", "repeater", "--approve"];
    let added = convoke.run(args).await.exits(0);
    assert_eq!(listed(&convoke, &[], "name").await, ["repeater"]);
    assert_eq!(listed(&convoke, &[], "standing").await, ["approved"]);
    assert_snapshot!(added.stdout, @r"
    added     repeater (approved)
    1 added, 0 changed, 0 unchanged, 0 removed
    ");
    let workflow = "convoke: 1\nname: w\nsteps: {a: {agent: repeater, message: Hello.}}\n";
    convoke.write("w.yaml", workflow);
    let _ran = convoke.run(["run", "w.yaml"]).await.exits(0);
    assert_eq!(echo.calls.count(), 1);
}

#[tokio::test]
async fn cards_are_added_from_a_file_and_from_stdin() {
    let convoke = Convoke::default();
    let cards = json!([card("one", "https://a.example/"), card("two", "https://a.example/")]);
    convoke.write("cards.json", cards.to_string());
    let _added = convoke.run(["agents", "add", "cards.json"]).await.exits(0);
    assert_eq!(listed(&convoke, &[], "name").await, ["one", "two"]);
    let three = card("three", "https://a.example/").to_string();
    let _added = feed(convoke.command(["agents", "add", "-"]), &three).await.exits(0);
    assert_eq!(listed(&convoke, &[], "name").await, ["one", "three", "two"]);
    let named = convoke.run(["agents", "add", "cards.json", "--name", "x"]).await;
    assert_snapshot!(named.complaint(), @r"
    exit 2
    error: --name goes with a URL; in a file, the catalog gives names
    ");
}

#[tokio::test]
async fn a_catalog_applied_twice_changes_nothing_the_second_time() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let slow = example(Kind::Slow, Options::default()).await;
    let catalog = format!("agents:\n  - url: \"{}\"\n  - url: \"{}\"\n", echo.url, slow.url);
    convoke.write("catalog.yaml", &catalog);
    let tried = convoke.run(["agents", "apply", "catalog.yaml", "--dry-run"]).await.exits(0);
    assert_eq!(listed(&convoke, &[], "name").await, json!([]).as_array().expect("none").clone());
    let first = convoke.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    assert_eq!(listed(&convoke, &[], "standing").await, ["approved", "approved"]);
    let args = ["--json", "agents", "apply", "catalog.yaml", "--approve"];
    let second = convoke.run(args).await.exits(0).json();
    assert_eq!(second["dry_run"], false);
    let outcomes: Vec<_> =
        second["agents"].as_array().expect("agents").iter().map(|it| &it["outcome"]).collect();
    assert_eq!(outcomes, ["unchanged", "unchanged"]);
    assert_snapshot!(tried.stdout, @r"
    added     echo (proposed)
    added     slow (proposed)
    2 added, 0 changed, 0 unchanged, 0 removed (nothing was written)
    ");
    assert_snapshot!(first.stdout, @r"
    added     echo (approved)
    added     slow (approved)
    2 added, 0 changed, 0 unchanged, 0 removed
    ");

    convoke.write("catalog.yaml", format!("agents:\n  - url: \"{}\"\n", echo.url));
    let args = ["--json", "agents", "apply", "catalog.yaml", "--dry-run"];
    let fewer = convoke.run(args).await.exits(0).json();
    assert_eq!(fewer["dry_run"], true);
    assert_eq!(fewer["agents"][1]["outcome"], "removed");
    assert_eq!(listed(&convoke, &[], "name").await, ["echo", "slow"]);
    let _fewer = convoke.run(["agents", "apply", "catalog.yaml"]).await.exits(0);
    assert_eq!(listed(&convoke, &[], "name").await, ["echo"]);
}

#[tokio::test]
async fn a_catalog_without_approve_only_proposes() {
    let (echo, convoke) = (echo().await, Convoke::default());
    convoke.write("catalog.yaml", format!("agents:\n  - url: \"{}\"\n", echo.url));
    let _applied = convoke.run(["agents", "apply", "catalog.yaml"]).await.exits(0);
    assert_eq!(listed(&convoke, &[], "standing").await, ["proposed"]);
}

#[tokio::test]
async fn a_catalog_with_an_agent_that_is_not_there_takes_in_the_others_and_says_so() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let absent = "http://127.0.0.1:1/card.json";
    convoke.write("catalog.yaml", format!("agents:\n  - url: {absent}\n  - url: {}\n", echo.url));
    let applied = convoke.run(["agents", "apply", "catalog.yaml"]).await;
    assert_eq!(listed(&convoke, &[], "name").await, ["echo"]);
    assert_eq!(applied.code, 1);
    let _steady = steady();
    assert_snapshot!(applied.stdout, @r"
added     echo (proposed)
failed    http://127.0.0.1:PORT/card.json: no Agent Card: http://127.0.0.1:PORT/card.json cannot be reached: Connection refused (os error 111); is it running, and is the address right? (catalog.yaml:2:5)
1 added, 0 changed, 0 unchanged, 0 removed, 1 failed
");
}

#[tokio::test]
async fn a_catalog_that_is_wrong_is_shown_with_its_places() {
    let convoke = Convoke::default();
    convoke.write("catalog.yaml", "agents:\n  - ulr: http://127.0.0.1:1/\n");
    let applied = convoke.run(["agents", "apply", "catalog.yaml"]).await;
    assert_snapshot!(applied.complaint(), @r"
    exit 2
    catalog::unknown-key

      × an agent of a catalog has no key `ulr`
       ╭─[catalog.yaml:2:5]
     1 │ agents:
     2 │   - ulr: http://127.0.0.1:1/
       ·     ─┬─
       ·      ╰── unknown key
       ╰────
      help: did you mean `url`?

    catalog::no-card

      × the agent has neither `url` nor `card`
       ╭─[catalog.yaml:2:5]
     1 │ agents:
     2 │   - ulr: http://127.0.0.1:1/
       ·     ─┬─
       ·      ╰── this agent
       ╰────
      help: say where its card is: `url: https://…`, or `card:` with a path or the card itself
    ");
}

#[tokio::test]
async fn agents_are_listed_by_their_tags_and_skills() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let slow = example(Kind::Slow, Options::default()).await;
    for agent in [&echo, &slow] {
        let _added = convoke.run(["agents", "add", &agent.url, "--approve"]).await.exits(0);
    }
    assert_eq!(listed(&convoke, &["--tag", "slow"], "name").await, ["slow"]);
    assert_eq!(listed(&convoke, &["--tag", "echo", "--tag", "Writing"], "name").await, ["echo"]);
    assert!(listed(&convoke, &["--tag", "echo", "--tag", "slow"], "name").await.is_empty());
    assert_eq!(listed(&convoke, &["--skill", "wait"], "name").await, ["slow"]);
    assert_eq!(listed(&convoke, &["--skill", "wait"], "skills").await, [json!(["wait"])]);
    let shown = convoke.run(["agents", "list"]).await.exits(0);
    let none = convoke.run(["agents", "list", "--tag", "unheard"]).await.exits(0);
    assert_eq!(none.stdout, "");
    let _steady = steady();
    assert_snapshot!(shown.stdout, @r"
    AGENT  STANDING  EVIDENCE  TAGS                     URL
    echo   approved  unseen    echo, research, writing  http://127.0.0.1:PORT/.well-known/agent-card.json
    slow   approved  unseen    slow, waiting            http://127.0.0.1:PORT/.well-known/agent-card.json
    ");
    assert_snapshot!(none.stderr, @"no agents; `convoke agents add URL --approve` takes one in");
}

#[tokio::test]
async fn agents_are_found_by_words_and_tags() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let slow = example(Kind::Slow, Options::default()).await;
    for agent in [&echo, &slow] {
        let _added = convoke.run(["agents", "add", &agent.url, "--approve"]).await.exits(0);
    }
    let found = async |flags: &[&str]| {
        let args = ["--json", "agents", "search"].iter().chain(flags);
        let found = convoke.run(args).await.exits(0).json();
        let found =
            found.as_array().expect("a list").iter().map(|hit| hit["agent"]["name"].clone());
        found.collect::<Vec<Value>>()
    };
    assert_eq!(found(&["finishes while"]).await, ["slow"]);
    assert_eq!(found(&["research"]).await, ["echo"]);
    assert!(found(&["research", "--tag", "slow"]).await.is_empty());
    assert_eq!(found(&["research", "--tag", "writing", "--tag", "echo"]).await, ["echo"]);
    let shown = convoke.run(["agents", "search", "research"]).await.exits(0);
    let none = convoke.run(["agents", "search", "submarine"]).await.exits(0);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "nothing found\n"));
    assert_snapshot!(shown.stdout, @r"
    echo  approved
      Answers with the texts and data it is sent.
      `research` in skill, tag
    ");
}

#[tokio::test]
async fn an_agent_is_approved_rejected_and_removed_and_its_record_says_why() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let _added = convoke.run(["agents", "add", &echo.url]).await.exits(0);
    let why = ["--why", "it answers well"];
    let approved = convoke.run(["agents", "approve", "echo"].into_iter().chain(why)).await;
    assert_eq!(approved.exits(0).stdout, "echo is approved\n");
    assert_eq!(listed(&convoke, &[], "standing").await, ["approved"]);
    let why = ["--why", "it repeats itself"];
    let args = ["--json", "agents", "reject", "echo"];
    let rejected = convoke.run(args.into_iter().chain(why)).await.exits(0);
    assert_eq!(rejected.json(), json!({"name": "echo", "standing": "rejected"}));
    let record = convoke.run(["--json", "agents", "show", "echo"]).await.exits(0);
    let record = record.json().to_string();
    let shown = convoke.run(["agents", "show", "echo"]).await.exits(0);
    for why in ["it answers well", "it repeats itself"] {
        assert!(record.contains(why), "{record}");
        assert!(shown.stdout.contains(why), "{}", shown.stdout);
    }
    let again = convoke.run(["agents", "reject", "echo"]).await;
    let removed = convoke.run(["agents", "remove", "echo"]).await.exits(0);
    assert_eq!(removed.stdout, "removed echo\n");
    let unknown = convoke.run(["agents", "show", "echo"]).await;
    let _steady = steady();
    assert_snapshot!(shown.stdout, @r"
    echo 0.1.0
    Answers with the texts and data it is sent.
    card http://127.0.0.1:PORT/.well-known/agent-card.json
    provider Convoke examples http://127.0.0.1:PORT
    interface JSONRPC 1.0 http://127.0.0.1:PORT
    interface HTTP+JSON 1.0 http://127.0.0.1:PORT/a2a
    interface GRPC 1.0 127.0.0.1:PORT
    capabilities streaming

    echo  Echo
      Says what it is told.
      tags echo

    research  Research
      Finds out what it is told.
      tags research

    writing  Writing
      Writes down what it is told.
      tags writing

    echo rejected
      digest sha256:DIGEST since TIME
      signatures unsigned
      card version 1
      TIME proposed by tester
      TIME approved by tester: it answers well
      TIME rejected by tester: it repeats itself
    ");
    assert_snapshot!(again.complaint(), @"exit 0");
    assert_snapshot!(unknown.complaint(), @r"
    exit 2
    error: there is no agent `echo`; `convoke agents list` shows all there are
    ");
}

#[tokio::test]
async fn a_removed_agent_is_told_as_json_too() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let _added = convoke.run(["agents", "add", &echo.url]).await.exits(0);
    let removed = convoke.run(["--json", "agents", "remove", "echo"]).await.exits(0);
    assert_eq!(removed.json(), json!({"name": "echo", "outcome": "removed"}));
}

#[tokio::test]
async fn a_name_that_is_taken_is_not_given_again() {
    let (echo, convoke) = (echo().await, Convoke::default());
    let other = Scripted::with_card(|url| Json(card("echo", url)).into_response()).await;
    let _added = convoke.run(["agents", "add", &echo.url]).await.exits(0);
    let taken = convoke.run(["agents", "add", &other.url]).await;
    let _steady = steady();
    assert_snapshot!(format!("{}{}", taken.stdout, taken.complaint()), @r"
    failed    echo: the name belongs to the agent at http://127.0.0.1:PORT/.well-known/agent-card.json; give this one a name of its own
    0 added, 0 changed, 0 unchanged, 0 removed, 1 failed
    exit 1
    ");
}
