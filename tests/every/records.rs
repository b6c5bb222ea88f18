//! `convoke runs`

use examples::{Kind, Options, Running};
use insta::assert_snapshot;
use serde_json::json;
use tests::{agent::example, convoke::Convoke};

use crate::steady;

/// Three runs: of `first`, `second` and, failed, `third`.
async fn three_runs() -> (Running, Convoke) {
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    for (name, message) in [("first", "One."), ("second", "Two."), ("third", "${{ [][0].x }}")] {
        let workflow = format!(
            "convoke: 1\nname: {name}\nagents: {{it: {{url: \"{}\"}}}}\n\
             steps: {{say: {{agent: it, message: \"{message}\"}}}}\n",
            echo.url
        );
        convoke.write("w.yaml", workflow);
        let done = convoke.run(["run", "w.yaml"]).await;
        assert_eq!(done.code, i32::from(name == "third"), "{done:?}");
    }
    (echo, convoke)
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_no_more_than_asked_for() {
    let (_echo, convoke) = three_runs().await;
    let all = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    let all = all.as_array().expect("a list");
    let names: Vec<_> = all.iter().map(|run| run["workflow"].as_str().expect("a name")).collect();
    assert_eq!(names, ["third", "second", "first"]);
    assert_eq!(all[0]["state"], "failed");
    assert_eq!(all[1]["state"], "completed");
    assert!(all[0]["error"].is_string() && all[1].get("error").is_none());
    let two = convoke.run(["--json", "runs", "list", "--limit", "2"]).await.exits(0).json();
    assert_eq!(two.as_array().expect("a list").len(), 2);
    let _refused = convoke.run(["runs", "list", "--limit", "0"]).await.exits(2);

    let shown = convoke.run(["runs", "list", "--limit", "1"]).await.exits(0);
    let _steady = steady();
    assert_snapshot!(shown.stdout, @r#"
    RUN                                   WORKFLOW  STATE   STARTED               ERROR
    ID  third     failed  TIME  step `say` failed: w.yaml:4:42: `[0].x` is undefined (where a value may be missing, say what to use then: `… | default("none")`)
    "#);
    assert_eq!(shown.stderr, "1 of 3; --limit shows more\n");
}

#[tokio::test]
async fn one_run_is_shown_with_its_steps_and_artifacts() {
    let (echo, convoke) = three_runs().await;
    let all = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    let run = |at: usize| all[at]["id"].as_str().expect("an id").to_owned();
    let shown = convoke.run(["--json", "runs", "show", &run(1)]).await.exits(0).json();
    assert_eq!(shown["run"], json!(run(1)));
    assert_eq!(shown["workflow"], "second");
    assert_eq!(shown["context_id"], json!(echo.calls.all()[1].context_id));
    assert_eq!(shown["steps"][0]["artifacts"][0]["parts"][0]["text"], "Two.");
    let completed = convoke.run(["runs", "show", &run(1)]).await.exits(0);
    let failed = convoke.run(["runs", "show", &run(0)]).await.exits(0);
    let unknown = convoke.run(["runs", "show", "0198c0de-7a11-7000-8000-000000000000"]).await;
    let _unknown = unknown.exits(2);
    let _steady = steady();
    assert_snapshot!(completed.stdout, @r"
    ID of second: completed
    context ID

    say  completed
      agent it  attempts 1
      task ID
      artifact echo: Two.

    echo
    Two.
    ");
    assert_snapshot!(failed.stdout, @r#"
    ID of third: failed
    context ID
    error step `say` failed: w.yaml:4:42: `[0].x` is undefined (where a value may be missing, say what to use then: `… | default("none")`)

    say  failed
      why w.yaml:4:42: `[0].x` is undefined (where a value may be missing, say what to use then: `… | default("none")`)
    "#);
}

#[tokio::test]
async fn an_empty_folder_says_how_to_begin() {
    let convoke = Convoke::default();
    let runs = convoke.run(["runs", "list"]).await.exits(0);
    assert_eq!(runs.stdout, "");
    assert_eq!(runs.stderr, "no runs yet; `convoke run FILE` starts one\n");
    let runs = convoke.run(["runs", "list", "--json"]).await.exits(0);
    assert_eq!((runs.json(), runs.stderr.as_str()), (json!([]), ""));
}
