//! What ProtoJSON means, once; the generated code says only which field is read
//! and written how.
//!
//! The rules are those of the protobuf JSON mapping. Where it leaves a choice,
//! A2A decides: unknown fields are ignored (§5.7), REQUIRED fields are written
//! even when they hold their default, so that a signature over a card keeps
//! them (§8.4.1).

mod missing;
pub(super) mod read;
mod values;
mod write;

pub use missing::{Missing, Required};
pub(super) use read::ReadFields;
pub(super) use values::{Base64, EnumName, EnumValue, Int32, ProtoEnum};
pub(super) use write::Object;
