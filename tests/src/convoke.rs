//! The binary `convoke`, with a data folder of its own.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    task::JoinHandle,
};

use crate::PATIENCE;

/// Set by `cargo xtask test`.
const BINARY: &str = "CONVOKE_BIN";

/// A folder in which `convoke` runs, and its data folder below that.
#[derive(Debug)]
pub struct Convoke {
    folder: TempDir,
}

/// How a process ended.
#[derive(Debug)]
pub struct Done {
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
    /// All of stdout.
    pub stdout: String,
    /// What of stderr was not read before.
    pub stderr: String,
}

/// A running `convoke`. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stdout: JoinHandle<String>,
    stderr: Lines<BufReader<ChildStderr>>,
}

impl Default for Convoke {
    fn default() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }
}

impl Convoke {
    /// The working folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The data folder, which `CONVOKE_DATA` names to every command.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Writes a file into the working folder and returns its name. Missing folders are made.
    pub fn write<'a>(&self, name: &'a str, content: impl AsRef<[u8]>) -> &'a str {
        let path = self.folder().join(name);
        fs::create_dir_all(path.parent().expect("it is below the working folder"))
            .expect("a folder");
        fs::write(path, content).expect("a file in a temporary folder");
        name
    }

    /// A command in the working folder that sees none of the person's own settings.
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(binary());
        command.args(args).current_dir(self.folder());
        for setting in ["CONVOKE_LOG", "XDG_STATE_HOME", "NO_COLOR", "CLICOLOR_FORCE", "RUST_LOG"] {
            command.env_remove(setting);
        }
        command.env("CONVOKE_DATA", self.data()).env("HOME", self.folder()).env("USER", "tester");
        command
    }

    /// Runs a command to its end.
    pub async fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Done {
        finish(self.command(args)).await
    }

    /// Starts a command.
    pub fn start<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Process {
        start(self.command(args))
    }
}

/// Starts a prepared command.
///
/// # Panics
/// When the binary is not there.
pub fn start(mut command: Command) -> Process {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("the binary runs");
    let stdout = child.stdout.take().expect("it is piped");
    let stderr = child.stderr.take().expect("it is piped");
    Process { child, stdout: tokio::spawn(all(stdout)), stderr: BufReader::new(stderr).lines() }
}

/// Runs a prepared command to its end.
pub async fn finish(command: Command) -> Done {
    start(command).end().await
}

/// Runs a prepared command that reads `input` on stdin.
///
/// # Panics
/// When the binary is not there, or does not end.
pub async fn feed(mut command: Command, input: &str) -> Done {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input.as_bytes()).await.expect("it reads its input");
    drop(stdin);
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.expect("it ends in time").expect("it can be waited for");
    Done {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

impl Done {
    /// Stdout as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }

    /// Itself, when the exit code is this one.
    ///
    /// # Panics
    /// When it is another.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The exit code and stderr, for a snapshot.
    #[must_use]
    pub fn complaint(&self) -> String {
        format!("exit {}\n{}", self.code, self.stderr)
    }
}

impl Process {
    /// Reads stderr up to the line that holds a text, and returns that line.
    ///
    /// # Panics
    /// When the process ends before, or does not write the line in time.
    pub async fn until(&mut self, text: &str) -> String {
        let mut read = Vec::new();
        loop {
            let line = tokio::time::timeout(PATIENCE, self.stderr.next_line()).await;
            let Ok(Ok(Some(line))) = line else {
                panic!("no line with `{text}` came: {line:?} after\n{}", read.join("\n"));
            };
            if line.contains(text) {
                return line;
            }
            read.push(line);
        }
    }

    /// `kill -9`: nothing of the process runs on when this returns.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it can be killed");
    }

    /// Ctrl-C.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn interrupt(&self) {
        let pid = self.child.id().expect("it is running").to_string();
        let sent = std::process::Command::new("kill").args(["-INT", &pid]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// What a service manager sends to stop it: SIGTERM.
    ///
    /// # Panics
    /// When it has ended already.
    pub fn terminate(&self) {
        let pid = self.pid().to_string();
        let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// The process id.
    ///
    /// # Panics
    /// When it has ended already.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it is running")
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn end(mut self) -> Done {
        self.done().await
    }

    /// As [`Process::end`], of a process that may still be killed instead. Not cancel safe: what was
    /// read of stderr is lost.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn done(&mut self) -> Done {
        let end = async {
            let mut stderr = String::new();
            while let Some(line) = self.stderr.next_line().await.expect("stderr is UTF-8") {
                stderr.push_str(&line);
                stderr.push('\n');
            }
            let status = self.child.wait().await.expect("it can be waited for");
            let stdout = (&mut self.stdout).await.expect("reading does not panic");
            Done { code: status.code().unwrap_or(-1), stdout, stderr }
        };
        tokio::time::timeout(PATIENCE, end).await.expect("it ends in time")
    }
}

async fn all(mut stdout: ChildStdout) -> String {
    let mut text = String::new();
    stdout.read_to_string(&mut text).await.expect("stdout is UTF-8");
    text
}

/// The path that `cargo xtask test` passes; else the binary beside this test's own executable.
fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os(BINARY) {
        return path.into();
    }
    let this = std::env::current_exe().expect("tests know their own path");
    // …/debug/deps/every-0123456789abcdef → …/debug/convoke
    let folder = this.parent().and_then(Path::parent).expect("cargo puts tests into a folder");
    let binary = folder.join(format!("convoke{}", std::env::consts::EXE_SUFFIX));
    assert!(
        binary.exists(),
        "there is no binary at {}: run `cargo xtask test`, which builds it and sets {BINARY}",
        binary.display()
    );
    binary
}
