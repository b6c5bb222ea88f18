//! Logs, to stderr, off unless asked for.

use tracing_subscriber::EnvFilter;

/// Installs the log output. Without a filter only errors of ours are shown.
pub(crate) fn install(filter: Option<&str>) {
    let filter = EnvFilter::new(filter.unwrap_or("off"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
