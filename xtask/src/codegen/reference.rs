//! The tables of the workflow reference, from the table of the language.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};

use crate::suites::Built;

/// The folder of the reference, and its name there.
pub(super) const FOLDER: &str = "docs";
const NAME: &str = "workflow-reference.md";

/// The reference as it should be. It is the planner that knows the language, so that is built.
pub(super) fn generate(root: &Path) -> anyhow::Result<super::Generated> {
    let path = root.join(FOLDER).join(NAME);
    let markdown = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let built = Built::of(&["--example", "reference"])?;
    let mut filling = Command::new(built.binary("reference")?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting the planner's example `reference`")?;
    let mut stdin = filling.stdin.take().context("it was piped")?;
    stdin.write_all(&markdown)?;
    drop(stdin);
    let done = filling.wait_with_output()?;
    if !done.status.success() {
        bail!("{} could not be filled, see above", path.display());
    }
    Ok(super::Generated { name: NAME, bytes: done.stdout })
}
