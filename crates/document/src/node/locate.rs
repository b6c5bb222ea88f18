//! From places in a string's value back to the places in the text it was written as.

use std::cell::Cell;

use super::{Node, Value};
use crate::{Source, Span};

/// Finds where in the source the bytes of one string value were written, through quotes, escapes,
/// block indentation and folded lines.
///
/// Value and text are walked together: equal characters advance both, and what differs is either an
/// escape (one or more written characters for one of the value) or white space that folding and
/// indentation changed. Exact for everything but the white space around a folded line. It goes on
/// from the place it found last, so that finding many places in the order of the text costs one
/// walk.
#[derive(Clone, Debug)]
pub struct Locator<'a> {
    start: u32,
    raw: &'a str,
    value: &'a str,
    style: char,
    reached: Cell<Reached>,
}

/// How far a walk came, in bytes: `written` has been read for the first `value` of the value.
#[derive(Clone, Copy, Debug)]
struct Reached {
    value: usize,
    written: usize,
}

impl<'a> Locator<'a> {
    /// Locates within the string `value` that the scalar at `span` stands for.
    #[must_use]
    pub fn new(source: &'a Source, span: Span, value: &'a str) -> Self {
        let raw = source.slice(span);
        let style = raw.chars().next().unwrap_or(' ');
        let start = span.start;
        Self { start, raw, value, style, reached: Cell::new(Reached::begin(raw, style)) }
    }

    /// The offset in the source of byte `index` of the value; for one past its end, where the value
    /// ends.
    #[must_use]
    pub fn at(&self, index: usize) -> u32 {
        let (raw, style) = (self.raw, self.style);
        let mut reached = self.reached.get();
        if reached.value > index {
            reached = Reached::begin(raw, style);
        }
        let mut found = reached.written;
        for (at, character) in self.value[reached.value..].char_indices() {
            let at = reached.value + at;
            self.reached.set(Reached { value: at, written: found });
            if style == '"' {
                found = skip_joined_lines(raw, found);
            }
            found = skip_layout(raw, found, character);
            if at >= index {
                break;
            }
            // A value that was not written so must not end within a character.
            found = raw.ceil_char_boundary(found + width(&raw[found..], style, character));
        }
        self.start + u32::try_from(found).unwrap_or(u32::MAX)
    }
}

impl Reached {
    fn begin(raw: &str, style: char) -> Self {
        let written = match style {
            '"' | '\'' => 1,
            '|' | '>' => raw.find('\n').map_or(raw.len(), |at| at + 1),
            _ => 0,
        };
        Self { value: 0, written }
    }
}

impl Node {
    /// The offset in the source of byte `index` of a string value, as [`Locator::at`] finds it; of a
    /// value that is no string, the start of its span.
    #[must_use]
    pub fn locate(&self, source: &Source, index: usize) -> u32 {
        match &self.value {
            Value::String(text) => Locator::new(source, self.span, text).at(index),
            _ => self.span.start,
        }
    }
}

/// Passes over a line end that a backslash takes out of the value, and the next indentation.
fn skip_joined_lines(raw: &str, mut from: usize) -> usize {
    while raw[from..].starts_with("\\\n") || raw[from..].starts_with("\\\r\n") {
        let next = &raw[from + 1..];
        from = raw.len() - next.trim_start().len();
    }
    from
}

/// Passes over indentation and line ends that are not part of the value.
fn skip_layout(raw: &str, from: usize, expected: char) -> usize {
    let rest = &raw[from..];
    if rest.starts_with(expected) && expected != ' ' {
        return from;
    }
    if expected.is_whitespace() {
        return from;
    }
    from + rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len())
}

/// How many bytes of `rest` stand for one character of the value.
fn width(rest: &str, style: char, character: char) -> usize {
    let next = rest.chars().next();
    match (style, next) {
        (_, None) => 0,
        ('"', Some('\\')) => escape_width(rest, character),
        ('\'', Some('\'')) => 2,
        (_, Some('\r')) if character == '\n' && rest.starts_with("\r\n") => 2,
        (_, Some(next)) if next == character => next.len_utf8(),
        // A folded line break: one character of value for a line break and the next indentation.
        (_, Some(next)) if next.is_whitespace() && character.is_whitespace() => {
            rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len())
        }
        (_, Some(_)) => 0,
    }
}

fn escape_width(rest: &str, character: char) -> usize {
    let digits = match rest.as_bytes().get(1) {
        Some(b'x') => 2,
        Some(b'u') if u32::from(character) > 0xffff => 10,
        Some(b'u') => 4,
        Some(b'U') => 8,
        _ => 0,
    };
    let escaped = rest[1..].chars().next().map_or(0, char::len_utf8);
    (1 + escaped + digits).min(rest.len())
}
