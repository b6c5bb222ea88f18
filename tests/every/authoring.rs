//! `convoke schema`, `convoke init`, and `convoke validate` of whole folders.

use examples::{Kind, Options};
use insta::assert_snapshot;
use serde_json::Value;
use tests::{agent::example, convoke::Convoke};

use crate::steady;

const RIGHT: &str = "convoke: 1\nname: right\nsteps: {a: {agent: b, message: c}}\n";

#[tokio::test]
async fn the_schema_is_printed_with_every_field_described() {
    let schema = Convoke::default().run(["schema"]).await.exits(0);
    assert_eq!(schema.stderr, "");
    let schema = schema.json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let timeout = &schema["$defs"]["step"]["properties"]["timeout"];
    assert_eq!(timeout["title"], "timeout (step)", "{timeout}");
    assert!(timeout["description"].as_str().is_some_and(|it| it.contains("one attempt")));
}

#[tokio::test]
async fn what_init_writes_runs_at_once_with_the_example_agents() {
    let convoke = Convoke::default();
    let made = convoke.run(["init", "trips"]).await.exits(0);
    assert_eq!(made.stderr, "");
    {
        let _steady = steady();
        assert_snapshot!(made.stdout, @r#"
        trips/workflows/first-trip.yaml: a first workflow
        trips/workflows/workflow.schema.json: the language, for editors

        Start the agents that it is for, in the folder with Convoke's sources:
          cargo run -p examples -- all
        Then, in another terminal:
          convoke run trips/workflows/first-trip.yaml -m "A week in Helsinki"
        "#);
    }
    let path = "trips/workflows/first-trip.yaml";
    let mut workflow =
        std::fs::read_to_string(convoke.folder().join(path)).expect("it was written");
    assert!(workflow.starts_with("# yaml-language-server: $schema=./workflow.schema.json\n"));
    let schema = std::fs::read(convoke.folder().join("trips/workflows/workflow.schema.json"));
    let schema: Value = serde_json::from_slice(&schema.expect("it was written")).expect("JSON");
    assert_eq!(schema, convoke.run(["schema"]).await.exits(0).json());

    convoke.run(["validate", "trips/workflows"]).await.exits(0);
    // The agents of a test stand where there is room for them.
    let mut agents = Vec::new();
    for kind in [Kind::Flights, Kind::Hotels, Kind::Activities] {
        let agent = example(kind, Options::default()).await;
        let usual = format!("http://127.0.0.1:{}", kind.port());
        assert!(workflow.contains(&usual), "{usual} is where `example-agents all` has {kind:?}");
        workflow = workflow.replace(&usual, &agent.url);
        agents.push(agent);
    }
    convoke.write(path, &workflow);
    let run = convoke.run(["run", path, "-m", "A week in Helsinki"]).await.exits(0);
    for said in ["Flight: ", "Hotel: ", "Tour: "] {
        assert!(run.stdout.contains(said), "{}", run.stdout);
    }
    assert!(agents.iter().all(|agent| agent.calls.count() == 1));
}

#[tokio::test]
async fn init_writes_here_and_overwrites_nothing() {
    let convoke = Convoke::default();
    convoke.run(["init"]).await.exits(0);
    convoke.write("workflows/first-trip.yaml", "mine");
    let again = convoke.run(["init"]).await;
    assert_snapshot!(again.complaint(), @r"
    exit 2
    error: workflows/first-trip.yaml is there already, and nothing is overwritten: name another folder, or move it away
    ");
    let kept = std::fs::read_to_string(convoke.folder().join("workflows/first-trip.yaml"));
    assert_eq!(kept.expect("it is there"), "mine");
    // Nor is half of it written.
    convoke.write("half/workflows/workflow.schema.json", "mine");
    convoke.run(["init", "half"]).await.exits(2);
    assert!(!convoke.folder().join("half/workflows/first-trip.yaml").exists());
    convoke.write("file", "");
    let under_a_file = convoke.run(["init", "file"]).await.exits(2);
    assert!(under_a_file.stderr.contains("cannot write file/workflows"), "{}", under_a_file.stderr);
}

#[tokio::test]
async fn validate_takes_the_workflows_of_a_folder() {
    let convoke = Convoke::default();
    convoke.write("flows/b.yaml", RIGHT);
    convoke.write("flows/a.yaml", "convoke: 1\nname: a\nsteps: {a: {agnt: x}}\n");
    convoke.write("flows/notes.txt", "not a workflow");
    convoke.write("flows/deeper/c.yaml", "not: [looked, at");
    let done = convoke.run(["validate", "flows"]).await.exits(1);
    assert_eq!(done.stdout, "flows/b.yaml: ok\n");
    assert!(done.stderr.contains("did you mean `agent`?"), "{}", done.stderr);
    let json = convoke.run(["--json", "validate", "flows", "flows/b.yaml"]).await.exits(1).json();
    let files: Vec<&Value> =
        json.as_array().expect("a list").iter().map(|problem| &problem["file"]).collect();
    assert_eq!(files, ["flows/a.yaml", "flows/a.yaml"]);
    convoke.run(["validate", "flows/b.yaml"]).await.exits(0);
}

#[tokio::test]
async fn what_validate_cannot_read_is_wrong_usage() {
    let convoke = Convoke::default();
    convoke.write("right.yaml", RIGHT);
    convoke.write("empty/notes.txt", "");
    convoke.run(["validate", "right.yaml", "absent.yaml"]).await.exits(2);
    let empty = convoke.run(["validate", "empty"]).await;
    assert_snapshot!(empty.complaint(), @r"
    exit 2
    error: there is no workflow in empty: files named `*.yaml` are looked for, not in folders below it
    ");
}

#[tokio::test]
async fn an_editor_gets_the_place_the_code_and_the_hint() {
    let convoke = Convoke::default();
    convoke.write(
        "w.yaml",
        "convoke: 1\nname: w\nsteps:\n  é: {agent: x}\n  b: {agent: x, needs: [c]}\n",
    );
    let problems = convoke.run(["--json", "validate", "w.yaml"]).await.exits(1).json();
    assert_snapshot!(format!("{:#}", problems[1]), @r#"
    {
      "code": "workflow::unknown-step",
      "column": 25,
      "end_column": 26,
      "end_line": 5,
      "file": "w.yaml",
      "help": "name a step of this file",
      "labels": [
        {
          "column": 25,
          "end_column": 26,
          "end_line": 5,
          "line": 5,
          "text": "unknown step"
        }
      ],
      "line": 5,
      "message": "there is no step `c`",
      "severity": "error"
    }
    "#);
}
