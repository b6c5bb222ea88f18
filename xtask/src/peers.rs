//! Convoke's servers beside those of others: builds all of them, and hands over to `benches peers`.

use std::env;

use anyhow::Result;

use crate::{process, venv::Venv};

/// The package with the Rust servers of others, which has a lock file of its own.
const PACKAGE: &str = "benches/peers";

/// Builds, then measures with these options.
///
/// # Errors
/// When Python with venv is missing, something cannot be built, or a server does not answer.
pub(crate) fn run(options: &[String]) -> Result<()> {
    let target = process::target();
    let venv = Venv::make(&target, "peers-venv", PACKAGE)?;
    process::run(&mut process::cargo(["build", "--release", "-p", "benches", "-p", "cli"]))?;
    let peers = target.join("peers");
    let manifest = format!("{PACKAGE}/Cargo.toml");
    let mut build =
        process::cargo(["build", "--release", "--locked", "--manifest-path", manifest.as_str()]);
    process::run(build.env("CARGO_TARGET_DIR", &peers))?;
    let binary = |name: &str| format!("{name}{}", env::consts::EXE_SUFFIX);
    let release = target.join("release");
    let mut measure = process::command_at(&release.join(binary("benches")));
    measure.arg("peers").arg("--again").arg(again("peers", options));
    measure.arg("--convoke").arg(release.join(binary("convoke")));
    measure.arg("--peers").arg(peers.join("release").join(binary("peers")));
    measure.arg("--python").arg(venv.interpreter());
    process::run(measure.args(options))
}

/// Builds the harness, then measures planning beside Python with these options.
///
/// # Errors
/// When Python with venv is missing, something cannot be built, or Python fails.
pub(crate) fn planning(options: &[String]) -> Result<()> {
    let target = process::target();
    let venv = Venv::make(&target, "peers-venv", PACKAGE)?;
    process::run(&mut process::cargo(["build", "--release", "-p", "benches"]))?;
    let benches = target.join("release").join(format!("benches{}", env::consts::EXE_SUFFIX));
    let mut measure = process::command_at(&benches);
    measure.arg("planning").arg("--again").arg(again("planning", options));
    process::run(measure.arg("--python").arg(venv.interpreter()).args(options))
}

/// How to ask for the same once more.
fn again(chore: &str, options: &[String]) -> String {
    [&[format!("cargo xtask {chore}")], options].concat().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_asked_for_with_the_same_options() {
        assert_eq!(again("peers", &[]), "cargo xtask peers");
        let options = ["--rounds", "9"].map(str::to_owned);
        assert_eq!(again("peers", &options), "cargo xtask peers --rounds 9");
    }
}
