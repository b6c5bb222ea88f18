use serde::{Deserialize, Serialize};

use crate::{Source, Span, Style, render};

/// Says how bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file cannot be used as it is.
    Error,
    /// The file works; its author should know.
    Warning,
}

/// Points at one place and says what is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is there; may be empty.
    pub text: String,
}

/// Describes one problem of a file: what, where, why, and what to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// A stable name such as `workflow::unknown-key`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The places concerned; the first one is where the problem is.
    pub labels: Vec<Label>,
    /// What to do next.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Starts an error without a place.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: Vec::new(),
            help: None,
        }
    }

    /// Starts a warning without a place.
    #[must_use]
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds a place; the first one added is the primary one.
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The primary place, if the problem has one.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }

    /// Whether the file cannot be used because of this.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Puts problems in reading order: those without a place first, then by position.
pub(crate) fn in_order(diagnostics: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|diagnostic| diagnostic.span());
    sorted
}

/// Carries the problems of one file together with the file, so that it can be shown anywhere.
///
/// Displays without colour, 100 columns wide; use [`render()`] for another style.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", render(source_file, diagnostics, Style::default()))]
pub struct Problems {
    /// The file, possibly without its text when that could not be read.
    pub source_file: Source,
    /// What is wrong with it; never empty.
    pub diagnostics: Vec<Diagnostic>,
}

impl Problems {
    /// Wraps a single problem.
    #[must_use]
    pub fn one(source: Source, diagnostic: Diagnostic) -> Self {
        Self { source_file: source, diagnostics: vec![diagnostic] }
    }
}
