//! Each workflow as an agent of its own.

use examples::{Kind, Options, Running};
use protocol::{
    card::{self, Binding, CardError},
    client::{Client, Interface},
    error::ErrorKind,
    model::metadata,
    v1::{AgentCard, GetTaskRequest, ListTasksRequest, TaskState},
};
use serde_json::json;
use server::{Delegation, Settings};

use crate::scene::{
    PATIENCE, Scene, client, example, kind, outbound, output, said, send, soon, workflow,
};

const ECHO: &str = "description: Says it.\nsteps:\n  a: {agent: x}\n";
const LOUD: &str = "title: Loud\ndescription: Says it louder.\ntags: [noise]\nsteps:\n  a: {agent: x}\n\
                    outputs:\n  loud: {value: \"${{ steps.a.text }}!\", media_type: text/markdown}\n";

async fn echo() -> Running {
    example(Kind::Echo, Options::default()).await
}

async fn two(agent: &Running) -> Scene {
    let files = [("greeting", ECHO), ("loud", LOUD)];
    let file = |(name, rest)| workflow(name, &[("x", agent)], rest);
    Scene::new(&files.map(file)).await
}

async fn fetched(scene: &Scene, tenant: &str) -> Result<AgentCard, CardError> {
    let url = format!("{}/agents/{tenant}/.well-known/agent-card.json", scene.url);
    card::fetch(&outbound(), &url).await.map(|fetched| fetched.card)
}

/// A client for each interface of a card.
fn clients(card: &AgentCard) -> Vec<Client> {
    let interfaces = card.supported_interfaces.iter().filter_map(Interface::of);
    interfaces.map(|it| Client::new(outbound(), it).expect("a client")).collect()
}

#[tokio::test]
async fn the_card_of_a_workflow_leads_to_it_on_every_binding() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let card = fetched(&scene, "loud").await.expect("a card");
    assert_eq!((card.name.as_str(), card.description.as_str()), ("Loud", "Says it louder."));
    assert_eq!(card.default_output_modes, ["text/markdown"]);
    let skills: Vec<&str> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(skills, ["loud"]);
    let tenants = card.supported_interfaces.iter().map(|it| it.tenant.as_str());
    assert_eq!(tenants.collect::<Vec<_>>(), ["loud"; 3]);
    let clients = clients(&card);
    assert_eq!(clients.len(), Binding::ALL.len());
    for (sent, client) in clients.iter().enumerate() {
        let task = send(client, said("Hello").into()).await.expect("a Task");
        assert_eq!(output(&task), "Hello!");
        assert_eq!(task.metadata(metadata::WORKFLOW), Some(&json!("loud")));
        let request = GetTaskRequest { id: task.id.clone(), ..Default::default() };
        assert_eq!(client.get_task(request, PATIENCE).await.expect("its Task"), task);
        let listed = client.list_tasks(ListTasksRequest::default(), PATIENCE).await;
        let listed = listed.expect("a page").tasks;
        assert_eq!((listed.len(), &listed[0].id), (sent + 1, &task.id));
    }
    let main = card::fetch(&outbound(), &scene.url).await.expect("a card").card;
    assert!(main.supported_interfaces.iter().all(|it| it.tenant.is_empty()));
}

#[tokio::test]
async fn a_tenant_says_where_a_message_goes_and_not_whose_a_task_is() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let task = send(&client(&scene.url, "loud"), said("Hello").into()).await.expect("a Task");
    for tenant in ["", "greeting", "loud"] {
        let client = client(&scene.url, tenant);
        let request = GetTaskRequest { id: task.id.clone(), ..Default::default() };
        assert_eq!(client.get_task(request, PATIENCE).await.expect("its Task"), task, "{tenant}");
        let listed = client.list_tasks(ListTasksRequest::default(), PATIENCE).await;
        assert_eq!(listed.expect("a page").total_size, 1, "{tenant}");
    }
}

#[tokio::test]
async fn the_card_of_a_workflow_is_kept_by_caches_like_the_main_one() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let get = async |headers: &str| {
        let path = "/agents/loud/.well-known/agent-card.json";
        let head = "HTTP/1.1\r\nHost: localhost\r\nConnection: close";
        scene.raw(&format!("GET {path} {head}\r\n{headers}\r\n")).await
    };
    let first = get("").await;
    let value = |name: &str| {
        let line = first.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("no {name}: {first}"))
    };
    assert_eq!(value("cache-control"), "public, max-age=300");
    for (asked, known) in
        [("If-None-Match", value("etag")), ("If-Modified-Since", value("last-modified"))]
    {
        let again = get(&format!("{asked}: {known}\r\n")).await;
        assert!(again.starts_with("HTTP/1.1 304"), "{asked}: {again}");
    }
    let other = get("If-None-Match: \"other\"\r\n").await;
    assert!(other.starts_with("HTTP/1.1 200"), "{other}");
}

#[tokio::test]
async fn cards_come_change_and_go_with_the_folder_and_their_tasks_go_on() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let file = |text: &str| workflow("trip", &[("x", &agent)], text);
    let scene = Scene::of_folder(&[("trip.yaml", file(ECHO))]).await;
    assert_eq!(fetched(&scene, "trip").await.expect("a card").description, "Says it.");
    assert!(fetched(&scene, "nowhere").await.is_err());
    let trip = client(&scene.url, "trip");
    let asked = send(&trip, said("Hello").into()).await.expect("a Task");
    assert_eq!(asked.state(), TaskState::InputRequired);
    scene.write("trip.yaml", &file(LOUD));
    soon("the new card", async {
        while fetched(&scene, "trip").await.expect("a card").description != "Says it louder." {}
    })
    .await;
    scene.remove("trip.yaml");
    soon("the end of the card", async { while fetched(&scene, "trip").await.is_ok() {} }).await;
    let gone = send(&trip, said("Hello").into()).await;
    assert_eq!(kind(gone), ErrorKind::InvalidParams);
    let answer = said("Window").with_task(&asked.id);
    let done = send(&trip, answer.into()).await.expect("an answer to a Task goes to it");
    assert_eq!((done.state(), done.id), (TaskState::Completed, asked.id));
}

#[tokio::test]
async fn passing_on_has_a_card_of_its_own_where_it_is_offered() {
    let agent = echo().await;
    let off = two(&agent).await;
    assert!(fetched(&off, "delegate").await.is_err());
    for delegation in [Delegation::Offered, Delegation::To("agent-0".to_owned())] {
        let settings = Settings { delegation, ..Settings::default() };
        let other = workflow("greeting", &[("x", &agent)], ECHO);
        let scene = Scene::relaying(&[other], &[&agent.url], settings).await;
        let card = fetched(&scene, "delegate").await.expect("a card");
        for client in clients(&card) {
            let echoed = said("echo").with_metadata(metadata::AGENT, "agent-0");
            let answer = client.send_message(echoed.into(), PATIENCE).await.expect("an answer");
            assert!(answer.payload.is_some());
        }
    }
    assert_eq!(agent.calls.count(), 2 * Binding::ALL.len());
}

#[tokio::test]
async fn another_orchestrator_uses_a_workflow_as_its_agent() {
    let agent = echo().await;
    let inner = two(&agent).await;
    let url = format!("{}/agents/loud", inner.url);
    let file =
        format!("name: outer\nagents:\n  x: {{url: \"{url}\"}}\nsteps:\n  a: {{agent: x}}\n");
    let outer = Scene::new(&[file]).await;
    assert_eq!(output(&outer.send(said("Hello")).await), "Hello!");
    let listed = inner.client.list_tasks(ListTasksRequest::default(), PATIENCE).await;
    let listed = listed.expect("a page").tasks;
    assert_eq!(listed[0].metadata(metadata::WORKFLOW), Some(&json!("loud")));
}
