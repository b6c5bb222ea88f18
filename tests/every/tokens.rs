//! Callers with bearer tokens of an issuer, as the settings of a server have it.

use axum::{Json, Router, http::StatusCode, routing::get};
use examples::{Kind, Options, Running};
use jiff::Timestamp;
use protocol::push::Keyring;
use serde_json::{Value, json};
use tests::{
    agent::{example, one_step},
    convoke::{Convoke, Done, finish},
};
use tokio::net::TcpListener;

use crate::{keys::ends_without, served::Served};

/// A listening issuer.
pub(crate) struct Issuer {
    pub(crate) url: String,
    ring: Keyring,
}

impl Issuer {
    /// One whose keys are at `/keys`, which it may say itself.
    pub(crate) async fn new(describes_itself: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let ring = Keyring::generate(Timestamp::now()).expect("a key");
        let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
        let keys = serde_json::to_value(ring.public_keys()).expect("JSON");
        let described = async move || match describes_itself {
            true => Ok(Json(metadata)),
            false => Err(StatusCode::NOT_FOUND),
        };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(described))
            .route("/keys", get(async move || Json(keys)));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, ring }
    }

    /// A token with these claims, besides its issuer, and for five minutes.
    pub(crate) fn token(&self, claims: Value) -> String {
        let mut all = json!({"iss": self.url, "exp": Timestamp::now().as_second() + 300});
        let Value::Object(claims) = claims else { panic!("claims are an object") };
        all.as_object_mut().expect("an object").extend(claims);
        self.ring.sign(&all).expect("it signs")
    }
}

/// A workflow, and the agent of its step.
async fn echoing() -> (Running, Convoke) {
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    convoke.write("workflows/w.yaml", one_step(&echo.url, ""));
    (echo, convoke)
}

/// Serves with these settings of `auth.jwt`.
pub(crate) async fn serving(convoke: &Convoke, jwt: &Value) -> Served {
    convoke.write("jwt.yaml", json!({"auth": {"jwt": jwt}}).to_string());
    let log = "server=trace,protocol=trace,executor=debug";
    Served::with(convoke, &["-c", "jwt.yaml", "--log", log]).await
}

/// What `convoke send` ends with for a caller with this token.
async fn send(convoke: &Convoke, served: &Served, token: &str) -> Done {
    let args = ["send", &served.url, "go", "--bearer-env", "TOKEN", "--data", "client"];
    let mut command = convoke.command(args);
    command.env("TOKEN", token);
    finish(command).await
}

#[tokio::test]
async fn a_token_counts_by_the_issuer_the_audience_and_the_claims_that_are_set() {
    let (_echo, convoke) = echoing().await;
    let issuer = Issuer::new(true).await;
    let jwt = json!({
        "issuer": issuer.url, "audience": "mine", "scopes_claim": "may", "account_claim": "team",
    });
    let served = serving(&convoke, &jwt).await;
    let good = issuer.token(json!({"aud": "mine", "may": "runs:start:*", "team": "ada"}));
    let _done = send(&convoke, &served, &good).await.exits(0);
    for (claims, said) in [
        (json!({"aud": "other", "may": "runs:start:*", "team": "ada"}), "the bearer token"),
        (
            json!({"aud": "mine", "may": "runs:start:*", "team": "ada", "iss": "x"}),
            "the bearer token",
        ),
        (json!({"aud": "mine", "may": "runs:start:*", "sub": "ada"}), "claim `team`"),
        (json!({"aud": "mine", "scope": "runs:start:*", "team": "ada"}), "needs the scope"),
    ] {
        let refused = send(&convoke, &served, &issuer.token(claims.clone())).await.exits(1);
        assert!(refused.stderr.contains(said), "{claims}: {}", refused.stderr);
    }
    let forged = Issuer::new(true).await;
    let claims = json!({"iss": issuer.url, "aud": "mine", "may": "admin", "team": "ada"});
    let refused = send(&convoke, &served, &forged.token(claims)).await.exits(1);
    assert!(refused.stderr.contains("does not publish"), "{}", refused.stderr);
    let nobody = convoke.run(["send", &served.url, "go", "--data", "client"]).await.exits(1);
    assert!(nobody.stderr.contains("Authorization: Bearer"), "{}", nobody.stderr);
    // Runs are those of the account.
    for (account, count) in [("oidc:ada", 1), ("ada", 0), ("local", 0)] {
        let runs =
            convoke.run(["--json", "runs", "list", "--account", account]).await.exits(0).json();
        assert_eq!(runs.as_array().map(Vec::len), Some(count), "{account}");
    }
    let (_, signature) = good.rsplit_once('.').expect("a JWT");
    ends_without(served.process, &convoke, &[signature]).await;
}

#[tokio::test]
async fn the_keys_of_an_issuer_are_where_the_operator_says() {
    let (_echo, convoke) = echoing().await;
    let issuer = Issuer::new(false).await;
    let token = issuer.token(json!({"aud": "mine", "scope": "runs:start:*", "sub": "ada"}));
    let mut jwt = json!({"issuer": issuer.url, "audience": "mine"});
    let served = serving(&convoke, &jwt).await;
    let unknown = send(&convoke, &served, &token).await.exits(3);
    assert!(unknown.stderr.contains("cannot be checked just now"), "{}", unknown.stderr);
    served.process.terminate();
    let _stopped = served.process.end().await;
    jwt["jwks_url"] = json!(format!("{}/keys", issuer.url));
    let served = serving(&convoke, &jwt).await;
    let _done = send(&convoke, &served, &token).await.exits(0);
    let forged = Issuer::new(false).await.token(json!({"iss": issuer.url, "aud": "mine"}));
    let refused = send(&convoke, &served, &forged).await.exits(1);
    assert!(refused.stderr.contains("does not publish"), "{}", refused.stderr);
    served.process.terminate();
    let _stopped = served.process.end().await;
}
