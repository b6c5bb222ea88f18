//! Flags that every command has, and the environment.

use std::{fs, path::Path};

use examples::{Kind, Options, Running};
use serde_json::json;
use tests::{
    agent::example,
    convoke::{Convoke, finish},
};

async fn echoing() -> (Running, Convoke) {
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    let workflow = format!(
        "convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}}}\n\
         steps: {{a: {{agent: it, message: Hello.}}}}\n",
        echo.url
    );
    convoke.write("w.yaml", workflow);
    (echo, convoke)
}

fn has_database(folder: &Path) -> bool {
    folder.join("convoke.db").exists()
}

#[tokio::test]
async fn data_lies_where_the_flag_says_before_the_environment() {
    let (_echo, convoke) = echoing().await;
    let _ran = convoke.run(["run", "w.yaml", "--data", "elsewhere"]).await.exits(0);
    assert!(has_database(&convoke.folder().join("elsewhere")) && !convoke.data().exists());
    let elsewhere = convoke.run(["--data", "elsewhere", "--json", "runs", "list"]).await.exits(0);
    assert_eq!(elsewhere.json().as_array().map(Vec::len), Some(1));
    let here = convoke.run(["--json", "runs", "list"]).await.exits(0);
    assert_eq!(here.json(), json!([]));
    assert!(has_database(&convoke.data()));
}

#[tokio::test]
async fn without_a_setting_data_lies_in_the_state_folder_of_the_user() {
    let convoke = Convoke::default();
    let state = convoke.folder().join("state");
    let mut command = convoke.command(["runs", "list"]);
    command.env_remove("CONVOKE_DATA").env("XDG_STATE_HOME", &state);
    let _listed = finish(command).await.exits(0);
    assert!(has_database(&state.join("convoke")));
    let mut command = convoke.command(["runs", "list"]);
    command.env_remove("CONVOKE_DATA");
    let _listed = finish(command).await.exits(0);
    assert!(has_database(&convoke.folder().join(".local/state/convoke")));
    let mut command = convoke.command(["runs", "list"]);
    command.env_remove("CONVOKE_DATA").env_remove("HOME");
    let nowhere = finish(command).await.exits(2);
    assert!(nowhere.stderr.contains("CONVOKE_DATA"), "{}", nowhere.stderr);
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_made_is_an_error_that_names_it() {
    let convoke = Convoke::default();
    fs::write(convoke.folder().join("file"), "").expect("a file");
    let done = convoke.run(["--data", "file/data", "runs", "list"]).await.exits(3);
    assert!(done.stderr.contains("file/data"), "{}", done.stderr);
}

#[tokio::test]
async fn logs_come_when_asked_for_by_flag_or_environment() {
    let convoke = Convoke::default();
    let quiet = convoke.run(["--json", "runs", "list"]).await.exits(0);
    assert_eq!(quiet.stderr, "");
    let flag = convoke.run(["--json", "--log", "store=debug", "runs", "list"]).await.exits(0);
    assert!(flag.stderr.contains("opened the data folder"), "{}", flag.stderr);
    assert_eq!(flag.json(), json!([]), "logs go to stderr");
    let mut command = convoke.command(["runs", "list"]);
    command.env("CONVOKE_LOG", "store=debug");
    let variable = finish(command).await.exits(0);
    assert!(variable.stderr.contains("opened the data folder"), "{}", variable.stderr);
    let other = convoke.run(["--json", "--log", "planner=debug", "runs", "list"]).await.exits(0);
    assert_eq!(other.stderr, "");
}

#[tokio::test]
async fn a_log_filter_that_is_none_is_refused() {
    let convoke = Convoke::default();
    let done = convoke.run(["--log", "store=loud", "runs", "list"]).await.exits(2);
    assert!(done.stderr.contains("store=loud"), "{}", done.stderr);
}

#[tokio::test]
async fn color_is_for_terminals_only_and_can_be_refused() {
    let (_echo, convoke) = echoing().await;
    let escape = '\u{1b}';
    let plain = convoke.run(["run", "w.yaml"]).await.exits(0);
    assert!(!plain.stdout.contains(escape) && !plain.stderr.contains(escape), "{plain:?}");
    let mut forced = convoke.command(["run", "w.yaml"]);
    forced.env("CLICOLOR_FORCE", "1");
    let forced = finish(forced).await.exits(0);
    assert!(forced.stdout.contains(escape), "{forced:?}");
    convoke.write("wrong.yaml", "convoke: 1\nname: wrong\n");
    for args in [&["run", "w.yaml"][..], &["validate", "wrong.yaml"]] {
        let mut refused = convoke.command(args);
        refused.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
        let refused = finish(refused).await;
        assert!(
            !refused.stdout.contains(escape) && !refused.stderr.contains(escape),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn wrong_usage_exits_with_two_and_help_with_none() {
    let convoke = Convoke::default();
    for args in [&["unheard-of"][..], &["run"], &["validate"], &["agents"], &["runs", "show"]] {
        let done = convoke.run(args).await.exits(2);
        assert!(done.stderr.contains("Usage") && done.stdout.is_empty(), "{done:?}");
    }
    let help = convoke.run(["--help"]).await.exits(0);
    assert!(help.stdout.contains("validate") && help.stderr.is_empty());
    let version = convoke.run(["--version"]).await.exits(0);
    assert_eq!(version.stdout, "convoke 0.1.0\n");
}
