//! Data to stdout, everything else to stderr.

use std::io::Write as _;

use anstyle::Style;
use document::{Diagnostic, Problems, Source, printable_json};
use serde::Serialize;

use crate::failure::Failure;

/// Bold, for names in lists.
pub(crate) const BOLD: Style = Style::new().bold();
/// Dim, for what explains.
pub(crate) const DIM: Style = Style::new().dimmed();

/// Prints a value as indented JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    // In one piece: it holds no styles to be taken out, and looking for them in a large file takes its time.
    let written = std::io::stdout().lock().write_all(printable_json(&text).as_bytes());
    written.map_err(|error| Failure::unavailable(format!("cannot write to stdout: {error}")))
}

/// Columns of the terminal, within reason.
pub(crate) fn width() -> usize {
    let columns = terminal_size::terminal_size_of(std::io::stderr())
        .map_or(100, |(terminal_size::Width(columns), _)| usize::from(columns));
    columns.clamp(60, 120)
}

/// Renders the problems of a file for the terminal on stderr.
pub(crate) fn diagnostics(source: &Source, problems: &[Diagnostic]) -> String {
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    document::render(source, problems, document::Style { color, width: width() })
}

/// Renders the problems of a file that could not be read.
pub(crate) fn problems(problems: &Problems) -> String {
    diagnostics(&problems.source_file, &problems.diagnostics)
}
