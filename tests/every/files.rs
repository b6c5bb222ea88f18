//! Workflow files that are wrong.

use insta::assert_snapshot;
use serde_json::json;
use tests::convoke::Convoke;

use crate::steady;

const WRONG: &str = "\
convoke: 1
name: wrong
steps:
  first: {agent: a, mesage: Hello.}
  second: {agent: a, message: \"${{ steps.frist.text }}\", timeout: soon}
";

#[tokio::test]
async fn validate_shows_every_problem_and_fails() {
    let convoke = Convoke::default();
    convoke.write("wrong.yaml", WRONG);
    let done = convoke.run(["validate", "wrong.yaml"]).await;
    assert_eq!(done.stdout, "");
    assert_snapshot!(done.complaint(), @r#"
    exit 1
    workflow::unknown-key

      × `mesage` is not a key of step `first`
       ╭─[wrong.yaml:4:21]
     3 │ steps:
     4 │   first: {agent: a, mesage: Hello.}
       ·                     ───┬──
       ·                        ╰── unknown key
     5 │   second: {agent: a, message: "${{ steps.frist.text }}", timeout: soon}
       ╰────
      help: did you mean `message`?

    workflow::unknown-step

      × there is no step `frist`
       ╭─[wrong.yaml:5:36]
     4 │   first: {agent: a, mesage: Hello.}
     5 │   second: {agent: a, message: "${{ steps.frist.text }}", timeout: soon}
       ·                                    ─────┬─────
       ·                                         ╰── unknown step
       ╰────
      help: did you mean `first`?

    workflow::invalid-value

      × `timeout` of step `second` is no duration: `soon` does not start with a number
       ╭─[wrong.yaml:5:67]
     4 │   first: {agent: a, mesage: Hello.}
     5 │   second: {agent: a, message: "${{ steps.frist.text }}", timeout: soon}
       ·                                                                   ────
       ╰────
      help: write a number with its unit: ms, s, m, h or d, as in 500ms, 30s, 5m or 1h30m
    "#);
}

#[tokio::test]
async fn run_shows_the_same_problems_as_validate_and_starts_nothing() {
    let convoke = Convoke::default();
    convoke.write("wrong.yaml", WRONG);
    let validated = convoke.run(["validate", "wrong.yaml"]).await.exits(1);
    for command in [&["run"][..], &["plan"], &["plan", "--lock"]] {
        let done = convoke.run([command, &["wrong.yaml"]].concat()).await.exits(2);
        assert_eq!(done.stderr, validated.stderr);
        assert_eq!(done.stdout, "");
    }
    assert!(!convoke.data().exists(), "nothing was opened for it");
}

#[tokio::test]
async fn validate_looks_at_every_file_it_is_given() {
    let convoke = Convoke::default();
    convoke.write("right.yaml", "convoke: 1\nname: right\nsteps: {a: {agent: b, message: c}}\n");
    convoke.write("wrong.yaml", WRONG);
    let done = convoke.run(["validate", "right.yaml", "wrong.yaml", "absent.yaml"]).await.exits(2);
    assert_eq!(done.stdout, "right.yaml: ok\n");
    assert!(done.stderr.contains("wrong.yaml:4:"), "{}", done.stderr);
    assert!(done.stderr.contains("absent.yaml"), "{}", done.stderr);
    let right = convoke.run(["validate", "right.yaml"]).await.exits(0);
    assert_eq!((right.stdout.as_str(), right.stderr.as_str()), ("right.yaml: ok\n", ""));
}

#[tokio::test]
async fn validate_gives_its_problems_as_json() {
    let convoke = Convoke::default();
    convoke.write("wrong.yaml", WRONG);
    let problems = convoke.run(["--json", "validate", "wrong.yaml"]).await.exits(1);
    assert_eq!(problems.stderr, "");
    let problems = problems.json();
    assert_eq!(problems.as_array().map(Vec::len), Some(3));
    assert_eq!(problems[0]["file"], "wrong.yaml");
    assert_eq!(problems[0]["line"], 4);
    assert_eq!(problems[0]["severity"], "error");
    convoke.write("right.yaml", "convoke: 1\nname: right\nsteps: {a: {agent: b, message: c}}\n");
    let none = convoke.run(["validate", "--json", "right.yaml"]).await.exits(0);
    assert_eq!(none.json(), json!([]));
}

#[tokio::test]
async fn a_file_of_ten_megabytes_is_not_read() {
    let convoke = Convoke::default();
    let comment = format!("# {}\n", "x".repeat(98));
    convoke.write("large.yaml", comment.repeat((10 << 20) / comment.len() + 1));
    let validated = convoke.run(["validate", "large.yaml"]).await;
    assert_snapshot!(validated.complaint(), @r"
    exit 2
    file::too-large

      × `large.yaml` is 10485820 bytes (10.0 MiB) long; the limit for one file is 4 MiB
      help: split it, or keep large content in files of its own that are passed as input
    ");
    let ran = convoke.run(["run", "large.yaml"]).await.exits(2);
    assert_eq!(ran.stderr, validated.stderr);
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named() {
    let convoke = Convoke::default();
    let ran = convoke.run(["run", "absent.yaml"]).await;
    assert_snapshot!(ran.complaint(), @r"
    exit 2
    file::unreadable

      × `absent.yaml` cannot be read: there is no such file
      help: check the spelling and the folder you are in
    ");
}

#[tokio::test]
async fn a_step_that_no_agent_serves_says_why_each_candidate_lost() {
    let convoke = Convoke::default();
    let echo = tests::agent::example(examples::Kind::Echo, examples::Options::default()).await;
    let slow = tests::agent::example(examples::Kind::Slow, examples::Options::default()).await;
    convoke.run(["agents", "add", &echo.url, "--approve"]).await.exits(0);
    convoke.run(["agents", "add", &slow.url]).await.exits(0);
    let workflow =
        "convoke: 1\nname: nobody\nsteps:\n  a: {agent: {tags: [slow]}, message: Hello.}\n";
    convoke.write("w.yaml", workflow);
    let ran = convoke.run(["run", "w.yaml"]).await;
    let planned = convoke.run(["plan", "w.yaml"]).await;
    assert_eq!((planned.code, &planned.stderr), (ran.code, &ran.stderr));
    assert_eq!(ran.stdout, "");
    let _steady = steady();
    assert_snapshot!(ran.complaint(), @r"
    exit 1
    plan::no-agent

      × no agent for step `a` (tags `slow`): the only candidate cannot be used
       ╭─[w.yaml:4:15]
     3 │ steps:
     4 │   a: {agent: {tags: [slow]}, message: Hello.}
       ·               ────
       ╰────
      help: `slow` is proposed, not approved; approve it with `convoke agents approve slow`
    ");
}
