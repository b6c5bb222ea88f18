//! Steps that are runs of other workflows.

use protocol::v1::{ListTasksRequest, Message, Part, TaskState};
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::{Answer, Request, Scripted, completed, task},
    convoke::Convoke,
    journal::Journal,
};

use crate::served::{Served, said};

const CHILD: &str = "
name: child
inputs: {city: {type: string}}
steps:
  a: {agent: it, message: \"${{ inputs.city }}\"}
  b: {agent: it, message: \"more of ${{ steps.a.text }}\"}
outputs:
  text: {value: \"${{ steps.b.text }}\"}
  data: {value: {of: \"${{ inputs.city }}\"}}
";

const PARENT: &str = "
name: parent
inputs: {q: {from: text, default: Oulu}}
steps:
  sub: {workflow: child, with: {city: \"${{ inputs.q }}\"}}
  end: {agent: it, message: \"${{ steps.sub.outputs.text }}, ${{ steps.sub.data.of }}, ${{ steps.sub.artifacts['text'].text }}\"}
outputs: {o: {value: \"${{ steps.end.text }}\"}}
";

fn write(convoke: &Convoke, url: &str, files: &[(&str, &str)]) {
    for (name, rest) in files {
        let agents = format!("convoke: 1\nagents: {{it: {{url: \"{url}\"}}}}\n");
        convoke.write(&format!("workflows/{name}.yaml"), agents + rest);
    }
}

/// Repeats what it is told; works for ever on `never`.
fn echo(request: &Request) -> Answer {
    let id = request.params["id"].as_str().unwrap_or_default();
    match request.method.as_str() {
        "GetTask" => return request.result(&task(id, "WORKING")),
        "CancelTask" => return request.result(&task(id, "CANCELED")),
        "SendMessage" => (),
        _ => return request.error(-32601, "not here"),
    }
    let text = request.params["message"]["parts"][0]["text"].as_str().unwrap_or_default();
    let id = format!("t{}", request.before);
    request.result(&json!({"task": match text {
        "never" => task(&id, "WORKING"),
        "fail" => task(&id, "FAILED"),
        text => completed(&id, text),
    }}))
}

fn texts(agent: &Scripted) -> Vec<String> {
    let sent = agent.received("SendMessage");
    let text = |request: &Request| {
        request.params["message"]["parts"][0]["text"].as_str().expect("a text").to_owned()
    };
    sent.iter().map(text).collect()
}

#[tokio::test]
async fn the_outputs_of_a_workflow_are_what_its_step_yields() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    write(&convoke, &agent.url, &[("child", CHILD), ("parent", PARENT)]);
    let done = convoke.run(["--json", "run", "parent"]).await.exits(0).json();
    assert_eq!(done["outputs"][0]["parts"][0]["text"], "more of Oulu, Oulu, more of Oulu");
    let sub = &done["steps"][0];
    assert_eq!((&sub["agent"], &sub["outputs"]["data"]), (&json!("child"), &json!({"of": "Oulu"})));
    let inside: Vec<&Value> =
        sub["sub_run"]["steps"].as_array().unwrap().iter().map(|it| &it["step"]).collect();
    assert_eq!(inside, ["a", "b"]);
    assert_eq!(sub["sub_run"]["context_id"], done["context_id"]);
    // The agent uses a context of its own from then on.
    let offered = &agent.received("SendMessage")[0].params["message"]["contextId"];
    assert_eq!(*offered, done["context_id"]);
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    assert_eq!(runs.as_array().map(Vec::len), Some(1), "a sub-run is not listed");
    let shown = convoke.run(["runs", "show", done["run"].as_str().unwrap()]).await.exits(0).stdout;
    assert!(shown.contains("sub/b  completed"), "{shown}");
}

#[tokio::test]
async fn what_a_workflow_cannot_start_with_is_a_problem_of_the_file() {
    let convoke = Convoke::default();
    let parent =
        "name: parent\nsteps: {a: {workflow: child, with: {cty: x}}, b: {workflow: parent}}\n";
    write(&convoke, "http://127.0.0.1:1", &[("child", CHILD), ("parent", parent)]);
    let told = convoke.run(["validate", "workflows/parent.yaml"]).await.exits(1).stderr;
    for said in ["has no input `cty`", "needs its input `city`", "parent → parent"] {
        assert!(told.contains(said), "{told}");
    }
}

/// Nine workflows inside each other, of which the innermost computes something.
fn write_nine(convoke: &Convoke) {
    for depth in 1..=9 {
        let step = match depth {
            9 => "{set: {n: 9}}".to_owned(),
            depth => format!("{{workflow: w{}}}", depth + 1),
        };
        let file = format!("convoke: 1\nname: w{depth}\nsteps: {{s: {step}}}\n");
        convoke.write(&format!("workflows/w{depth}.yaml"), file);
    }
}

#[tokio::test]
async fn eight_workflows_may_be_inside_each_other_and_nine_may_not() {
    let convoke = Convoke::default();
    write_nine(&convoke);
    let done = convoke.run(["--json", "run", "w2"]).await.exits(0).json();
    assert_eq!(done["state"], "completed");
    let told = convoke.run(["validate", "workflows/w1.yaml"]).await.exits(1).stderr;
    let why =
        "`w9` is one workflow too many inside each other: w1 → w2 → w3 → w4 → w5 → w6 → w7 → w8";
    assert!(told.contains(why) && told.contains("at most 8 are"), "{told}");
    let told = convoke.run(["run", "w1"]).await.exits(2).stderr;
    assert!(told.contains(why), "{told}");
}

#[tokio::test]
async fn a_server_leaves_out_what_is_deeper_than_its_setting_says() {
    let convoke = Convoke::default();
    write_nine(&convoke);
    for (setting, outermost) in
        [("runs.max_depth=2", 8), ("runs.max_depth=8", 2), ("runs.max_depth=9", 1)]
    {
        let server = Served::with(&convoke, &["--set", setting]).await;
        let card = server.get("/.well-known/agent-card.json", "127.0.0.1").await;
        let (_, card) = card.split_once("\r\n\r\n").expect("an answer of HTTP");
        let card: Value = serde_json::from_str(card).expect("a card");
        let skills = card["skills"].as_array().expect("skills");
        let workflows: Vec<&str> =
            skills.iter().filter_map(|it| it["id"].as_str()).filter(|id| id.len() == 2).collect();
        let wanted: Vec<String> = (outermost..=9).map(|depth| format!("w{depth}")).collect();
        assert_eq!(workflows, wanted, "{setting}");
        server.process.kill().await;
    }
}

#[tokio::test]
async fn questions_inside_are_answered_by_their_addresses() {
    let convoke = Convoke::default();
    let child = "name: child\nsteps: {one: {ask: One?}, two: {ask: Two?, schema: {type: integer}}}\n\
                 outputs: {o: {value: \"${{ steps.one.text }} ${{ steps.two.data }}\"}}\n";
    let middle = "name: middle\nsteps: {in: {workflow: child}}\n";
    let parent = "name: parent\nsteps: {sub: {workflow: middle}}\n";
    for (name, rest) in [("child", child), ("middle", middle), ("parent", parent)] {
        convoke.write(&format!("workflows/{name}.yaml"), format!("convoke: 1\n{rest}"));
    }
    let paused = convoke.run(["run", "parent"]).await.exits(4);
    assert!(paused.stderr.contains("sub/in/one asks: One?"), "{}", paused.stderr);
    assert!(paused.stderr.contains("sub/in/two asks: Two?"), "{}", paused.stderr);
    let run = Journal::read(&convoke.data()).await.unwrap().run;
    convoke.run(["runs", "reply", &run, "sub/in/one", "yes"]).await.exits(4);
    let misfit = convoke.run(["runs", "reply", &run, "sub/in/two", "x"]).await.exits(2);
    assert!(misfit.stderr.contains("must be an integer"), "{}", misfit.stderr);
    let done = convoke.run(["--json", "runs", "reply", &run, "7"]).await.exits(0).json();
    assert_eq!(done["outputs"][0]["parts"][0]["text"], "yes 7");
}

#[tokio::test]
async fn a_client_answers_what_is_asked_inside_and_finds_it_in_the_history() {
    let convoke = Convoke::default();
    convoke.write(
        "workflows/child.yaml",
        "convoke: 1\nname: child\nsteps: {one: {ask: One?, schema: {type: string}}}\n",
    );
    convoke.write("workflows/parent.yaml", "convoke: 1\nname: parent\ninputs: {q: {from: text}}\nsteps: {sub: {workflow: child}}\noutputs: {o: {value: '${{ steps.sub.text }}'}}\n");
    let served = Served::start(&convoke).await;
    let message = said("go").with_metadata("urn:convoke:workflow:v1", "parent");
    let task = served.send(message, false).await;
    assert_eq!(task.state(), TaskState::InputRequired, "{task:?}");
    let question = task.status.unwrap().message.unwrap();
    let about = &question.parts[0].metadata.as_ref().unwrap().0;
    assert_eq!(
        (&about["urn:convoke:step:v1"], &about["schema"]),
        (&json!("sub/one"), &json!({"type": "string"}))
    );
    let answer = said("fine").with_task(&task.id).with_metadata("urn:convoke:step:v1", "sub/one");
    served.send(answer, false).await;
    served.until(&task.id, TaskState::Completed).await;
    let done = served.task(&task.id).await;
    assert_eq!(Message::agent(done.artifacts[0].parts.clone()).text(), "fine");
    assert_eq!(done.history.len(), 2);
    let listed = served.client.list_tasks(ListTasksRequest::default(), PATIENCE).await.unwrap();
    assert_eq!(listed.tasks.len(), 1);
}

/// The answer ends the sub-run and with it the run, and whoever gave it hears all the same that it was taken.
#[tokio::test]
async fn an_answer_that_ends_everything_is_told_to_be_taken_and_is_in_the_history() {
    let convoke = Convoke::default();
    convoke.write("workflows/child.yaml", "convoke: 1\nname: child\nsteps: {one: {ask: One?}}\n");
    convoke.write(
        "workflows/parent.yaml",
        "convoke: 1\nname: parent\ninputs: {q: {from: text}}\nsteps: {sub: {workflow: child}}\n",
    );
    let served = Served::start(&convoke).await;
    let answered = (0..32).map(|number| {
        let served = &served;
        async move {
            let message = said(&format!("go {number}"));
            let task = served
                .send(message.with_metadata("urn:convoke:workflow:v1", "parent"), false)
                .await;
            let done = served.send(said("yes").with_task(&task.id), false).await;
            (done.state(), served.task(&task.id).await.history.len())
        }
    });
    let ended = futures_util::future::join_all(answered).await;
    assert_eq!(ended, vec![(TaskState::Completed, 2); 32]);
}

#[tokio::test]
async fn calls_inside_count_against_the_budget_of_the_whole() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    let parent = format!("budget: {{calls: 2}}{PARENT}");
    write(&convoke, &agent.url, &[("child", CHILD), ("parent", &parent)]);
    let failed = convoke.run(["--json", "run", "parent"]).await.exits(1);
    assert_eq!(texts(&agent), ["Oulu", "more of Oulu"], "the third call is not made");
    assert!(failed.stderr.contains("budget"), "{}", failed.stderr);
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    let parent = parent.replace("calls: 2", "calls: 1");
    write(&convoke, &agent.url, &[("child", CHILD), ("parent", &parent)]);
    convoke.run(["--json", "run", "parent"]).await.exits(1);
    assert_eq!(texts(&agent), ["Oulu"], "not even inside");
}

#[tokio::test]
async fn a_failure_inside_fails_the_step_and_may_be_tried_again() {
    let agent = Scripted::polled(|request| match (request.method.as_str(), request.before) {
        ("SendMessage", 0) => request.result(&json!({"task": task("t", "FAILED")})),
        ("SendMessage", _) => request.result(&json!({"task": completed("u", "ice")})),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    let child = "name: child\nsteps: {a: {agent: it, message: hi}}\n";
    let parent = "name: parent\nsteps: {sub: {workflow: child, retry: {on: [failed], backoff: {initial: 1ms}}}}\n";
    write(&convoke, &agent.url, &[("child", child), ("parent", parent)]);
    let done = convoke.run(["--json", "run", "parent"]).await.exits(0).json();
    assert_eq!(
        (&done["steps"][0]["attempts"], agent.received("SendMessage").len()),
        (&json!(2), 2)
    );
    let once = "name: parent\nsteps: {sub: {workflow: child}}\n";
    let agent =
        Scripted::polled(|request| request.result(&json!({"task": task("t", "FAILED")}))).await;
    write(&convoke, &agent.url, &[("child", child), ("parent", once)]);
    let failed = convoke.run(["run", "parent"]).await.exits(1).stderr;
    assert!(
        failed.contains("step `sub` failed (attempt 1): workflow `child` failed: step `a` failed"),
        "{failed}"
    );
}

#[tokio::test]
async fn a_cancel_goes_down() {
    let agent = Scripted::polled(echo).await;
    let convoke = Convoke::default();
    write(&convoke, &agent.url, &[("child", CHILD), ("parent", PARENT)]);
    let process = convoke.start(["run", "parent", "-m", "never"]);
    agent.until("SendMessage", 1).await;
    process.interrupt();
    assert_eq!(process.end().await.code, 130);
    assert_eq!(agent.received("CancelTask").len(), 1);
}

/// The process is killed while the sub-run waits for its agent.
#[tokio::test]
async fn a_sub_run_goes_on_where_it_stood_when_its_process_was_killed() {
    let agent = Scripted::start(|request| match (request.method.as_str(), request.before) {
        ("SendStreamingMessage", 1) => request.events_then_silence(&[]),
        ("SendStreamingMessage", before) => {
            let text = request.params["message"]["parts"][0]["text"].as_str().unwrap_or_default();
            request.events(&[json!({"task": completed(&format!("t{before}"), text)})])
        }
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    write(&convoke, &agent.url, &[("child", CHILD), ("parent", PARENT)]);
    let process = convoke.start(["run", "parent"]);
    agent.until("SendStreamingMessage", 2).await;
    process.kill().await;
    // What is run is what was planned.
    convoke.write("workflows/child.yaml", "convoke: 1\nname: child\nsteps: {x: {ask: Never?}}\n");
    let run = Journal::read(&convoke.data()).await.unwrap().run;
    let done = convoke.run(["--json", "run", "--resume", &run]).await.exits(0).json();
    assert_eq!(done["outputs"][0]["parts"][0]["text"], "more of Oulu, Oulu, more of Oulu");
    let sent = agent.received("SendStreamingMessage");
    assert_eq!(sent.len(), 4, "only what nobody had answered was sent again");
    assert_eq!(sent[1].params, sent[2].params);
    assert_eq!(Journal::read(&convoke.data()).await.unwrap().count("attempt_started"), 2);
}

#[tokio::test]
async fn a_sub_run_of_a_killed_server_goes_on_and_is_answered() {
    let convoke = Convoke::default();
    convoke.write("workflows/child.yaml", "convoke: 1\nname: child\nsteps: {one: {ask: One?}}\n");
    convoke.write(
        "workflows/parent.yaml",
        "convoke: 1\nname: parent\ninputs: {q: {from: text}}\nsteps: {sub: {workflow: child}}\n",
    );
    let served = Served::start(&convoke).await;
    let message = said("go").with_metadata("urn:convoke:workflow:v1", "parent");
    let task = served.send(message, false).await;
    served.process.kill().await;
    let served = Served::start(&convoke).await;
    let answer = Message::user(vec![Part::text("yes")]).with_task(&task.id);
    served.send(answer, false).await;
    served.until(&task.id, TaskState::Completed).await;
}
