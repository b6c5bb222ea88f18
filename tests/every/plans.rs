//! `convoke plan`

use examples::{Kind, Options};
use insta::assert_snapshot;
use tests::{agent::example, convoke::Convoke};

use crate::steady;

const WORKFLOW: &str = "
name: planned
title: Something planned
steps:
  first: {agent: it, message: Hello.}
  second: {agent: {tags: [echo]}, needs: [first], message: Again.}
";

#[tokio::test]
async fn a_plan_is_shown_as_text_as_json_and_as_a_diagram() {
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    let _added = convoke.run(["agents", "add", &echo.url, "--approve"]).await.exits(0);
    let agents = format!("agents: {{it: {{url: \"{}\"}}}}", echo.url);
    convoke.write("w.yaml", format!("convoke: 1\n{agents}{WORKFLOW}"));
    let text = convoke.run(["plan", "w.yaml"]).await.exits(0);
    let same = convoke.run(["plan", "w.yaml", "--format", "text"]).await.exits(0);
    let mermaid = convoke.run(["plan", "w.yaml", "--format", "mermaid"]).await.exits(0);
    let json = convoke.run(["plan", "w.yaml", "--format", "json"]).await.exits(0);
    let flag = convoke.run(["plan", "w.yaml", "--json"]).await.exits(0);
    assert_eq!(same.stdout, text.stdout);
    assert_eq!(flag.json(), json.json());
    let dot = convoke.run(["plan", "w.yaml", "--format", "dot"]).await.exits(0);
    let svg = convoke.run(["plan", "w.yaml", "--format", "svg"]).await.exits(0);
    assert!(svg.stdout.starts_with("<svg ") && svg.stdout.ends_with("</svg>\n"), "{}", svg.stdout);
    assert!(svg.stdout.contains("<title>second waits for first: needs (line 7)</title>"));
    for done in [&text, &mermaid, &json, &dot, &svg] {
        assert_eq!(done.stderr, "");
    }
    let plan = json.json();
    assert_eq!(plan["steps"][0]["agent"], "it", "{plan:#}");
    assert_eq!(plan["steps"][1]["agent"], "echo", "{plan:#}");
    assert_eq!(echo.calls.count(), 0, "nothing is sent for a plan");
    let _steady = steady();
    assert_snapshot!(text.stdout, @r"
    planned: Something planned
    2 steps, at most 16 at once and 1d in all

    first
      agent      it (by name), streaming
      interface  JSONRPC 1.0 at http://127.0.0.1:PORT
      card       sha256:DIGEST

    second
      agent      echo (tags echo), streaming
      interface  JSONRPC 1.0 at http://127.0.0.1:PORT
      card       sha256:DIGEST
      not        it: fits, but `echo` comes first by name
      after      first: needs (line 7)
    ");
    assert_snapshot!(mermaid.stdout, @r#"
    ---
    title: "Something planned"
    ---
    flowchart TD
        step_first["first<br/>it<br/><i>by name</i>"]
        step_second["second<br/>echo<br/><i>tags echo</i>"]
        step_first -->|"needs (line 7)"| step_second
    "#);
    assert_snapshot!(dot.stdout, @r#"
    digraph {
        label = "Something planned"
        labelloc = "t"
        node [ shape = "box" ]
        0 [ label = "first\lit\lby name\l" ]
        1 [ label = "second\lecho\ltags echo\l" ]
        0 -> 1 [ label = "needs (line 7)\l" ]
    }
    "#);
}

#[tokio::test]
async fn an_unknown_format_is_refused_with_those_there_are() {
    let convoke = Convoke::default();
    let done = convoke.run(["plan", "w.yaml", "--format", "png"]).await.exits(2);
    for format in ["text", "json", "mermaid", "dot", "svg"] {
        assert!(done.stderr.contains(format), "{}", done.stderr);
    }
}

#[tokio::test]
async fn every_agent_that_cannot_be_fetched_is_named() {
    let convoke = Convoke::default();
    let (one, two) = ("http://127.0.0.1:1/one.json", "http://127.0.0.1:1/two.json");
    convoke.write(
        "w.yaml",
        format!(
            "convoke: 1\nname: absent\nagents: {{a: {{url: \"{one}\"}}, b: {{url: \"{two}\"}}}}\n\
             steps: {{a: {{agent: a, message: A.}}, b: {{agent: b, message: B.}}}}\n"
        ),
    );
    let planned = convoke.run(["plan", "w.yaml"]).await.exits(3);
    let ran = convoke.run(["run", "w.yaml"]).await.exits(3);
    assert_eq!(planned.stderr, ran.stderr);
    for url in [one, two] {
        assert!(planned.stderr.contains(url), "{}", planned.stderr);
    }
}
