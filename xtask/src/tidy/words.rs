//! Words that must not stand in the tree: leftovers of unfinished work and hosts of registries.

use super::{Problem, files::File};

/// Marks of unfinished work in Rust. Written in pieces, so that this file does not hold them.
const LEFTOVERS: [(&str, &str); 3] = [
    (concat!("todo", "!("), "finish it"),
    (concat!("unimplemented", "!("), "finish it"),
    (concat!("#[", "ignore"), "a test either runs or goes to `cargo xtask long`"),
];

/// What the reason of a test begins with that other tests start as a process of its own: the one
/// kind that may be left out of an ordinary run.
const CHILD: &str = "= \"the child of ";

/// Hosts that packages are fetched from: which one is used is the business of each machine.
const HOSTS: [&str; 8] = [
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("registry.", "npmjs.org"),
    concat!("proxy.", "golang.org"),
    concat!("registry-1.", "docker.io"),
    concat!("static.", "rust-lang.org"),
];

/// Settings that point a build at a host.
const SETTINGS: [&str; 4] = [
    concat!("--index", "-url"),
    concat!("--extra-index", "-url"),
    concat!("--trusted", "-host"),
    concat!("replace", "-with"),
];

/// Finds leftovers, hosts of registries, and settings that name one.
pub(super) fn check(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        let mut problem = |text: String| {
            problems.push(Problem::new(format!("{}:{number}", file.path), text));
        };
        if file.is_rust() {
            let left = |(mark, _): &&(&str, &str)| line.contains(mark) && !line.contains(CHILD);
            for (mark, advice) in LEFTOVERS.iter().filter(left) {
                problem(format!("`{mark}` was left over; {advice}"));
            }
        }
        for word in HOSTS.iter().chain(&SETTINGS).filter(|word| line.contains(**word)) {
            problem(format!(
                "names `{word}`; where packages come from is set on each machine, not here"
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        check(&file).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn each_leftover_is_a_problem_with_its_line() {
        for (mark, _) in LEFTOVERS {
            let text = format!("fn f() {{\n    {mark}\"later\")\n}}\n");
            let found = found("crates/store/src/lib.rs", &text);
            assert_eq!(found.len(), 1, "{mark}");
            assert!(found[0].starts_with("crates/store/src/lib.rs:2: "), "{found:?}");
        }
    }

    #[test]
    fn a_leftover_is_looked_for_in_rust_only() {
        let text = format!("Never write `{}`.", LEFTOVERS[0].0);
        assert_eq!(found("CONTRIBUTING.md", &text), Vec::<String>::new());
    }

    #[test]
    fn a_test_that_is_the_child_of_others_may_be_left_out_of_a_run() {
        let child = format!("{} = \"the child of the kill tests\"]", LEFTOVERS[2].0);
        assert_eq!(found("crates/store/src/lib.rs", &child), Vec::<String>::new());
        let slow = format!("{} = \"slow\"]", LEFTOVERS[2].0);
        assert_eq!(found("crates/store/src/lib.rs", &slow).len(), 1);
    }

    #[test]
    fn each_host_and_each_setting_is_a_problem_in_any_file() {
        for word in HOSTS.iter().chain(&SETTINGS) {
            for path in ["README.md", "tests/interop/requirements.txt", "Cargo.lock"] {
                let found = found(path, &format!("see https://{word}/simple\n"));
                assert_eq!(found.len(), 1, "{word} in {path}");
            }
        }
    }

    #[test]
    fn the_name_of_the_default_index_in_the_lock_file_is_no_problem() {
        let line = r#"source = "registry+https://github.com/rust-lang/crates.io-index""#;
        assert_eq!(found("Cargo.lock", line), Vec::<String>::new());
    }
}
