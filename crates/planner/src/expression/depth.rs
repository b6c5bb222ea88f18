//! How deep an expression nests, seen before the engine reads it.
//!
//! The engine limits brackets inside brackets, but compiles and drops `a + b + c …`, `x | f | f …`
//! and `not not …` by one call inside another for each operator: a few thousand of them overflow
//! the stack and end the process.

use std::ops::Range;

use super::scan::{Token, TokenKind};

/// The most operators, members, filters and brackets that may depend on each other; far below what
/// the smallest stack in use, 2 MiB, can take.
pub(super) const MAX_DEPTH: usize = 128;

/// What one bracket holds so far, between two commas.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Operators between operands.
    operators: usize,
    /// Members, filters and brackets of the operand at hand, and the most of any before it.
    operand: usize,
    deepest_operand: usize,
    /// The deepest of what stands before the last comma.
    deepest: usize,
}

impl Level {
    fn depth(self) -> usize {
        self.operators + self.deepest_operand.max(self.operand)
    }

    fn end_operand(&mut self) {
        self.deepest_operand = self.deepest_operand.max(self.operand);
        self.operand = 0;
    }

    fn end_item(&mut self) {
        *self = Self { deepest: self.deepest.max(self.depth()), ..Self::default() };
    }
}

/// The token at which an expression becomes deeper than [`MAX_DEPTH`], if it does. Never less than
/// the depth of the engine's tree.
pub(super) fn too_deep(tokens: &[Token<'_>]) -> Option<Range<usize>> {
    let mut outer: Vec<Level> = Vec::new();
    let mut around = 0;
    let mut level = Level::default();
    for token in tokens {
        match token.kind {
            TokenKind::Symbol("(" | "[" | "{") => {
                level.operand += 1;
                around += level.depth();
                outer.push(std::mem::take(&mut level));
            }
            TokenKind::Symbol(")" | "]" | "}") => {
                level.end_item();
                let inside = level.deepest;
                level = outer.pop().unwrap_or_default();
                around -= level.depth().min(around);
                level.operand += inside;
            }
            TokenKind::Symbol("," | ":") => level.end_item(),
            TokenKind::Symbol("." | "|") => level.operand += 1,
            TokenKind::Symbol(_)
            | TokenKind::Word("and" | "or" | "not" | "in" | "is" | "if" | "else") => {
                level.operators += 1;
                level.end_operand();
            }
            TokenKind::Word(_) | TokenKind::Literal(_) | TokenKind::Number => {}
        }
        if around + level.depth() > MAX_DEPTH {
            return Some(token.range.clone());
        }
    }
    None
}
