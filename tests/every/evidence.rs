//! What is seen of agents: by `agents probe`, by a serving process, and in runs.

use examples::{Kind, Options, Running};
use protocol::v1::{ListTasksRequest, TaskState};
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::{Scripted, example},
    convoke::Convoke,
};

use crate::{
    served::{Served, said},
    steady,
};

/// What `agents list` has of an agent: one that has not been looked at has no `seen`.
async fn seen(convoke: &Convoke, name: &str) -> Value {
    let listed = convoke.run(["--json", "agents", "list"]).await.exits(0).json();
    let agents = listed.as_array().expect("a list").clone();
    agents.into_iter().find(|agent| agent["name"] == name).expect("it is listed")
}

/// Waits until `agents list` has something of an agent.
async fn until(convoke: &Convoke, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let looking = async {
        loop {
            let agent = seen(convoke, name).await;
            if is_so(&agent) {
                return agent;
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("it comes in time")
}

async fn until_it_is(convoke: &Convoke, name: &str, tier: impl Into<Value>) -> Value {
    let tier = tier.into();
    until(convoke, name, |agent| agent["evidence"] == tier && !agent["seen"].is_null()).await
}

/// A directory with one approved agent.
async fn knowing(url: &str) -> Convoke {
    let convoke = Convoke::default();
    let _added = convoke.run(["agents", "add", url, "--approve"]).await.exits(0);
    let workflow = "convoke: 1\nname: w\nsteps: {a: {agent: echo, message: Hello.}}\n\
                    outputs: {it: {value: \"${{ steps.a.text }}\"}}\n";
    convoke.write("workflows/w.yaml", workflow);
    convoke
}

async fn echo() -> (Running, Convoke) {
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = knowing(&echo.url).await;
    (echo, convoke)
}

/// An agent that has a perfect card and answers everything in the same way.
async fn nonsense() -> Scripted {
    Scripted::start(|request| request.result(&json!({"well": "hello"}))).await
}

#[tokio::test]
async fn an_agent_that_answers_as_it_should_is_conformant_and_was_asked_for_nothing() {
    let (echo, convoke) = echo().await;
    assert_eq!(seen(&convoke, "echo").await["seen"], Value::Null);
    let probed = convoke.run(["agents", "probe", "echo"]).await.exits(0);
    let agent = seen(&convoke, "echo").await;
    assert_eq!(agent["evidence"], "conformant");
    assert_eq!(echo.calls.count(), 0, "no Message was sent");
    let served = crate::served::client_of(&echo.url);
    let tasks = served.list_tasks(ListTasksRequest::default(), PATIENCE).await.expect("a list");
    assert!(tasks.tasks.is_empty(), "and there is no Task");
    let listed = convoke.run(["agents", "list"]).await.exits(0);
    let found = convoke.run(["agents", "search", "echo"]).await.exits(0);
    let shown = convoke.run(["agents", "show", "echo"]).await.exits(0);
    let evidence = shown.stdout.split("  card version").nth(1).expect("what follows the card");
    let _steady = steady();
    insta::assert_snapshot!(probed.stdout, @"echo  conformant since TIME");
    insta::assert_snapshot!(listed.stdout, @r"
    AGENT  STANDING  EVIDENCE                               TAGS                     URL
    echo   approved  conformant since TIME  echo, research, writing  http://127.0.0.1:PORT/.well-known/agent-card.json
");
    insta::assert_snapshot!(found.stdout, @r"
    echo  approved
      Answers with the texts and data it is sent.
      conformant since TIME, looked at TIME: completed nothing in our runs yet
      `echo` in name, skill, tag
");
    insta::assert_snapshot!(evidence, @r"
    1
     evidence conformant since TIME, looked at TIME: completed nothing in our runs yet
       tier reachable since TIME
       tier valid since TIME
       tier conformant since TIME
       tier proven not, since TIME: completed nothing in our runs yet
       probe TIME conformant
     TIME proposed by tester
     TIME approved by tester
");
}

#[tokio::test]
async fn an_agent_that_is_up_but_answers_nonsense_is_valid_and_not_conformant() {
    let agent = nonsense().await;
    let convoke = knowing(&agent.url).await;
    let probed = convoke.run(["agents", "probe"]).await.exits(1);
    assert_eq!(seen(&convoke, "scripted").await["evidence"], "valid");
    for method in ["SendMessage", "SendStreamingMessage", "CancelTask"] {
        assert!(agent.received(method).is_empty(), "{method}");
    }
    assert!(!agent.received("GetTask").is_empty());
    let shown = convoke.run(["--json", "agents", "show", "scripted"]).await.exits(0).json();
    let evidence = &shown["evidence"];
    assert_eq!(evidence["seen"]["last"], "valid");
    assert_eq!(evidence["probes"][0]["tier"], "valid");
    let linted = convoke.run(["--json", "agents", "lint", "scripted"]).await.exits(1).json();
    let findings = linted[0]["findings"].as_array().expect("a list").clone();
    let missing: Vec<&Value> =
        findings.iter().filter(|it| it["code"] == "card::missing-capability").collect();
    assert_eq!(missing.len(), 1, "{findings:?}");
    assert_eq!(missing[0]["pointer"], "/capabilities/streaming");
    let help = missing[0]["help"].as_str().unwrap_or_default();
    assert!(help.contains("take it out of the card"), "{help}");
    let listed = convoke.run(["agents", "list"]).await.exits(0);
    let _steady = steady();
    insta::assert_snapshot!(probed.stdout, @r"
    scripted  valid since TIME
      GetTask of an unknown id over JSONRPC 1.0: not TASK_NOT_FOUND: the answer of http://127.0.0.1:PORT/ is not usable: the task has no status; check that the address is an A2A interface, and tell its operator
      a call in version 99.9 over JSONRPC 1.0: not VERSION_NOT_SUPPORTED: the answer of http://127.0.0.1:PORT/ is not usable: the task has no status; check that the address is an A2A interface, and tell its operator
      streaming, which the card declares, over JSONRPC 1.0: it does not work as declared: the answer of http://127.0.0.1:PORT/ is not usable: an event holds none of task, message, statusUpdate and artifactUpdate; check that the address is an A2A interface, and tell its operator
");
    insta::assert_snapshot!(listed.stdout, @r"
     AGENT     STANDING  EVIDENCE                          TAGS    URL
     scripted  approved  valid since TIME  acting  http://127.0.0.1:PORT/
    scripted valid since TIME, looked at TIME: GetTask of an unknown id over JSONRPC 1.0: not TASK_NOT_FOUND: the answer of http://127.0.0.1:PORT/ is not usable: the task has no status; check that the address is an A2A interface, and tell its operator (and 2 more)
");
}

#[tokio::test]
async fn one_that_stops_is_demoted_with_date_and_reason_and_one_that_comes_back_is_promoted() {
    let (echo, convoke) = echo().await;
    let served = Served::with(&convoke, &["--set", "evidence.interval=200ms"]).await;
    let before = until_it_is(&convoke, "echo", "conformant").await;
    let address = echo.url.strip_prefix("http://").expect("its URL").parse().expect("an address");
    echo.shutdown().await.expect("it stops");
    let after = until_it_is(&convoke, "echo", Value::Null).await;
    let seen = &after["seen"];
    assert_eq!((&seen["last"], &seen["was"]), (&Value::Null, &json!("conformant")));
    assert!(seen["since"].as_str() > before["seen"]["at"].as_str(), "{seen}");
    let why = seen["why"].as_str().expect("a reason");
    assert!(why.contains("cannot be reached"), "{why}");
    let again = examples::spawn(Kind::Echo, address, Options::default()).await.expect("it is free");
    let back = until_it_is(&convoke, "echo", "conformant").await;
    assert_eq!(back["seen"]["was"], Value::Null);
    drop((again, served));
}

#[tokio::test]
async fn success_in_our_runs_proves_an_agent_and_plans_can_ask_for_that() {
    let (_echo, convoke) = echo().await;
    let step = "{agent: {name: echo, min_evidence: proven}, message: Hello.}";
    convoke.write("picky.yaml", format!("convoke: 1\nname: picky\nsteps: {{a: {step}}}\n"));
    let easy = "convoke: 1\nname: easy\nsteps: {a: {agent: {skill: echo}, message: Hello.}}\n";
    convoke.write("easy.yaml", easy);
    let unseen = convoke.run(["plan", "picky.yaml"]).await;
    let _probed = convoke.run(["agents", "probe"]).await.exits(0);
    let conformant = convoke.run(["plan", "picky.yaml"]).await;
    let _ran = convoke.run(["run", "easy.yaml"]).await.exits(0);
    let agent = seen(&convoke, "echo").await;
    assert_eq!(agent["evidence"], "proven");
    assert_eq!(agent["seen"]["was"], "conformant");
    let why = agent["seen"]["why"].as_str().expect("a reason");
    assert!(why.starts_with("completed step `a` of run "), "{why}");
    let shown = convoke.run(["--json", "agents", "show", "echo"]).await.exits(0).json();
    assert_eq!(shown["evidence"]["runs"][0]["skill"], "echo");
    assert_eq!(shown["evidence"]["runs"][0]["completed"], 1);
    let planned = convoke.run(["plan", "picky.yaml"]).await.exits(0);
    assert!(planned.stdout.contains("at least proven"), "{}", planned.stdout);
    let _ran = convoke.run(["run", "picky.yaml"]).await.exits(0);
    let _steady = steady();
    insta::assert_snapshot!(unseen.complaint(), @r"
    exit 1
    plan::no-agent

      × no agent for step `a` (name `echo`, at least proven): the only candidate cannot be used
       ╭─[picky.yaml:3:21]
     2 │ name: picky
     3 │ steps: {a: {agent: {name: echo, min_evidence: proven}, message: Hello.}}
       ·                     ────
       ╰────
      help: `echo` is not proven: it was not looked at yet; `convoke agents probe` does
");
    let said = conformant.complaint();
    assert!(said.contains("`echo` is not proven: conformant since "), "{said}");
}

#[tokio::test]
async fn a_plan_avoids_an_agent_that_answers_nonsense_and_says_why() {
    let (_echo, convoke) = echo().await;
    let bad = nonsense().await;
    let _added = convoke.run(["agents", "add", &bad.url, "--approve"]).await.exits(0);
    for agent in ["echo", "scripted"] {
        let _tagged = convoke.run(["agents", "tag", agent, "wanted"]).await.exits(0);
    }
    let _probed = convoke.run(["agents", "probe"]).await.exits(1);
    let workflow = "convoke: 1\nname: w\nsteps:\n  a: {agent: {tags: [wanted], min_evidence: conformant}, message: Hi.}\n";
    convoke.write("w.yaml", workflow);
    let planned = convoke.run(["plan", "w.yaml"]).await.exits(0);
    let _steady = steady();
    insta::assert_snapshot!(planned.stdout, @r"
    w
    1 step, at most 16 at once and 1d in all

    a
      agent      echo (tags wanted, at least conformant), streaming
      interface  JSONRPC 1.0 at http://127.0.0.1:PORT
      card       sha256:DIGEST
      not        scripted: is not conformant: valid since TIME, looked at TIME: GetTask of an unknown id over JSONRPC 1.0: not TASK_NOT_FOUND: the answer of http://127.0.0.1:PORT/ is not usable: the task has no status; check that the address is an A2A interface, and tell its operator (and 2 more)
");
}

#[tokio::test]
async fn what_is_seen_goes_stale_when_nobody_looks_any_more() {
    let (_echo, convoke) = echo().await;
    let settings = ["--set", "evidence.interval=100ms", "--set", "evidence.stale_after=2s"];
    let served = Served::with(&convoke, &settings).await;
    until_it_is(&convoke, "echo", "conformant").await;
    served.process.kill().await;
    let stale = until_it_is(&convoke, "echo", Value::Null).await;
    assert_eq!(stale["seen"]["last"], "conformant");
    assert_eq!(stale["seen"]["is_stale"], true);
    let listed = convoke.run(["agents", "list"]).await.exits(0);
    assert!(listed.stdout.contains("conformant (stale) since"), "{}", listed.stdout);
    let step = "{agent: {name: echo, min_evidence: reachable}, message: Hello.}";
    convoke.write("w.yaml", format!("convoke: 1\nname: w\nsteps: {{a: {step}}}\n"));
    let planned = convoke.run(["plan", "w.yaml"]).await.exits(1);
    assert!(planned.stderr.contains("stale since"), "{}", planned.stderr);
}

#[tokio::test]
async fn work_proves_for_as_long_as_the_settings_say() {
    let (_echo, convoke) = echo().await;
    let settings = ["--set", "evidence.window=1ms"];
    let served = Served::with(&convoke, &settings).await;
    let task = served.send(said("go"), false).await;
    assert_eq!(task.state(), TaskState::Completed);
    let agent = until(&convoke, "echo", |agent| !agent["seen"].is_null()).await;
    assert_eq!(agent["evidence"], Value::Null, "{agent}");
    let why = agent["seen"]["why"].as_str().expect("a reason");
    assert!(why.starts_with("completed nothing in our runs since "), "{why}");
    let shown = convoke.run(["--json", "agents", "show", "echo"]).await.exits(0).json();
    assert_eq!(shown["evidence"]["probes"], json!([]), "`off` is off");
    drop(served);
}

#[tokio::test]
async fn a_rule_of_the_policy_approves_what_is_conformant_and_nothing_else() {
    let (echo, bad) = (example(Kind::Echo, Options::default()).await, nonsense().await);
    let convoke = Convoke::default();
    convoke.write("policy.yaml", "approve: [{evidence: conformant}]\n");
    let _set = convoke.run(["agents", "policy", "policy.yaml"]).await.exits(0);
    for url in [&echo.url, &bad.url] {
        let _added = convoke.run(["agents", "add", url]).await.exits(0);
    }
    assert_eq!(seen(&convoke, "echo").await["standing"], "proposed");
    let _probed = convoke.run(["agents", "probe"]).await.exits(1);
    assert_eq!(seen(&convoke, "echo").await["standing"], "approved");
    assert_eq!(seen(&convoke, "scripted").await["standing"], "proposed");
    let shown = convoke.run(["agents", "show", "echo"]).await.exits(0);
    assert!(shown.stdout.contains("approved by policy: evidence: conformant"), "{}", shown.stdout);
}

#[tokio::test]
async fn probing_one_that_is_not_there_is_wrong_usage() {
    let (_echo, convoke) = echo().await;
    let unknown = convoke.run(["agents", "probe", "ecco"]).await;
    insta::assert_snapshot!(unknown.complaint(), @r"
    exit 2
    error: there is no agent `ecco`; did you mean `echo`?
");
    let none = Convoke::default().run(["agents", "probe"]).await.exits(0);
    assert_eq!(none.stderr, "no agents; `convoke agents add URL` takes one in\n");
}
