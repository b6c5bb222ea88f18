//! The package of fuzz targets, which is apart from the workspace: every target is whole, and what is fuzzed is
//! what is shipped.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use toml_edit::{DocumentMut, Item};

use super::{Problem, files::File};

const MANIFEST: &str = "fuzz/Cargo.toml";
const LOCK: &str = "fuzz/Cargo.lock";

/// Where the functions are that the targets call.
const FUNCTIONS: &str = "crates/protocol/src/fuzzing.rs";

/// What the package has that the workspace has not.
const OWN: [&str; 3] = ["fuzz", "libfuzzer-sys", "arbitrary"];

/// Finds targets that lack a file, examples, a place in the manifest or a function, and dependencies of another
/// version than the workspace has.
///
/// # Errors
/// When the manifest or a lock file is missing or not TOML.
pub(super) fn check(files: &[File]) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    let functions = text(files, FUNCTIONS)?.lines().filter_map(listed).collect();
    let places: [(&str, BTreeSet<String>); 3] = [
        (MANIFEST, binaries(&parsed(files, MANIFEST)?)),
        ("fuzz/targets", below(files, "fuzz/targets/", ".rs")),
        ("fuzz/corpus", below(files, "fuzz/corpus/", "/")),
    ];
    for (place, names) in places {
        for name in names.symmetric_difference(&functions) {
            let text = match names.contains(name) {
                true => format!("has a target `{name}`, which is not among TARGETS of {FUNCTIONS}"),
                false => format!("has no target `{name}`, which is among TARGETS of {FUNCTIONS}"),
            };
            problems.push(Problem::new(place, text));
        }
    }
    let (ours, theirs) = (packages(&parsed(files, "Cargo.lock")?), packages(&parsed(files, LOCK)?));
    for (name, version) in
        theirs.difference(&ours).filter(|(name, _)| !OWN.contains(&name.as_str()))
    {
        let text = format!(
            "has {name} {version}, which the workspace has not; copy Cargo.lock over it and run \
             `cargo metadata --manifest-path {MANIFEST}`"
        );
        problems.push(Problem::new(LOCK, text));
    }
    Ok(problems)
}

fn text<'a>(files: &'a [File], path: &str) -> Result<&'a str> {
    let file = files.iter().find(|file| file.path == path);
    Ok(&file.with_context(|| format!("{path} is missing"))?.text)
}

fn parsed(files: &[File], path: &str) -> Result<DocumentMut> {
    text(files, path)?.parse().with_context(|| format!("{path} is not TOML"))
}

/// `    ("name", name),`
fn listed(line: &str) -> Option<String> {
    let (name, function) = line.trim().strip_prefix("(\"")?.split_once("\", ")?;
    (function == format!("{name}),")).then(|| name.to_owned())
}

fn binaries(manifest: &DocumentMut) -> BTreeSet<String> {
    let tables = manifest.get("bin").and_then(Item::as_array_of_tables).into_iter().flatten();
    tables.filter_map(|table| Some(table.get("name")?.as_str()?.to_owned())).collect()
}

/// The first names below a folder, up to a mark.
fn below(files: &[File], folder: &str, mark: &str) -> BTreeSet<String> {
    let paths = files.iter().filter_map(|file| file.path.strip_prefix(folder));
    paths.filter_map(|path| Some(path.split_once(mark)?.0.to_owned())).collect()
}

fn packages(lock: &DocumentMut) -> BTreeSet<(String, String)> {
    let tables = lock.get("package").and_then(Item::as_array_of_tables).into_iter().flatten();
    let key = |name: &str, table: &toml_edit::Table| Some(table.get(name)?.as_str()?.to_owned());
    tables.filter_map(|table| Some((key("name", table)?, key("version", table)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [(&str, &str); 6] = [
        (FUNCTIONS, "const TARGETS = [\n    (\"sse\", sse),\n];"),
        (MANIFEST, "[[bin]]\nname = \"sse\""),
        ("fuzz/targets/sse.rs", ""),
        ("fuzz/corpus/sse/taken-one", ""),
        ("Cargo.lock", "[[package]]\nname = \"a\"\nversion = \"1.0.0\""),
        (
            LOCK,
            "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n[[package]]\nname = \"fuzz\"\nversion = \"0.1.0\"",
        ),
    ];

    /// What is found where one file holds something else, or is missing.
    fn found(path: &str, text: Option<&str>) -> Vec<String> {
        let files = WHOLE.iter().filter_map(|(known, usual)| {
            let text = if *known == path { text? } else { usual };
            Some(File { path: (*known).to_owned(), text: text.to_owned() })
        });
        let files: Vec<File> = files.collect();
        check(&files).expect("all is there").iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_target_is_whole_or_a_problem() {
        assert_eq!(found("", None), Vec::<String>::new());
        assert_eq!(
            found("fuzz/corpus/sse/taken-one", None),
            [
                "fuzz/corpus: has no target `sse`, which is among TARGETS of crates/protocol/src/fuzzing.rs"
            ]
        );
        assert_eq!(found("fuzz/targets/sse.rs", None).len(), 1);
        assert_eq!(found(MANIFEST, Some("")).len(), 1);
        assert_eq!(found(FUNCTIONS, Some("")).len(), 3);
    }

    #[test]
    fn a_version_that_the_workspace_has_not_is_a_problem() {
        let found = found(LOCK, Some("[[package]]\nname = \"a\"\nversion = \"1.0.1\""));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("fuzz/Cargo.lock: has a 1.0.1, which the workspace has not"));
    }
}
