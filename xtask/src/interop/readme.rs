//! The clients that README.md shows, run as they are printed there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::process;

const README: &str = "README.md";
/// Where the clients of README.md expect the server: the default of `convoke serve`.
const SERVER: &str = "http://127.0.0.1:8100";
/// What each of them prints at last.
const LAST: &str = "TASK_STATE_COMPLETED";

/// Writes the only block of a language in README.md to a file of a folder, for the server at a URL instead of the
/// default one.
///
/// # Errors
/// When there is no such block, or several; when it names no server; when the file cannot be written.
pub(super) fn write(language: &str, folder: &Path, name: &str, url: &str) -> Result<PathBuf> {
    let readme = process::root().join(README);
    let text = fs::read_to_string(&readme).context("cannot read README.md")?;
    let client = pointed(only_block(&text, language)?, url)?;
    let path = folder.join(name);
    fs::write(&path, client).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Runs a client of README.md, which has to follow its Task to the end.
///
/// # Errors
/// When it fails, or prints another end.
pub(super) fn run(client: &mut Command) -> Result<()> {
    let printed = process::output(client)?;
    let last = printed.lines().last().unwrap_or_default();
    ensure!(last == LAST, "the last line is not {LAST}:\n{printed}");
    Ok(())
}

fn only_block<'a>(text: &'a str, language: &str) -> Result<&'a str> {
    let start = format!("```{language}\n");
    let mut blocks = text.split(&start).skip(1);
    let (Some(block), None) = (blocks.next(), blocks.next()) else {
        bail!("{README} should have one block that begins with ```{language}");
    };
    let block = block.split_once("```\n").map(|(block, _)| block);
    block.with_context(|| format!("the ```{language} block of {README} does not end"))
}

fn pointed(client: &str, url: &str) -> Result<String> {
    ensure!(client.contains(SERVER), "the client does not call {SERVER}:\n{client}");
    Ok(client.replace(SERVER, url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_block_of_a_language_is_taken_as_it_is() {
        let text = "a\n```python\nprint(1)\n```\nb\n```sh\nls\n```\n";
        assert_eq!(only_block(text, "python").expect("it is there"), "print(1)\n");
        assert!(only_block(text, "javascript").is_err());
        assert!(only_block(&text.repeat(2), "python").is_err());
        assert!(only_block("```python\nx", "python").is_err());
    }

    #[test]
    fn readme_shows_a_client_of_each_sdk_that_calls_the_default_server() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for language in ["python", "javascript"] {
            let path = write(language, folder.path(), language, "http://127.0.0.1:9");
            let client = fs::read_to_string(path.expect("it is shown")).expect("it was written");
            assert!(client.contains("\"http://127.0.0.1:9\""), "{client}");
        }
        assert!(pointed("x", "http://127.0.0.1:9").is_err());
    }

    #[test]
    fn a_client_has_to_see_the_end() {
        let shell = |script: &str| run(Command::new("sh").args(["-c", script]));
        shell("echo TASK_STATE_WORKING; echo TASK_STATE_COMPLETED").expect("it ended well");
        assert!(shell("echo TASK_STATE_FAILED").is_err());
        assert!(shell("echo TASK_STATE_COMPLETED; exit 1").is_err());
    }
}
