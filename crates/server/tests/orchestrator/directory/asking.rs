//! The skill `find-agents`: the directory is asked in A2A.

use examples::{Kind, Options, Running};
use protocol::{
    card::Binding,
    client::{Client, ClientError},
    error::ErrorKind,
    model::metadata,
    v1::{
        GetExtendedAgentCardRequest, ListTasksRequest, Message, Part, SendMessageConfiguration,
        SendMessageRequest, send_message_response, stream_response,
    },
};
use serde_json::{Value, json};
use server::{Delegation, PublicSkills, Settings};

use super::{caller, contract::Contract, hiding::open_and_closed};
use crate::{
    accounts::over,
    scene::{PATIENCE, Scene, example, kind, output, rest, said, send, workflow},
};

const SKILL: &str = "find-agents";

fn asking() -> Settings {
    Settings { find_agents: true, ..Settings::default() }
}

/// A server with a workflow, an open entry and one that is not.
async fn guarded() -> (Running, (Scene, Contract)) {
    let agent = example(Kind::Echo, Options::default()).await;
    let file = workflow("w", &[("x", &agent)], "steps:\n  a: {agent: x}\n");
    let scene = Scene::guarded(&[file], asking()).await;
    let contract = Contract::of(&scene).await;
    let guarded = (scene, contract);
    open_and_closed(&caller(&guarded, "local", &["admin"]).await).await;
    (agent, guarded)
}

fn named(parts: Vec<Part>) -> Message {
    Message::user(parts).with_metadata(metadata::WORKFLOW, SKILL)
}

/// What is answered at once: a Message.
async fn ask(client: &Client, request: SendMessageRequest) -> Result<Message, ClientError> {
    match client.send_message(request, PATIENCE).await?.payload {
        Some(send_message_response::Payload::Message(message)) => Ok(message),
        other => panic!("no Message: {other:?}"),
    }
}

fn data(message: &Message) -> &Value {
    message.parts.iter().find_map(Part::as_data).expect("a data Part")
}

fn names(message: &Message) -> Vec<String> {
    super::names(data(message))
}

#[tokio::test]
async fn the_directory_answers_over_every_binding_what_its_api_answers() {
    let (_agent, guarded) = guarded().await;
    let scene = &guarded.0;
    let reader = caller(&guarded, "local", &["agents:read"]).await;
    let asked = || vec![Part::text("does"), Part::data(json!({ "facets": true, "page_size": 1 }))];
    let expected = reader.get("/v1/agents?q=does&facets=true&page_size=1").await.ok();
    for binding in Binding::ALL {
        let by_name = over(scene, binding, "", reader.key.as_ref());
        let by_tenant = over(scene, binding, SKILL, reader.key.as_ref());
        for (client, message) in
            [(&by_name, named(asked())), (&by_tenant, Message::user(asked()).with_context("c"))]
        {
            let context = message.context_id.clone();
            let answer = ask(client, message.clone().into()).await.expect("an answer");
            assert_eq!(answer.context_id, context, "{binding}");
            let mut found = data(&answer).clone();
            let token = found["next_page_token"].take();
            assert!(token.is_string() && found["agents"][0]["why"][0].is_string(), "{found}");
            let mut expected = expected.clone();
            expected["next_page_token"].take();
            assert_eq!(found, expected, "{binding}");
            let first = found["agents"][0]["agent"]["name"].as_str().expect("a name").to_owned();
            let text = answer.text();
            assert!(text.starts_with("2 agents fit, best first; these are 1 of them."), "{text}");
            assert!(text.contains(&format!("\n- {first} (")), "{text}");
            assert!(text.contains(token.as_str().expect("a token")), "{text}");
            let next = json!({ "q": "does", "page_token": token });
            let second = ask(&by_name, named(vec![Part::data(next)]).into()).await;
            let second = names(&second.expect("the next page"));
            assert!(second.len() == 1 && second[0] != first, "{second:?}");
            let stream = client.send_streaming_message(message.into(), PATIENCE).await;
            let events = rest(&mut stream.expect("a stream")).await;
            let [stream_response::Payload::Message(streamed)] =
                &events.into_iter().filter_map(|it| it.payload).collect::<Vec<_>>()[..]
            else {
                panic!("one Message")
            };
            assert_eq!(names(streamed), [first]);
        }
    }
    let admin = caller(&guarded, "local", &["admin"]).await;
    let client = over(scene, Binding::JsonRpc, "", admin.key.as_ref());
    let listed = client.list_tasks(ListTasksRequest::default(), PATIENCE).await;
    assert_eq!(listed.expect("a page").tasks, [], "a question leaves no Task");
}

#[tokio::test]
async fn a_caller_is_told_of_no_entry_that_the_api_would_not_show() {
    let (_agent, guarded) = guarded().await;
    let scene = &guarded.0;
    let client = |key| over(scene, Binding::JsonRpc, SKILL, Some(key));
    let own = scene.key("local", &["agents:read"]).await;
    let eve = scene.key("eve", &["agents:curate"]).await;
    let all = ask(&client(&own), said("").into()).await.expect("an answer");
    assert_eq!(names(&all), ["closed", "open"]);
    let public = ask(&client(&eve), said("").into()).await.expect("an answer");
    assert_eq!(names(&public), ["open"]);
    let shown = json!(public.parts).to_string();
    for hidden in ["closed", "Mira", "sauna", "secret.example"] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    for words in ["closed", "sauna", "Mira"] {
        let found = ask(&client(&eve), said(words).into()).await.expect("an answer");
        assert_eq!(names(&found), [""; 0], "{words}");
        assert_eq!(found.text(), "No agent of the directory fits.");
    }
}

#[tokio::test]
async fn asking_is_a_scope_of_its_own() {
    let (_agent, guarded) = guarded().await;
    let scene = &guarded.0;
    let reading = scene.key("local", &["agents:read"]).await;
    let starting = scene.key("local", &["runs:start:*"]).await;
    let lonely = scene.key("local", &["runs:read"]).await;
    let to = |key| over(scene, Binding::JsonRpc, "", Some(key));
    for key in [&starting, &lonely] {
        let refused = ask(&to(key), named(vec![Part::text("")]).into()).await;
        assert_eq!(kind(refused), ErrorKind::PermissionDenied);
    }
    // Who may only ask can start, answer and cancel nothing; what names no skill is a question then.
    let started = send(&to(&starting), said("go").into()).await.expect("a Task");
    let workflow = said("go").with_metadata(metadata::WORKFLOW, "w");
    for message in [workflow, said("more").with_task(&started.id)] {
        let refused = send(&to(&reading), message.into()).await;
        assert_eq!(kind(refused), ErrorKind::PermissionDenied);
    }
    let request = protocol::v1::CancelTaskRequest { id: started.id, ..Default::default() };
    let refused = to(&reading).cancel_task(request, PATIENCE).await;
    assert_eq!(kind(refused), ErrorKind::PermissionDenied);
    let found = ask(&to(&reading), said("closed").into()).await.expect("an answer");
    assert_eq!(names(&found), ["closed"]);
    // The card for callers shows the skill to those who may use it.
    for (key, shown) in [(&reading, &[SKILL][..]), (&starting, &["w"])] {
        let request = GetExtendedAgentCardRequest::default();
        let card = to(key).get_extended_card(request, PATIENCE).await.expect("a card");
        let skills: Vec<&str> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
        assert_eq!(skills, shown);
    }
}

#[tokio::test]
async fn conditions_that_are_wrong_are_refused_all_at_once() {
    let scene = Scene::with(&[], asking(), executor::RunLimits::NONE).await;
    let client = over(&scene, Binding::JsonRpc, "", None);
    let wrong = json!({ "tags": "x", "min_evidence": "much", "page_token": "none" });
    let error = ask(&client, named(vec![Part::data(wrong)]).into()).await.expect_err("it is wrong");
    let remote = error.remote.as_deref().expect("it is the agent's");
    let fields: Vec<&str> = remote.violations.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(fields, ["message.parts.data.min_evidence", "message.parts.data.tags"]);
    assert!(error.to_string().contains("did you mean `tag`?"), "{error}");
    let token = named(vec![Part::data(json!({ "page_token": "none" }))]);
    assert_eq!(kind(ask(&client, token.into()).await), ErrorKind::InvalidParams);
    let file = named(vec![Part::raw(*b"x")]);
    assert_eq!(kind(ask(&client, file.into()).await), ErrorKind::ContentTypeNotSupported);
}

#[tokio::test]
async fn an_answer_has_the_forms_that_are_accepted() {
    let scene = Scene::with(&[], asking(), executor::RunLimits::NONE).await;
    let client = over(&scene, Binding::JsonRpc, "", None);
    for (accepted, forms) in [
        (&[][..], Some((true, true))),
        (&["text/plain"], Some((false, true))),
        (&["application/json", "image/png"], Some((true, false))),
        (&["image/png"], None),
    ] {
        let accepted_output_modes = accepted.iter().map(ToString::to_string).collect();
        let configuration =
            SendMessageConfiguration { accepted_output_modes, ..Default::default() };
        let request = SendMessageRequest {
            configuration: Some(configuration),
            ..named(vec![Part::text("")]).into()
        };
        match (ask(&client, request).await, forms) {
            (Ok(answer), Some(forms)) => {
                let has = |is: fn(&Part) -> bool| answer.parts.iter().any(is);
                let found = (has(|it| it.as_data().is_some()), has(|it| it.as_text().is_some()));
                assert_eq!(found, forms, "{accepted:?}");
            }
            (refused, None) => assert_eq!(kind(refused), ErrorKind::ContentTypeNotSupported),
            (answer, forms) => panic!("{accepted:?}: {answer:?}, not {forms:?}"),
        }
    }
}

#[tokio::test]
async fn the_skill_is_there_where_it_is_switched_on() {
    let agent = example(Kind::Echo, Options::default()).await;
    let file = || workflow("w", &[("x", &agent)], "steps:\n  a: {agent: x}\n");
    let card = async |scene: &Scene, tenant: &str| {
        let url = format!("{}{tenant}/.well-known/agent-card.json", scene.url);
        protocol::card::fetch(&crate::scene::outbound(), &url).await.ok().map(|it| it.card)
    };
    let ids = |card: Option<protocol::v1::AgentCard>| -> Vec<String> {
        card.into_iter().flat_map(|card| card.skills).map(|skill| skill.id).collect()
    };
    let off = Scene::new(&[file()]).await;
    assert_eq!(ids(card(&off, "").await), ["w"]);
    assert_eq!(ids(card(&off, "/agents/find-agents").await), [""; 0]);
    assert_eq!(kind(off.try_send(named(vec![Part::text("")])).await), ErrorKind::InvalidParams);

    let scene = Scene::with(&[file()], asking(), executor::RunLimits::NONE).await;
    assert_eq!(ids(card(&scene, "").await), ["w", SKILL]);
    assert_eq!(ids(card(&scene, "/agents/find-agents").await), [SKILL]);
    assert_eq!(output(&scene.send(said("hi")).await), "hi", "the only workflow is still meant");

    let hidden = Settings { public_skills: PublicSkills::None, ..asking() };
    let scene = Scene::with(&[file()], hidden, executor::RunLimits::NONE).await;
    assert_eq!(ids(card(&scene, "").await), [""; 0]);

    // What one agent gets is not asked of the directory.
    let delegation = Delegation::To("agent-0".to_owned());
    let scene = Scene::relaying(&[], &[&agent.url], Settings { delegation, ..asking() }).await;
    assert_eq!(output(&scene.send(said("hi")).await), "hi");
    let found = ask(&scene.client, named(vec![Part::text("echo")]).into()).await;
    assert_eq!(names(&found.expect("an answer")), ["agent-0"]);
}
