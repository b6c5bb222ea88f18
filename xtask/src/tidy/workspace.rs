//! What cargo says about the workspace.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::process;

/// The workspace's packages and those it is built from on this host.
pub(crate) struct Workspace {
    metadata: Metadata,
    /// (name, version) of each package that is really compiled here, for any kind of dependency.
    built: BTreeSet<(String, String)>,
}

/// The part of `cargo metadata` the checks read.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
}

/// One package.
#[derive(Deserialize)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    version: String,
    id: String,
    /// The SPDX expression, when there is one.
    pub(crate) license: Option<String>,
    /// Where it comes from; none for a package of this tree.
    pub(crate) source: Option<String>,
    /// What its manifest asks for directly.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a manifest's dependencies.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    /// The package's name, whatever it is renamed to.
    pub(crate) name: String,
    /// `dev` or `build`; none for an ordinary dependency.
    pub(crate) kind: Option<String>,
}

impl Workspace {
    /// Asks cargo.
    ///
    /// `cargo metadata` lists optional packages that nothing switches on, so what is really
    /// compiled comes from `cargo tree`.
    pub(crate) fn load() -> Result<Self> {
        let metadata = process::output(&mut process::cargo(["metadata", "--format-version=1"]))?;
        let tree = process::output(&mut process::cargo([
            "tree",
            "--workspace",
            "--edges=normal,build,dev",
            "--prefix=none",
            "--format={p}",
        ]))?;
        Self::parse(&metadata, &tree)
    }

    /// Reads the output of `cargo metadata` and of `cargo tree --prefix=none --format={p}`.
    pub(crate) fn parse(metadata: &str, tree: &str) -> Result<Self> {
        let metadata = serde_json::from_str(metadata)
            .context("cargo metadata printed something else than its format version 1")?;
        let built = tree.lines().filter_map(name_and_version).collect();
        Ok(Self { metadata, built })
    }

    /// The packages of this tree.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        let members = &self.metadata.workspace_members;
        let packages = self.metadata.packages.iter();
        packages.filter(|package| members.contains(&package.id))
    }

    /// Every package that is compiled here, those of this tree included.
    pub(crate) fn built(&self) -> impl Iterator<Item = &Package> {
        let packages = self.metadata.packages.iter();
        packages.filter(|package| {
            let key = (package.name.clone(), package.version.clone());
            self.built.contains(&key)
        })
    }
}

/// `serde v1.0.229 (proc-macro) (*)` → (`serde`, `1.0.229`).
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let version = words.next()?.strip_prefix('v')?;
    Some((name.to_owned(), version.to_owned()))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A member by name, and its dependencies with their kinds.
    pub(crate) type Member<'a> = (&'a str, &'a [(&'a str, Option<&'a str>)]);

    /// A workspace of members, with packages from outside as
    /// `(name, licence, source)`.
    pub(crate) fn workspace(
        members: &[Member<'_>],
        outside: &[(&str, Option<&str>, &str)],
    ) -> Workspace {
        let package = |name: &str, license, source, dependencies| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            id: name.to_owned(),
            license,
            source,
            dependencies,
        };
        let mut packages = Vec::new();
        for (name, wanted) in members {
            let dependencies = wanted.iter().map(|(name, kind)| Dependency {
                name: (*name).to_owned(),
                kind: kind.map(str::to_owned),
            });
            packages.push(package(name, None, None, dependencies.collect()));
        }
        for (name, license, source) in outside {
            let license = license.map(str::to_owned);
            packages.push(package(name, license, Some((*source).to_owned()), vec![]));
        }
        let built = packages.iter();
        let built = built.map(|package| (package.name.clone(), package.version.clone()));
        Workspace {
            built: built.collect(),
            metadata: Metadata {
                workspace_members: members.iter().map(|(name, _)| (*name).to_owned()).collect(),
                packages,
            },
        }
    }

    #[test]
    fn a_package_that_nothing_switches_on_is_not_built() {
        let metadata = r#"{
            "packages": [
                {"name": "a", "version": "1.0.0", "id": "a#1", "dependencies": [{"name": "b", "kind": "dev"}]},
                {"name": "b", "version": "2.0.0", "id": "b#2", "license": "MIT", "source": "registry+x", "dependencies": []},
                {"name": "b", "version": "3.0.0", "id": "b#3", "license": "MIT", "source": "registry+x", "dependencies": []}
            ],
            "workspace_members": ["a#1"]
        }"#;
        let tree = "a v1.0.0 (/somewhere/a)\nb v2.0.0 (proc-macro) (*)\n\n";
        let workspace = Workspace::parse(metadata, tree).expect("this is cargo's format");
        let built: Vec<String> =
            workspace.built().map(|p| format!("{} {}", p.name, p.version)).collect();
        assert_eq!(built, ["a 1.0.0", "b 2.0.0"]);
        let members: Vec<&str> = workspace.members().map(|p| p.name.as_str()).collect();
        assert_eq!(members, ["a"]);
    }
}
