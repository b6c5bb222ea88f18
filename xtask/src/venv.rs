//! A virtual environment of our own with the Python SDK.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::process;

/// A Python interpreter that has what the requirements name.
pub(crate) struct Venv {
    folder: PathBuf,
    source: &'static str,
}

impl Venv {
    /// Makes an environment of this name in the target folder, for the scripts and requirements of a
    /// folder of the tree, or takes the one made for the same requirements.
    ///
    /// # Errors
    /// When Python 3.11 or its venv module is missing, or packages cannot be installed.
    pub(crate) fn make(target: &Path, name: &str, source: &'static str) -> Result<Self> {
        let venv = Self { folder: target.join(name), source };
        let wanted = process::root().join(venv.requirements());
        let requirements = fs::read_to_string(&wanted)
            .with_context(|| format!("cannot read {}", venv.requirements()))?;
        let stamp = venv.folder.join("requirements.txt");
        if fs::read_to_string(&stamp).is_ok_and(|made_for| made_for == requirements) {
            return Ok(venv);
        }
        venv.install(&find_python()?)?;
        // Written last, so that a broken installation is never taken for a whole one.
        fs::write(&stamp, requirements)
            .with_context(|| format!("cannot write {}", stamp.display()))?;
        Ok(venv)
    }

    /// The file of its requirements, from the root of the tree.
    fn requirements(&self) -> String {
        format!("{}/requirements.txt", self.source)
    }

    /// Runs one of the scripts in its source folder.
    pub(crate) fn script(&self, name: &str) -> Command {
        self.run(&process::root().join(self.source).join(name))
    }

    /// Runs a script.
    pub(crate) fn run(&self, script: &Path) -> Command {
        let mut python = self.python();
        // Its spans complain whenever a client hangs up in the middle of a stream.
        python.env("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false");
        python.arg(script);
        python
    }

    /// Where its interpreter is.
    pub(crate) fn interpreter(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// A program that a package brought.
    pub(crate) fn tool(&self, name: &str) -> Command {
        process::command_at(&self.folder.join("bin").join(name))
    }

    /// Its interpreter, to be run in the root of the tree.
    fn python(&self) -> Command {
        process::command_at(&self.interpreter())
    }

    fn install(&self, python: &str) -> Result<()> {
        process::run(process::command(python).args(["-m", "venv", "--clear"]).arg(&self.folder))?;
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            // Most of it is never imported.
            "--no-compile",
            "--requirement",
            &self.requirements(),
        ];
        process::run(self.python().args(install))
            .context("cannot install the Python SDK; this chore needs the network the first time")
    }
}

/// A Python that is new enough and can make environments.
fn find_python() -> Result<String> {
    let python = env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let can = |script: &str| process::works(process::command(&python).args(["-c", script]));
    if !can("import sys; sys.exit(sys.version_info < (3, 11))") {
        bail!(
            "`{python}` is missing or older than 3.11; install Python 3.11 or newer, \
             or name another one in PYTHON"
        );
    }
    if !can("import ensurepip, venv") {
        bail!("`{python}` cannot make environments; install its venv (on Debian: python3-venv)");
    }
    Ok(python)
}
