//! What the fuzz targets do with bytes from outside, and what has to hold whatever they are.
//!
//! Each function takes any bytes, panics when something does not hold, and tells whether the bytes were
//! taken, so that tests can see that the examples in `fuzz/corpus` get to where they should. They are
//! here, and not in the package `fuzz`, because every run of the tests calls them too.

mod card;
mod dialect;
mod protobuf;
mod receiver;
mod sse;
#[cfg(test)]
mod tests;

pub use crate::server::fuzzing::{jsonrpc, rest};
pub use card::card;
pub use dialect::dialect;
pub use protobuf::protobuf;
pub use receiver::receiver;
pub use sse::sse;

/// A fuzz target: its name, and what it does.
pub type Target = (&'static str, fn(&[u8]) -> bool);

/// All fuzz targets. Each has a file in `fuzz/targets` and a folder in `fuzz/corpus`.
pub const TARGETS: [Target; 7] = [
    ("card", card),
    ("dialect", dialect),
    ("jsonrpc", jsonrpc),
    ("protobuf", protobuf),
    ("receiver", receiver),
    ("rest", rest),
    ("sse", sse),
];

/// How many bytes may be made of one: `{}` is a whole object with all its required fields.
const MOST_TIMES: usize = 64;

/// What may be made of nothing at all.
const MOST_OF_NOTHING: usize = 4096;

/// Checks that what was made of an input is not out of proportion to it.
pub(crate) fn assert_bounded(made_bytes: usize, of_bytes: usize) {
    let most = MOST_TIMES * of_bytes + MOST_OF_NOTHING;
    assert!(made_bytes <= most, "{made_bytes} bytes were made of {of_bytes}");
}

/// Writes a message as JSON and reads it again; it has to be the same.
pub(crate) fn assert_same_by_json<T>(message: &T) -> Vec<u8>
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let json = serde_json::to_vec(message).expect("what was read can be written");
    let again: T = serde_json::from_slice(&json).expect("what was written can be read");
    assert_eq!(again, *message);
    json
}
