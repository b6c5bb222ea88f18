//! Logs, to stderr; unless asked for, off, and of a server the warnings.

use tracing_subscriber::{EnvFilter, filter::ParseError};

use crate::args::Command;

/// Checks a filter as it was typed.
pub(crate) fn filter(typed: &str) -> Result<String, ParseError> {
    EnvFilter::try_new(typed).map(|_| typed.to_owned())
}

/// What is logged when nobody has said. Somebody who is told the result needs no log; a server tells nobody.
pub(crate) fn unasked(command: &Command) -> &'static str {
    match command {
        Command::Serve(_) => "warn",
        _ => "off",
    }
}

/// Installs the log output.
pub(crate) fn install(filter: &str) {
    let filter = EnvFilter::new(filter);
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
