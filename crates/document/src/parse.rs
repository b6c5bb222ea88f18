//! Text to tree: events are collected flat under budgets, then built into nodes, aliases by going
//! through the events of their anchor once more, so that every repetition is counted.

use crate::{Diagnostic, Node, Source, diagnostic};

mod build;
mod events;
mod explain;
mod scalar;

/// Bounds what a document may cost to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of one file.
    pub max_bytes: usize,
    /// Values and keys written in the file.
    pub max_nodes: usize,
    /// Mappings and lists inside each other, aliases followed.
    pub max_depth: usize,
    /// Values and keys that aliases repeat, altogether.
    pub max_alias_nodes: usize,
    /// Bytes of text that aliases repeat, altogether.
    pub max_alias_bytes: usize,
}

impl Default for Limits {
    /// 4 MiB, 400,000 nodes, 64 levels; aliases may repeat 50,000 nodes and 4 MiB of text.
    fn default() -> Self {
        Self {
            max_bytes: 4 << 20,
            max_nodes: 400_000,
            max_depth: 64,
            max_alias_nodes: 50_000,
            max_alias_bytes: 4 << 20,
        }
    }
}

/// Reads one YAML (or JSON) document.
///
/// The types are those of JSON and strict: only `true` and `false` are booleans, only what JSON
/// calls a number is one (`012`, `1_000`, `+1`, `0x1f`, `.5` and numbers too large for 64 bits are
/// strings), only `null`, `~` and nothing at all are null. An empty document is null. Refused, each
/// with its own code: duplicate keys (all of them reported), merge keys, several documents, tags
/// other than the core ones, keys that are not scalars, aliases that contain themselves or grow
/// beyond the limits.
///
/// # Errors
/// Everything found, in the order of the text; after a syntax error nothing further is looked for.
pub fn parse(source: &Source, limits: &Limits) -> Result<Node, Vec<Diagnostic>> {
    let collected = events::collect(source, limits).map_err(|diagnostic| vec![diagnostic])?;
    let (node, mut problems) = build::build(&collected, limits);
    problems.extend(collected.problems);
    if problems.is_empty() {
        return Ok(node);
    }
    Err(diagnostic::in_order(&problems).into_iter().cloned().collect())
}

#[cfg(test)]
mod tests;
