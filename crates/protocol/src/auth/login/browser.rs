//! The authorization code grant with PKCE, answered on a loopback address (RFC 6749 §4.1, RFC 7636,
//! RFC 8252 §7.3).

use std::{net::Ipv4Addr, time::Duration};

use axum::{
    Router,
    extract::{Query, State},
    response::Html,
    routing,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::{net::TcpListener, sync::mpsc, task::AbortHandle};
use url::Url;
use uuid::Uuid;

use super::Begun;
use crate::auth::{
    AuthError, Keyring, Secret,
    endpoints::Endpoints,
    scheme::Use,
    token::{Answer, scopes},
};

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// A login in a browser on this machine. Dropping it stops listening for the browser's return.
#[derive(Debug)]
pub struct LoginByBrowser {
    /// Where the person goes.
    pub url: Url,
    begun: Begun,
    redirect: String,
    verifier: Secret,
    returned: mpsc::Receiver<Returned>,
    listening: Listening,
}

/// What the browser brings back (RFC 6749 §4.1.2).
#[derive(Debug, Deserialize)]
struct Returned {
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

/// The task that listens; it ends with its owner.
#[derive(Debug)]
struct Listening(AbortHandle);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Clone)]
struct Door {
    state: Secret,
    returned: mpsc::Sender<Returned>,
}

impl Keyring {
    pub(super) async fn by_browser(
        &self,
        used: Use,
        endpoints: Endpoints,
    ) -> Result<LoginByBrowser, AuthError> {
        let Some(mut url) = endpoints.authorize.clone() else {
            return Err(self.failed("its authorization server has no authorization endpoint"));
        };
        let cannot = |error: std::io::Error| self.failed(&format!("cannot listen: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(cannot)?;
        let port = listener.local_addr().map_err(cannot)?.port();
        let redirect = format!("http://127.0.0.1:{port}/callback");
        let (state, verifier) = (random(), random());
        let client = self.inner.client(&used);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose()));
        let scope = scopes(&used, client);
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.client_id)
            .append_pair("redirect_uri", &redirect)
            .append_pair("state", state.expose())
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !scope.is_empty() {
            url.query_pairs_mut().append_pair("scope", &scope);
        }
        let (tell, returned) = mpsc::channel(1);
        let listening = listen(listener, Door { state, returned: tell });
        let begun = Begun { keyring: self.clone(), used, endpoints };
        Ok(LoginByBrowser { url, begun, redirect, verifier, returned, listening })
    }
}

impl LoginByBrowser {
    /// Waits for the browser's return and exchanges what it brings.
    pub(super) async fn finish(mut self) -> Result<(), AuthError> {
        let Begun { keyring, used, endpoints } = &self.begun;
        let returned = tokio::time::timeout(PATIENCE, self.returned.recv()).await;
        let Ok(Some(returned)) = returned else {
            return Err(keyring.failed("nobody authorized it in time; run the command again"));
        };
        let Some(code) = returned.code.filter(|_| returned.error.is_none()) else {
            let said = [returned.error, returned.error_description];
            let said = said.into_iter().flatten().collect::<Vec<_>>().join(": ");
            return Err(keyring.failed(&format!("the authorization server says {said}")));
        };
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &self.redirect),
            ("code_verifier", self.verifier.expose()),
        ];
        let (inner, client) = (&keyring.inner, keyring.inner.client(used));
        let answer: Answer = inner.ask((used, client), endpoints, &endpoints.token, &form).await?;
        drop(self.listening);
        inner.keep(used, endpoints, answer).await
    }
}

/// 244 bits of the system's chance, in letters that every server takes (RFC 7636 §4.1).
fn random() -> Secret {
    Secret::new(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
}

/// Owned by the login: cancelled with it; an error of the socket leaves the person without a page,
/// and the login runs out of time.
fn listen(listener: TcpListener, door: Door) -> Listening {
    let router = Router::new().route("/callback", routing::get(callback)).with_state(door);
    let task = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::warn!(%error, "the login can no longer be answered");
        }
    });
    Listening(task.abort_handle())
}

/// A return without the state of this login is somebody else's, and changes nothing.
async fn callback(
    State(door): State<Door>,
    Query(returned): Query<Returned>,
) -> Html<&'static str> {
    if returned.state.as_deref() != Some(door.state.expose()) {
        return Html("<p>This is not the answer to the login that is waiting.</p>");
    }
    // The first answer counts.
    let _ = door.returned.try_send(returned);
    Html("<p>Convoke has your answer. You can close this page.</p>")
}
