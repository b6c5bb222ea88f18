//! Credentials of the directory, from the catalog to the call; and secrets, looked for everywhere.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use examples::{ConformanceProfile, Kind, Options, TOKEN};
use insta::assert_snapshot;
use protocol::card::Binding;
use serde_json::{Value, json};
use tests::{
    agent::{card, completed, example, one_step},
    convoke::{Convoke, Done, finish},
    journal::Journal,
};
use tokio::{net::TcpListener, process::Command, task::JoinHandle};

use crate::steady;

const KEY: &str = "planted-key-b2f1";
const COOKIE: &str = "planted-cookie-77aa";
const PASSWORD: &str = "planted-password-0c9d";
const CLIENT_SECRET: &str = "planted-client-secret-e41a";
const ACCESS: &str = "planted-access-token-5d3e";

/// An agent that asks for much, and its authorization server.
struct Guarded {
    url: String,
    /// How requests for work came: their URI and headers, in short.
    calls: Arc<Mutex<Vec<String>>>,
    server: JoinHandle<std::io::Result<()>>,
}

#[derive(Clone)]
struct Door {
    url: String,
    security: Value,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Guarded {
    /// Starts an agent whose card has these `securitySchemes` and `securityRequirements`; `URL` in
    /// them is its own.
    async fn start(security: &Value) -> Guarded {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let security = security.to_string().replace("URL", &url);
        let door = Door {
            url: url.clone(),
            security: serde_json::from_str(&security).expect("it was JSON"),
            calls: Arc::default(),
        };
        let calls = door.calls.clone();
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(show_card))
            .route("/", post(answer))
            .route("/device", post(device))
            .route("/token", post(token))
            .with_state(door);
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Guarded { url, calls, server }
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().expect("nothing panics under this lock").clone()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn show_card(State(door): State<Door>) -> Json<Value> {
    let mut card = card("guarded", &door.url);
    card["capabilities"] = json!({});
    for (key, value) in door.security.as_object().expect("an object") {
        card[key] = value.clone();
    }
    Json(card)
}

async fn answer(
    State(door): State<Door>,
    headers: HeaderMap,
    uri: Uri,
    Json(call): Json<Value>,
) -> Response {
    let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or("-");
    let seen = format!(
        "{uri} authorization={} cookie={} x-door={}",
        header("authorization"),
        header("cookie"),
        header("x-door")
    );
    let is_known = seen.contains("planted");
    door.calls.lock().expect("nothing panics under this lock").push(seen);
    if !is_known {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let result = json!({"task": completed("t", "Come in.")});
    Json(json!({"jsonrpc": "2.0", "id": call["id"], "result": result})).into_response()
}

async fn device(State(door): State<Door>) -> Json<Value> {
    let verification_uri = format!("{}/activate", door.url);
    Json(json!({
        "device_code": "planted-device-code",
        "user_code": "ABCD-EFGH",
        "verification_uri": verification_uri,
        "interval": 0,
    }))
}

async fn token(headers: HeaderMap, form: String) -> Response {
    let is_client = headers.contains_key("authorization") || form.contains("client_id=public");
    if !is_client {
        return (StatusCode::UNAUTHORIZED, Json(json!({"error": "invalid_client"})))
            .into_response();
    }
    Json(json!({"access_token": ACCESS, "token_type": "Bearer", "expires_in": 3600}))
        .into_response()
}

/// Three schemes at once.
fn three() -> Value {
    json!({
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "query", "name": "key"}},
            "session": {"apiKeySecurityScheme": {"location": "cookie", "name": "session"}},
            "user": {"httpAuthSecurityScheme": {"scheme": "basic"}},
        },
        "securityRequirements": [
            {"schemes": {"key": {"list": []}, "session": {"list": []}, "user": {"list": []}}}
        ],
    })
}

fn oauth() -> Value {
    json!({
        "securitySchemes": {"sso": {"oauth2SecurityScheme": {"flows": {
            "clientCredentials": {"tokenUrl": "URL/token", "scopes": {"work": "Lets it work."}}
        }}}},
        "securityRequirements": [{"schemes": {"sso": {"list": ["work"]}}}],
    })
}

const TWO_STEPS: &str = "convoke: 1\nname: two\nsteps:\n  \
    one: {agent: three, message: Hello.}\n  two: {agent: sso, message: Hello., needs: [one]}\n";

fn with_secrets(mut command: Command) -> Command {
    command.env("TEST_KEY", KEY).env("TEST_CLIENT_SECRET", CLIENT_SECRET);
    command
}

async fn run<'a>(convoke: &Convoke, args: impl IntoIterator<Item = &'a str>) -> Done {
    finish(with_secrets(convoke.command(args))).await
}

/// Checks what the last failure counts as, for `on` and the like.
async fn is_unauthorized(convoke: &Convoke) {
    let journal = Journal::read(&convoke.data()).await.expect("a run");
    let events = format!("{:?}", journal.events);
    assert!(events.contains("\"class\": String(\"unauthorized\")"), "{events}");
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

pub(crate) fn holds(hay: &[u8], needle: &str) -> bool {
    hay.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[tokio::test]
async fn planted_secrets_reach_the_agents_and_nothing_else() {
    let (three, sso) = (Guarded::start(&three()).await, Guarded::start(&oauth()).await);
    let convoke = Convoke::default();
    convoke.write("secrets/cookie", format!("{COOKIE}\n"));
    let catalog = format!(
        "agents:\n- name: three\n  url: {}\n  credentials:\n  \
         - {{api_key: {{env: TEST_KEY}}, scheme: key}}\n  \
         - {{api_key: {{file: secrets/cookie}}, scheme: session}}\n  \
         - basic: {{username: ada, password: {{command: [cat, secrets/password]}}}}\n\
         - name: sso\n  url: {}\n  credentials:\n  \
         - oauth2: {{client_id: convoke, client_secret: {{env: TEST_CLIENT_SECRET}}}}\n",
        three.url, sso.url
    );
    convoke.write("catalog.yaml", catalog);
    convoke.write("secrets/password", PASSWORD);
    convoke.write("w.yaml", TWO_STEPS);
    let mut said = Vec::new();
    said.push(
        run(&convoke, ["--log", "trace", "agents", "apply", "catalog.yaml", "--approve"])
            .await
            .exits(0),
    );
    said.push(run(&convoke, ["--log", "trace", "run", "w.yaml"]).await.exits(0));
    said.push(run(&convoke, ["--json", "agents", "show", "three"]).await.exits(0));
    said.push(run(&convoke, ["agents", "show", "sso"]).await.exits(0));
    said.push(run(&convoke, ["--json", "runs", "list"]).await.exits(0));
    assert_eq!(
        three.calls(),
        [format!(
            "/?key={KEY} authorization=Basic YWRhOnBsYW50ZWQtcGFzc3dvcmQtMGM5ZA== cookie=session={COOKIE} x-door=-"
        )],
    );
    assert_eq!(sso.calls(), [format!("/ authorization=Bearer {ACCESS} cookie=- x-door=-")]);
    assert!(said[1].stderr.contains("TRACE"), "the search would prove nothing");
    for args in [["agents", "export"], ["agents", "list"], ["agents", "refresh"]] {
        said.push(run(&convoke, ["--log", "trace"].into_iter().chain(args)).await.exits(0));
        said.push(run(&convoke, ["--json"].into_iter().chain(args)).await.exits(0));
    }
    let extended =
        ["three", "sso"].map(|name| ["--log", "trace", "agents", "show", name, "--extended"]);
    for args in extended {
        said.push(run(&convoke, args).await);
    }
    nothing_is_told(&convoke, &said);
}

/// Looks for every secret in all that was said, and in every file of the data folder.
fn nothing_is_told(convoke: &Convoke, said: &[Done]) {
    let secrets = [
        KEY,
        COOKIE,
        PASSWORD,
        CLIENT_SECRET,
        ACCESS,
        "YWRhOnBsYW50ZWQtcGFzc3dvcmQtMGM5ZA",
        "Y29udm9rZTpwbGFudGVkLWNsaWVudC1zZWNyZXQtZTQxYQ",
    ];
    for secret in secrets {
        for done in said {
            assert!(!holds(done.stdout.as_bytes(), secret), "{secret} on stdout: {}", done.stdout);
            let line = done.stderr.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} on stderr");
        }
        for file in files(&convoke.data()) {
            let content = std::fs::read(&file).expect("a file");
            assert!(!holds(&content, secret), "{secret} in {}", file.display());
        }
    }
}

/// How an agent turns a call away.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    Status(u16),
    /// With an error of JSON-RPC.
    Error,
    /// With a redirect elsewhere.
    Redirect,
    /// By closing the connection.
    Close,
    /// With what is no answer.
    Nonsense,
}

/// Starts an agent that wants all three credentials and turns every call away; and how many came
/// with a secret.
async fn refusing(refusal: Refusal) -> (String, Arc<Mutex<usize>>, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let door = Door { url: url.clone(), security: three(), calls: Arc::default() };
    let count = Arc::new(Mutex::new(0));
    let called = Arc::clone(&count);
    let call = async move |uri: Uri, Json(call): Json<Value>| {
        *called.lock().expect("not poisoned") += usize::from(uri.to_string().contains(KEY));
        let error = json!({"code": -32603, "message": "no"});
        match refusal {
            Refusal::Status(status) => {
                StatusCode::from_u16(status).expect("a status").into_response()
            }
            Refusal::Error => {
                Json(json!({"jsonrpc": "2.0", "id": call["id"], "error": error})).into_response()
            }
            Refusal::Redirect => {
                axum::response::Redirect::temporary("http://127.0.0.1:1/elsewhere").into_response()
            }
            Refusal::Close => panic!("the connection closes"),
            Refusal::Nonsense => "<html>".into_response(),
        }
    };
    let router = Router::new()
        .route("/.well-known/agent-card.json", get(show_card))
        .with_state(door)
        .route("/", post(call));
    let server = tokio::spawn(async move {
        let _served = axum::serve(listener, router).await;
    });
    (url, count, server)
}

#[tokio::test]
async fn planted_secrets_are_not_told_when_a_call_is_refused() {
    let refusals = [
        Refusal::Status(400),
        Refusal::Status(401),
        Refusal::Status(403),
        Refusal::Status(500),
        Refusal::Error,
        Refusal::Redirect,
        Refusal::Close,
        Refusal::Nonsense,
    ];
    for refusal in refusals {
        let (url, count, server) = refusing(refusal).await;
        let convoke = Convoke::default();
        convoke.write("secrets/cookie", COOKIE);
        convoke.write("secrets/password", PASSWORD);
        let credentials = "[{api_key: {env: TEST_KEY}, scheme: key}, \
            {api_key: {file: secrets/cookie}, scheme: session}, \
            {basic: {username: ada, password: {command: [cat, secrets/password]}}}]";
        let catalog =
            format!("agents: [{{name: it, url: \"{url}\", credentials: {credentials}}}]\n");
        convoke.write("catalog.yaml", catalog);
        convoke.write("w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: it, message: Hello.}}\n");
        let trace = ["--log", "trace"];
        let apply = ["agents", "apply", "catalog.yaml", "--approve"];
        let mut said = vec![run(&convoke, trace.into_iter().chain(apply)).await.exits(0)];
        said.push(run(&convoke, trace.into_iter().chain(["send", "it", "Hello."])).await);
        said.push(run(&convoke, trace.into_iter().chain(["run", "w.yaml"])).await.exits(1));
        said.push(run(&convoke, ["--json", "runs", "list"]).await.exits(0));
        assert!(*count.lock().expect("not poisoned") >= 2, "{refusal:?}: {}", said[2].stderr);
        server.abort();
        let _ended = server.await;
        // Nobody is there any more.
        said.push(run(&convoke, trace.into_iter().chain(["send", "it", "Hello."])).await.exits(3));
        said.push(run(&convoke, trace.into_iter().chain(["run", "w.yaml"])).await.exits(1));
        nothing_is_told(&convoke, &said);
    }
}

#[tokio::test]
async fn a_step_without_credentials_says_what_the_card_wants() {
    let (three, convoke) = (Guarded::start(&three()).await, Convoke::default());
    let _added =
        run(&convoke, ["agents", "add", &three.url, "--name", "it", "--approve"]).await.exits(0);
    convoke.write("w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: it, message: Hello.}}\n");
    let done = run(&convoke, ["run", "w.yaml"]).await;
    is_unauthorized(&convoke).await;
    let shown = run(&convoke, ["send", "it", "Hello."]).await;
    let _steady = steady();
    assert_snapshot!(done.complaint(), @"
    exit 1
    TIME run   ID of w
    TIME a     sent to it
    TIME a     failed: SendMessage failed: http://127.0.0.1:PORT/ answered HTTP 401 Unauthorized; check the credentials for this agent. Its card wants an API key in the query `key` (its scheme `key`: `api_key: {env: NAME}`) and an API key in the cookie `session` (its scheme `session`: `api_key: {env: NAME}`) and a user and a password (HTTP Basic) (its scheme `user`: `basic: {username: NAME, password: {env: NAME}}`); give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`
    TIME run   failed: step `a` failed (attempt 1): SendMessage failed: http://127.0.0.1:PORT/ answered HTTP 401 Unauthorized; check the credentials for this agent. Its card wants an API key in the query `key` (its scheme `key`: `api_key: {env: NAME}`) and an API key in the cookie `session` (its scheme `session`: `api_key: {env: NAME}`) and a user and a password (HTTP Basic) (its scheme `user`: `basic: {username: NAME, password: {env: NAME}}`); give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`
    error: run ID failed: step `a` failed (attempt 1): SendMessage failed: http://127.0.0.1:PORT/ answered HTTP 401 Unauthorized; check the credentials for this agent. Its card wants an API key in the query `key` (its scheme `key`: `api_key: {env: NAME}`) and an API key in the cookie `session` (its scheme `session`: `api_key: {env: NAME}`) and a user and a password (HTTP Basic) (its scheme `user`: `basic: {username: NAME, password: {env: NAME}}`); give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`
    ");
    assert_snapshot!(shown.complaint(), @"
    exit 1
    error: SendMessage failed: http://127.0.0.1:PORT/ answered HTTP 401 Unauthorized; check the credentials for this agent. Its card wants an API key in the query `key` (its scheme `key`: `api_key: {env: NAME}`) and an API key in the cookie `session` (its scheme `session`: `api_key: {env: NAME}`) and a user and a password (HTTP Basic) (its scheme `user`: `basic: {username: NAME, password: {env: NAME}}`); give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`
    ");
}

#[tokio::test]
async fn a_secret_that_is_missing_is_named_and_the_agent_is_not_called() {
    let (sso, convoke) = (Guarded::start(&oauth()).await, Convoke::default());
    let catalog = format!(
        "agents:\n- name: sso\n  url: {}\n  credentials:\n  \
         - oauth2: {{client_id: convoke, client_secret: {{env: TEST_NOT_SET}}}}\n",
        sso.url
    );
    convoke.write("catalog.yaml", catalog);
    let _applied = convoke.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    convoke.write("w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: sso, message: Hello.}}\n");
    let done = convoke.run(["run", "w.yaml"]).await;
    assert_eq!(sso.calls(), [""; 0]);
    is_unauthorized(&convoke).await;
    let _steady = steady();
    assert_snapshot!(done.complaint(), @"
    exit 1
    TIME run   ID of w
    TIME a     sent to sso
    TIME a     failed: SendMessage failed: http://127.0.0.1:PORT/ was not called: the client secret for the agent `sso` cannot be had: the environment variable TEST_NOT_SET is not set; set it
    TIME run   failed: step `a` failed (attempt 1): SendMessage failed: http://127.0.0.1:PORT/ was not called: the client secret for the agent `sso` cannot be had: the environment variable TEST_NOT_SET is not set; set it
    error: run ID failed: step `a` failed (attempt 1): SendMessage failed: http://127.0.0.1:PORT/ was not called: the client secret for the agent `sso` cannot be had: the environment variable TEST_NOT_SET is not set; set it
    ");
}

#[tokio::test]
async fn an_interface_elsewhere_gets_nothing_until_the_catalog_says_so() {
    let elsewhere = Guarded::start(&json!({})).await;
    let convoke = Convoke::default();
    let home = tests::agent::Scripted::with_card({
        let url = elsewhere.url.clone();
        move |_| Json(card("moved", &url)).into_response()
    })
    .await;
    convoke.write("w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: moved, message: Hello.}}\n");
    let catalog = |origins: &str| {
        let header = "header: {name: X-Door, value: {env: TEST_KEY}}";
        format!("agents:\n- name: moved\n  url: {}\n  credentials: [{header}]\n{origins}", home.url)
    };
    convoke.write("catalog.yaml", catalog(""));
    let _applied = run(&convoke, ["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    let refused = run(&convoke, ["run", "w.yaml"]).await.exits(1);
    assert!(refused.stderr.contains("which was not approved"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("planted"));
    for known in [home.url.as_str(), "moved"] {
        let sent = run(&convoke, ["send", known, "Hello."]).await.exits(1);
        assert!(sent.stderr.contains("which was not approved"), "{}", sent.stderr);
    }
    assert_eq!(elsewhere.calls(), [""; 0]);
    let by_hand =
        run(&convoke, ["send", &home.url, "Hello.", "--bearer-env", "TEST_KEY"]).await.exits(1);
    assert!(by_hand.stderr.contains("--bearer-env does not go to"), "{}", by_hand.stderr);
    let openly = "/ authorization=- cookie=- x-door=-".to_owned();
    assert_eq!(elsewhere.calls().join("\n"), openly);
    convoke.write("catalog.yaml", catalog(&format!("  origins: ['{}']\n", elsewhere.url)));
    let changed = run(&convoke, ["agents", "apply", "catalog.yaml"]).await.exits(0);
    assert!(changed.stdout.contains("moved (origins; approved)"), "{}", changed.stdout);
    let _ran = run(&convoke, ["run", "w.yaml"]).await.exits(0);
    let let_in = format!("/ authorization=- cookie=- x-door={KEY}");
    assert_eq!(elsewhere.calls(), [openly, let_in]);
}

#[tokio::test]
async fn headers_and_a_bearer_token_are_sent_by_hand() {
    let (agent, convoke) = (Guarded::start(&json!({})).await, Convoke::default());
    let header = format!("X-Door: {KEY}");
    let args =
        ["send", &agent.url, "Hello.", "--header", &header, "--bearer-env", "TEST_CLIENT_SECRET"];
    let done = run(&convoke, args).await.exits(0);
    assert_eq!(done.stdout, "Come in.\n");
    let wanted = format!("/ authorization=Bearer {CLIENT_SECRET} cookie=- x-door={KEY}");
    assert_eq!(agent.calls(), [wanted]);
    let bad = run(&convoke, ["send", &agent.url, "Hello.", "--header", KEY]).await.exits(2);
    assert!(!bad.stderr.contains(KEY), "{}", bad.stderr);
    let twice =
        ["send", &agent.url, "x", "--header", "Authorization: x", "--bearer-env", "TEST_KEY"];
    assert_snapshot!(run(&convoke, twice).await.complaint(), @"
    exit 2
    error: --bearer-env TEST_KEY: --header gives an authorization as well; leave one of them out
    ");
    let unset = ["send", &agent.url, "Hello.", "--bearer-env", "TEST_NOT_SET"];
    assert_snapshot!(run(&convoke, unset).await.complaint(), @"
    exit 2
    error: the environment variable TEST_NOT_SET is not set; set it
    ");
    assert_eq!(agent.calls().len(), 1);
}

#[tokio::test]
async fn what_the_directory_has_is_sent_by_hand_too_unless_an_authorization_is_typed() {
    let (agent, convoke) = (Guarded::start(&json!({})).await, Convoke::default());
    let catalog = format!(
        "agents:\n- name: it\n  url: {}\n  credentials: [bearer: {{env: TEST_KEY}}]\n",
        agent.url
    );
    convoke.write("catalog.yaml", catalog);
    let _applied = run(&convoke, ["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    let card_url = format!("{}/.well-known/agent-card.json", agent.url);
    let door = format!("X-Door: {COOKIE}");
    for known in ["it", &agent.url, &card_url] {
        let _sent = run(&convoke, ["send", known, "Hello.", "--header", &door]).await.exits(0);
        let theirs = ["send", known, "Hello.", "--bearer-env", "TEST_CLIENT_SECRET"];
        let _sent = run(&convoke, theirs).await.exits(0);
        let header = format!("Authorization: Bearer {PASSWORD}");
        let _sent = run(&convoke, ["send", known, "Hello.", "--header", &header]).await.exits(0);
    }
    let three = [
        format!("/ authorization=Bearer {KEY} cookie=- x-door={COOKIE}"),
        format!("/ authorization=Bearer {CLIENT_SECRET} cookie=- x-door=-"),
        format!("/ authorization=Bearer {PASSWORD} cookie=- x-door=-"),
    ];
    assert_eq!(agent.calls(), [three.clone(), three.clone(), three].concat());
    let _rejected = run(&convoke, ["agents", "reject", "it"]).await.exits(0);
    let _sent = run(&convoke, ["send", &agent.url, "Hello."]).await.exits(1);
    assert_eq!(agent.calls()[9..], ["/ authorization=- cookie=- x-door=-".to_owned()]);
}

#[tokio::test]
async fn a_url_that_is_typed_makes_no_data_folder() {
    let (agent, convoke) = (Guarded::start(&json!({})).await, Convoke::default());
    let _sent = run(&convoke, ["send", &agent.url, "Hello."]).await.exits(1);
    assert!(!convoke.data().exists());
}

#[tokio::test]
async fn a_person_logs_in_by_a_code_and_runs_go_on_with_it() {
    let security = json!({
        "securitySchemes": {"sso": {"oauth2SecurityScheme": {"flows": {"deviceCode": {
            "deviceAuthorizationUrl": "URL/device", "tokenUrl": "URL/token", "scopes": {}
        }}}}},
        "securityRequirements": [{"schemes": {"sso": {"list": []}}}],
    });
    let (agent, convoke) = (Guarded::start(&security).await, Convoke::default());
    let catalog = format!(
        "agents:\n- name: it\n  url: {}\n  credentials: [oauth2: {{client_id: public}}]\n",
        agent.url
    );
    convoke.write("catalog.yaml", catalog);
    convoke.write("w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: it, message: Hello.}}\n");
    let _applied = convoke.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    let before = convoke.run(["run", "w.yaml"]).await.exits(1);
    assert!(before.stderr.contains("run `convoke agents login it`"), "{}", before.stderr);
    let login = convoke.run(["agents", "login", "it"]).await.exits(0);
    {
        let _steady = steady();
        assert_snapshot!(format!("{}{}", login.stdout, login.stderr), @"
        http://127.0.0.1:PORT/activate
        open this on any device:
        and type the code ABCD-EFGH
        waiting; Ctrl-C gives up
        logged in to it
        ");
    }
    let _ran = convoke.run(["run", "w.yaml"]).await.exits(0);
    assert_eq!(agent.calls(), [format!("/ authorization=Bearer {ACCESS} cookie=- x-door=-")]);
    let tokens = files(&convoke.data().join("tokens"));
    assert_eq!(tokens.len(), 1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&tokens[0]).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn all_that_a_run_asks_of_an_agent_is_authenticated_over_every_binding() {
    for binding in Binding::ALL {
        let profile = ConformanceProfile::Auth;
        let agent =
            example(Kind::Conformance, Options { binding, profile, ..Options::default() }).await;
        let convoke = Convoke::default();
        let origin = agent.url.as_str();
        let catalog = format!(
            "agents:\n- name: it\n  url: {origin}\n  credentials: [bearer: {{env: TEST_TOKEN}}]\n"
        );
        convoke.write("catalog.yaml", catalog);
        let _applied = convoke.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
        let step =
            |text| format!("convoke: 1\nname: w\nsteps: {{a: {{agent: it, message: {text}}}}}\n");
        convoke.write("w.yaml", step("tck-artifact-text"));
        let with_token = |args: &[&str]| {
            let mut command = convoke.command(args);
            command.env("TEST_TOKEN", TOKEN);
            command
        };
        let done = finish(with_token(&["run", "w.yaml"])).await.exits(0);
        assert!(done.stdout.contains("Generated text content"), "{binding}: {}", done.stdout);
        convoke.write("w.yaml", step("tck-cancel"));
        let mut process = tests::convoke::start(with_token(&["run", "w.yaml"]));
        process.until("working on Task").await;
        process.interrupt();
        let done = process.end().await.exits(130);
        assert!(done.stderr.contains("canceled"), "{binding}: {}", done.stderr);
        let card = finish(with_token(&["--json", "agents", "show", "it", "--extended"])).await;
        let openly = convoke.run(["agents", "show", "it", "--extended"]).await.exits(3);
        assert!(card.exits(0).json()["skills"].is_array());
        assert!(openly.stderr.contains("TEST_TOKEN is not set"), "{binding}: {}", openly.stderr);
        // Without it nobody is let in, so the token was carried all along.
        convoke.write(
            "own.yaml",
            one_step(&agent.url, "").replace("it:", "own:").replace(": it", ": own"),
        );
        let refused = convoke.run(["run", "own.yaml"]).await.exits(1);
        let said = "(UNAUTHENTICATED)";
        assert!(refused.stderr.contains(said), "{binding}: {}", refused.stderr);
        assert!(refused.stderr.contains("It is not in the directory"), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn an_agent_that_lost_its_approval_in_the_middle_of_a_run_gets_no_more_credentials() {
    let profile = ConformanceProfile::Auth;
    let agent = example(Kind::Conformance, Options { profile, ..Options::default() }).await;
    let convoke = Convoke::default();
    let origin = agent.url.as_str();
    let credentials = "credentials: [bearer: {env: TEST_TOKEN}]";
    convoke
        .write("catalog.yaml", format!("agents:\n- name: it\n  url: {origin}\n  {credentials}\n"));
    let _applied = convoke.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    let workflow = "convoke: 1\nname: w\nsteps: {a: {agent: it, message: tck-input-required}}\n";
    convoke.write("w.yaml", workflow);
    let with_token = |args: &[&str]| {
        let mut command = convoke.command(args);
        command.env("TEST_TOKEN", TOKEN);
        command
    };
    let _paused = finish(with_token(&["run", "w.yaml"])).await.exits(4);
    let _rejected = convoke.run(["agents", "reject", "it"]).await.exits(0);
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    let run = runs[0]["id"].as_str().expect("a run");
    let done = finish(with_token(&["runs", "reply", run, "Go on."])).await.exits(1);
    is_unauthorized(&convoke).await;
    let said = "the credentials of `it` are withheld, because it is rejected";
    assert!(done.stderr.contains(said), "{}", done.stderr);
}
