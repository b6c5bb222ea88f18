//! Whole documents, in the shapes of the specification's examples.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::v1::{
    AgentCard, ListTasksResponse, SendMessageRequest, SendMessageResponse, StreamResponse,
    TaskPushNotificationConfig,
};

/// Every field of the document is known, kept, and written as it was.
fn survives<T: Serialize + DeserializeOwned>(document: &Json) {
    let message: T = serde_json::from_value(document.clone()).unwrap();
    assert_eq!(serde_json::to_value(message).unwrap(), *document);
}

#[test]
fn a_request_to_send_a_message_survives() {
    survives::<SendMessageRequest>(&json!({
        "tenant": "harbour",
        "message": {
            "messageId": "m-1", "contextId": "c-1", "taskId": "t-1", "role": "ROLE_USER",
            "parts": [
                {"text": "Two seats to Oulu", "mediaType": "text/plain"},
                {"raw": "aGVp", "filename": "note.txt", "mediaType": "text/plain"},
                {"url": "https://files.example/map.png", "metadata": {"zoom": 3}},
                {"data": {"class": "eco", "stops": [1, 2]}},
            ],
            "metadata": {"urn:example:trace": "x"},
            "extensions": ["https://example/ext"],
            "referenceTaskIds": ["t-0"],
        },
        "configuration": {
            "acceptedOutputModes": ["text/plain"],
            "taskPushNotificationConfig": {
                "url": "https://hooks.example/a2a",
                "authentication": {"scheme": "Bearer", "credentials": "k"},
            },
            "historyLength": 0,
            "returnImmediately": true,
        },
        "metadata": {"priority": "low"},
    }));
}

#[test]
fn a_task_with_history_and_artifacts_survives() {
    survives::<SendMessageResponse>(&json!({"task": {
        "id": "t-1", "contextId": "c-1",
        "status": {
            "state": "TASK_STATE_INPUT_REQUIRED",
            "message": {"messageId": "m-2", "role": "ROLE_AGENT", "parts": [{"text": "When?"}]},
            "timestamp": "2025-03-01T08:30:00.250Z",
        },
        "artifacts": [{
            "artifactId": "a-1", "name": "offer", "description": "An offer",
            "parts": [{"data": [1.5, null, "x"]}], "metadata": {"k": false},
            "extensions": ["https://example/ext"],
        }],
        "history": [{"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Oulu"}]}],
        "metadata": {},
    }}));
}

#[test]
fn every_event_of_a_stream_survives() {
    survives::<StreamResponse>(&json!({"statusUpdate": {
        "taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"},
        "metadata": {"step": 1},
    }}));
    survives::<StreamResponse>(&json!({"artifactUpdate": {
        "taskId": "t", "contextId": "c",
        "artifact": {"artifactId": "a", "parts": [{"text": "chunk"}]},
        "append": true, "lastChunk": true, "metadata": {"n": 2},
    }}));
    survives::<StreamResponse>(&json!({"message": {
        "messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hello"}],
    }}));
    survives::<StreamResponse>(&json!({"task": {
        "id": "t", "status": {"state": "TASK_STATE_SUBMITTED"},
    }}));
}

#[test]
fn a_page_of_tasks_survives() {
    survives::<ListTasksResponse>(&json!({
        "tasks": [{"id": "t", "status": {"state": "TASK_STATE_CANCELED"}}],
        "nextPageToken": "n", "pageSize": 1, "totalSize": 2,
    }));
}

#[test]
fn a_webhook_registration_survives() {
    survives::<TaskPushNotificationConfig>(&json!({
        "tenant": "x", "id": "p", "taskId": "t", "url": "https://hooks.example", "token": "s",
        "authentication": {"scheme": "Bearer"},
    }));
}

#[test]
fn a_full_card_survives() {
    survives::<AgentCard>(&json!({
        "name": "Ferries", "description": "Sells tickets", "version": "2.1.0",
        "supportedInterfaces": [
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "tenant": "x",
             "protocolVersion": "1.0"},
            {"url": "a.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        ],
        "provider": {"url": "https://example", "organization": "Example"},
        "documentationUrl": "https://a.example/docs", "iconUrl": "https://a.example/icon.png",
        "capabilities": {
            "streaming": true, "pushNotifications": false, "extendedAgentCard": true,
            "extensions": [{"uri": "https://example/ext", "description": "d", "required": true,
                            "params": {"level": 2}}],
        },
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"description": "d", "location": "header", "name": "k"}},
            "http": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "oauth": {"oauth2SecurityScheme": {
                "flows": {"deviceCode": {"deviceAuthorizationUrl": "u", "tokenUrl": "t",
                                         "refreshUrl": "r", "scopes": {"s": "all"}}},
                "oauth2MetadataUrl": "m"}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "o"}},
            "mtls": {"mtlsSecurityScheme": {"description": "d"}},
        },
        "securityRequirements": [{"schemes": {"oauth": {"list": ["s"]}, "key": {}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["application/json"],
        "skills": [{
            "id": "sell", "name": "Sell", "description": "Sells", "tags": ["ferry"],
            "examples": ["One ticket"], "inputModes": ["text/plain"],
            "outputModes": ["application/json"],
            "securityRequirements": [{"schemes": {"key": {}}}],
        }],
        "signatures": [{"protected": "eyJ9", "signature": "c2ln", "header": {"kid": "1"}}],
    }));
}

#[test]
fn the_other_oauth_flows_survive() {
    for flow in [
        json!({"authorizationCode": {"authorizationUrl": "a", "tokenUrl": "t", "refreshUrl": "r",
                                     "scopes": {}, "pkceRequired": true}}),
        json!({"clientCredentials": {"tokenUrl": "t", "refreshUrl": "r", "scopes": {"a": "b"}}}),
        json!({"implicit": {"authorizationUrl": "a", "refreshUrl": "r", "scopes": {"a": "b"}}}),
        json!({"password": {"tokenUrl": "t", "refreshUrl": "r", "scopes": {"a": "b"}}}),
    ] {
        survives::<crate::v1::OAuthFlows>(&flow);
    }
}
