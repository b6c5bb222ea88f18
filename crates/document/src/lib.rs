//! Files people write: YAML with spans, diagnostics and how they are shown.
//!
//! A file becomes a [`Source`], [`parse()`] makes a tree of [`Node`]s of it in which everything knows
//! where it was written, and whoever finds a problem says so with a [`Diagnostic`] that [`render()`]
//! shows to people and [`to_json`] to editors. JSON files take the same way: what they may contain
//! is a part of what YAML may.
//!
//! The tree is built from the events of `granit-parser` and not through serde: a serde layer hands
//! over spans only where a type asks for them and stops at the first duplicate key, while here
//! every value and every key keeps its place and all duplicates are reported at once.

mod diagnostic;
mod nearest;
mod node;
mod parse;
mod render;
mod source;
mod span;
mod write;

pub use diagnostic::{Diagnostic, Label, Problems, Severity};
pub use nearest::nearest;
pub use node::{Entry, Locator, Node, Value};
pub use parse::{Limits, parse};
pub use render::{Style, brief, printable, printable_json, render, to_json};
pub use source::{Position, Source};
pub use span::Span;
pub use write::{WriteError, to_yaml};
