//! Child processes, run from the root of the tree.

use std::{
    collections::VecDeque,
    env, fmt,
    io::{self, BufRead as _, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context as _, Result, bail};

/// How many lines of each stream of a command are told with its failure.
const TOLD: usize = 40;

/// The root of the source tree.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the root of the tree").to_owned()
}

/// The folder of all that is built.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// `program`, to be run in the root of the tree.
pub(crate) fn command(program: &str) -> Command {
    command_at(Path::new(program))
}

/// The program at a path, to be run in the root of the tree.
pub(crate) fn command_at(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.current_dir(root());
    command
}

/// The cargo that runs this chore.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let program = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = command(&program);
    command.args(arguments);
    command
}

/// Runs a command and repeats what it prints; fails unless it exits with 0, and then tells the last lines again.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.with_context(|| format!("cannot start `{}`", shown(command)))?;
    let printed = child.stdout.take().context("its standard output is piped")?;
    let complained = child.stderr.take().context("its standard error is piped")?;
    let (printed, complained) = thread::scope(|scope| {
        let printed = scope.spawn(|| Said::repeated(printed, io::stdout()));
        let complained = Said::repeated(complained, io::stderr());
        (printed.join().unwrap_or_default(), complained)
    });
    let status = child.wait().with_context(|| format!("cannot wait for `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}{printed}{complained}", shown(command));
    }
    Ok(())
}

/// The last lines that a child printed on a stream; prints as the end of an error.
#[derive(Default)]
pub(crate) struct Said(VecDeque<String>);

impl Said {
    /// Repeats a stream to its end. What cannot be read or written is left out: the child's status counts.
    pub(crate) fn repeated(from: impl Read, mut to: impl Write) -> Self {
        let (mut from, mut line, mut last) = (BufReader::new(from), Vec::new(), VecDeque::new());
        while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            drop(to.write_all(&line).and_then(|()| to.flush()));
            if last.len() == TOLD {
                last.pop_front();
            }
            last.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
            line.clear();
        }
        Self(last)
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| write!(f, "\n{line}"))
    }
}

/// Runs a command and returns its standard output; its standard error goes to the terminal.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", shown(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed bytes that are not UTF-8", shown(command)))
}

/// Whether a command can be started and exits with 0; prints nothing.
pub(crate) fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command as a person would type it: the program by its file name.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut words = vec![name.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_named_with_its_status() {
        let error = run(command("sh").args(["-c", "exit 3"])).expect_err("exit 3 is a failure");
        assert_eq!(error.to_string(), "`sh -c exit 3` failed: exit status: 3");
    }

    #[test]
    fn the_last_lines_that_it_printed_on_both_streams_are_told_again() {
        let script = "seq 1 60; echo why >&2; printf end; exit 1";
        let error = run(command("sh").args(["-c", script])).expect_err("exit 1 is a failure");
        let mut wanted = format!("`sh -c {script}` failed: exit status: 1");
        for number in 22..=60 {
            wanted += &format!("\n{number}");
        }
        assert_eq!(error.to_string(), wanted + "\nend\nwhy");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = run(&mut command("no-such-program")).expect_err("there is no such program");
        assert_eq!(error.to_string(), "cannot start `no-such-program`");
    }
}
