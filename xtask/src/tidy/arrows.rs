//! The line of crates: each uses only crates to its left.

use super::{
    Problem,
    workspace::{Dependency, Package, Workspace},
};

/// The line, left to right.
const LINE: [&str; 8] =
    ["document", "protocol", "store", "registry", "planner", "executor", "server", "cli"];

/// Packages beside the line that may use whatever they like, and that nothing may use.
const FREE: [&str; 3] = ["tests", "benches", "xtask"];

/// Libraries that one crate of the line owns alone, so that a reader knows where they are.
const OWNED: [(&str, &str); 13] = [
    ("serde-saphyr", "document"),
    ("yaml_serde", "document"),
    ("miette", "document"),
    ("reqwest", "protocol"),
    ("tonic", "protocol"),
    ("prost", "protocol"),
    ("rusqlite", "store"),
    ("moka", "registry"),
    ("petgraph", "planner"),
    ("minijinja", "planner"),
    ("dashmap", "executor"),
    ("indicatif", "cli"),
    ("tracing-subscriber", "cli"),
];

/// Finds dependencies that point the wrong way, and libraries used outside their owner.
pub(super) fn check(workspace: &Workspace) -> Vec<Problem> {
    let members: Vec<&Package> = workspace.members().collect();
    let mut problems = Vec::new();
    for package in &members {
        if !is_known(&package.name) {
            let text =
                "is not on the line of crates; give it its place in xtask/src/tidy/arrows.rs";
            problems.push(Problem::new(&package.name, text));
            continue;
        }
        for dependency in &package.dependencies {
            let inside = members.iter().any(|member| member.name == dependency.name);
            if inside && !may_use(&package.name, dependency) {
                problems.push(wrong_way(&package.name, &dependency.name));
            }
            problems.extend(outside_its_owner(&package.name, dependency));
        }
    }
    problems
}

fn is_known(name: &str) -> bool {
    LINE.contains(&name) || FREE.contains(&name) || name == "examples"
}

/// Whether a package may name a member of the workspace among its dependencies.
fn may_use(package: &str, dependency: &Dependency) -> bool {
    let wanted = dependency.name.as_str();
    if FREE.contains(&wanted) {
        return false;
    }
    if FREE.contains(&package) {
        return true;
    }
    if package == "examples" {
        return wanted == "protocol";
    }
    if wanted == "examples" {
        // `demo` hosts the example agents; tests anywhere on the line may talk to them.
        return package == "cli" || dependency.kind.as_deref() == Some("dev");
    }
    place(wanted) < place(package)
}

fn place(name: &str) -> Option<usize> {
    LINE.iter().position(|crate_name| *crate_name == name)
}

fn wrong_way(package: &str, wanted: &str) -> Problem {
    let text = format!(
        "depends on `{wanted}`, against the line {}; move the code, or the type both need, to the left",
        LINE.join(" · ")
    );
    Problem::new(package, text)
}

fn outside_its_owner(package: &str, dependency: &Dependency) -> Option<Problem> {
    let (library, owner) = OWNED.iter().find(|(library, _)| *library == dependency.name)?;
    let is_ours = *owner == package || FREE.contains(&package);
    if is_ours || dependency.kind.is_some() {
        return None;
    }
    let text =
        format!("depends on `{library}`, which `{owner}` owns alone; call `{owner}` instead");
    Some(Problem::new(package, text))
}

#[cfg(test)]
mod tests {
    use super::{
        super::workspace::tests::{Member, workspace},
        *,
    };

    fn found(members: &[Member<'_>]) -> Vec<String> {
        check(&workspace(members, &[])).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_dependency_to_the_right_is_a_problem() {
        let found = found(&[
            ("store", &[("planner", None)]),
            ("planner", &[("document", None)]),
            ("document", &[]),
        ]);
        assert_eq!(
            found,
            ["store: depends on `planner`, against the line document · protocol · store · \
              registry · planner · executor · server · cli; move the code, or the type both need, to the left"]
        );
    }

    #[test]
    fn a_dev_or_build_dependency_to_the_right_is_a_problem_too() {
        for kind in ["dev", "build"] {
            let found = found(&[("document", &[("store", Some(kind))]), ("store", &[])]);
            assert_eq!(found.len(), 1, "{kind}: {found:?}");
        }
    }

    #[test]
    fn examples_use_protocol_only_and_only_cli_and_tests_use_examples() {
        let wrong = found(&[
            ("examples", &[("protocol", None), ("document", None)]),
            ("executor", &[("examples", None)]),
            ("protocol", &[]),
            ("document", &[]),
        ]);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].starts_with("examples: depends on `document`"));
        assert!(wrong[1].starts_with("executor: depends on `examples`"));
        let right = found(&[
            ("examples", &[("protocol", None)]),
            ("executor", &[("examples", Some("dev"))]),
            ("cli", &[("examples", None)]),
            ("protocol", &[]),
        ]);
        assert_eq!(right, Vec::<String>::new());
    }

    #[test]
    fn tests_and_benches_are_free_and_nothing_uses_them() {
        let found = found(&[
            ("tests", &[("cli", None), ("store", None)]),
            ("benches", &[("executor", None), ("rusqlite", None)]),
            ("cli", &[("tests", Some("dev"))]),
            ("executor", &[]),
            ("store", &[]),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("cli: depends on `tests`"));
    }

    #[test]
    fn a_crate_without_a_place_on_the_line_is_a_problem() {
        assert!(found(&[("toolbox", &[])])[0].starts_with("toolbox: is not on the line"));
    }

    #[test]
    fn a_library_outside_its_owner_is_a_problem() {
        let wrong = found(&[("registry", &[("reqwest", None)])]);
        assert_eq!(
            wrong,
            [
                "registry: depends on `reqwest`, which `protocol` owns alone; call `protocol` instead"
            ]
        );
        let right =
            found(&[("protocol", &[("reqwest", None)]), ("registry", &[("reqwest", Some("dev"))])]);
        assert_eq!(right, Vec::<String>::new());
    }
}
