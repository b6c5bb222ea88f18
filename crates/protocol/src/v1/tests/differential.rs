//! Every message of the definition, with generated values, against prost-reflect:
//! it knows the messages from their descriptors alone and shares no code with ours.

use std::fmt::Debug;
use std::sync::LazyLock;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor,
    ReflectMessage as _, Value,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::golden::{self, Golden};
use crate::v1;

pub(super) static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(v1::DESCRIPTORS).unwrap());

type Check = fn(&DynamicMessage) -> Result<(), TestCaseError>;

/// A message by its name, and what is checked of it with generated values and with those of a file.
pub(super) struct Row {
    pub(super) name: &'static str,
    agrees: Check,
    pub(super) is_golden: fn(&MessageDescriptor, &Golden),
}

/// How deep messages lie inside each other; all of A2A's own nesting fits.
const MESSAGE_DEPTH: u32 = 6;

#[test]
fn every_message_agrees_with_a_second_implementation() {
    for descriptor in our_messages() {
        let name = descriptor.name();
        let Row { agrees: check, .. } = row(name);
        let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
        match TestRunner::new(config).run(&message(&descriptor, MESSAGE_DEPTH), |m| check(&m)) {
            Ok(()) => {}
            Err(TestError::Fail(why, message)) => panic!("{name} {}: {why}", json_of(&message)),
            Err(abort) => panic!("{name}: {abort}"),
        }
    }
}

/// Every message of the definition.
pub(super) fn our_messages() -> impl Iterator<Item = MessageDescriptor> {
    let messages = POOL.all_messages();
    messages.filter(|message| message.package_name() == "lf.a2a.v1" && !message.is_map_entry())
}

fn agrees<T>(dynamic: &DynamicMessage) -> Result<(), TestCaseError>
where
    T: prost::Message + Default + Serialize + DeserializeOwned + PartialEq + Debug,
{
    let their_json = json_of(dynamic);
    let decoded =
        |bytes: &[u8]| json_of(&DynamicMessage::decode(dynamic.descriptor(), bytes).unwrap());

    // Binary, both ways.
    let ours = T::decode(&dynamic.encode_to_vec()[..]).unwrap();
    let encoded = ours.encode_to_vec();
    prop_assert_eq!(encoded.len(), ours.encoded_len());
    prop_assert_eq!(&decoded(&encoded), &their_json);

    // Their JSON read by us.
    let read: T = serde_json::from_value(their_json.clone()).unwrap();
    prop_assert_eq!(&decoded(&read.encode_to_vec()), &their_json);

    // Our JSON read by them, by us, and beside theirs.
    let our_text = serde_json::to_string(&ours).unwrap();
    let mut reader = serde_json::Deserializer::from_str(&our_text);
    let read = DynamicMessage::deserialize(dynamic.descriptor(), &mut reader).unwrap();
    prop_assert_eq!(&json_of(&read), &their_json);
    prop_assert_eq!(&serde_json::from_str::<T>(&our_text).unwrap(), &ours);
    let our_json: Json = serde_json::from_str(&our_text).unwrap();
    prop_assert!(covers(&our_json, &their_json), "{our_json}\nwhere they write\n{their_json}");
    Ok(())
}

/// What the other implementation writes. Two of its messages are compared by it: a
/// default that was set is no difference here.
pub(super) fn json_of(message: &DynamicMessage) -> Json {
    serde_json::to_value(message).unwrap()
}

/// Whether ours says what theirs says, but for REQUIRED fields at their default.
fn covers(ours: &Json, theirs: &Json) -> bool {
    match (ours, theirs) {
        (Json::Object(ours), Json::Object(theirs)) => {
            let all_there = theirs
                .iter()
                .all(|(key, theirs)| ours.get(key).is_some_and(|ours| covers(ours, theirs)));
            let mut additions = ours.iter().filter(|(key, _)| !theirs.contains_key(*key));
            all_there && additions.all(|(_, value)| is_default(value))
        }
        (Json::Array(ours), Json::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| covers(a, b))
        }
        (Json::Number(ours), Json::Number(theirs)) => ours.as_f64() == theirs.as_f64(),
        _ => ours == theirs,
    }
}

fn is_default(value: &Json) -> bool {
    match value {
        Json::String(text) => text.is_empty() || text.ends_with("_UNSPECIFIED"),
        Json::Array(items) => items.is_empty(),
        Json::Object(map) => map.is_empty(),
        Json::Number(number) => number.as_i64() == Some(0),
        Json::Null | Json::Bool(_) => false,
    }
}

fn message(descriptor: &MessageDescriptor, depth: u32) -> BoxedStrategy<DynamicMessage> {
    let fields: Vec<_> = descriptor
        .fields()
        .filter_map(|field| Some((value_of(&field, depth)?, field)))
        .map(|(value, field)| (Just(field), proptest::option::of(value)))
        .collect();
    let descriptor = descriptor.clone();
    fields
        .prop_map(move |fields| {
            let mut message = DynamicMessage::new(descriptor.clone());
            for (field, value) in fields {
                if let Some(value) = value {
                    message.set_field(&field, value);
                }
            }
            message
        })
        .boxed()
}

fn value_of(field: &FieldDescriptor, depth: u32) -> Option<BoxedStrategy<Value>> {
    if field.is_map() {
        let Kind::Message(entry) = field.kind() else { unreachable!("maps are of entries") };
        let value = single(&entry.map_entry_value_field().kind(), depth)?;
        let map = btree_map(text(), value, 0..3);
        let keyed = map.prop_map(|map| {
            let entries = map.into_iter();
            Value::Map(entries.map(|(key, value)| (MapKey::String(key), value)).collect())
        });
        return Some(keyed.boxed());
    }
    let value = single(&field.kind(), depth)?;
    if field.is_list() { Some(vec(value, 0..3).prop_map(Value::List).boxed()) } else { Some(value) }
}

fn single(kind: &Kind, depth: u32) -> Option<BoxedStrategy<Value>> {
    Some(match kind {
        Kind::String => text().prop_map(Value::String).boxed(),
        Kind::Bytes => vec(any::<u8>(), 0..9).prop_map(|bytes| Value::Bytes(bytes.into())).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Int32 => any::<i32>().prop_map(Value::I32).boxed(),
        Kind::Enum(_) => {
            prop_oneof![4 => 0..9, 1 => any::<i32>()].prop_map(Value::EnumNumber).boxed()
        }
        Kind::Message(descriptor) => match descriptor.full_name() {
            "google.protobuf.Timestamp" => read_as(descriptor, timestamp()),
            "google.protobuf.Struct" => read_as(descriptor, object()),
            "google.protobuf.Value" => read_as(descriptor, json_value()),
            _ if depth == 0 => return None,
            _ => message(descriptor, depth - 1).prop_map(Value::Message).boxed(),
        },
        other => panic!("no values for {other:?}"),
    })
}

/// A well-known type, by way of its JSON.
fn read_as(
    descriptor: &MessageDescriptor,
    json: impl Strategy<Value = Json> + 'static,
) -> BoxedStrategy<Value> {
    let descriptor = descriptor.clone();
    json.prop_map(move |json| {
        let message = DynamicMessage::deserialize(descriptor.clone(), json).unwrap();
        Value::Message(message)
    })
    .boxed()
}

fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z]{0,6}", "\\PC{0,4}"].boxed()
}

fn timestamp() -> impl Strategy<Value = Json> {
    (-62_135_596_800_i64..=253_402_207_199, 0..4_u32, 0..1_000_000_000_i32).prop_map(
        |(seconds, thousands, nanos)| {
            let unit = 1_000_i32.pow(3 - thousands);
            let nanos = if thousands == 0 { 0 } else { nanos - nanos % unit };
            serde_json::to_value(crate::wkt::Timestamp { seconds, nanos }).unwrap()
        },
    )
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Json::from),
        any::<f64>().prop_filter("JSON has finite numbers", |n| n.is_finite()).prop_map(Json::from),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::from),
            btree_map(text(), inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

fn object() -> impl Strategy<Value = Json> {
    btree_map(text(), json_value(), 0..3).prop_map(|map| json!(map))
}

/// The row of a message.
pub(super) fn row(name: &str) -> Row {
    let row = rows().into_iter().find(|row| row.name == name);
    row.unwrap_or_else(|| panic!("{name} is not in the list of messages"))
}

fn of<T>(name: &'static str) -> Row
where
    T: prost::Message + Default + Serialize + DeserializeOwned + PartialEq + Debug,
{
    Row { name, agrees: agrees::<T>, is_golden: golden::check::<T> }
}

fn rows() -> Vec<Row> {
    vec![
        of::<v1::SendMessageConfiguration>("SendMessageConfiguration"),
        of::<v1::Task>("Task"),
        of::<v1::TaskStatus>("TaskStatus"),
        of::<v1::Part>("Part"),
        of::<v1::Message>("Message"),
        of::<v1::Artifact>("Artifact"),
        of::<v1::TaskStatusUpdateEvent>("TaskStatusUpdateEvent"),
        of::<v1::TaskArtifactUpdateEvent>("TaskArtifactUpdateEvent"),
        of::<v1::AuthenticationInfo>("AuthenticationInfo"),
        of::<v1::AgentInterface>("AgentInterface"),
        of::<v1::AgentCard>("AgentCard"),
        of::<v1::AgentProvider>("AgentProvider"),
        of::<v1::AgentCapabilities>("AgentCapabilities"),
        of::<v1::AgentExtension>("AgentExtension"),
        of::<v1::AgentSkill>("AgentSkill"),
        of::<v1::AgentCardSignature>("AgentCardSignature"),
        of::<v1::TaskPushNotificationConfig>("TaskPushNotificationConfig"),
        of::<v1::StringList>("StringList"),
        of::<v1::SecurityRequirement>("SecurityRequirement"),
        of::<v1::SecurityScheme>("SecurityScheme"),
        of::<v1::ApiKeySecurityScheme>("APIKeySecurityScheme"),
        of::<v1::HttpAuthSecurityScheme>("HTTPAuthSecurityScheme"),
        of::<v1::OAuth2SecurityScheme>("OAuth2SecurityScheme"),
        of::<v1::OpenIdConnectSecurityScheme>("OpenIdConnectSecurityScheme"),
        of::<v1::MutualTlsSecurityScheme>("MutualTlsSecurityScheme"),
        of::<v1::OAuthFlows>("OAuthFlows"),
        of::<v1::AuthorizationCodeOAuthFlow>("AuthorizationCodeOAuthFlow"),
        of::<v1::ClientCredentialsOAuthFlow>("ClientCredentialsOAuthFlow"),
        of::<v1::ImplicitOAuthFlow>("ImplicitOAuthFlow"),
        of::<v1::PasswordOAuthFlow>("PasswordOAuthFlow"),
        of::<v1::DeviceCodeOAuthFlow>("DeviceCodeOAuthFlow"),
        of::<v1::SendMessageRequest>("SendMessageRequest"),
        of::<v1::GetTaskRequest>("GetTaskRequest"),
        of::<v1::ListTasksRequest>("ListTasksRequest"),
        of::<v1::ListTasksResponse>("ListTasksResponse"),
        of::<v1::CancelTaskRequest>("CancelTaskRequest"),
        of::<v1::GetTaskPushNotificationConfigRequest>("GetTaskPushNotificationConfigRequest"),
        of::<v1::DeleteTaskPushNotificationConfigRequest>(
            "DeleteTaskPushNotificationConfigRequest",
        ),
        of::<v1::SubscribeToTaskRequest>("SubscribeToTaskRequest"),
        of::<v1::ListTaskPushNotificationConfigsRequest>("ListTaskPushNotificationConfigsRequest"),
        of::<v1::GetExtendedAgentCardRequest>("GetExtendedAgentCardRequest"),
        of::<v1::SendMessageResponse>("SendMessageResponse"),
        of::<v1::StreamResponse>("StreamResponse"),
        of::<v1::ListTaskPushNotificationConfigsResponse>(
            "ListTaskPushNotificationConfigsResponse",
        ),
    ]
}
