//! A folder of our own with the JavaScript SDK and the scripts that use it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::process;

const SOURCE: &str = "tests/interop";
/// What is installed: exact versions, and the digest of every package below them.
const PINNED: [&str; 2] = ["package.json", "package-lock.json"];
/// Node finds packages beside the script it runs, so the scripts lie beside the packages.
const SCRIPTS: [&str; 5] = ["agents.js", "checks.js", "client.js", "content.js", "serve.js"];

/// A Node that has what `package.json` names.
pub(super) struct Node {
    program: String,
    folder: PathBuf,
    source: &'static str,
}

impl Node {
    /// Makes the folder, or takes the one made for the same packages.
    ///
    /// # Errors
    /// When Node 18 or npm is missing, or packages cannot be installed.
    pub(super) fn make(target: &Path) -> Result<Self> {
        Self::make_of(target, "interop-node", SOURCE, &SCRIPTS)
    }

    /// Makes a folder of this name, for the packages and scripts of a source folder.
    ///
    /// # Errors
    /// As [`Node::make`].
    pub(super) fn make_of(
        target: &Path,
        name: &str,
        source: &'static str,
        scripts: &[&str],
    ) -> Result<Self> {
        let node = Self { program: find_node()?, folder: target.join(name), source };
        fs::create_dir_all(&node.folder)
            .with_context(|| format!("cannot make {}", node.folder.display()))?;
        if !node.is_installed()? {
            node.install()?;
        }
        for script in scripts {
            node.copy(script)?;
        }
        Ok(node)
    }

    /// Runs one of the scripts.
    pub(super) fn script(&self, name: &str) -> Command {
        self.run(&self.folder.join(name))
    }

    /// Runs a script, which finds the packages when it lies in [`Node::folder`].
    pub(super) fn run(&self, script: &Path) -> Command {
        let mut command = process::command(&self.program);
        command.arg(script);
        command
    }

    /// The folder of the packages.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether there is an installation that ended well and was for the same files.
    fn is_installed(&self) -> Result<bool> {
        for file in PINNED {
            let wanted = read(&self.source(file))?;
            if fs::read_to_string(self.folder.join(file)).ok() != Some(wanted) {
                return Ok(false);
            }
        }
        Ok(self.folder.join("installed").exists())
    }

    fn install(&self) -> Result<()> {
        let stamp = self.folder.join("installed");
        // Written last, so that a broken installation is never taken for a whole one.
        drop(fs::remove_file(&stamp));
        for file in PINNED {
            self.copy(file)?;
        }
        let quiet = ["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"];
        let mut npm = Command::new(npm());
        process::run(npm.current_dir(&self.folder).args(quiet)).context(
            "cannot install the JavaScript SDK; `cargo xtask interop` needs the network the first \
             time",
        )?;
        fs::write(&stamp, "").with_context(|| format!("cannot write {}", stamp.display()))
    }

    fn source(&self, file: &str) -> PathBuf {
        process::root().join(self.source).join(file)
    }

    fn copy(&self, file: &str) -> Result<()> {
        let target = self.folder.join(file);
        fs::copy(self.source(file), &target)
            .with_context(|| format!("cannot write {}", target.display()))?;
        Ok(())
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn npm() -> String {
    env::var("NPM").unwrap_or_else(|_| "npm".to_owned())
}

/// A Node that is new enough, and the npm that comes with it.
fn find_node() -> Result<String> {
    let node = env::var("NODE").unwrap_or_else(|_| "node".to_owned());
    let new_enough = "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)";
    if !process::works(process::command(&node).args(["-e", new_enough])) {
        bail!(
            "`{node}` is missing or older than 18; install Node 18 or newer, or name another one \
             in NODE"
        );
    }
    let npm = npm();
    if !process::works(process::command(&npm).arg("--version")) {
        bail!("`{npm}` is missing; install npm, or name another one in NPM");
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_installed_again_when_what_is_pinned_changes_or_it_was_broken_off() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (program, folder_of) = ("node".to_owned(), folder.path().to_owned());
        let node = Node { program, folder: folder_of, source: SOURCE };
        let is_installed = || node.is_installed().expect("the pinned files are ours");
        assert!(!is_installed());
        for file in PINNED {
            node.copy(file).expect("the pinned files are ours");
        }
        assert!(!is_installed(), "it was broken off");
        fs::write(folder.path().join("installed"), "").expect("the folder is ours");
        assert!(is_installed());
        fs::write(folder.path().join(PINNED[1]), "{}").expect("the folder is ours");
        assert!(!is_installed(), "another lock");
    }

    #[test]
    fn the_lock_pins_every_package_by_digest_and_names_no_registry() {
        for source in [SOURCE, "tests/interop/v0_3"] {
            let lock = process::root().join(source).join("package-lock.json");
            let lock = read(&lock).expect("it is ours");
            let lock: serde_json::Value = serde_json::from_str(&lock).expect("npm writes JSON");
            let packages = lock["packages"].as_object().expect("it lists packages");
            assert!(packages.contains_key("node_modules/@a2a-js/sdk"));
            for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
                assert!(package["integrity"].is_string(), "{name}");
                assert!(package["resolved"].is_null(), "{name}");
            }
        }
    }
}
