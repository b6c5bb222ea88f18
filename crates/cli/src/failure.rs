//! How a command ends, and what it says when it does not end well.

use std::{
    fmt::{self, Display},
    process::ExitCode,
};

use anstream::eprintln;
use anstyle::{AnsiColor, Style};

use crate::content::clean;

/// Exit codes, the same for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Ok = 0,
    /// The work itself failed: a run failed, a check found errors.
    WorkFailed = 1,
    /// Wrong usage, or input that cannot be read.
    Usage = 2,
    /// A remote or the store was unavailable.
    Unavailable = 3,
    /// Paused: somebody has to answer.
    Paused = 4,
    /// Interrupted.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// A command that did not end well.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    said: Said,
}

/// What it says.
#[derive(Debug)]
enum Said {
    /// A message, with the words of strangers in it perhaps.
    Plain(String),
    /// Diagnostics as they are shown, with head lines and colors of their own.
    Rendered(String),
}

impl Failure {
    /// What was typed, or a file that was named, is wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { exit: Exit::Usage, said: Said::Plain(message.to_string()) }
    }

    /// The work failed.
    pub(crate) fn work(message: impl Display) -> Self {
        Self { exit: Exit::WorkFailed, said: Said::Plain(message.to_string()) }
    }

    /// Something that is needed is not there now.
    pub(crate) fn unavailable(message: impl Display) -> Self {
        Self { exit: Exit::Unavailable, said: Said::Plain(message.to_string()) }
    }

    /// A file is wrong, and its diagnostics are rendered.
    pub(crate) fn file(rendered: String) -> Self {
        Self { exit: Exit::Usage, said: Said::Rendered(rendered) }
    }

    /// A file cannot be worked with as things are, and its diagnostics are rendered.
    pub(crate) fn file_as_things_are(rendered: String) -> Self {
        Self { exit: Exit::WorkFailed, said: Said::Rendered(rendered) }
    }

    /// Says it on stderr and returns the exit code.
    pub(crate) fn report(self) -> Exit {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        match &self.said {
            Said::Plain(message) => eprintln!("{red}error{red:#}: {}", clean(message.trim_end())),
            Said::Rendered(diagnostics) => eprintln!("{}", diagnostics.trim_end()),
        }
        self.exit
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Said::Plain(text) | Said::Rendered(text)) = &self.said;
        f.write_str(text)
    }
}

impl From<store::StoreError> for Failure {
    fn from(error: store::StoreError) -> Self {
        Self::unavailable(error)
    }
}

impl From<executor::ExecutorError> for Failure {
    fn from(error: executor::ExecutorError) -> Self {
        if error.is_of_the_question() { Self::usage(error) } else { Self::unavailable(error) }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::work(format!("cannot be written as JSON: {error}"))
    }
}
