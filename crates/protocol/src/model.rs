//! What makes the generated types of [`crate::v1`] pleasant: constructors that
//! leave nothing REQUIRED out, and questions that are asked often.

mod conversions;
mod message;
pub mod metadata;
mod part;
mod task;

#[cfg(test)]
mod tests;
