//! Where in the file the parts of an expression stand.

use std::ops::Range;

use document::{Diagnostic, Locator, Source, Span};

use super::references::{self, Reading, What};
use super::scan::Fault;
use super::{MAX_SOURCE_BYTES, Member, Read, ReadWhat};

/// Says why an expression could not be evaluated, pointing into the workflow file.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{place}: {}{}", diagnostic.message, in_brackets(diagnostic))]
pub struct ExpressionError {
    /// The problem, with the span of the expression.
    pub diagnostic: Diagnostic,
    /// `file:line:column`.
    pub place: String,
}

fn in_brackets(diagnostic: &Diagnostic) -> String {
    diagnostic.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default()
}

impl ExpressionError {
    pub(crate) fn new(source: &Source, diagnostic: Diagnostic) -> ExpressionError {
        let position = source.position(diagnostic.span().unwrap_or_default().start);
        let place = format!("{}:{}:{}", source.name(), position.line, position.column);
        ExpressionError { diagnostic, place }
    }
}

/// A text and the scalar of the file it comes from.
pub(super) struct Place<'a> {
    pub(super) text: &'a str,
    pub(super) span: Span,
    pub(super) source: &'a Source,
    locator: Locator<'a>,
}

impl<'a> Place<'a> {
    pub(super) fn new(text: &'a str, span: Span, source: &'a Source) -> Self {
        Place { text, span, source, locator: Locator::new(source, span, text) }
    }

    pub(super) fn check_length(&self) -> Result<(), Vec<Diagnostic>> {
        if self.text.len() <= MAX_SOURCE_BYTES {
            return Ok(());
        }
        let message = format!(
            "a text with expressions in it may have {MAX_SOURCE_BYTES} bytes; this one has {}",
            self.text.len()
        );
        let problem = Diagnostic::error("expression::too-long", message);
        Err(vec![
            problem
                .at(Span { start: self.span.start, end: self.span.start }, "")
                .help("move the long text to an input"),
        ])
    }

    pub(super) fn diagnostics(&self, faults: Vec<Fault>) -> Vec<Diagnostic> {
        faults.into_iter().map(|fault| self.diagnostic(fault)).collect()
    }

    fn diagnostic(&self, fault: Fault) -> Diagnostic {
        let diagnostic =
            Diagnostic::error(fault.code, fault.message).at(self.span(&fault.range), "");
        match fault.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }

    pub(super) fn read(&self, reading: Reading) -> Read {
        let span = self.span(&reading.range);
        let text = self.text[reading.range].to_owned();
        let what = match reading.what {
            What::Step(name, members) => ReadWhat::Step(name, self.members(members)),
            What::This(members) => ReadWhat::This(self.members(members)),
            What::AnyStep => ReadWhat::AnyStep,
            What::Input(name) => ReadWhat::Input(name),
        };
        Read { what, span, text }
    }

    fn members(&self, members: Vec<references::Member>) -> Vec<Member> {
        let placed = |it: references::Member| Member { name: it.name, span: self.span(&it.range) };
        members.into_iter().map(placed).collect()
    }

    /// A range without the blanks at its ends.
    pub(super) fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let Some(text) = self.text.get(range.clone()) else { return range };
        let start = range.start + text.len() - text.trim_start().len();
        start..start + text.trim().len()
    }

    /// The span in the file of a range of the text.
    pub(super) fn span(&self, range: &Range<usize>) -> Span {
        let start = self.locator.at(range.start);
        let end = if range.is_empty() { start } else { self.locator.at(range.end - 1) + 1 };
        Span { start, end: end.min(self.span.end).max(start) }
    }
}
