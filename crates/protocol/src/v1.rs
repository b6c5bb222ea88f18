//! The A2A 1.0 data model: the types generated from `proto/`, as prost messages
//! for gRPC and with ProtoJSON as their serde form for everything else.
//!
//! `serde_json` reads and writes them as A2A §5.5 wants: lowerCamelCase names
//! (`snake_case` is read too), enums by name, bytes as base64, timestamps as RFC
//! 3339 with `Z`, defaults left out except where a field is REQUIRED, unknown
//! fields ignored, `null` as absence. [`Required`] lists what a message lacks.

mod protojson;

pub use protojson::{Missing, Required};

include!("generated/messages.rs");

#[expect(deprecated, reason = "OAuth flows that went out of use are read and written all the same")]
mod generated {
    include!("generated/protojson.rs");
}

/// The compiled definition, for a second implementation to read in tests.
#[cfg(test)]
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");

#[cfg(test)]
mod tests;
