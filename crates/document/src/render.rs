use std::borrow::Cow;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents,
    SourceCode, SourceSpan, SpanContents,
};
use serde_json::json;

use crate::{Diagnostic, Label, Severity, Source, Span, diagnostic};

/// Says how diagnostics are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Whether to use terminal colours.
    pub color: bool,
    /// Columns before messages are wrapped.
    pub width: usize,
}

impl Default for Style {
    /// No colour, 100 columns.
    fn default() -> Self {
        Self { color: false, width: 100 }
    }
}

/// Shows the problems of one file to a person: code, message, `file:line:column`, the lines
/// concerned with marks under them, and what to do.
///
/// Sorted by position. A line too long for a screen is named but not printed. What a terminal would
/// obey instead of showing it is shown as [`printable`] shows it.
#[must_use]
pub fn render(source: &Source, diagnostics: &[Diagnostic], style: Style) -> String {
    let theme = match style.color {
        true => GraphicalTheme::unicode(),
        false => GraphicalTheme::unicode_nocolor(),
    };
    let handler =
        GraphicalReportHandler::new_themed(theme).with_links(false).with_width(style.width.max(20));
    let excerpt = Excerpt { source, text: printable(source.text()) };
    let mut out = String::new();
    for diagnostic in diagnostic::in_order(diagnostics) {
        if !out.is_empty() {
            out.push('\n');
        }
        let report = Report::new(&excerpt, diagnostic);
        handler.render_report(&mut out, &report).expect("writing to a string does not fail");
    }
    let trimmed: Vec<&str> = out.lines().map(str::trim_end).collect();
    trimmed.join("\n").trim_matches('\n').to_owned() + "\n"
}

/// Shows the problems of one file to an editor: a list of objects `{code, severity, message, file,
/// line, column, end_line, end_column, labels, help}`, sorted by position, counted from 1; places
/// are null where a problem has none.
#[must_use]
pub fn to_json(source: &Source, diagnostics: &[Diagnostic]) -> serde_json::Value {
    diagnostic::in_order(diagnostics)
        .into_iter()
        .map(|diagnostic| {
            let mut object = json!({
                "code": diagnostic.code,
                "severity": diagnostic.severity,
                "message": diagnostic.message,
                "file": source.name(),
                "labels": diagnostic.labels.iter().map(|label| label_json(source, label)).collect::<Vec<_>>(),
                "help": diagnostic.help,
            });
            place_json(source, diagnostic.span(), &mut object);
            object
        })
        .collect()
}

fn label_json(source: &Source, label: &Label) -> serde_json::Value {
    let mut object = json!({ "text": label.text });
    place_json(source, Some(label.span), &mut object);
    object
}

fn place_json(source: &Source, span: Option<Span>, object: &mut serde_json::Value) {
    let start = span.map(|span| source.position(span.start));
    let end = span.map(|span| source.position(span.end));
    object["line"] = start.map(|at| at.line).into();
    object["column"] = start.map(|at| at.column).into();
    object["end_line"] = end.map(|at| at.line).into();
    object["end_column"] = end.map(|at| at.column).into();
}

/// A text without what a terminal would obey or that would reorder what is read: control characters
/// (line ends and tabs excepted) and marks of direction become visible characters of as many bytes,
/// so that every span still fits. A lone carriage return becomes the line end that it is.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut rest = text.chars().peekable();
    let mut shown = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        shown.push(match c {
            '\r' if rest.peek() == Some(&'\n') => c,
            '\r' => '\n',
            c if !is_obeyed(c) => c,
            c => match c.len_utf8() {
                1 => '?',
                2 => '\u{bf}',
                _ => '\u{fffd}',
            },
        });
    }
    Cow::Owned(shown)
}

/// A text as [`printable`] makes it, in one line and no longer than so many characters: what was cut
/// off is told by an ellipsis. For texts of strangers among lines of our own, which they could
/// otherwise imitate or drown.
#[must_use]
pub fn brief(text: &str, max_chars: usize) -> String {
    let cut = text.char_indices().nth(max_chars).map(|(at, _)| at);
    let kept = printable(&text[..cut.unwrap_or(text.len())]).replace(['\n', '\t', '\r'], " ");
    if cut.is_some() { format!("{kept}…") } else { kept }
}

/// JSON without what a terminal would obey: JSON itself escapes only some of it, and the rest
/// becomes an escape too, so that the value stays the same.
#[must_use]
pub fn printable_json(json: &str) -> Cow<'_, str> {
    let is_left = |c: char| !c.is_ascii_control() && is_obeyed(c) || c == '\u{7f}';
    if !json.contains(is_left) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if is_left(c) {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn is_obeyed(c: char) -> bool {
    let is_layout = c == '\n' || c == '\t';
    let is_of_direction = matches!(c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() && !is_layout || is_of_direction
}

/// One diagnostic as the renderer wants it.
#[derive(Debug)]
struct Report<'a> {
    diagnostic: &'a Diagnostic,
    excerpt: &'a Excerpt<'a>,
    labels: Vec<LabeledSpan>,
    /// Said instead of an excerpt.
    place: Option<String>,
}

impl<'a> Report<'a> {
    fn new(excerpt: &'a Excerpt<'a>, diagnostic: &'a Diagnostic) -> Self {
        let source = excerpt.source;
        let is_shown = !source.text().is_empty()
            && diagnostic.labels.iter().all(|label| excerpt.is_readable(label.span));
        let labels = diagnostic.labels.iter().enumerate();
        let labels = labels.map(|(at, label)| labeled(label, at == 0));
        Self {
            diagnostic,
            excerpt,
            labels: if is_shown { labels.collect() } else { Vec::new() },
            place: (!is_shown).then(|| places(source, diagnostic)),
        }
    }
}

fn labeled(label: &Label, is_primary: bool) -> LabeledSpan {
    let text = Some(printable(&label.text).into_owned()).filter(|text| !text.is_empty());
    let length = (label.span.end - label.span.start) as usize;
    let span = SourceSpan::new((label.span.start as usize).into(), length);
    match is_primary {
        true => LabeledSpan::new_primary_with_span(text, span),
        false => LabeledSpan::new_with_span(text, span),
    }
}

fn places(source: &Source, diagnostic: &Diagnostic) -> String {
    let labels = diagnostic.labels.iter();
    labels
        .map(|label| format!("\nat {} {}", source.place(label.span), printable(&label.text)))
        .collect()
}

impl std::fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&printable(&self.diagnostic.message))?;
        f.write_str(self.place.as_deref().unwrap_or_default())
    }
}

impl std::error::Error for Report<'_> {}

impl miette::Diagnostic for Report<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(self.diagnostic.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        let help = self.diagnostic.help.as_deref()?;
        Some(Box::new(printable(help)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        (!self.labels.is_empty()).then_some(self.excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty()).then(|| Box::new(self.labels.iter().cloned()) as Box<_>)
    }
}

/// Reads lines around a span through the line index; the renderer's own reader scans the text from
/// its start for every label, which is quadratic for a large file with many problems.
#[derive(Debug)]
struct Excerpt<'a> {
    source: &'a Source,
    /// The source's text as it can be printed, byte for byte in the same places.
    text: Cow<'a, str>,
}

impl Excerpt<'_> {
    /// Whether the lines of a span fit a screen.
    fn is_readable(&self, span: Span) -> bool {
        const MAX_LINE_BYTES: usize = 400;
        const MAX_LINES: usize = 100;
        let (first, last) = self.lines(span, 1, 1);
        last - first <= MAX_LINES
            && (first..=last)
                .all(|line| self.source.lines(line, line).range().len() <= MAX_LINE_BYTES)
    }

    fn lines(&self, span: Span, before: usize, after: usize) -> (usize, usize) {
        let last_byte = span.end.saturating_sub(1).max(span.start);
        let first = self.source.line_index(span.start).saturating_sub(before);
        let last = (self.source.line_index(last_byte) + after).min(self.source.line_count() - 1);
        (first, last)
    }
}

impl SourceCode for Excerpt<'_> {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let wanted = Span::new(span.offset(), span.offset() + span.len());
        if wanted.end as usize > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let (first, last) = self.lines(wanted, before, after);
        let mut lines = self.source.lines(first, last);
        let mut column = 0;
        // Asked for no context, the renderer wants to know where exactly the span begins.
        if before == 0 {
            lines.start = wanted.start;
            column = self.source.position(wanted.start).column - 1;
        }
        Ok(Box::new(MietteSpanContents::new_named(
            self.source.name().to_owned(),
            &self.text.as_bytes()[lines.range()],
            SourceSpan::new((lines.start as usize).into(), lines.range().len()),
            first,
            column,
            last - first + 1,
        )))
    }
}

#[cfg(test)]
mod tests;
