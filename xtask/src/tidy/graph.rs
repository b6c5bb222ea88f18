//! Bans, licences and sources of everything the workspace is built from on this host.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
use toml_edit::{DocumentMut, Item};

use super::{Problem, licence, workspace::Workspace};

/// The lists of `deny.toml`.
#[derive(Debug, Default)]
pub(super) struct Policy {
    banned: Vec<String>,
    licences: Vec<String>,
    registries: Vec<String>,
}

impl Policy {
    /// Reads `deny.toml`.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not as expected", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let document: DocumentMut = text.parse()?;
        let list = |section: &str, key: &str| {
            let item = document.get(section).and_then(|table| table.get(key));
            item.and_then(Item::as_array)
                .with_context(|| format!("there is no list `{section}.{key}`"))
        };
        let words = |section: &str, key: &str| -> Result<Vec<String>> {
            let values = list(section, key)?.iter();
            Ok(values.filter_map(|value| Some(value.as_str()?.to_owned())).collect())
        };
        let banned = list("bans", "deny")?.iter();
        let banned = banned.filter_map(|ban| {
            let name = ban.as_inline_table()?.get("crate")?.as_str()?;
            Some(name.to_owned())
        });
        Ok(Self {
            banned: banned.collect(),
            licences: words("licenses", "allow")?,
            registries: words("sources", "allow-registry")?,
        })
    }
}

/// Finds banned packages, licences outside the list, and packages from elsewhere.
pub(super) fn check(workspace: &Workspace, policy: &Policy) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in workspace.built() {
        let Some(source) = &package.source else {
            continue; // a package of this tree
        };
        let mut problem = |text: String| problems.push(Problem::new(&package.name, text));
        if policy.banned.contains(&package.name) {
            problem("is banned by deny.toml; `cargo tree -i` shows who asks for it".to_owned());
        }
        let registry = source.strip_prefix("registry+");
        if !registry.is_some_and(|url| policy.registries.iter().any(|known| known == url)) {
            problem(format!("comes from {source}, which deny.toml does not allow"));
        }
        match &package.license {
            None => problem("names no licence".to_owned()),
            Some(expression) if !licence::is_allowed(expression, &policy.licences) => {
                problem(format!("is under `{expression}`, which deny.toml does not allow"));
            }
            Some(_) => {}
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{super::workspace::tests::workspace, *};

    const POLICY: &str = r#"
[bans]
deny = [{ crate = "ring" }, { crate = "openssl-sys" }]
[licenses]
allow = ["MIT", "Apache-2.0"]
[sources]
allow-registry = ["https://index.example"]
"#;
    const KNOWN: &str = "registry+https://index.example";

    fn found(outside: &[(&str, Option<&str>, &str)]) -> Vec<String> {
        let policy = Policy::parse(POLICY).expect("the policy is well formed");
        let problems = check(&workspace(&[("cli", &[])], outside), &policy);
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_package_as_the_policy_wants_it_is_no_problem() {
        assert_eq!(found(&[("serde", Some("MIT OR Apache-2.0"), KNOWN)]), Vec::<String>::new());
    }

    #[test]
    fn a_banned_package_is_a_problem() {
        assert_eq!(
            found(&[("ring", Some("MIT"), KNOWN)]),
            ["ring: is banned by deny.toml; `cargo tree -i` shows who asks for it"]
        );
    }

    #[test]
    fn a_licence_outside_the_list_or_none_at_all_is_a_problem() {
        assert_eq!(
            found(&[("a", Some("MIT AND GPL-3.0-only"), KNOWN), ("b", None, KNOWN)]),
            [
                "a: is under `MIT AND GPL-3.0-only`, which deny.toml does not allow",
                "b: names no licence"
            ]
        );
    }

    #[test]
    fn a_package_from_git_or_another_registry_is_a_problem() {
        let found = found(&[
            ("a", Some("MIT"), "git+https://git.example/a"),
            ("b", Some("MIT"), "registry+https://other.example"),
        ]);
        assert_eq!(
            found[0],
            "a: comes from git+https://git.example/a, which deny.toml does not allow"
        );
        assert_eq!(
            found[1],
            "b: comes from registry+https://other.example, which deny.toml does not allow"
        );
    }

    #[test]
    fn a_policy_without_one_of_its_lists_is_refused() {
        let error = Policy::parse("[bans]\ndeny = []\n").expect_err("the licences are missing");
        assert_eq!(error.to_string(), "there is no list `licenses.allow`");
    }

    #[test]
    fn the_policy_of_this_tree_bans_a_second_cryptography_provider() {
        let policy = Policy::read(&crate::process::root().join("deny.toml")).expect("it is ours");
        for name in ["ring", "openssl-sys", "native-tls", "pbjson", "serde_yml"] {
            assert!(policy.banned.iter().any(|banned| banned == name), "{name}");
        }
        assert!(!policy.licences.is_empty() && !policy.registries.is_empty());
    }
}
