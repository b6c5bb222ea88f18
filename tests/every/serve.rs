//! `convoke serve`: the real binary, an A2A client in front, agents behind, and kills.

use examples::{Kind, Options};
use insta::assert_snapshot;
use protocol::v1::{Task, TaskState};
use tests::{
    agent::{example, one_step},
    convoke::{Convoke, Process},
};

use crate::{
    served::{SERVE, Served, said},
    steady,
};

pub(crate) fn text(task: &Task) -> String {
    assert_eq!(task.state(), TaskState::Completed, "{task:?}");
    task.artifacts[0].text()
}

#[tokio::test]
async fn a_run_that_is_killed_with_its_server_goes_on_under_the_same_task() {
    let agent = example(Kind::Slow, Options::default()).await;
    let convoke = Convoke::default();
    let steps = format!(
        "convoke: 1\nname: chain\nagents: {{it: {{url: \"{}\"}}}}\nsteps:\n  \
         one: {{agent: it, message: 2s}}\n  two: {{agent: it, message: 10ms, needs: [one]}}\n",
        agent.url
    );
    convoke.write("workflows/chain.yaml", steps);
    let served = Served::start(&convoke).await;
    let task = served.send(said("go"), true).await;
    assert_eq!(task.state(), TaskState::Working);
    served.process.kill().await;
    let served = Served::start(&convoke).await;
    let states = served.follow(&task.id).await;
    assert_eq!(states.last(), Some(&TaskState::Completed));
    let done = served.task(&task.id).await;
    assert_eq!((text(&done), &done.context_id), ("10ms".to_owned(), &task.context_id));
    assert_eq!(done.history, task.history);
    let mut sent: Vec<String> = agent.calls.all().into_iter().map(|it| it.message_id).collect();
    sent.dedup();
    assert_eq!(sent.len(), 2, "one messageId for each step");
}

#[tokio::test]
async fn a_pause_outlives_its_server_and_the_answer_reaches_the_task_that_asked() {
    let agent = example(Kind::Asks, Options { turns: 2, ..Options::default() }).await;
    let convoke = Convoke::default();
    convoke.write("workflows/w.yaml", one_step(&agent.url, ""));
    let served = Served::start(&convoke).await;
    let asked = served.send(said("go"), false).await;
    assert_eq!(asked.status_text().as_deref(), Some("What should it say?"));
    served.process.kill().await;
    let served = Served::start(&convoke).await;
    assert_eq!(served.task(&asked.id).await, asked);
    let again = served.send(said("Yes").with_task(&asked.id), false).await;
    assert_eq!(again.status_text().as_deref(), Some("To whom?"));
    served.process.kill().await;
    let served = Served::start(&convoke).await;
    let done = served.send(said("Everybody").with_task(&asked.id), false).await;
    assert_eq!(text(&done), "Hello. [Yes | Everybody]");
    assert_eq!(agent.calls.count(), 3);
}

#[tokio::test]
async fn a_question_before_the_run_outlives_its_server() {
    let agent = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    convoke.write("workflows/one.yaml", one_step(&agent.url, ""));
    let other = one_step(&agent.url, "").replace("name: one-step", "name: other");
    convoke.write("workflows/two.yaml", other);
    let served = Served::start(&convoke).await;
    let asked = served.send(said("go"), false).await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    served.process.kill().await;
    let served = Served::start(&convoke).await;
    let done = served.send(said("other").with_task(&asked.id), false).await;
    assert_eq!((text(&done), done.id), ("Hello.".to_owned(), asked.id));
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_leaves_its_runs_to_whoever_comes_next() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let convoke = Convoke::default();
    convoke.write("workflows/w.yaml", one_step(&agent.url, ""));
    for stop in [Process::terminate, Process::interrupt] {
        let served = Served::start(&convoke).await;
        let asked = served.send(said("go"), false).await;
        stop(&served.process);
        let done = served.process.end().await.exits(0);
        assert!(done.stderr.contains("stopping: runs stay where they stand"), "{}", done.stderr);
        let replied = convoke.run(["--json", "runs", "reply", &asked.id, "Yes"]).await.exits(0);
        assert_eq!(replied.json()["outputs"][0]["parts"][0]["text"], "Hello. [Yes]");
    }
}

#[tokio::test]
async fn a_broken_workflow_is_shown_and_left_out() {
    let agent = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    convoke.write("workflows/bad.yaml", "convoke: 1\nname: bad\n");
    convoke.write("workflows/good.yaml", one_step(&agent.url, ""));
    let mut process = convoke.start(SERVE);
    process.until("workflow::").await;
    process.until("workflows/bad.yaml is left out").await;
    process.until("serves 1 workflows from workflows; its card: ").await;
}

#[tokio::test]
async fn the_url_that_clients_use_stands_on_the_card() {
    let convoke = Convoke::default();
    convoke.write("workflows/readme.txt", "none yet");
    let url = ["--public-url", "https://agents.example.com/convoke/"];
    let mut process = convoke.start(SERVE.into_iter().chain(url));
    process.until("there is no workflow in workflows: every Message will be rejected").await;
    let card = "its card: https://agents.example.com/convoke/.well-known/agent-card.json";
    process.until(card).await;
}

#[tokio::test]
async fn what_cannot_be_served_says_so() {
    let convoke = Convoke::default();
    let complaint =
        async |args: &[&str]| convoke.run(["serve"].iter().chain(args)).await.complaint();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken =
        taken.local_addr().map(|address| (taken, address.to_string())).expect("it is bound");
    let no_folder = complaint(&[]).await;
    convoke.write("workflows/readme.txt", "none yet");
    let everywhere = complaint(&["--listen", "0.0.0.0:8100"]).await;
    let twice = complaint(&["--listen", &taken.1]).await;
    let url = complaint(&["--listen", "127.0.0.1:0", "--public-url", "ftp://example.com"]).await;
    let _steady = steady();
    assert_snapshot!(no_folder, @r"
    exit 2
    error: cannot read the folder of workflows workflows: No such file or directory (os error 2); name another one with --workflows
    ");
    assert_snapshot!(everywhere, @r##"
    exit 2
    config::invalid-value

      × 0.0.0.0:8100 is not a loopback address
       ╭─[--listen:1:1]
     1 │ 0.0.0.0:8100
       · ────────────
       ╰────
      help: whoever reaches the server could run workflows; set `auth.api_keys: true` and make keys
            with `convoke keys add`, or use 127.0.0.1:PORT or [::1]:PORT
    "##);
    assert_snapshot!(twice, @r"
    exit 3
    there is no workflow in workflows: every Message will be rejected
    error: cannot listen on 127.0.0.1:PORT: Address already in use (os error 98); another process listens there; stop it, or choose another port with --listen
    ");
    assert_snapshot!(url, @r##"
    exit 2
    config::invalid-value

      × this cannot be the URL of an agent
       ╭─[--public-url:1:1]
     1 │ ftp://example.com/
       · ──────────────────
       ╰────
      help: write http:// or https://, a host, and no user, query or fragment
    "##);
}
