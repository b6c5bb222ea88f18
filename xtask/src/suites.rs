//! Building everything once, and running every suite that needs Rust alone.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::{parts::Parts, process, tidy};

/// Suites that `test` does not run, how to run them, and why they are apart.
pub(crate) const APART: [(&str, &str, &str); 2] = [
    (
        "interop",
        "cargo xtask interop",
        "needs Python 3.11 with venv and Node 18 with npm or newer, and fetches the SDKs",
    ),
    ("long", "cargo xtask long", "takes minutes to hours; `--list` names its suites"),
];

/// What one build of the whole workspace made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Built {
    /// Binaries by name.
    binaries: BTreeMap<String, PathBuf>,
    tests: Vec<TestBinary>,
}

/// One test executable.
#[derive(Debug, PartialEq, Eq)]
struct TestBinary {
    package: String,
    /// `protocol`, or `protocol · conformance` for a target of another name.
    title: String,
    path: PathBuf,
    /// The package's folder, where its tests run.
    folder: PathBuf,
}

/// The part of cargo's JSON messages that is read here.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    #[serde(default)]
    manifest_path: PathBuf,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl Built {
    /// Builds every target of the workspace in one go, so that features are resolved once and no
    /// dependency is compiled twice.
    pub(crate) fn workspace() -> Result<Self> {
        Self::of(&["--all-targets"])
    }

    /// Builds some targets, with the features that the whole workspace gives to dependencies.
    pub(crate) fn of(targets: &[&str]) -> Result<Self> {
        let mut cargo = process::cargo(["build", "--workspace"]);
        cargo.args(targets).arg("--message-format=json-render-diagnostics");
        Self::parse(&process::output(&mut cargo)?)
    }

    fn parse(messages: &str) -> Result<Self> {
        let mut built = Self::default();
        for line in messages.lines().filter(|line| line.starts_with('{')) {
            let artifact: Artifact =
                serde_json::from_str(line).context("cargo printed a message of another shape")?;
            built.add(artifact);
        }
        built.tests.sort_by(|one, other| one.title.cmp(&other.title));
        // End-to-end tests come last: when a unit test fails too, its message is the nearer one.
        built.tests.sort_by_key(|test| test.package == "tests");
        Ok(built)
    }

    fn add(&mut self, artifact: Artifact) {
        let (Some(path), Some(target), Some(profile)) =
            (artifact.executable, artifact.target, artifact.profile)
        else {
            return;
        };
        let is = |kind: &str| target.kind.iter().any(|known| known == kind);
        if artifact.reason != "compiler-artifact" {
            return;
        }
        if profile.test && (is("lib") || is("bin") || is("test")) {
            let folder = artifact.manifest_path.parent().unwrap_or(Path::new(""));
            let package = folder.file_name().unwrap_or_default();
            let package = package.to_string_lossy().into_owned();
            let title = if target.name == package {
                package.clone()
            } else {
                format!("{package} · {}", target.name)
            };
            self.tests.push(TestBinary { package, title, path, folder: folder.to_owned() });
        } else if is("bin") || is("example") {
            self.binaries.insert(target.name, path);
        }
    }

    /// The path of a binary.
    ///
    /// # Errors
    /// When the workspace has no binary of that name.
    pub(crate) fn binary(&self, name: &str) -> Result<&Path> {
        let path = self.binaries.get(name);
        let path = path.with_context(|| format!("the workspace builds no binary `{name}`"))?;
        Ok(path)
    }

    /// Tells a command where the binaries are: `CONVOKE_BIN` and `EXAMPLE_AGENTS_BIN`.
    pub(crate) fn point<'a>(&self, command: &'a mut Command) -> Result<&'a mut Command> {
        Ok(command
            .env("CONVOKE_BIN", self.binary("convoke")?)
            .env("EXAMPLE_AGENTS_BIN", self.binary("example-agents")?))
    }

    /// Runs the tests of a package whose names hold a word, with a setting in their environment.
    ///
    /// # Errors
    /// When one of them fails, or when the package has no tests.
    pub(crate) fn run_filtered(
        &self,
        package: &str,
        filter: &str,
        (setting, amount): (&str, u32),
    ) -> Result<()> {
        let mut matching = 0;
        for test in self.tests.iter().filter(|test| test.package == package) {
            let listed = process::output(self.command(test)?.args([filter, "--list"]))?;
            let count = listed.lines().filter(|line| line.ends_with(": test")).count();
            if count == 0 {
                continue;
            }
            matching += count;
            let mut command = self.command(test)?;
            // What a long suite prints is how much it has done.
            let command = command.args([filter, "--show-output"]);
            process::run(command.env(setting, amount.to_string()))?;
        }
        if matching == 0 {
            bail!("no test of the package `{package}` has `{filter}` in its name");
        }
        Ok(())
    }

    /// A command that runs the tests of one executable.
    ///
    /// # Errors
    /// When none of that title was built.
    pub(crate) fn test(&self, title: &str) -> Result<Command> {
        let test = self.tests.iter().find(|test| test.title == title);
        self.command(test.with_context(|| format!("there are no tests `{title}`"))?)
    }

    fn command(&self, test: &TestBinary) -> Result<Command> {
        let mut command = Command::new(&test.path);
        // Cargo sets the variable for tests that it runs; some libraries look for it.
        command
            .arg("--quiet")
            .current_dir(&test.folder)
            .env("CARGO_MANIFEST_DIR", &test.folder)
            // A snapshot that differs is told, and not written beside the test.
            .env("INSTA_UPDATE", "no")
            .stdin(Stdio::null());
        self.point(&mut command)?;
        Ok(command)
    }
}

/// Builds everything, runs the suites of the named packages (all when none is named), prints the
/// time of each part, and names the suites it did not run.
pub(crate) fn run(packages: &[String]) -> Result<()> {
    let mut parts = Parts::default();
    if packages.is_empty() {
        parts.run("tidy", tidy::run);
    }
    let mut built = None;
    parts.run("build", || {
        built = Some(Built::workspace()?);
        Ok(())
    });
    if let Some(built) = built {
        run_suites(&built, packages, &mut parts)?;
    }
    println!("\n{parts}");
    println!("Not run by this command:");
    for (name, command, why) in APART {
        println!("  {name:8} {command:20} {why}");
    }
    parts.verdict()
}

fn run_suites(built: &Built, packages: &[String], parts: &mut Parts) -> Result<()> {
    let is_wanted = |test: &&TestBinary| packages.is_empty() || packages.contains(&test.package);
    let wanted: Vec<&TestBinary> = built.tests.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        bail!("no package is called {}", packages.join(" or "));
    }
    for test in wanted {
        parts.run(&test.title, || process::run(&mut built.command(test)?));
    }
    if packages.is_empty() {
        parts.run("documentation", || {
            process::run(&mut process::cargo(["test", "--workspace", "--doc", "--quiet"]))
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"
{"reason":"compiler-artifact","manifest_path":"/tree/tests/Cargo.toml","target":{"name":"kill","kind":["test"]},"profile":{"test":true},"executable":"/t/kill-1"}
{"reason":"compiler-artifact","manifest_path":"/tree/crates/store/Cargo.toml","target":{"name":"store","kind":["lib"]},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/tree/crates/store/Cargo.toml","target":{"name":"store","kind":["lib"]},"profile":{"test":true},"executable":"/t/store-1"}
{"reason":"compiler-artifact","manifest_path":"/tree/crates/store/Cargo.toml","target":{"name":"suite","kind":["test"]},"profile":{"test":true},"executable":"/t/suite-1"}
{"reason":"compiler-artifact","manifest_path":"/tree/crates/cli/Cargo.toml","target":{"name":"convoke","kind":["bin"]},"profile":{"test":false},"executable":"/t/convoke"}
{"reason":"compiler-artifact","manifest_path":"/tree/crates/cli/Cargo.toml","target":{"name":"convoke","kind":["bin"]},"profile":{"test":true},"executable":"/t/convoke-1"}
{"reason":"compiler-artifact","manifest_path":"/tree/x/Cargo.toml","target":{"name":"build-script-build","kind":["custom-build"]},"profile":{"test":false},"executable":"/t/build"}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn the_build_tells_which_tests_there_are_and_where_the_binaries_lie() {
        let built = Built::parse(MESSAGES).expect("these are cargo's messages");
        let titles: Vec<&str> = built.tests.iter().map(|test| test.title.as_str()).collect();
        assert_eq!(titles, ["cli · convoke", "store", "store · suite", "tests · kill"]);
        let convoke = built.binary("convoke").expect("it was built");
        assert_eq!(convoke, Path::new("/t/convoke"));
        assert_eq!(built.tests[1].folder, Path::new("/tree/crates/store"));
        assert_eq!(built.tests[1].path, Path::new("/t/store-1"));
    }

    #[test]
    fn tests_learn_the_paths_of_both_binaries() {
        let mut built = Built::parse(MESSAGES).expect("these are cargo's messages");
        let mut command = Command::new("true");
        let error = built.point(&mut command).expect_err("the agents are missing");
        assert_eq!(error.to_string(), "the workspace builds no binary `example-agents`");
        built.binaries.insert("example-agents".to_owned(), PathBuf::from("/t/agents"));
        let command = built.point(&mut command).expect("both are there");
        let set: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(set, ["CONVOKE_BIN", "EXAMPLE_AGENTS_BIN"]);
    }

    #[test]
    fn a_package_that_does_not_exist_is_an_error_and_not_an_empty_success() {
        let built = Built::parse(MESSAGES).expect("these are cargo's messages");
        let wanted = ["stroe".to_owned()];
        let error = run_suites(&built, &wanted, &mut Parts::default());
        assert_eq!(
            error.expect_err("there is no such package").to_string(),
            "no package is called stroe"
        );
    }
}
