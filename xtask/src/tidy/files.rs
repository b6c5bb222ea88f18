//! The files of the tree: their length and the names of modules.

use std::{fs, io::ErrorKind, path::Path};

use anyhow::{Context as _, Result};

use super::Problem;

/// The most product lines a file may have.
const MOST_LINES: usize = 400;

/// Names that say nothing about what a module holds.
const VAGUE: [&str; 7] = ["mod", "utils", "util", "helpers", "common", "manager", "imp"];

/// Folders that hold nothing of the project's own.
const FOREIGN: [&str; 5] = ["target", ".git", ".venv", "__pycache__", "node_modules"];

/// A text file of the tree.
#[derive(Debug)]
pub(super) struct File {
    /// Path from the root of the tree, with `/`.
    pub(super) path: String,
    /// Its whole text.
    pub(super) text: String,
}

impl File {
    /// Whether it is Rust.
    pub(super) fn is_rust(&self) -> bool {
        self.extension() == Some("rs")
    }

    fn extension(&self) -> Option<&str> {
        Path::new(&self.path).extension()?.to_str()
    }

    fn stem(&self) -> Option<&str> {
        Path::new(&self.path).file_stem()?.to_str()
    }

    /// Generated code and tests are as long as they must be.
    fn is_exempt_from_length(&self) -> bool {
        let mut folders = self.path.split('/');
        folders.any(|part| matches!(part, "generated" | "tests" | "tests.rs"))
    }
}

/// Reads every text file below a root, in the order of their paths.
pub(super) fn read(root: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    gather(root, "", &mut files)?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn gather(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().with_context(|| format!("cannot look at {path}"))?;
        if kind.is_dir() && !FOREIGN.contains(&name.as_str()) {
            gather(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            match fs::read_to_string(entry.path()) {
                Ok(text) => files.push(File { path, text }),
                // A picture or other data; or a file that went away meanwhile.
                Err(error)
                    if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::NotFound) => {}
                Err(error) => return Err(error).with_context(|| format!("cannot read {path}")),
            }
        }
    }
    Ok(())
}

/// Finds a file that is too long, and modules with a vague name.
pub(super) fn check(file: &File) -> Vec<Problem> {
    if !file.is_rust() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let lines = product_lines(&file.text);
    if lines > MOST_LINES && !file.is_exempt_from_length() {
        let text = format!(
            "has {lines} product lines, {MOST_LINES} are allowed; split it into modules `name.rs` and `name/`"
        );
        problems.push(Problem::new(&file.path, text));
    }
    let folders = file.path.split('/').rev().skip(1);
    for name in file.stem().into_iter().chain(folders) {
        if VAGUE.contains(&name) {
            problems.push(vague(&file.path, name));
        }
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        if let Some(name) = inline_module(line).filter(|name| VAGUE.contains(name)) {
            problems.push(vague(&format!("{}:{number}", file.path), name));
        }
    }
    problems
}

fn vague(at: &str, name: &str) -> Problem {
    let text = format!("a module may not be called `{name}`; name what it holds");
    Problem::new(at, text)
}

/// Lines before the first test module at the top level of a file.
///
/// A `#[cfg(test)]` on anything but a module does not end the count, or a file could hide from it.
fn product_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].split_whitespace().any(|word| word == "mod")
    });
    tests.unwrap_or(lines.len())
}

/// The name of the module that a line opens: `pub(crate) mod name {`.
fn inline_module(line: &str) -> Option<&str> {
    let mut words = line.trim_end().strip_suffix('{')?.split_whitespace().rev();
    let name = words.next()?;
    (words.next()? == "mod").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        check(&file).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_file_of_401_product_lines_is_a_problem_and_one_of_400_is_not() {
        let path = "crates/store/src/lib.rs";
        assert_eq!(found(path, &"line\n".repeat(400)), Vec::<String>::new());
        assert_eq!(
            found(path, &"line\n".repeat(401)),
            ["crates/store/src/lib.rs: has 401 product lines, 400 are allowed; \
              split it into modules `name.rs` and `name/`"]
        );
    }

    #[test]
    fn unit_tests_do_not_count_and_a_marker_on_something_else_does_not_hide_a_file() {
        let tail = "line\n".repeat(900);
        let product = "line\n".repeat(399);
        let tests = format!("{product}#[cfg(test)]\nmod tests {{\n{tail}");
        assert_eq!(found("crates/store/src/lib.rs", &tests), Vec::<String>::new());
        let hidden = format!("#[cfg(test)]\nuse std::fs;\n{tail}");
        assert_eq!(found("crates/store/src/lib.rs", &hidden).len(), 1);
    }

    #[test]
    fn generated_code_and_tests_may_be_long() {
        for path in [
            "crates/protocol/src/generated/lf.a2a.v1.rs",
            "crates/store/tests/suite.rs",
            "crates/executor/src/run/tests.rs",
            "tests/src/kill.rs",
        ] {
            assert_eq!(found(path, &"line\n".repeat(401)), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn a_vague_module_name_is_a_problem_as_file_folder_or_inline() {
        for path in [
            "crates/store/src/mod.rs",
            "crates/store/src/utils.rs",
            "crates/store/src/helpers/time.rs",
            "crates/store/src/common.rs",
            "crates/store/src/manager.rs",
            "crates/store/src/imp.rs",
        ] {
            assert_eq!(found(path, "").len(), 1, "{path}");
        }
        assert_eq!(
            found("crates/store/src/lib.rs", "//! Store.\npub(crate) mod helpers {\n}\n"),
            ["crates/store/src/lib.rs:2: a module may not be called `helpers`; name what it holds"]
        );
    }

    #[test]
    fn the_tree_is_read_without_foreign_folders_and_binary_files() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, bytes: &[u8]| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("it has a parent")).expect("folders");
            fs::write(path, bytes).expect("a file");
        };
        write("src/lib.rs", b"//! Text.");
        write(".ci/run", b"#!/bin/bash");
        write("logo.png", &[0xff, 0xd8, 0xff]);
        write("target/debug/x.rs", b"built");
        write(".git/config", b"[core]");
        let files = read(root.path()).expect("the tree is readable");
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".ci/run", "src/lib.rs"]);
    }
}
