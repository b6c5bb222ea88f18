//! The card that everybody reads, and the one for callers with credentials.

use protocol::{
    card,
    v1::{AgentCard, GetExtendedAgentCardRequest, security_scheme::Scheme},
};
use server::{Delegation, PublicSkills};

use super::*;

pub(super) async fn public(scene: &Scene) -> AgentCard {
    let url = format!("{}/.well-known/agent-card.json", scene.url);
    let fetched = outbound().fetch(&url, Default::default()).await.expect("a card");
    serde_json::from_slice(&fetched.body).expect("a card")
}

fn skills(card: &AgentCard) -> Vec<&str> {
    card.skills.iter().map(|skill| skill.id.as_str()).collect()
}

async fn files() -> (Running, [String; 3]) {
    let agent = example(Kind::Echo, Options::default()).await;
    let steps = "steps:\n  a: {agent: x, message: hi}\n";
    let files = ["one", "two", "three"].map(|name| workflow(name, &[("x", &agent)], steps));
    (agent, files)
}

#[tokio::test]
async fn the_card_for_a_caller_shows_what_it_may_start() {
    let (_agent, files) = files().await;
    let settings = Settings { public_skills: PublicSkills::None, ..Settings::default() };
    let scene = Scene::guarded(&files, settings).await;
    assert_eq!(skills(&public(&scene).await), [""; 0]);
    for (scopes, shown) in [
        (&["runs:start:*"][..], &["one", "three", "two"][..]),
        (&["admin"], &["one", "three", "two"]),
        (&["runs:start:two", "runs:start:gone", "runs:read"], &["two"]),
        (&["runs:read"], &[]),
    ] {
        let key = scene.key("ada", scopes).await;
        for binding in Binding::ALL {
            let client = over(&scene, binding, "", Some(&key));
            let request = GetExtendedAgentCardRequest::default();
            let card = client.get_extended_card(request, PATIENCE).await.expect("a card");
            assert_eq!(skills(&card), shown, "{binding} {scopes:?}");
            assert!(!card.security_schemes.is_empty());
        }
    }
}

#[tokio::test]
async fn the_public_card_shows_the_skills_that_its_operator_wants() {
    let (_agent, files) = files().await;
    let named = PublicSkills::Named(["two".to_owned(), "gone".to_owned()].into());
    for (public_skills, shown) in [
        (PublicSkills::All, &["one", "three", "two"][..]),
        (named, &["two"]),
        (PublicSkills::None, &[]),
    ] {
        let settings = Settings { public_skills, ..Settings::default() };
        let scene = Scene::with(&files, settings, executor::RunLimits::NONE).await;
        assert_eq!(skills(&public(&scene).await), shown);
    }
}

/// The card of a workflow as an agent of its own, where everybody gets one.
async fn of_tenant(scene: &Scene, tenant: &str) -> Option<AgentCard> {
    let url = format!("{}/agents/{tenant}/.well-known/agent-card.json", scene.url);
    card::fetch(&outbound(), &url).await.ok().map(|fetched| fetched.card)
}

#[tokio::test]
async fn workflows_as_agents_of_their_own_are_shown_as_far_as_their_skills_are() {
    let (agent, files) = files().await;
    let named = PublicSkills::Named(["two".to_owned(), "delegate".to_owned()].into());
    for (public_skills, shown) in [
        (PublicSkills::All, &["one", "two", "three", "delegate"][..]),
        (named, &["two", "delegate"]),
        (PublicSkills::None, &[]),
    ] {
        let delegation = Delegation::Offered;
        let settings = Settings { public_skills, delegation, ..Settings::default() };
        let scene = Scene::guarded_relaying(&files, &[&agent.url], settings).await;
        for tenant in ["one", "two", "three", "delegate"] {
            let card = of_tenant(&scene, tenant).await;
            assert_eq!(card.is_some(), shown.contains(&tenant), "{tenant}");
            let Some(card) = card else { continue };
            assert_eq!(card.security_requirements.len(), 2, "it says how to be let in");
            assert_eq!(card.security_schemes, public(&scene).await.security_schemes);
            assert_eq!(card.capabilities.and_then(|it| it.extended_agent_card), Some(true));
        }
        let key = scene.key("ada", &["runs:start:one"]).await;
        let hidden = over(&scene, Binding::JsonRpc, "one", Some(&key));
        send(&hidden, said("go").into()).await.expect("it is there for callers all the same");
    }
}

#[tokio::test]
async fn the_card_for_a_caller_through_a_tenant_is_that_of_its_workflow() {
    let (_agent, files) = files().await;
    let settings = Settings { public_skills: PublicSkills::None, ..Settings::default() };
    let scene = Scene::guarded(&files, settings).await;
    let key = scene.key("ada", &["runs:start:one", "runs:start:two"]).await;
    for binding in Binding::ALL {
        for (tenant, shown, leads_to) in [
            ("one", &["one"][..], "one"),
            ("three", &["one", "two"], ""),
            ("", &["one", "two"], ""),
        ] {
            let client = over(&scene, binding, tenant, Some(&key));
            let request = GetExtendedAgentCardRequest::default();
            let card = client.get_extended_card(request, PATIENCE).await.expect("a card");
            assert_eq!(skills(&card), shown, "{binding} {tenant}");
            let tenants = card.supported_interfaces.iter().map(|it| it.tenant.as_str());
            assert_eq!(tenants.collect::<Vec<_>>(), [leads_to; 3]);
            assert!(!card.security_schemes.is_empty());
        }
    }
}

#[tokio::test]
async fn the_card_says_how_to_be_let_in_where_that_is_needed_only() {
    let (_agent, files) = files().await;
    let scene = Scene::guarded(&files, Settings::default()).await;
    let card = public(&scene).await;
    assert_eq!(card.capabilities.as_ref().and_then(|it| it.extended_agent_card), Some(true));
    let schemes: Vec<(&str, &Scheme)> = card
        .security_schemes
        .iter()
        .map(|(name, scheme)| (&**name, scheme.scheme.as_ref().expect("a kind")))
        .collect();
    let [
        ("apiKey", Scheme::ApiKeySecurityScheme(key)),
        ("bearer", Scheme::HttpAuthSecurityScheme(bearer)),
    ] = &schemes[..]
    else {
        panic!("{schemes:?}")
    };
    assert_eq!((&*key.location, &*key.name, &*bearer.scheme), ("header", "X-API-Key", "Bearer"));
    let alternatives: Vec<Vec<&String>> =
        card.security_requirements.iter().map(|it| it.schemes.keys().collect()).collect();
    assert_eq!(alternatives, [["apiKey"], ["bearer"]]);

    let scene = Scene::new(&files).await;
    let card = public(&scene).await;
    assert!(card.security_schemes.is_empty() && card.security_requirements.is_empty());
    assert_eq!(card.capabilities.as_ref().and_then(|it| it.extended_agent_card), Some(false));
    let refused = call(&over(&scene, Binding::JsonRpc, "", None), "card", "").await;
    assert_eq!(kind(refused), ErrorKind::UnsupportedOperation);
}
