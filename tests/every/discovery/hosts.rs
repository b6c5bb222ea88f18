//! Hosts that publish whatever a test wants.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    http::{StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use serde_json::Value;
use tests::agent::card;
use tokio::{net::TcpListener, task::JoinHandle};

/// A host with documents at paths. Dropping it stops it.
pub(super) struct Host {
    pub(super) url: String,
    documents: Arc<Mutex<BTreeMap<String, Value>>>,
    server: JoinHandle<io::Result<()>>,
}

impl Host {
    /// Starts a host that has nothing yet.
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let documents = Arc::<Mutex<BTreeMap<String, Value>>>::default();
        let held = Arc::clone(&documents);
        let answer = async move |uri: Uri| -> Response {
            let held = held.lock().expect("nothing panics under this lock");
            match held.get(uri.path()) {
                Some(document) => Json(document.clone()).into_response(),
                None => StatusCode::NOT_FOUND.into_response(),
            }
        };
        let router = Router::new().fallback(answer);
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, documents, server }
    }

    /// The address of a path.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Has this at a path from now on.
    pub(super) fn put(&self, path: &str, document: Value) -> &Self {
        self.documents.lock().expect("as before").insert(path.to_owned(), document);
        self
    }

    /// Has a card of an agent at a path, and returns where.
    pub(super) fn card(&self, path: &str, name: &str) -> String {
        self.put(path, card(name, &self.at("/rpc")));
        self.at(path)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.server.abort();
    }
}
