//! The well-known protobuf types A2A uses, in the shape Rust code wants them:
//! JSON is `serde_json`'s, and a timestamp converts to and from `jiff`'s.
//!
//! The generated messages of [`crate::v1`] hold these in place of prost's own.

mod json;
mod timestamp;
mod wire;

pub use json::{MAX_DEPTH, Struct, TooDeep, Value, check_depth};
pub use timestamp::{OutOfRange, Timestamp};

#[cfg(test)]
mod tests;
