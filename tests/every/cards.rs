//! Cards that are none, or not good enough.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Json,
    http::{StatusCode, header},
    response::{Html, IntoResponse as _},
};
use insta::assert_snapshot;
use serde_json::json;
use tests::{
    agent::{Scripted, card, one_step},
    convoke::Convoke,
};

use crate::{
    served::{Served, said},
    steady,
};

/// What `card show`, `agents add` and `run` say of an agent; each must leave nothing behind.
async fn complaints(agent: &Scripted) -> [String; 3] {
    let convoke = Convoke::default();
    let shown = convoke.run(["card", "show", &agent.url]).await;
    let added = convoke.run(["agents", "add", &agent.url, "--approve"]).await;
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let ran = convoke.run(["run", "w.yaml"]).await;
    for done in [&shown, &added, &ran] {
        assert_eq!(done.stdout, "");
    }
    let listed = convoke.run(["--json", "agents", "list"]).await.exits(0);
    assert_eq!(listed.json(), json!([]));
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0);
    assert_eq!(runs.json(), json!([]));
    [shown, added, ran].map(|done| done.complaint())
}

#[tokio::test]
async fn a_web_page_is_no_card() {
    let agent = Scripted::with_card(|_| Html("<!doctype html><p>Hello.").into_response()).await;
    let [shown, added, ran] = complaints(&agent).await;
    let _steady = steady();
    assert_snapshot!(shown, @r"
    exit 3
    error: no Agent Card was found for http://127.0.0.1:PORT:
      http://127.0.0.1:PORT/ is a web page (HTML), and a card is JSON
      http://127.0.0.1:PORT/.well-known/agent-card.json is a web page (HTML), and a card is JSON
      http://127.0.0.1:PORT/.well-known/agent.json is a web page (HTML), and a card is JSON
    If the card is elsewhere, give its own address.
    ");
    assert_eq!(added, shown);
    assert_eq!(ran, shown);
}

#[tokio::test]
async fn a_server_takes_cards_for_fresh_as_long_as_its_settings_say() {
    for (settings, looks_again) in
        [(&[][..], false), (&["--set", "directory.card_freshness=1ms"], true)]
    {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let agent = Scripted::with_card(move |url| {
            count.fetch_add(1, Ordering::SeqCst);
            Json(card("it", url)).into_response()
        })
        .await;
        let convoke = Convoke::default();
        convoke.write("workflows/w.yaml", one_step(&agent.url, ""));
        let served = Served::with(&convoke, settings).await;
        let _first = served.send(said("go"), true).await;
        let before = asked.load(Ordering::SeqCst);
        let _second = served.send(said("go"), true).await;
        assert_eq!(asked.load(Ordering::SeqCst) > before, looks_again, "{settings:?}");
        served.process.kill().await;
    }
}

#[tokio::test]
async fn a_card_of_five_megabytes_is_not_read() {
    let agent = Scripted::with_card(|url| {
        let mut card = card("large", url);
        card["description"] = "x".repeat(5 << 20).into();
        Json(card).into_response()
    })
    .await;
    let [shown, added, ran] = complaints(&agent).await;
    let _steady = steady();
    assert_snapshot!(shown, @r"
    exit 3
    error: no Agent Card was found for http://127.0.0.1:PORT:
      the answer of http://127.0.0.1:PORT/ is larger than 1048576 bytes
      the answer of http://127.0.0.1:PORT/.well-known/agent-card.json is larger than 1048576 bytes
      the answer of http://127.0.0.1:PORT/.well-known/agent.json is larger than 1048576 bytes
    If the card is elsewhere, give its own address.
    ");
    assert_eq!(added, shown);
    assert_eq!(ran, shown);
}

#[tokio::test]
async fn redirects_in_a_circle_are_left() {
    let agent = Scripted::with_card(|_| {
        (StatusCode::FOUND, [(header::LOCATION, "/elsewhere")]).into_response()
    })
    .await;
    let [shown, added, ran] = complaints(&agent).await;
    let _steady = steady();
    assert_snapshot!(shown, @r"
    exit 3
    error: no Agent Card was found for http://127.0.0.1:PORT:
      http://127.0.0.1:PORT/ was redirected more than 5 times, last to http://127.0.0.1:PORT/elsewhere
      http://127.0.0.1:PORT/.well-known/agent-card.json was redirected more than 5 times, last to http://127.0.0.1:PORT/elsewhere
      http://127.0.0.1:PORT/.well-known/agent.json was redirected more than 5 times, last to http://127.0.0.1:PORT/elsewhere
    If the card is elsewhere, give its own address.
    ");
    assert_eq!(added, shown);
    assert_eq!(ran, shown);
}

#[tokio::test]
async fn a_card_that_names_nothing_its_agent_can_do_is_taken_in_with_an_error() {
    let agent = Scripted::with_card(|url| {
        let mut card = card("unskilled", url);
        card["skills"] = json!([]);
        Json(card).into_response()
    })
    .await;
    let convoke = Convoke::default();
    let added = convoke.run(["agents", "add", &agent.url]).await;
    let _steady = steady();
    assert_snapshot!(format!("exit {}\n{}{}", added.code, added.stdout, added.stderr), @r"
    exit 0
    added     unskilled (proposed)
              error card::no-skills at /skills: the card names no skill; without skills the agent can only be selected by its name; its author has to add them
    1 added, 0 changed, 0 unchanged, 0 removed
    proposed agents wait for `convoke agents approve NAME`
    ");
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_named_at_once() {
    let agent = Scripted::with_card(|_| StatusCode::OK.into_response()).await;
    let url = agent.url.clone();
    drop(agent);
    let convoke = Convoke::default();
    let shown = tokio::time::timeout(Duration::from_secs(10), convoke.run(["card", "show", &url]));
    let shown = shown.await.expect("nobody waits for what cannot come");
    let _steady = steady();
    assert_snapshot!(shown.complaint(), @r"
    exit 3
    error: no Agent Card: http://127.0.0.1:PORT/ cannot be reached: Connection refused (os error 111); is it running, and is the address right?
    ");
}
