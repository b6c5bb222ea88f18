//! A golden file for every message of the definition: the JSON of the specification's examples, in words and
//! values of our own, and of every field. What is read has to be written as it stands there, and a second
//! implementation has to read the same.

use std::{collections::BTreeSet, fmt::Debug, fs, path::PathBuf};

use prost::Message;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value as Json;

use super::differential::{json_of, our_messages, row};

/// One example of a message.
#[derive(Deserialize)]
pub(super) struct Golden {
    /// What it shows, and where the specification does.
    about: String,
    read: Json,
    /// How it is written; as it was read when absent.
    written: Option<Json>,
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/messages"))
}

fn file(name: &str) -> Vec<Golden> {
    let path = folder().join(format!("{name}.json"));
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(super) fn check<T>(descriptor: &MessageDescriptor, golden: &Golden)
where
    T: Message + Default + Serialize + DeserializeOwned + PartialEq + Debug,
{
    let about = format!("{}, {}", descriptor.name(), golden.about);
    let message: T = serde_json::from_value(golden.read.clone()).expect(&about);
    let expected = golden.written.as_ref().unwrap_or(&golden.read);
    assert_eq!(serde_json::to_value(&message).expect(&about), *expected, "{about}");
    let again: T = serde_json::from_value(expected.clone()).expect(&about);
    assert_eq!(again, message, "{about}");
    let theirs = DynamicMessage::deserialize(descriptor.clone(), &golden.read).expect(&about);
    assert_eq!(T::decode(&theirs.encode_to_vec()[..]).expect(&about), message, "{about}");
    let ours = DynamicMessage::decode(descriptor.clone(), &message.encode_to_vec()[..]);
    assert_eq!(json_of(&ours.expect(&about)), json_of(&theirs), "{about}");
}

#[test]
fn every_example_is_written_as_it_should_be_and_read_alike_by_a_second_implementation() {
    for descriptor in our_messages() {
        let examples = file(descriptor.name());
        assert!(!examples.is_empty(), "{} has no example", descriptor.name());
        for golden in &examples {
            (row(descriptor.name()).is_golden)(&descriptor, golden);
        }
    }
}

#[test]
fn every_message_has_a_file_and_every_file_a_message() {
    let files = fs::read_dir(folder()).expect("the folder is in the repository");
    let names = files.map(|file| file.expect("it can be listed").path());
    let names: BTreeSet<String> =
        names.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    let messages: BTreeSet<String> = our_messages().map(|it| it.name().to_owned()).collect();
    assert_eq!(names, messages);
}

#[test]
fn every_field_of_every_message_stands_in_an_example() {
    for descriptor in our_messages() {
        let examples = file(descriptor.name());
        let written = examples.iter().map(|it| it.written.as_ref().unwrap_or(&it.read));
        let named: BTreeSet<&String> =
            written.filter_map(Json::as_object).flat_map(|fields| fields.keys()).collect();
        for field in descriptor.fields() {
            let name = field.json_name().to_owned();
            assert!(named.contains(&name), "{}.{name} is in no example", descriptor.name());
        }
    }
}
