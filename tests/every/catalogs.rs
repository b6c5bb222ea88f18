//! `convoke agents apply examples/catalog.yaml`, with the agents that it lists.

use examples::{Kind, Options, Running};
use insta::assert_snapshot;
use serde_json::Value;
use tests::{agent::example, convoke::Convoke};

use crate::steady;

/// Starts every agent of the catalog and returns its text, with the ports they have here.
async fn started() -> (Vec<Running>, String) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/catalog.yaml");
    let mut catalog = std::fs::read_to_string(path).expect("the catalog of the examples");
    let mut agents = Vec::new();
    for kind in Kind::ALL {
        let agent = example(kind, Options::default()).await;
        let written = format!("http://127.0.0.1:{}", kind.port());
        assert!(catalog.contains(&written), "{kind:?} is not in the catalog");
        catalog = catalog.replace(&written, &agent.url);
        agents.push(agent);
    }
    (agents, catalog)
}

/// What became of each agent, in short.
fn outcomes(done: &Value) -> Vec<String> {
    let agents = done["agents"].as_array().expect("a list");
    let word = |agent: &Value, key: &str| agent[key].as_str().unwrap_or_default().to_owned();
    agents.iter().map(|it| format!("{} {}", word(it, "name"), word(it, "outcome"))).collect()
}

async fn listed(convoke: &Convoke) -> Value {
    convoke.run(["--json", "agents", "list"]).await.exits(0).json()
}

fn names(list: &Value) -> Vec<Value> {
    list.as_array().expect("a list").iter().map(|it| it["name"].clone()).collect()
}

/// The catalog with a tag for echo and without slow.
fn edited(catalog: &str) -> String {
    let lines = catalog.lines().filter(|line| !line.contains("# slow"));
    let edited = lines.map(|line| {
        let more = if line.contains("# echo") { "\n    tags: [mine]" } else { "" };
        format!("{line}{more}\n")
    });
    edited.collect()
}

#[tokio::test]
async fn the_examples_are_applied_once_and_then_only_what_changed_changes() {
    let (agents, catalog) = started().await;
    let convoke = Convoke::default();
    convoke.write("catalog.yaml", &catalog);
    let apply = async |flags: &[&str]| {
        let args = ["agents", "apply", "catalog.yaml"].iter().chain(flags);
        convoke.run(args).await.exits(0)
    };
    let first = apply(&["--json", "--approve"]).await.json();
    assert_eq!(first["agents"].as_array().map(Vec::len), Some(agents.len()));
    assert!(outcomes(&first).iter().all(|it| it.ends_with(" added")), "{first}");
    let before = listed(&convoke).await;
    for flags in [&["--json", "--dry-run"][..], &["--json"], &["--json", "--approve"]] {
        let again = apply(flags).await.json();
        assert_eq!(again["agents"].as_array().map(Vec::len), Some(agents.len()));
        assert!(outcomes(&again).iter().all(|it| it.ends_with(" unchanged")), "{again}");
    }
    assert_eq!(listed(&convoke).await, before);

    // One entry says more, and another is gone.
    convoke.write("catalog.yaml", edited(&catalog));
    let tried = apply(&["--dry-run"]).await;
    assert_eq!(listed(&convoke).await, before);
    let done = apply(&[]).await;
    let again = apply(&[]).await;
    let after = listed(&convoke).await;
    let mut left = names(&before);
    left.retain(|name| name != "slow");
    assert_eq!(names(&after), left);
    let echo = convoke.run(["--json", "agents", "show", "echo"]).await.exits(0).json();
    assert_eq!(echo["details"]["tags"], serde_json::json!(["mine"]));
    assert_eq!(
        format!("{} (nothing was written)\n", done.stdout.trim_end()),
        tried.stdout,
        "what is tried is what is done"
    );
    assert_told(&format!("{}{}", done.stdout, again.stdout));
}

/// What is said of the edited catalog, and of the same once more.
fn assert_told(told: &str) {
    let _steady = steady();
    assert_snapshot!(told, @r##"
    unchanged activities (approved)
    unchanged asks (approved)
    unchanged chunks (approved)
    changed   echo (tags; approved)
    unchanged extractor (approved)
    unchanged flaky (approved)
    unchanged flights (approved)
    unchanged gate (approved)
    unchanged generalist (approved)
    unchanged hotels (approved)
    unchanged notifier (approved)
    unchanged painter (approved)
    unchanged signs-its-card (approved)
    removed   slow
    unchanged specialist (approved)
    unchanged writer (approved)
    0 added, 1 changed, 14 unchanged, 1 removed
    unchanged activities (approved)
    unchanged asks (approved)
    unchanged chunks (approved)
    unchanged echo (approved)
    unchanged extractor (approved)
    unchanged flaky (approved)
    unchanged flights (approved)
    unchanged gate (approved)
    unchanged generalist (approved)
    unchanged hotels (approved)
    unchanged notifier (approved)
    unchanged painter (approved)
    unchanged signs-its-card (approved)
    unchanged specialist (approved)
    unchanged writer (approved)
    0 added, 0 changed, 15 unchanged, 0 removed
    "##);
}

#[tokio::test]
async fn the_cards_of_the_examples_have_nothing_to_be_better_at() {
    let convoke = Convoke::default();
    for kind in Kind::ALL.into_iter().chain([Kind::Conformance]) {
        let agent = example(kind, Options::default()).await;
        let linted = convoke.run(["--json", "agents", "lint", &agent.url]).await.exits(0).json();
        assert_eq!(linted[0]["findings"], serde_json::json!([]), "{kind:?}");
    }
}
