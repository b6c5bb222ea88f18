//! Agents that are called with a token in exchange for that of whoever calls us (RFC 8693).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use examples::{Kind, Options};
use jiff::Timestamp;
use protocol::v1::{
    Message, SendMessageConfiguration, SendMessageRequest, Task, TaskState,
    send_message_response::Payload,
};
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::{card, completed, example},
    convoke::Convoke,
};
use tokio::net::TcpListener;
use url::form_urlencoded;

use crate::{
    keys::ends_without,
    served::{Served, client_of, said},
    tokens::{Issuer, serving},
};

const ACCESS: &str = "planted-exchanged-token-7c2e";

/// An agent that takes [`ACCESS`] alone, and the authorization server that exchanges tokens for it.
#[derive(Clone)]
struct Flights {
    url: String,
    /// The forms that came to the authorization server.
    asked: Arc<Mutex<Vec<HashMap<String, String>>>>,
    /// All headers that came to the agent.
    calls: Arc<Mutex<Vec<String>>>,
    refusal: Arc<Mutex<Option<Value>>>,
}

impl Flights {
    async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let flights =
            Self { url, asked: Arc::default(), calls: Arc::default(), refusal: Arc::default() };
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(show_card))
            .route("/", post(answer))
            .route("/token", post(exchange))
            .with_state(flights.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        flights
    }

    fn asked(&self) -> Vec<HashMap<String, String>> {
        self.asked.lock().expect("nothing panics under this lock").clone()
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().expect("nothing panics under this lock").clone()
    }

    /// Takes it into a directory, beside a workflow that first waits for a slow agent and then calls it.
    async fn known_to(&self, convoke: &Convoke, slow: &str) {
        let catalog = format!(
            "agents:\n- name: flights\n  url: {url}\n  credentials:\n  - token_exchange: {{client_id: convoke, \
             client_secret: {{file: secret}}, token_endpoint: {url}/token, audience: [flights], scopes: [fly]}}\n",
            url = self.url
        );
        convoke.write("catalog.yaml", catalog);
        convoke.write("secret", "planted-secret-of-the-client");
        let workflow = format!(
            "convoke: 1\nname: trip\nagents: {{slow: {{url: \"{slow}\"}}}}\nsteps:\n  \
             wait: {{agent: slow, message: Hello.}}\n  fly: {{agent: flights, message: Hello., needs: [wait]}}\n"
        );
        convoke.write("workflows/trip.yaml", workflow);
        let _applied = convoke.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    }
}

async fn show_card(State(flights): State<Flights>) -> Json<Value> {
    let mut card = card("flights", &flights.url);
    card["capabilities"] = json!({});
    card["securitySchemes"] = json!({"b": {"httpAuthSecurityScheme": {"scheme": "bearer"}}});
    card["securityRequirements"] = json!([{"schemes": {"b": {"list": []}}}]);
    Json(card)
}

async fn answer(
    State(flights): State<Flights>,
    headers: HeaderMap,
    Json(call): Json<Value>,
) -> Response {
    let seen = format!("{headers:?}");
    let is_known = seen.contains(ACCESS);
    flights.calls.lock().expect("nothing panics under this lock").push(seen);
    if !is_known {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let result = json!({"task": completed("t", "Fly.")});
    Json(json!({"jsonrpc": "2.0", "id": call["id"], "result": result})).into_response()
}

async fn exchange(State(flights): State<Flights>, form: String) -> Response {
    let form: HashMap<String, String> =
        form_urlencoded::parse(form.as_bytes()).into_owned().collect();
    flights.asked.lock().expect("nothing panics under this lock").push(form);
    if let Some(refusal) = flights.refusal.lock().expect("nothing panics under this lock").clone() {
        return (StatusCode::BAD_REQUEST, Json(refusal)).into_response();
    }
    let issued_token_type = "urn:ietf:params:oauth:token-type:access_token";
    Json(json!({
        "access_token": ACCESS,
        "issued_token_type": issued_token_type,
        "token_type": "Bearer",
        "expires_in": 3600,
    }))
    .into_response()
}

fn jwt(issuer: &Issuer, exchange: bool) -> Value {
    json!({"issuer": issuer.url, "audience": "mine", "exchange": exchange})
}

fn token(issuer: &Issuer, seconds: i64) -> String {
    let exp = Timestamp::now().as_second() + seconds;
    issuer
        .token(json!({"aud": "mine", "scope": "runs:start:* runs:read", "sub": "ada", "exp": exp}))
}

/// The same server, for a caller with a token.
fn by(served: &Served, token: &str) -> protocol::client::Client {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).expect("a header");
    value.set_sensitive(true);
    served.client.clone().with_authorization(value)
}

async fn send(client: &protocol::client::Client, message: Message, is_immediate: bool) -> Task {
    let configuration = Some(SendMessageConfiguration {
        return_immediately: is_immediate,
        ..SendMessageConfiguration::default()
    });
    let request = SendMessageRequest {
        message: Some(message),
        configuration,
        ..SendMessageRequest::default()
    };
    let answer = client.send_message(request, PATIENCE).await.expect("an answer");
    let Some(Payload::Task(task)) = answer.payload else { panic!("it is a Task") };
    task
}

/// Waits until a Task is in a state, and returns what its status says.
async fn until(client: &protocol::client::Client, id: &str, state: TaskState) -> String {
    let request = protocol::v1::GetTaskRequest { id: id.to_owned(), ..Default::default() };
    let is_so = async {
        loop {
            let task = client.get_task(request.clone(), PATIENCE).await.expect("a Task");
            if task.state() == state {
                let message = task.status.and_then(|status| status.message);
                return message.map(|message| message.text()).unwrap_or_default();
            }
        }
    };
    tokio::time::timeout(PATIENCE, is_so).await.expect("the state comes")
}

#[tokio::test]
async fn an_agent_gets_what_the_callers_token_was_exchanged_for_and_nothing_keeps_either() {
    let (flights, issuer) = (Flights::start().await, Issuer::new(true).await);
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    flights.known_to(&convoke, &echo.url).await;
    let served = serving(&convoke, &jwt(&issuer, true)).await;
    let token = token(&issuer, 300);
    let client = by(&served, &token);
    for _ in 0..2 {
        assert_eq!(send(&client, said("go"), false).await.state(), TaskState::Completed);
    }
    let asked = flights.asked();
    let [form] = &asked[..] else { panic!("one exchange serves both runs: {asked:?}") };
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:token-exchange");
    assert_eq!(form["subject_token"], token);
    assert_eq!((&*form["audience"], &*form["scope"]), ("flights", "fly"));
    let calls = flights.calls();
    assert!(calls.len() >= 2 && calls.iter().all(|call| !call.contains(&token)), "{calls:?}");
    let (_, signature) = token.rsplit_once('.').expect("a JWT");
    let secrets = [signature, ACCESS, "planted-secret-of-the-client"];
    ends_without(served.process, &convoke, &secrets).await;
}

#[tokio::test]
async fn after_a_crash_a_run_waits_for_its_caller_and_goes_on_when_they_come_again() {
    let (flights, issuer) = (Flights::start().await, Issuer::new(true).await);
    let delay = Duration::from_secs(3);
    let slow = example(Kind::Slow, Options { delay, ..Options::default() }).await;
    let convoke = Convoke::default();
    flights.known_to(&convoke, &slow.url).await;
    let served = serving(&convoke, &jwt(&issuer, true)).await;
    let first = token(&issuer, 300);
    let task = send(&by(&served, &first), said("go"), true).await;
    let agent = client_of(&slow.url);
    let is_there = async {
        while agent.list_tasks(Default::default(), PATIENCE).await.expect("a page").tasks.is_empty()
        {
        }
    };
    tokio::time::timeout(PATIENCE, is_there).await.expect("the first step has begun");
    served.process.kill().await;
    let served = serving(&convoke, &jwt(&issuer, true)).await;
    let asks = until(&by(&served, &first), &task.id, TaskState::AuthRequired).await;
    assert!(
        asks.contains("Agent `flights` is called with a token in exchange for yours"),
        "{asks}"
    );
    assert_eq!((flights.asked().len(), flights.calls().len()), (0, 0));
    let second = token(&issuer, 301);
    let client = by(&served, &second);
    let _task = send(&client, said("here I am").with_task(&task.id), true).await;
    let _said = until(&client, &task.id, TaskState::Completed).await;
    assert_eq!((flights.asked().len(), flights.calls().len()), (1, 1));
    assert_eq!(flights.asked()[0]["subject_token"], second);
    let signature = |token: &str| token.rsplit_once('.').expect("a JWT").1.to_owned();
    let secrets = [&*signature(&first), &*signature(&second), ACCESS];
    ends_without(served.process, &convoke, &secrets).await;
}

#[tokio::test]
async fn a_token_that_has_ended_is_asked_for_again_before_anything_is_sent() {
    let (flights, issuer) = (Flights::start().await, Issuer::new(true).await);
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    flights.known_to(&convoke, &echo.url).await;
    let served = serving(&convoke, &jwt(&issuer, true)).await;
    // Good for the server, whose clock may be another, and for no exchange.
    let ended = token(&issuer, -5);
    let task = send(&by(&served, &ended), said("go"), false).await;
    assert_eq!(task.state(), TaskState::AuthRequired);
    let again = by(&served, &ended);
    let request = SendMessageRequest {
        message: Some(said("still the same").with_task(&task.id)),
        ..SendMessageRequest::default()
    };
    let refused = again.send_message(request, PATIENCE).await.unwrap_err();
    assert!(refused.message.contains("with a bearer token that is good now"), "{refused}");
    assert_eq!((flights.asked().len(), flights.calls().len()), (0, 0));
    let client = by(&served, &token(&issuer, 300));
    let done = send(&client, said("here I am").with_task(&task.id), false).await;
    assert_eq!(done.state(), TaskState::Completed);
    served.process.terminate();
    let _stopped = served.process.end().await;
}

/// A workflow that has the agent called inside of another one, and once more when all has ended.
const TOUR: &str = "convoke: 1\nname: tour\nsteps:\n  \
                    book: {workflow: both}\nfinally:\n  close: {agent: flights, message: Bye.}\n";

/// That other one, which calls it twice at once.
const BOTH: &str = "convoke: 1\nname: both\nsteps:\n  \
                    out: {agent: flights, message: Out.}\n  back: {agent: flights, message: Back.}\n";

async fn touring(flights: &Flights, issuer: &Issuer) -> (Convoke, Served) {
    let convoke = Convoke::default();
    flights.known_to(&convoke, &flights.url).await;
    convoke.write("workflows/tour.yaml", TOUR);
    convoke.write("workflows/both.yaml", BOTH);
    let served = serving(&convoke, &jwt(issuer, true)).await;
    (convoke, served)
}

fn tour() -> Message {
    said("go").with_metadata(protocol::model::metadata::WORKFLOW, "tour")
}

/// Waits until the agent was called so often, each time with what it takes.
async fn is_called(flights: &Flights, times: usize) {
    let is_so = async {
        while flights.calls().len() < times {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, is_so).await.expect("it is called");
    let calls = flights.calls();
    assert!(calls.len() == times && calls.iter().all(|call| call.contains(ACCESS)), "{calls:?}");
}

#[tokio::test]
async fn a_sub_run_and_what_is_done_at_the_end_call_on_behalf_of_the_caller_of_the_run() {
    let (flights, issuer) = (Flights::start().await, Issuer::new(true).await);
    let (convoke, served) = touring(&flights, &issuer).await;
    let token = token(&issuer, 300);
    let task = send(&by(&served, &token), tour(), false).await;
    assert_eq!(task.state(), TaskState::Completed, "{task:?}");
    is_called(&flights, 3).await;
    assert!(flights.asked().iter().all(|form| form["subject_token"] == token));
    let (_, signature) = token.rsplit_once('.').expect("a JWT");
    ends_without(served.process, &convoke, &[signature, ACCESS]).await;
}

#[tokio::test]
async fn one_message_brings_back_the_caller_of_all_that_waits_inside_of_a_sub_run() {
    let (flights, issuer) = (Flights::start().await, Issuer::new(true).await);
    let (_convoke, served) = touring(&flights, &issuer).await;
    let ended = token(&issuer, -5);
    let task = send(&by(&served, &ended), tour(), false).await;
    assert_eq!(task.state(), TaskState::AuthRequired);
    let client = by(&served, &token(&issuer, 300));
    let both = async {
        let inner = ["book/out", "book/back"];
        let request = protocol::v1::GetTaskRequest { id: task.id.clone(), ..Default::default() };
        loop {
            let task = client.get_task(request.clone(), PATIENCE).await.expect("a Task");
            let status = format!("{:?}", task.status);
            if inner.iter().all(|step| status.contains(step)) {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, both).await.expect("both wait");
    let done = send(&client, said("here I am").with_task(&task.id), false).await;
    assert_eq!(done.state(), TaskState::Completed, "{done:?}");
    is_called(&flights, 3).await;
    served.process.terminate();
    let _stopped = served.process.end().await;
}

#[tokio::test]
async fn tokens_are_exchanged_only_where_the_settings_say_so_and_there_is_a_caller() {
    let (flights, issuer) = (Flights::start().await, Issuer::new(true).await);
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    flights.known_to(&convoke, &echo.url).await;
    let served = serving(&convoke, &jwt(&issuer, false)).await;
    let task = send(&by(&served, &token(&issuer, 300)), said("go"), false).await;
    assert_eq!(task.state(), TaskState::Failed);
    let told = format!("{task:?}");
    assert!(told.contains("`auth.jwt.exchange: true`"), "{told}");
    served.process.terminate();
    let _stopped = served.process.end().await;
    for args in [&["send", "flights", "hello"][..], &["run", "workflows/trip.yaml"]] {
        let failed = convoke.run(args).await;
        assert!(
            failed.code != 0 && failed.stderr.contains("have `convoke serve` call it"),
            "{failed:?}"
        );
    }
    assert_eq!((flights.asked().len(), flights.calls().len()), (0, 0));
}

#[tokio::test]
async fn what_the_authorization_server_says_is_told_without_the_token_that_it_repeats() {
    let (flights, issuer) = (Flights::start().await, Issuer::new(true).await);
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    flights.known_to(&convoke, &echo.url).await;
    let served = serving(&convoke, &jwt(&issuer, true)).await;
    let token = token(&issuer, 300);
    let refusal = json!({"error": "invalid_target", "error_description": format!("not {token}")});
    *flights.refusal.lock().expect("nothing panics under this lock") = Some(refusal);
    let task = send(&by(&served, &token), said("go"), false).await;
    assert_eq!(task.state(), TaskState::Failed);
    let told = format!("{task:?}");
    assert!(told.contains("invalid_target: not [hidden]"), "{told}");
    let (_, signature) = token.rsplit_once('.').expect("a JWT");
    ends_without(served.process, &convoke, &[signature]).await;
}
