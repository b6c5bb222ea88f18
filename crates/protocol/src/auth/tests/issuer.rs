//! An authorization server for tests: it issues `access-1`, `access-2` and so on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use url::form_urlencoded;

/// What a request held: its form or query, and `authorization` if it had that header.
pub(super) type Asked = HashMap<String, String>;

/// A running server. It ends with the test's runtime.
#[derive(Clone)]
pub(super) struct Issuer {
    pub(super) url: String,
    state: Arc<Mutex<Issuing>>,
}

/// What it does.
pub(super) struct Issuing {
    /// Requests to the token endpoint.
    pub(super) asked: Vec<Asked>,
    /// How long its tokens live.
    pub(super) expires_in: Value,
    /// How often a device is told to wait.
    pub(super) pending: usize,
    /// Whether it issues refresh tokens, each good once.
    pub(super) refreshes: bool,
    /// What it answers instead of a token.
    pub(super) refusal: Option<(StatusCode, Value)>,
    /// Changes of its metadata.
    pub(super) metadata: Value,
    /// The refresh token that is good now.
    refresh: Option<String>,
    challenge: String,
}

impl Issuer {
    pub(super) async fn start() -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Issuing {
            asked: Vec::new(),
            expires_in: json!(3600),
            pending: 0,
            refreshes: false,
            refusal: None,
            metadata: json!({}),
            refresh: None,
            challenge: String::new(),
        };
        let issuer =
            Issuer { url: format!("http://{address}"), state: Arc::new(Mutex::new(state)) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata))
            .route("/token", post(token))
            .route("/device", post(device))
            .route("/authorize", get(authorize))
            .with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        issuer
    }

    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(super) fn set<T>(&self, change: impl FnOnce(&mut Issuing) -> T) -> T {
        change(&mut self.state.lock().expect("no test panics in here"))
    }

    /// The requests to the token endpoint so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.set(|it| it.asked.clone())
    }

    /// How tokens were asked for so far.
    pub(super) fn grants(&self) -> Vec<String> {
        let grant = |asked: Asked| asked["grant_type"].rsplit(':').next().unwrap_or("").to_owned();
        self.asked().into_iter().map(grant).collect()
    }
}

async fn metadata(State(issuer): State<Issuer>) -> Json<Value> {
    let mut metadata = json!({
        "issuer": issuer.url,
        "token_endpoint": issuer.at("/token"),
        "device_authorization_endpoint": issuer.at("/device"),
        "authorization_endpoint": issuer.at("/authorize"),
    });
    let changes = issuer.set(|it| it.metadata.clone());
    for (key, value) in changes.as_object().into_iter().flatten() {
        metadata[key] = value.clone();
    }
    Json(metadata)
}

async fn token(State(issuer): State<Issuer>, headers: HeaderMap, form: String) -> Response {
    let mut asked: Asked = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.to_str().expect("text").to_owned();
        asked.insert("authorization".to_owned(), value);
    }
    issuer.set(|it| it.issue(&asked))
}

impl Issuing {
    fn issue(&mut self, asked: &Asked) -> Response {
        self.asked.push(asked.clone());
        if let Some((status, body)) = self.refusal.clone() {
            return (status, Json(body)).into_response();
        }
        let grant = asked["grant_type"].clone();
        let refused = |error: &str| {
            let body = json!({"error": error, "error_description": "says the test"});
            (StatusCode::BAD_REQUEST, Json(body)).into_response()
        };
        if grant.ends_with("device_code") && self.pending > 0 {
            self.pending -= 1;
            return refused("authorization_pending");
        }
        if grant == "refresh_token" && self.refresh.as_ref() != asked.get("refresh_token") {
            return refused("invalid_grant");
        }
        if grant == "authorization_code" {
            let proved = URL_SAFE_NO_PAD.encode(Sha256::digest(&asked["code_verifier"]));
            if proved != self.challenge || asked["code"] != "code-1" {
                return refused("invalid_grant");
            }
        }
        let count = self.asked.len();
        let mut answer = json!({
            "access_token": format!("access-{count}"),
            "token_type": "bearer",
            "expires_in": self.expires_in,
        });
        if self.refreshes {
            self.refresh = Some(format!("refresh-{count}"));
            answer["refresh_token"] = json!(self.refresh);
        }
        Json(answer).into_response()
    }
}

async fn device(State(issuer): State<Issuer>) -> Json<Value> {
    Json(json!({
        "device_code": "device-1",
        "user_code": "ABCD-EFGH",
        "verification_uri": issuer.at("/activate"),
        "interval": 0,
    }))
}

/// Authorizes at once, as a person would; `scope=deny` declines.
async fn authorize(State(issuer): State<Issuer>, Query(asked): Query<Asked>) -> Redirect {
    assert_eq!((&*asked["response_type"], &*asked["code_challenge_method"]), ("code", "S256"));
    issuer.set(|it| it.challenge.clone_from(&asked["code_challenge"]));
    let outcome = match asked.get("scope").map(String::as_str) {
        Some("deny") => "error=access_denied&error_description=not+today",
        _ => "code=code-1",
    };
    Redirect::to(&format!("{}?{outcome}&state={}", asked["redirect_uri"], asked["state"]))
}
