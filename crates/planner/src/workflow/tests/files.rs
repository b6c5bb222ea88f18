//! The files of `tests/bad`, and exactly what their authors are told: `tests/bad/told`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use document::{Limits, Source, Style, render};

use crate::check;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bad")
}

/// The names of the files of a folder that end so, without the end.
fn names(folder: &Path, end: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let names = entries.map(|entry| {
        entry.expect("it can be listed").file_name().into_string().expect("it is UTF-8")
    });
    names.filter_map(|name| name.strip_suffix(end).map(str::to_owned)).collect()
}

/// What a person sees of a file, under its name alone.
fn told(path: &Path, name: &str, lacking: &mut Vec<String>) -> String {
    let limits = Limits::default();
    let style = Style { color: false, width: 100 };
    // Under its name alone: where a checkout lies must not decide where a line is folded.
    let file = fs::File::open(path).expect("the file is there");
    match Source::read_from(&format!("{name}.yaml"), file, &limits) {
        Ok(source) => {
            let problems = check(&source).map(|_| ()).expect_err("it is bad");
            let lacks = problems.iter().filter(|it| it.help.is_none() || it.span().is_none());
            lacking.extend(lacks.map(|it| format!("{name}: {}", it.message)));
            render(&source, &problems, style)
        }
        Err(problems) => render(&problems.source_file, &problems.diagnostics, style),
    }
}

#[test]
fn every_bad_file_is_told_what_is_wrong_with_it_and_what_to_do() {
    let folder = folder();
    let names = names(&folder, ".yaml");
    assert!(names.len() >= 60, "there are {} only", names.len());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder.join("told"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut lacking = Vec::new();
    settings.bind(|| {
        for name in &names {
            let told = told(&folder.join(format!("{name}.yaml")), name, &mut lacking);
            insta::assert_snapshot!(name.as_str(), told);
        }
    });
    assert_eq!(lacking, Vec::<String>::new(), "each has a place and a hint");
}

#[test]
fn nothing_is_kept_of_bad_files_that_are_gone() {
    let folder = folder();
    assert_eq!(names(&folder.join("told"), ".snap"), names(&folder, ".yaml"));
}

#[test]
fn a_file_of_ten_thousand_steps_shows_what_is_wrong_with_the_last_of_them() {
    let mut text = "convoke: 1\nname: w\nsteps:\n  s0: {agent: x}\n".to_owned();
    for step in 1..10_000 {
        text.push_str(&format!("  s{step}: {{agent: x, needs: [s{}]}}\n", step - 1));
    }
    check(&Source::new("large.yaml", &text)).expect("it is right so far");
    text.push_str("  last: {agent: x, needs: [s10000]}\n");
    let source = Source::new("large.yaml", &text);
    let problems = check(&source).map(|_| ()).expect_err("it is bad");
    insta::assert_snapshot!(render(&source, &problems, Style { color: false, width: 100 }), @r"
    workflow::unknown-step

      × there is no step `s10000`
           ╭─[large.yaml:10004:28]
     10003 │   s9999: {agent: x, needs: [s9998]}
     10004 │   last: {agent: x, needs: [s10000]}
           ·                            ───┬──
           ·                               ╰── unknown step
           ╰────
      help: did you mean `s1000`?
    ");
}

/// Every code that a source file of these crates writes.
fn codes_in(folder: &Path, codes: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                codes_in(&path, codes);
            }
            continue;
        }
        let text = fs::read_to_string(&path).expect("it is UTF-8");
        let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        if path.ends_with("tests.rs") {
            continue;
        }
        // Between any two quotes: which of them open a text is of no matter for such names.
        for literal in product.split('"') {
            let is_code = literal.split_once("::").is_some_and(|(kind, name)| {
                ["expression", "file", "lock", "plan", "workflow", "yaml"].contains(&kind)
                    && name
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            });
            if is_code && literal != "file::not-brought" {
                codes.insert(literal.to_owned());
            }
        }
    }
}

#[test]
fn every_code_is_described_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut codes = BTreeSet::new();
    for of in ["document", "planner", "server"] {
        codes_in(&root.join("crates").join(of).join("src"), &mut codes);
    }
    let described = fs::read_to_string(root.join("docs/diagnostics.md")).expect("it is there");
    let described: BTreeSet<String> = described
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .filter(|(code, _)| code.contains("::"))
        .map(|(code, _)| code.to_owned())
        .collect();
    assert_eq!(described, codes, "docs/diagnostics.md beside the codes of the sources");
}
