//! Card signatures, made by one side and checked by the other.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::peers::Peers;
use crate::{process, venv::Venv};

/// The signing script of the Python SDK.
const SCRIPT: &str = "sign.py";
/// A card with a bit of everything.
const CARD: &str = "crates/protocol/tests/data/signatures/ES256.json";
const ALGORITHMS: [&str; 5] = ["ES256", "ES384", "RS256", "PS256", "EdDSA"];
const KEY_ID: &str = "interop";

/// Checks both directions with every algorithm, and that a changed card is noticed on both sides.
pub(super) fn both_ways(peers: &Peers, venv: &Venv) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let file = |name: &str| folder.path().join(name).display().to_string();
    let mut card: Value = serde_json::from_str(&fs::read_to_string(process::root().join(CARD))?)?;
    card.as_object_mut().context("a card is an object")?.remove("signatures");
    let unsigned = file("card.json");
    write(&unsigned, &card)?;
    for algorithm in ALGORITHMS {
        let (key, keys) = (file(&format!("{algorithm}.pem")), file(&format!("{algorithm}.keys")));
        let named = ["--alg", algorithm, "--kid", KEY_ID];
        let made = peers.convoke(0, &with(&["card", "keys", "generate", &key], &named))?;
        write(&keys, made.one()?)?;

        let ours = file(&format!("{algorithm}.ours.json"));
        let sign = ["card", "sign", &unsigned, "--key", &key, "-o", &ours];
        peers.convoke(0, &with(&sign, &named))?;
        process::run(venv.script(SCRIPT).args(["verify", &ours, &keys]))?;
        let changed = changed(&ours)?;
        let refused = !process::works(venv.script(SCRIPT).args(["verify", &changed, &keys]));
        ensure!(refused, "the SDK takes a changed card with our {algorithm} signature");

        let theirs = file(&format!("{algorithm}.theirs.json"));
        let signed = process::output(
            venv.script(SCRIPT).args(["sign", &unsigned, &key, algorithm, KEY_ID]),
        )?;
        fs::write(&theirs, signed).with_context(|| format!("cannot write {theirs}"))?;
        check(peers, &theirs, &keys, 0, "trusted")?;
        check(peers, &self::changed(&theirs)?, &keys, 1, "invalid")?;
    }
    Ok(())
}

fn with<'a>(command: &[&'a str], options: &[&'a str]) -> Vec<&'a str> {
    [command, options].concat()
}

fn check(peers: &Peers, card: &str, keys: &str, status: i32, verdict: &str) -> Result<()> {
    let called = peers.convoke(status, &["card", "verify", card, "--keys", keys])?;
    let report = called.one()?;
    ensure!(report["verdict"] == verdict, "{card} is not {verdict}: {report:#}");
    Ok(())
}

/// Writes a copy of a card with another name.
fn changed(card: &str) -> Result<String> {
    let mut json: Value = serde_json::from_str(&fs::read_to_string(card)?)?;
    json["name"] = json!("Another");
    let path = Path::new(card).with_extension("changed.json").display().to_string();
    write(&path, &json)?;
    Ok(path)
}

fn write(path: &str, json: &Value) -> Result<()> {
    fs::write(path, json.to_string()).with_context(|| format!("cannot write {path}"))
}
