//! The comparison with other servers as a command, as far as it goes without them.

use std::process::{Command, Output};

use anyhow::Result;
use serde_json::Value;

fn peers(args: &[&str]) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benches"));
    Ok(command.arg("peers").args(["--rounds", "1", "--round-ms", "50"]).args(args).output()?)
}

#[test]
fn an_agent_in_memory_answers_every_message_and_loses_no_chunk() -> Result<()> {
    let json: Value = serde_json::from_slice(&peers(&["--json"])?.stdout)?;
    let measured = json["measured"].as_array().expect("a list");
    let seen: Vec<_> = measured
        .iter()
        .map(|one| (one["case"].as_str().unwrap_or(""), one["server"].as_str().unwrap_or("")))
        .collect();
    let both = |case| [(case, "convoke"), (case, "bare axum")];
    let in_memory = [
        "SendMessage, 16 connections",
        "SendMessage, 64 connections",
        "streams of 100 chunks, 16",
        "bursts of 1000 chunks, 4",
    ];
    let mut expected = in_memory.map(both).concat();
    expected.push(("durable SendMessage, 16", "protocol and store"));
    assert_eq!(seen, expected);
    for one in measured {
        assert_eq!((&one["broken"], &one["lost"]), (&0.into(), &0.into()), "{one}");
        assert!(one["answers"].as_u64() > Some(0), "{one}");
    }
    let bursts = &measured[6];
    assert_eq!(bursts["answers"], 40, "ten on each of four connections");
    assert_eq!(json["goals"][5]["measured"], 0.0);
    Ok(())
}

#[test]
fn a_case_is_chosen_and_the_command_named_that_was_asked_for() -> Result<()> {
    let output = peers(&["--only", "64", "--again", "cargo xtask peers --only 64"])?;
    let text = String::from_utf8(output.stdout)?;
    assert!(text.contains("SendMessage, 64 connections  convoke"), "{text}");
    assert!(!text.contains("SendMessage, 16 connections  convoke"), "{text}");
    assert!(text.ends_with("Again with: cargo xtask peers --only 64\n"), "{text}");
    Ok(())
}

#[test]
fn a_program_that_is_not_there_is_named() -> Result<()> {
    for (option, name) in [
        ("--peers", "starting a2a-server-lf: /nowhere/at/all"),
        ("--convoke", "starting convoke: /nowhere/at/all"),
        ("--python", "starting a2a-sdk (Python): /nowhere/at/all"),
    ] {
        let output = peers(&[option, "/nowhere/at/all", "--only", "durable"])?;
        assert!(!output.status.success());
        let error = String::from_utf8(output.stderr)?;
        assert!(error.contains(name), "{error}");
    }
    Ok(())
}
