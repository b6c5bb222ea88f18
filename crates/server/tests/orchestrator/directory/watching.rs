//! Following what happens in the directory.

use std::{pin::Pin, sync::Arc};

use axum::http::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use url::Url;

use super::{Api, caller, guarded};
use crate::scene::{Scene, keys, outbound, soon};

/// The bytes that come next; none when the stream has ended.
type Chunk = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

/// An open stream, read event by event.
struct Stream {
    next: Box<dyn FnMut() -> Chunk + Send>,
    text: String,
}

/// One event: what it is called, its id, its data.
#[derive(Debug, PartialEq)]
struct Told {
    event: String,
    id: String,
    data: Value,
}

impl Told {
    fn what(&self) -> (&str, &str) {
        (&self.event, self.data["name"].as_str().unwrap_or_default())
    }
}

impl Stream {
    async fn of(api: &Api<'_>, last: Option<&str>) -> Self {
        let url = Url::parse(&format!("{}/v1/agents:watch", api.scene.url)).expect("a URL");
        let mut request = outbound().request(Method::GET, &url).expect("it may be called");
        if let Some(key) = &api.key {
            request = request.header("x-api-key", key.expose());
        }
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = outbound().send(&url, request).await.expect("an answer");
        assert_eq!(answer.status(), 200);
        let answer = Arc::new(Mutex::new(answer));
        let next = move || -> Chunk {
            let answer = Arc::clone(&answer);
            Box::pin(async move {
                let chunk = answer.lock().await.chunk().await.ok().flatten();
                chunk.map(|chunk| chunk.to_vec())
            })
        };
        Self { next: Box::new(next), text: String::new() }
    }

    /// The next event; none when the stream has ended.
    async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let of = |line: &str| line.strip_prefix(name).map(|it| it.trim().to_owned());
                    event.lines().find_map(of).unwrap_or_default()
                };
                let (event, id, data) = (field("event:"), field("id:"), field("data:"));
                self.text = rest.to_owned();
                if event.is_empty() {
                    continue;
                }
                let data = serde_json::from_str(&data).expect("JSON");
                return Some(Told { event, id, data });
            }
            let chunk = soon("an event", (self.next)()).await?;
            self.text.push_str(std::str::from_utf8(&chunk).expect("text"));
        }
    }

    async fn told(&mut self) -> Told {
        self.next().await.expect("it goes on")
    }
}

#[tokio::test]
async fn a_watcher_is_told_of_every_change_and_of_what_it_missed() {
    let guarded = guarded().await;
    let operator = caller(&guarded, "local", &["admin"]).await;
    let reader = caller(&guarded, "local", &["agents:read"]).await;
    operator.add("before", json!({})).await;
    let mut stream = Stream::of(&reader, None).await;
    let ready = stream.told().await;
    assert_eq!((ready.event.as_str(), ready.id.as_str()), ("ready", "1"));
    operator.add("a", json!({})).await;
    operator.post("/v1/agents/a:suspend", json!({})).await.ok();
    operator.call(Method::DELETE, "/v1/agents/a", None).await.ok();
    let added = stream.told().await;
    assert_eq!(added.what(), ("added", "a"));
    assert_eq!((&added.data["was"], &added.data["standing"]), (&json!(null), &json!("approved")));
    assert_eq!(added.data["version"], 1);
    let changed = stream.told().await;
    assert_eq!(changed.what(), ("changed", "a"));
    assert_eq!(
        (&changed.data["was"], &changed.data["standing"]),
        (&json!("approved"), &json!("suspended"))
    );
    let removed = stream.told().await;
    assert_eq!(removed.what(), ("removed", "a"));
    drop(stream);
    let mut again = Stream::of(&reader, Some(&added.id)).await;
    assert_eq!(again.told().await.event, "ready");
    assert_eq!([again.told().await, again.told().await], [changed, removed]);
    let mut strange = Stream::of(&reader, Some("77")).await;
    assert_eq!(strange.told().await.event, "ready");
    let reset = strange.told().await;
    assert_eq!((reset.event.as_str(), reset.id.as_str()), ("reset", "4"));
    let refused = reader.get("/v1/agents:watch?after=x").await;
    assert_eq!(refused.problem(), (400, "bad-request"));
}

#[tokio::test]
async fn another_account_is_told_of_what_it_sees_alone() {
    let guarded = guarded().await;
    let operator = caller(&guarded, "local", &["admin"]).await;
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    let eve = caller(&guarded, "eve", &["agents:read"]).await;
    let mut stream = Stream::of(&eve, None).await;
    let ready = stream.told().await;
    assert_eq!(ready.id, "0-0");
    ada.add("hers", json!({})).await;
    operator.add("closed", json!({})).await;
    let publish = async |public: bool| {
        let text = json!({ "agents": [
            { "name": "open", "card": super::card("open"), "public": public, "notes": "sauna" }
        ]});
        let file = json!({ "name": "c", "text": text.to_string() });
        operator.post("/v1/agents", json!({ "file": file })).await.ok();
    };
    publish(false).await;
    publish(true).await;
    operator.post("/v1/agents/open:approve", json!({})).await.ok();
    publish(false).await;
    let told = [stream.told().await, stream.told().await, stream.told().await];
    assert_eq!(
        told.each_ref().map(Told::what),
        [("added", "open"), ("changed", "open"), ("removed", "open")]
    );
    // How far one was told does not count what one does not see.
    assert_eq!(told.each_ref().map(|it| it.id.as_str()), ["0-1", "0-2", "0-3"]);
    operator.add("also-closed", json!({})).await;
    let mut later = Stream::of(&eve, None).await;
    assert_eq!(later.told().await.id, "0-3");
    assert_eq!(told[0].data["was"], json!(null));
    assert_eq!(told[2].data["standing"], json!(null));
    let mut again = Stream::of(&eve, Some(&told[0].id)).await;
    assert_eq!(again.told().await.event, "ready");
    assert_eq!(again.told().await, told[1]);
    let refused = eve.get("/v1/agents:watch?after=3").await;
    assert_eq!(refused.problem(), (400, "bad-request"), "the id of another stream");
}

#[tokio::test]
async fn a_stream_ends_with_the_credentials_it_was_asked_for_with() {
    let guarded = guarded().await;
    let operator = caller(&guarded, "local", &["admin"]).await;
    let reader = caller(&guarded, "local", &["agents:read"]).await;
    let mut stream = Stream::of(&reader, None).await;
    assert_eq!(stream.told().await.event, "ready");
    let key = reader.key.as_ref().expect("a key").expose();
    let id = key.split('_').nth(1).expect("its id");
    keys(&guarded.0.store).revoke(id).await.expect("it is revoked");
    operator.add("a", json!({})).await;
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let scene = Scene::new(&[]).await;
    let contract = super::Contract::of(&scene).await;
    let api = Api { scene: &scene, contract: &contract, key: None };
    let mut stream = Stream::of(&api, None).await;
    assert_eq!(stream.told().await.event, "ready");
    let _scene = scene.restarted().await;
    assert_eq!(stream.next().await, None);
}
