use serde_json::json;

use crate::v1::{
    AgentCard, Message, Part, Required as _, SendMessageRequest, StreamResponse, Task,
};

fn missing<T: serde::de::DeserializeOwned + crate::v1::Required>(
    json: serde_json::Value,
) -> Vec<String> {
    serde_json::from_value::<T>(json).unwrap().missing_required()
}

#[test]
fn the_fields_of_the_message_itself_are_named() {
    assert_eq!(missing::<SendMessageRequest>(json!({})), ["message"]);
    assert_eq!(missing::<Task>(json!({"id": "t"})), ["status"]);
    assert_eq!(missing::<Message>(json!({})), ["messageId", "role", "parts"]);
}

#[test]
fn fields_further_in_are_named_by_their_path() {
    assert_eq!(
        missing::<SendMessageRequest>(json!({"message": {"messageId": "m", "role": 1}})),
        ["message.parts"]
    );
    assert_eq!(
        missing::<StreamResponse>(
            json!({"task": {"id": "t", "status": {"state": 2}, "artifacts": [
                {"artifactId": "a", "parts": [{"text": ""}]},
                {"artifactId": "", "parts": [{}]},
            ]}})
        ),
        ["task.artifacts[1].artifactId"]
    );
    assert_eq!(
        missing::<AgentCard>(json!({
            "name": "a", "description": "d", "version": "1",
            "supportedInterfaces": [{"url": "u", "protocolBinding": "JSONRPC"}],
            "capabilities": {}, "defaultInputModes": ["a/b"], "defaultOutputModes": ["a/b"],
            "skills": [{"id": "s", "name": "s", "description": "s"}],
            "securitySchemes": {"k": {"apiKeySecurityScheme": {"name": "n"}}},
        })),
        [
            "supportedInterfaces[0].protocolVersion",
            "securitySchemes[\"k\"].apiKeySecurityScheme.location",
            "skills[0].tags",
        ]
    );
}

#[test]
fn a_whole_message_lacks_nothing() {
    let request = SendMessageRequest::from(Message::user(vec![Part::text("hello")]));
    assert_eq!(request.missing_required(), Vec::<String>::new());
}
