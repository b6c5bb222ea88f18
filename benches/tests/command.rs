//! The harness as a command: what it is asked for is what it runs and prints.

use std::process::{Command, Output};

use anyhow::Result;
use serde_json::Value;

fn benches(args: &[&str]) -> Result<Output> {
    Ok(Command::new(env!("CARGO_BIN_EXE_benches")).args(args).output()?)
}

#[test]
fn json_holds_what_was_asked_for_and_how_to_ask_again() -> Result<()> {
    let args = ["--only", "chain 50", "--side", "convoke", "--repetitions", "2", "--json"];
    let output = benches(&args)?;
    let json: Value = serde_json::from_slice(&output.stdout)?;
    let command = json["command"].as_str().unwrap_or_default();
    let args = "-p benches -- --only 'chain 50' --side convoke --repetitions 2 --json";
    assert!(command.ends_with(args), "{command}");
    let chain = &json["measured"][0];
    assert_eq!((&chain["name"], &chain["floor"]), (&"chain 50".into(), &Value::Null));
    assert_eq!(chain["convoke"]["runs"], 2);
    assert_eq!(json["measured"][1]["name"], "chain 50, streaming");
    Ok(())
}

#[test]
fn the_table_shows_the_goals() -> Result<()> {
    let args = ["--only", "chain 50", "--side", "floor", "--repetitions", "1"];
    let text = String::from_utf8(benches(&args)?.stdout)?;
    assert!(text.contains("chain 50                    floor"), "{text}");
    assert!(!text.contains("convoke "), "{text}");
    assert!(text.contains("chain 50: wall ÷ floor                  1.6      1"), "{text}");
    Ok(())
}

#[test]
fn a_folder_that_is_not_there_is_named() -> Result<()> {
    let output = benches(&["--folder", "/nowhere/at/all", "--repetitions", "1"])?;
    assert!(!output.status.success());
    let error = String::from_utf8(output.stderr)?;
    assert!(error.contains("making a data folder in /nowhere/at/all"), "{error}");
    Ok(())
}
