//! `convoke run`: what goes in, and what comes out.

use std::fs;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use examples::{Kind, Options, Running};
use insta::assert_snapshot;
use serde_json::json;
use tests::{
    agent::{Scripted, completed, example, one_step},
    convoke::Convoke,
};

use crate::steady;

const INPUTS: &str = "
name: inputs
inputs:
  request: {type: string, from: text, default: nothing}
  count: {type: integer, default: 1}
steps:
  say: {agent: it, message: \"${{ inputs.request }} times ${{ inputs.count }}\"}
outputs:
  said: {value: \"${{ steps.say.text }}\"}
  count: {value: \"${{ inputs.count }}\"}
";

/// An echo agent, and a folder with `w.yaml` for it.
async fn echoing(workflow: &str) -> (Running, Convoke) {
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    let agents = format!("agents: {{it: {{url: \"{}\"}}}}", echo.url);
    convoke.write("w.yaml", format!("convoke: 1\n{agents}\n{workflow}"));
    (echo, convoke)
}

/// The values of the outputs by their names.
fn outputs(report: &serde_json::Value) -> serde_json::Value {
    let outputs = report["outputs"].as_array().expect("outputs").iter().map(|output| {
        let part = &output["parts"][0];
        let value = part.get("text").or(part.get("data")).cloned().unwrap_or_default();
        (output["name"].as_str().expect("a name").to_owned(), value)
    });
    outputs.collect()
}

#[tokio::test]
async fn a_run_without_inputs_takes_their_defaults() {
    let (_echo, convoke) = echoing(INPUTS).await;
    let report = convoke.run(["run", "w.yaml", "--json"]).await.exits(0).json();
    assert_eq!(outputs(&report), json!({"said": "nothing times 1", "count": 1}));
}

#[tokio::test]
async fn the_message_fills_the_input_that_is_from_text() {
    let (_echo, convoke) = echoing(INPUTS).await;
    for flag in ["-m", "--message"] {
        let report = convoke.run(["run", "w.yaml", "--json", flag, "Hello"]).await.exits(0).json();
        assert_eq!(outputs(&report)["said"], "Hello times 1");
    }
}

#[tokio::test]
async fn an_input_is_typed_as_its_schema_says() {
    let (_echo, convoke) = echoing(INPUTS).await;
    let inputs = ["-i", "count=3", "--input", "request=12"];
    let args = ["--json", "run", "w.yaml"].into_iter().chain(inputs);
    let report = convoke.run(args).await.exits(0).json();
    assert_eq!(outputs(&report), json!({"said": "12 times 3", "count": 3}));
}

#[tokio::test]
async fn a_file_becomes_an_input_with_its_name_and_type() {
    let workflow = "
name: photo
inputs: {photo: {from: file}}
steps: {say: {agent: it, message: Look.}}
outputs: {photo: {value: \"${{ inputs.photo }}\"}}
";
    let (_echo, convoke) = echoing(workflow).await;
    convoke.write("pictures/sea.png", b"\x89PNG");
    for file in ["photo=@pictures/sea.png", "photo=pictures/sea.png"] {
        let done = convoke.run(["--json", "run", "w.yaml", "--file", file]).await.exits(0);
        let photo = &outputs(&done.json())["photo"];
        assert_eq!(photo["filename"], "sea.png");
        assert_eq!(photo["media_type"], "image/png");
        assert_eq!(photo["bytes"], STANDARD.encode(b"\x89PNG"));
    }
    let absent = convoke.run(["run", "w.yaml", "--file", "photo=@absent.png"]).await;
    assert_snapshot!(absent.complaint(), @r"
    exit 2
    error: cannot read absent.png: No such file or directory (os error 2)
    ");
}

#[tokio::test]
async fn inputs_that_do_not_fit_are_all_named_and_nothing_runs() {
    let (echo, convoke) = echoing(INPUTS).await;
    let wrong = ["-i", "count=many", "-i", "colour=red"];
    let done = convoke.run(["run", "w.yaml"].into_iter().chain(wrong)).await;
    assert_snapshot!(done.complaint(), @r#"
    exit 2
    error: the workflow has no input `colour`: its inputs are: request, count
           the input `count` must be an integer, not the string "many"
    "#);
    let formless = convoke.run(["run", "w.yaml", "-i", "count"]).await;
    assert_snapshot!(formless.complaint(), @r"
    exit 2
    error: `count` is not of the form -i NAME=VALUE
    ");
    assert_eq!(echo.calls.count(), 0);
}

#[tokio::test]
async fn a_step_without_message_passes_on_what_the_run_was_started_with() {
    let (echo, convoke) = echoing("name: plain\nsteps: {say: {agent: it}}\n").await;
    let done = convoke.run(["run", "w.yaml", "-m", "Pass this on."]).await.exits(0);
    assert_eq!(echo.calls.all()[0].text, "Pass this on.");
    assert_eq!(done.stdout, "echo\n  Pass this on.\n\n");
}

#[tokio::test]
async fn a_workflow_is_found_by_its_name_in_the_folder_of_workflows() {
    let (echo, convoke) =
        echoing("name: plain\nsteps: {say: {agent: it, message: Hello.}}\n").await;
    fs::create_dir(convoke.folder().join("workflows")).expect("a new folder");
    let (from, to) = ("w.yaml", "workflows/plain.yaml");
    fs::rename(convoke.folder().join(from), convoke.folder().join(to)).expect("it is moved");
    let _ran = convoke.run(["run", "plain"]).await.exits(0);
    let _planned = convoke.run(["plan", "plain"]).await.exits(0);
    assert_eq!(echo.calls.count(), 1);
}

#[tokio::test]
async fn stdout_has_the_outputs_and_nothing_else() {
    let (_echo, convoke) = echoing(INPUTS).await;
    let done = convoke.run(["run", "w.yaml", "-m", "Hello"]).await.exits(0);
    assert_snapshot!(done.stdout, @r"
    said
      Hello times 1

    count
      1
    ");
    let _steady = steady();
    assert_snapshot!(done.stderr, @r"
    TIME run   ID of inputs
    TIME say   sent to it
    TIME say   working on Task ID
    TIME say   completed by it in N s
    TIME run   completed
    artifact came from
      echo  ← step say, agent it, Task ID
    ");
}

#[tokio::test]
async fn the_report_of_a_run_as_json_has_its_steps_and_what_each_made() {
    let (echo, convoke) = echoing(INPUTS).await;
    let report = convoke.run(["--json", "run", "w.yaml", "-m", "Hello"]).await.exits(0).json();
    assert_eq!(report["workflow"], "inputs");
    assert_eq!(report["state"], "completed");
    assert_eq!(report["context_id"], json!(echo.calls.all()[0].context_id));
    let step = &report["steps"][0];
    assert_eq!(step["step"], "say");
    assert_eq!(step["state"], "completed");
    assert_eq!(step["attempts"], 1);
    assert_eq!(step["agent"], "it");
    assert_eq!(step["task_id"].as_str().map(str::len), Some(36));
    assert_eq!(step["artifacts"][0]["parts"][0]["text"], "Hello times 1");
}

#[tokio::test]
async fn a_failed_run_is_reported_as_json_too_and_exits_with_one() {
    let agent = Scripted::start(|request| {
        let mut failed = completed("t", "half done");
        failed["status"] = json!({"state": "TASK_STATE_FAILED"});
        request.events(&[json!({"task": failed})])
    })
    .await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let report = convoke.run(["--json", "run", "w.yaml"]).await.exits(1).json();
    assert_eq!(report["state"], "failed");
    assert_eq!(report["outputs"], json!([]));
    assert_eq!(report["steps"][0]["state"], "failed");
    assert_eq!(report["steps"][0]["error"], "the agent's Task failed without saying why");
    let error = report["error"].as_str().expect("a reason");
    assert!(error.contains("the agent's Task failed without saying why"), "{error}");
}

#[tokio::test]
async fn outputs_become_files_of_a_folder_and_stdout_names_them() {
    let workflow = "
name: files
steps:
  say: {agent: it, message: Hello.}
outputs:
  report: {value: \"# ${{ steps.say.text }}\", media_type: text/markdown}
  numbers: {value: {count: 2}}
";
    let (_echo, convoke) = echoing(workflow).await;
    let done = convoke.run(["run", "w.yaml", "--out", "made/here"]).await.exits(0);
    let mut written: Vec<&str> = done.stdout.lines().collect();
    written.sort_unstable();
    assert_eq!(written, ["made/here/numbers.json", "made/here/report.md"]);
    let read = |name: &str| fs::read_to_string(convoke.folder().join(name)).expect("it is there");
    assert_eq!(read("made/here/report.md"), "# Hello.");
    assert_eq!(read("made/here/numbers.json"), "{\n  \"count\": 2\n}");
    let resumed = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    let run = resumed[0]["id"].as_str().expect("an id");
    let done = convoke.run(["run", "--resume", run, "--out", "again", "--json"]).await.exits(0);
    assert_eq!(done.json()["run"], run);
    assert_eq!(read("again/report.md"), "# Hello.");
}

#[tokio::test]
async fn a_run_to_resume_stands_alone_and_must_be_one() {
    let convoke = Convoke::default();
    let run = "0198c0de-7a11-7000-8000-000000000000";
    let unknown = convoke.run(["run", "--resume", run]).await;
    let formless = convoke.run(["run", "--resume", "yesterday"]).await;
    let nothing = convoke.run(["run"]).await.exits(2);
    assert!(nothing.stderr.contains("<FILE|NAME>"), "{}", nothing.stderr);
    for flag in [&["w.yaml"][..], &["-i", "a=b"], &["-m", "text"], &["--file", "a=@b"]] {
        let args = ["run", "--resume", run].into_iter().chain(flag.iter().copied());
        let both = convoke.run(args).await.exits(2);
        assert!(both.stderr.contains("cannot be used with"), "{}", both.stderr);
    }
    assert_snapshot!(formless.complaint(), @r"
exit 2
error: `yesterday` is not a run id: expected a UUID such as 0198c0de-7a11-7000-8000-000000000000
");
    let _steady = steady();
    assert_snapshot!(unknown.complaint(), @r"
    exit 2
    error: no run `ID` in this data folder; `convoke runs list` shows those there are
    ");
}

#[tokio::test]
async fn what_an_agent_says_cannot_steer_the_terminal() {
    let agent = Scripted::start(|request| {
        let mut failed = completed("t\u{1b}[2J", "half done");
        let said = "gone \u{1b}[2J\u{7}";
        failed["status"] = json!({
            "state": "TASK_STATE_FAILED",
            "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": said}]},
        });
        request.events(&[json!({"task": failed})])
    })
    .await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, ""));
    let mut command = convoke.command(["run", "w.yaml"]);
    // As on a terminal: escape sequences of our own pass.
    command.env("CLICOLOR_FORCE", "1");
    let done = tests::convoke::finish(command).await.exits(1);
    assert!(done.stderr.contains("gone"), "{}", done.stderr);
    assert!(!done.stderr.contains("\u{1b}[2J") && !done.stderr.contains('\u{7}'), "{done:?}");
}
