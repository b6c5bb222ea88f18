//! What each profile declares, and refuses.

use examples::ConformanceProfile::{Auth, Ext, Full, Min};
use protocol::{
    card::{self, Binding},
    v1::{
        AgentCard, GetExtendedAgentCardRequest, Message, Part, SendMessageConfiguration,
        SendMessageRequest, TaskPushNotificationConfig,
    },
};

use super::{agent, chosen};
use crate::asking::{Asked, PATIENCE};

async fn card_of(agent: &Asked) -> AgentCard {
    card::fetch(&agent.outbound, &agent.agent.url).await.expect("a card").card
}

#[tokio::test]
async fn each_profile_declares_what_it_does() {
    let mut lines = Vec::new();
    for profile in [Full, Min, Ext, Auth] {
        let card = card_of(&agent(profile, Binding::JsonRpc).await).await;
        let capabilities = card.capabilities.expect("capabilities");
        let security = &card.security_requirements;
        let line = serde_json::to_string(&capabilities).expect("cards are JSON");
        let security = serde_json::to_string(security).expect("cards are JSON");
        lines.push(format!("{profile:?} {line} {security}"));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    Full {"streaming":true,"pushNotifications":true,"extendedAgentCard":true} []
    Min {"streaming":false,"pushNotifications":false,"extendedAgentCard":false} []
    Ext {"streaming":true,"pushNotifications":true,"extensions":[{"uri":"urn:a2a:tck:required-extension","description":"Has to be declared by every caller; it changes nothing.","required":true}],"extendedAgentCard":true} []
    Auth {"streaming":true,"pushNotifications":true,"extendedAgentCard":true} [{"schemes":{"bearer":{"list":["tasks:write"]}}}]
    "#);
}

#[tokio::test]
async fn the_extended_card_has_a_skill_more() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let mut card = card_of(&agent).await;
        let request = GetExtendedAgentCardRequest::default();
        let mut extended = agent.client.get_extended_card(request, PATIENCE).await.expect("a card");
        assert_eq!(extended.skills.pop().expect("a skill").id, "extended", "{binding}");
        // The generated types order maps alike, so what is left is the same.
        card.skills.truncate(extended.skills.len());
        assert_eq!(extended, card, "{binding}");
    }
}

#[tokio::test]
async fn the_small_profile_refuses_what_it_does_not_declare() {
    for binding in Binding::ALL {
        let agent = agent(Min, binding).await;
        let config = TaskPushNotificationConfig {
            url: "https://example.com/hook".to_owned(),
            task_id: "any".to_owned(),
            ..TaskPushNotificationConfig::default()
        };
        let inline = SendMessageRequest {
            configuration: Some(SendMessageConfiguration {
                task_push_notification_config: Some(config.clone()),
                ..SendMessageConfiguration::default()
            }),
            ..chosen("tck-complete-task")
        };
        let (client, extended) = (&agent.client, GetExtendedAgentCardRequest::default());
        let stream = client.send_streaming_message(chosen("tck-complete-task"), PATIENCE).await;
        let kinds = [
            stream.err().and_then(|error| error.kind),
            client.create_push_config(config, PATIENCE).await.err().and_then(|error| error.kind),
            client.send_message(inline, PATIENCE).await.err().and_then(|error| error.kind),
            client.get_extended_card(extended, PATIENCE).await.err().and_then(|error| error.kind),
        ];
        let kinds = kinds.map(|kind| kind.map_or("answered".to_owned(), |kind| kind.to_string()));
        let push = "PUSH_NOTIFICATION_NOT_SUPPORTED";
        let unsupported = "UNSUPPORTED_OPERATION";
        assert_eq!(kinds, [unsupported, push, push, unsupported], "{binding}");
        agent.task(chosen("tck-complete-task")).await;
    }
}

#[tokio::test]
async fn the_extension_has_to_be_declared() {
    for binding in Binding::ALL {
        let agent = agent(Ext, binding).await;
        let message = Message::user(vec![Part::text("tck-complete-task")]);
        let error = agent.try_task(message.clone()).await.expect_err("it is required");
        let kind = error.kind.expect("A2A's own").to_string();
        assert_eq!(kind, "EXTENSION_SUPPORT_REQUIRED", "{binding}");
        let client = agent.client.clone().with_extensions(["urn:a2a:tck:required-extension"]);
        client.send_message(message.into(), PATIENCE).await.expect("a Task");
    }
}
