//! Finds the islands of expression in a text, and their tokens.
//!
//! The template engine has a lexer of its own, but it silently drops what follows a string literal
//! and an illegal character (`x == 'ok' && !b` is simply true there), and it does not say which
//! steps a subscript names. This pass therefore reads every expression first: it refuses what the
//! engine would misread, and its tokens are what the references of a step are found in.

use std::ops::Range;

use super::depth::{MAX_DEPTH, too_deep};

/// One token of an expression; ranges are byte offsets into the scanned text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) range: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
    /// An identifier or keyword.
    Word(&'t str),
    /// A string literal, without its quotes and with its escapes still in place.
    Literal(&'t str),
    Number,
    Symbol(&'t str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IslandKind {
    /// `${{ … }}`, or a whole text that is one bare expression.
    Value,
    /// `${% … %}`
    Block,
}

/// One stretch of a text that the engine evaluates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Island<'t> {
    pub(super) kind: IslandKind,
    /// With its delimiters.
    pub(super) outer: Range<usize>,
    /// Without delimiters and whitespace marks.
    pub(super) inner: Range<usize>,
    pub(super) tokens: Vec<Token<'t>>,
}

/// Something in a text that cannot be an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) range: Range<usize>,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Whether a text holds anything for the engine at all.
pub(super) fn has_islands(text: &str) -> bool {
    next_opening(text, 0).is_some()
}

/// Reads a text in which `${{ … }}`, `${% … %}` and `${# … #}` stand between literal text.
pub(super) fn scan_text(text: &str) -> Result<Vec<Island<'_>>, Vec<Fault>> {
    let mut islands = Vec::new();
    let mut faults = Vec::new();
    let mut at = 0;
    while let Some((start, mark)) = next_opening(text, at) {
        at = match mark {
            b'#' => skip_comment(text, start, &mut faults),
            b'%' if raw_block_end(text, start).is_some() => {
                raw_block_end(text, start).unwrap_or(text.len())
            }
            _ => {
                let island =
                    Lexer::new(text, start + 3, closing(mark), &mut faults).island(start, mark);
                let end = island.outer.end;
                islands.push(island);
                end
            }
        };
    }
    faults.extend(islands.iter().filter_map(|island| Some(deep(too_deep(&island.tokens)?))));
    faults.extend(elif_too_many(&islands).map(deep));
    if faults.is_empty() { Ok(islands) } else { Err(faults) }
}

/// The engine nests each `elif` in the one before.
fn elif_too_many(islands: &[Island<'_>]) -> Option<Range<usize>> {
    let is_elif = |island: &&Island<'_>| {
        let first = island.tokens.first().map(|token| token.kind);
        island.kind == IslandKind::Block && first == Some(TokenKind::Word("elif"))
    };
    islands.iter().filter(is_elif).nth(MAX_DEPTH).map(|island| island.outer.clone())
}

fn deep(range: Range<usize>) -> Fault {
    Fault {
        range,
        code: "expression::too-deep",
        message: format!("more than {MAX_DEPTH} operators in a row depend on each other"),
        help: Some("let text and `${{ … }}` take turns, or use a loop".to_owned()),
    }
}

/// Reads a text that is one expression without delimiters.
pub(super) fn scan_bare(text: &str) -> Result<Island<'_>, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut lexer = Lexer::new(text, 0, "", &mut faults);
    lexer.run();
    let tokens = lexer.tokens;
    faults.extend(too_deep(&tokens).map(deep));
    if faults.is_empty() {
        Ok(Island { kind: IslandKind::Value, outer: 0..text.len(), inner: 0..text.len(), tokens })
    } else {
        Err(faults)
    }
}

fn closing(mark: u8) -> &'static str {
    if mark == b'%' { "%}" } else { "}}" }
}

fn next_opening(text: &str, from: usize) -> Option<(usize, u8)> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(found) = text.get(at..)?.find("${") {
        let start = at + found;
        match bytes.get(start + 2) {
            Some(mark @ (b'{' | b'%' | b'#')) => return Some((start, *mark)),
            _ => at = start + 2,
        }
    }
    None
}

fn skip_comment(text: &str, start: usize, faults: &mut Vec<Fault>) -> usize {
    match text[start..].find("#}") {
        Some(end) => start + end + 2,
        None => {
            faults.push(unclosed(start..start + 3, "#}"));
            text.len()
        }
    }
}

/// The end of a `${% raw %} … ${% endraw %}` that starts here, if one does: nothing inside it is an
/// expression.
fn raw_block_end(text: &str, start: usize) -> Option<usize> {
    let tag = |at: usize, name: &str| -> Option<usize> {
        let rest = text[at..].trim_start_matches(['-', '+']).trim_start().strip_prefix(name)?;
        let rest = rest.trim_start().trim_start_matches(['-', '+']).strip_prefix("%}")?;
        Some(text.len() - rest.len())
    };
    let mut at = tag(start + 3, "raw")?;
    while let Some(found) = text[at..].find("${%") {
        at += found + 3;
        if let Some(end) = tag(at, "endraw") {
            return Some(end);
        }
    }
    Some(text.len())
}

fn unclosed(range: Range<usize>, closing: &str) -> Fault {
    Fault {
        range,
        code: "expression::unclosed",
        message: format!("this expression is not closed: `{closing}` is missing"),
        help: Some(format!("end it with `{closing}`")),
    }
}

struct Lexer<'t, 'f> {
    text: &'t str,
    at: usize,
    closing: &'static str,
    /// Whether a lone `=` may give something a value, as it does in blocks.
    assigns: bool,
    /// Where parentheses, brackets and braces were opened: a `}}` inside a map literal does not end
    /// the expression.
    open: Vec<usize>,
    tokens: Vec<Token<'t>>,
    faults: &'f mut Vec<Fault>,
}

impl<'t, 'f> Lexer<'t, 'f> {
    fn new(text: &'t str, at: usize, closing: &'static str, faults: &'f mut Vec<Fault>) -> Self {
        let assigns = closing == "%}";
        Lexer { text, at, closing, assigns, open: Vec::new(), tokens: Vec::new(), faults }
    }

    fn island(mut self, start: usize, mark: u8) -> Island<'t> {
        if self.text[self.at..].starts_with(['-', '+']) {
            self.at += 1;
        }
        let inner_start = self.at;
        let kind = if mark == b'%' { IslandKind::Block } else { IslandKind::Value };
        let inner_end = match self.run() {
            Some(end) => end,
            None => {
                // An open bracket explains it, and was reported.
                if self.open.is_empty() {
                    self.faults.push(unclosed(start..start + 3, self.closing));
                }
                self.text.len()
            }
        };
        Island { kind, outer: start..self.at, inner: inner_start..inner_end, tokens: self.tokens }
    }

    /// Reads tokens until the closing delimiter or the end of the text; gives where the inside
    /// ends.
    fn run(&mut self) -> Option<usize> {
        loop {
            let rest = &self.text[self.at..];
            // ASCII only, as the engine does it: any other blank is a character it cannot read.
            let trimmed = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
            self.at += rest.len() - trimmed.len();
            if !self.is_in_braces() && !self.closing.is_empty() {
                let marks = usize::from(trimmed.starts_with(['-', '+']));
                if trimmed[marks..].starts_with(self.closing) {
                    let inner_end = self.at;
                    self.at += marks + self.closing.len();
                    self.report_open();
                    return Some(inner_end);
                }
            }
            let Some(first) = trimmed.chars().next() else {
                self.report_open();
                return None;
            };
            self.token(first);
        }
    }

    /// Whether the innermost bracket is a `{`: only there can `}}` be more than the end.
    fn is_in_braces(&self) -> bool {
        self.open.last().is_some_and(|at| self.text[*at..].starts_with('{'))
    }

    /// Closes the innermost bracket; one of another kind was forgotten, if it stands in one of this.
    fn close(&mut self, closing: char) {
        let is_open = self.open.iter().any(|at| self.bracket(*at).1 == closing);
        while is_open && self.open.last().is_some_and(|at| self.bracket(*at).1 != closing) {
            self.report_open();
            self.open.pop();
        }
        self.open.pop();
    }

    /// A bracket and what closes it.
    fn bracket(&self, at: usize) -> (char, char) {
        match self.text.as_bytes()[at] {
            b'(' => ('(', ')'),
            b'[' => ('[', ']'),
            _ => ('{', '}'),
        }
    }

    /// The innermost bracket that was never closed; those around it may be closed by mending it.
    fn report_open(&mut self) {
        let Some(at) = self.open.last().copied() else { return };
        let (written, closing) = self.bracket(at);
        self.faults.push(Fault {
            range: at..at + 1,
            code: "expression::unclosed",
            message: format!("this `{written}` is not closed"),
            help: Some(format!("end it with `{closing}`")),
        });
    }

    fn token(&mut self, first: char) {
        let rest = &self.text[self.at..];
        if first.is_ascii_alphabetic() || first == '_' {
            let length = length_while(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            self.push(TokenKind::Word(&rest[..length]), length);
        } else if first.is_ascii_digit() {
            let length = length_while(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            self.push(TokenKind::Number, length);
        } else if first == '"' || first == '\'' {
            self.string(first);
        } else {
            self.symbol(first);
        }
    }

    fn string(&mut self, quote: char) {
        let rest = &self.text[self.at..];
        let mut escaped = false;
        for (offset, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == quote => {
                    self.push(TokenKind::Literal(&rest[1..offset]), offset + 1);
                    return;
                }
                _ => {}
            }
        }
        self.faults.push(Fault {
            range: self.at..self.at + 1,
            code: "expression::unclosed",
            message: "this string is not closed".to_owned(),
            help: Some(format!("end it with `{quote}`")),
        });
        self.at = self.text.len();
    }

    fn symbol(&mut self, first: char) {
        const DOUBLE: [&str; 6] = ["//", "**", "==", "!=", ">=", "<="];
        const SINGLE: &str = "+-*/%.,:~|=><()[]{}";
        let rest = &self.text[self.at..];
        if let Some(operator) = DOUBLE.iter().find(|operator| rest.starts_with(**operator)) {
            self.push(TokenKind::Symbol(operator), 2);
        } else if rest.starts_with("||")
            || !SINGLE.contains(first)
            || (first == '=' && self.open.is_empty() && !self.assigns)
        {
            self.refuse(first);
        } else {
            match first {
                '(' | '[' | '{' => self.open.push(self.at),
                ')' | ']' | '}' => self.close(first),
                _ => {}
            }
            self.push(TokenKind::Symbol(&rest[..1]), 1);
        }
    }

    fn refuse(&mut self, first: char) {
        let rest = &self.text[self.at..];
        let (length, code, message, help) = match first {
            '&' if rest.starts_with("&&") => operator("&&", "and"),
            '|' => operator("||", "or"),
            '!' => operator("!", "not"),
            '=' => operator("=", "=="),
            '?' => operator("?", "A if CONDITION else B"),
            _ => (
                first.len_utf8(),
                "expression::character",
                format!("`{first}` cannot stand in an expression"),
                Some("text belongs in quotes, as in `\"text\"`".to_owned()),
            ),
        };
        self.faults.push(Fault { range: self.at..self.at + length, code, message, help });
        self.at += length;
    }

    fn push(&mut self, kind: TokenKind<'t>, length: usize) {
        self.tokens.push(Token { kind, range: self.at..self.at + length });
        self.at += length;
    }
}

fn operator(written: &str, meant: &str) -> (usize, &'static str, String, Option<String>) {
    (
        written.len(),
        "expression::operator",
        format!("`{written}` is not an operator of expressions"),
        Some(format!("write `{meant}`")),
    )
}

fn length_while(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}
