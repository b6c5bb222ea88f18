//! The card's route.

use std::{sync::Arc, time::Duration};

use super::{agent, exchange};
use crate::{
    echo::{self, Echo},
    limits::ServerLimits,
};

async fn get(agent: &super::Running, method: &str, headers: &str) -> String {
    exchange(agent, &format!("{method} /.well-known/agent-card.json HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n{headers}\r\n")).await
}

fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let line = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {name} in {answer}"))
}

#[tokio::test]
async fn the_card_is_served_with_what_caches_need_and_without_a_version() {
    insta::assert_snapshot!(get(&agent().await, "GET", "").await, @r#"
    HTTP/1.1 200 OK
    content-type: application/json
    cache-control: public, max-age=300
    etag: "JjzlvNvgU-s8jRJe3IjzA46neybQ5O0OasXAi5fJndk"
    content-length: 371
    connection: close

    {"name":"echo","description":"Says what it hears.","supportedInterfaces":[{"url":"http://127.0.0.1:1/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"version":"1.2.3","capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"echo","name":"Echo","description":"Says what it hears.","tags":["test"]}]}
    "#);
}

#[tokio::test]
async fn how_long_a_card_may_be_kept_is_set_by_the_limits() {
    let limits = ServerLimits { card_max_age: Duration::from_secs(7), ..ServerLimits::default() };
    let agent = echo::serve(Arc::new(Echo::default()), limits).await;
    assert_eq!(header(&get(&agent, "GET", "").await, "cache-control"), "public, max-age=7");
}

#[tokio::test]
async fn a_caller_that_has_the_card_is_told_so() {
    let agent = agent().await;
    let tag = header(&get(&agent, "GET", "").await, "etag").to_owned();
    for known in [
        format!("If-None-Match: {tag}\r\n"),
        format!("If-None-Match: \"x\", W/{tag}\r\n"),
        "If-None-Match: *\r\n".to_owned(),
        "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n".to_owned(),
    ] {
        let answer = get(&agent, "GET", &known).await;
        assert!(answer.starts_with("HTTP/1.1 304"), "{known}: {answer}");
        assert_eq!(header(&answer, "etag"), tag);
        assert!(answer.ends_with("\n\n"), "no body: {answer}");
    }
    for stale in [
        "If-None-Match: \"x\"\r\n",
        "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
        "If-None-Match: \"x\"\r\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n",
    ] {
        let answer = get(&agent, "GET", stale).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{stale}: {answer}");
    }
}

#[tokio::test]
async fn head_answers_without_the_body() {
    let answer = get(&agent().await, "HEAD", "").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\n\n"), "{answer}");
    assert_eq!(header(&answer, "content-type"), "application/json");
}

#[tokio::test]
async fn the_date_of_last_change_is_one_a_client_can_send_back() {
    let agent = agent().await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{}.well-known/agent-card.json", agent.url);
    let first = client.get(&url).send().await.expect("an answer");
    let modified = first.headers()["last-modified"].clone();
    let again =
        client.get(&url).header("if-modified-since", modified).send().await.expect("an answer");
    assert_eq!(again.status(), 304);
}
