//! Secrets, and where they come from.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use aws_lc_rs::rand;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;
use serde::{Deserialize, Serialize};
use tokio::process::Command;

/// How long a command may take to print a secret.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// A secret. Cheap to clone. It is written by no formatter and no serializer.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes a secret.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Secret {
        Secret(text.into())
    }

    /// Draws one: a prefix, and 256 random bits (base64url, 43 characters).
    ///
    /// # Panics
    /// When the machine has no randomness.
    #[must_use]
    pub fn draw(prefix: &str) -> Secret {
        let mut bytes = [0; 32];
        rand::fill(&mut bytes)
            .expect("no machine that makes TLS connections is without randomness");
        Secret::new(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns the secret itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns it after a prefix as the value of a header that logs do not show; nothing when it
    /// holds what cannot stand in a header.
    pub(crate) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

/// Where a secret is kept: all that is written down of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// In an environment variable of this process.
    Env(String),
    /// In a file, whose last line break does not belong to it.
    File(PathBuf),
    /// In what a command prints; program first, no shell. Its last line break does not belong to it.
    Command(Vec<String>),
    /// In memory; it cannot be written down.
    #[serde(skip)]
    Value(Secret),
}

impl SecretSource {
    /// Gets the secret.
    ///
    /// # Errors
    /// Why it cannot be had, and what to do; never any part of what was read.
    pub async fn read(&self) -> Result<Secret, String> {
        let text = match self {
            SecretSource::Value(secret) => return Ok(secret.clone()),
            SecretSource::Env(name) => std::env::var(name).map_err(|error| match error {
                std::env::VarError::NotPresent => {
                    format!("the environment variable {name} is not set; set it")
                }
                std::env::VarError::NotUnicode(_) => {
                    format!("the environment variable {name} is not UTF-8")
                }
            })?,
            SecretSource::File(path) => read_file(path).await?,
            SecretSource::Command(words) => run(words).await?,
        };
        let text =
            text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line));
        if text.is_empty() { Err(format!("{self} is empty")) } else { Ok(Secret::new(text)) }
    }
}

impl fmt::Display for SecretSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretSource::Env(name) => write!(formatter, "the environment variable {name}"),
            SecretSource::File(path) => write!(formatter, "the file {}", path.display()),
            SecretSource::Command(words) => {
                let program = words.first().map_or("", String::as_str);
                write!(formatter, "what the command `{program}` prints")
            }
            SecretSource::Value(_) => formatter.write_str("what was given"),
        }
    }
}

async fn read_file(path: &Path) -> Result<String, String> {
    let read = tokio::fs::read_to_string(path).await;
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => format!("the file {} is not UTF-8", path.display()),
        _ => format!("the file {} cannot be read: {error}", path.display()),
    })
}

/// Its standard error goes to ours, so that it can ask or explain.
async fn run(words: &[String]) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let cannot = |why: String| format!("the command `{program}` {why}");
    let child = command.spawn().map_err(|error| cannot(format!("cannot be started: {error}")))?;
    let output = tokio::time::timeout(COMMAND_TIMEOUT, child.wait_with_output()).await;
    let output = output
        .map_err(|_| cannot(format!("took longer than {COMMAND_TIMEOUT:?}")))?
        .map_err(|error| cannot(format!("failed: {error}")))?;
    if !output.status.success() {
        return Err(cannot(format!("failed ({})", output.status)));
    }
    String::from_utf8(output.stdout).map_err(|_| cannot("printed what is not UTF-8".to_owned()))
}
