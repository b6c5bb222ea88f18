//! What `.ci/run` gates on.

use std::fs;

use anyhow::{Context as _, Result};

use crate::{codegen, interop, parts::Parts, process, tidy};

/// The line of README.md before the block with the command that runs the tests.
const MARKER: &str = "<!-- test-command -->";

/// Runs every part, also after one failed, and prints their times.
pub(crate) fn run() -> Result<()> {
    let mut parts = Parts::default();
    parts.run("fmt", || {
        process::run(&mut process::cargo(["fmt", "--all", "--check"]))?;
        process::run(&mut process::cargo(["fmt", "--manifest-path=fuzz/Cargo.toml", "--check"]))
    });
    parts.run("tidy", tidy::run);
    parts.run("codegen --check", || codegen::run(true));
    parts.run("clippy", clippy);
    parts.run("doc", doc);
    deny(&mut parts);
    parts.run("README's test command", readme_tests);
    parts.run("interop", interop::run);
    println!("\n{parts}");
    parts.verdict()
}

fn clippy() -> Result<()> {
    process::run(&mut process::cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ]))
}

fn doc() -> Result<()> {
    let mut cargo =
        process::cargo(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    process::run(cargo.env("RUSTDOCFLAGS", "-D warnings"))
}

/// cargo-deny takes minutes to install, and `tidy` checks the same lists: it runs where it is.
fn deny(parts: &mut Parts) {
    if process::works(&mut process::cargo(["deny", "--version"])) {
        parts.run("deny", || {
            process::run(&mut process::cargo(["deny", "check", "bans", "licenses", "sources"]))
        });
    } else {
        parts.skip("deny", "cargo-deny is not installed; tidy checked its lists");
    }
}

/// Runs the command that README.md tells people to run, so that it stays true.
fn readme_tests() -> Result<()> {
    let path = process::root().join("README.md");
    let text = fs::read_to_string(&path).context("cannot read README.md")?;
    let script = test_command(&text).with_context(|| {
        format!("README.md has no fenced block after a line `{MARKER}`; put its test command there")
    })?;
    process::run(process::command("sh").args(["-euc", &script]))
}

/// The commands of the first fenced block after the marker; prompts (`$ `) are taken off.
fn test_command(readme: &str) -> Option<String> {
    let after = readme.lines().skip_while(|line| line.trim() != MARKER);
    let block = after.skip_while(|line| !line.starts_with("```")).skip(1);
    let lines: Vec<&str> = block
        .take_while(|line| !line.starts_with("```"))
        .map(|line| line.strip_prefix("$ ").unwrap_or(line))
        .collect();
    let script = lines.join("\n");
    (!script.trim().is_empty()).then_some(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_command_is_the_first_block_after_the_marker() {
        let readme = "\
# Convoke
```sh
cargo run -- demo
```
<!-- test-command -->

```sh
$ cargo xtask test
```
```sh
cargo xtask interop
```
";
        assert_eq!(test_command(readme).as_deref(), Some("cargo xtask test"));
    }

    #[test]
    fn without_a_marker_or_a_command_there_is_none() {
        for readme in [
            "```sh\ncargo xtask test\n```\n",
            "<!-- test-command -->\nno block\n",
            "<!-- test-command -->\n```sh\n```\n",
        ] {
            assert_eq!(test_command(readme), None, "{readme}");
        }
    }
}
