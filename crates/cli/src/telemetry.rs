//! Logs, to stderr, off unless asked for.

use tracing_subscriber::{EnvFilter, filter::ParseError};

/// Checks a filter as it was typed.
pub(crate) fn filter(typed: &str) -> Result<String, ParseError> {
    EnvFilter::try_new(typed).map(|_| typed.to_owned())
}

/// Installs the log output; without a filter there is none.
pub(crate) fn install(filter: Option<&str>) {
    let filter = EnvFilter::new(filter.unwrap_or("off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
