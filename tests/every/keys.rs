//! API keys: made, shown once, listed, revoked; and who is served with them.

use std::fs;

use examples::{Kind, Options};
use serde_json::json;
use tests::{
    agent::{example, one_step},
    convoke::{Convoke, Process},
};

use crate::served::{Served, port};

/// Makes a key; its id and itself.
async fn key(convoke: &Convoke, args: &[&str]) -> (String, String) {
    let add = ["--json", "keys", "add"].iter().chain(args);
    let made = convoke.run(add).await.exits(0).json();
    let text = |name: &str| made[name].as_str().expect("a text").to_owned();
    (text("id"), text("key"))
}

async fn listed(convoke: &Convoke) -> Vec<serde_json::Value> {
    let keys = convoke.run(["--json", "keys", "list"]).await.exits(0).json();
    keys.as_array().expect("a list").clone()
}

/// What `convoke send` ends with for a caller with this header.
async fn send(convoke: &Convoke, served: &Served, header: &str) -> tests::convoke::Done {
    convoke.run(["send", &served.url, "go", "--header", header, "--data", "client"]).await
}

async fn serving(convoke: &Convoke) -> Served {
    Served::with(
        convoke,
        &[
            "--set",
            "auth.api_keys=true",
            "--log",
            "server=trace,protocol=trace,executor=debug",
            "--set",
            "card.public_skills=none",
        ],
    )
    .await
}

#[tokio::test]
async fn a_key_is_made_beside_a_server_serves_its_caller_and_stops_at_once_when_revoked() {
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    let steps = "steps: {a: {agent: it, message: Hello.}}";
    let agents = format!("agents: {{it: {{url: \"{}\"}}}}", echo.url);
    convoke.write("workflows/w.yaml", format!("convoke: 1\nname: w\n{agents}\n{steps}\n"));
    let (before, first) = key(&convoke, &["--scope", "admin", "--label", "before"]).await;
    let served = serving(&convoke).await;
    let (beside, second) =
        key(&convoke, &["--account", "ada", "--scope", "runs:start:w", "--expires", "90d"]).await;
    let keys = listed(&convoke).await;
    let short: Vec<_> =
        keys.iter().map(|key| (&key["id"], &key["account"], &key["state"])).collect();
    let (active, local, ada) = (json!("active"), json!("local"), json!("ada"));
    let (one, two) = (json!(before), json!(beside));
    assert_eq!(short, [(&one, &local, &active), (&two, &ada, &active)]);
    assert!(keys[0]["expires_at"].is_null() && keys[1]["expires_at"].is_string());

    let refused = convoke.run(["send", &served.url, "go", "--data", "client"]).await.exits(1);
    assert!(refused.stderr.contains("X-API-Key"), "{}", refused.stderr);
    for (key, name) in
        [(&first, "X-API-Key: "), (&second, "X-API-Key: "), (&second, "Authorization: Bearer ")]
    {
        let done = send(&convoke, &served, &format!("{name}{key}")).await.exits(0);
        assert!(done.stdout.contains("Hello."), "{}", done.stdout);
    }
    // Runs are those of the account.
    for (account, count) in [("local", 1), ("ada", 2), ("eve", 0)] {
        let runs =
            convoke.run(["--json", "runs", "list", "--account", account]).await.exits(0).json();
        assert_eq!(runs.as_array().map(Vec::len), Some(count), "{account}");
    }
    let header = format!("X-API-Key: {second}");
    let show = [
        "--json",
        "card",
        "show",
        &served.url,
        "--extended",
        "--header",
        &header,
        "--data",
        "client",
    ];
    let card = convoke.run(show).await.exits(0);
    assert!(card.stdout.contains("\"id\": \"w\""), "{}", card.stdout);
    let public =
        convoke.run(["--json", "card", "show", &served.url, "--data", "client"]).await.exits(0);
    assert!(!public.stdout.contains("\"id\": \"w\""), "{}", public.stdout);

    let _revoked = convoke.run(["keys", "revoke", &beside]).await.exits(0);
    let refused = send(&convoke, &served, &header).await.exits(1);
    assert!(refused.stderr.contains("the API key was revoked"), "{}", refused.stderr);
    let _still = send(&convoke, &served, &format!("X-API-Key: {first}")).await.exits(0);
    assert_eq!(listed(&convoke).await[1]["state"], "revoked");
    let unknown = convoke.run(["keys", "revoke", "nothing"]).await.exits(2);
    assert!(unknown.stderr.contains("keys list"), "{}", unknown.stderr);
    // What follows the prefix and the id.
    ends_without(served.process, &convoke, &[&first[15..], &second[15..]]).await;
}

/// Stops a server, and looks for secrets in all that it and others have said and written.
pub(crate) async fn ends_without(process: Process, convoke: &Convoke, secrets: &[&str]) {
    process.terminate();
    let done = process.end().await;
    let config = convoke.run(["config"]).await.exits(0);
    let listed = convoke.run(["keys", "list"]).await.exits(0);
    let texts = [done.stdout, done.stderr, config.stdout, listed.stdout];
    for secret in secrets {
        for text in &texts {
            assert!(!text.contains(secret), "a secret is shown:\n{text}");
        }
        for file in fs::read_dir(convoke.data()).expect("the data folder") {
            let path = file.expect("a file").path();
            let bytes = fs::read(&path).unwrap_or_default();
            let is_in = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_in, "a secret is in {}", path.display());
        }
    }
}

#[tokio::test]
async fn a_server_for_everybody_on_other_addresses_does_not_start() {
    let convoke = Convoke::default();
    convoke.write("workflows/.keep", "");
    for args in
        [&["serve", "--listen", "0.0.0.0:0"][..], &["serve", "--listen", "0.0.0.0:0", "--insecure"]]
    {
        let refused = convoke.run(args).await.exits(2);
        assert!(refused.stderr.contains("is not a loopback address"), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn a_server_that_others_can_reach_connects_to_private_networks_that_are_allowed_only() {
    let echo = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let convoke = Convoke::default();
    convoke.write("workflows/w.yaml", one_step(&echo.url, ""));
    let (_, admin) = key(&convoke, &["--scope", "admin"]).await;
    let header = format!("X-API-Key: {admin}");
    let port = port();
    let (listen, url) = (format!("0.0.0.0:{port}"), format!("http://127.0.0.1:{port}"));
    let serving = async |more: &[&str]| {
        let args = ["serve", "--listen", &listen, "--public-url", &url, "--insecure"];
        let all = args.iter().chain(&["--set", "auth.api_keys=true"]).chain(more);
        Served::of(convoke.start(all)).await
    };
    let served = serving(&[]).await;
    let refused = send(&convoke, &served, &header).await.exits(3);
    assert!(refused.stderr.contains("is a loopback address and not allowed"), "{}", refused.stderr);
    assert_eq!(echo.calls.count(), 0, "not even its own machine is called");
    served.process.terminate();
    let _stopped = served.process.end().await;

    let networks = "outbound.allow_networks=127.0.0.0/8, 10.1.0.0/16";
    let served = serving(&["--set", networks]).await;
    let asked = ["--json", "send", &url, "go", "--header", &header, "--data", "client"];
    let task = convoke.run(asked).await.json()["task"]["id"].as_str().expect("a Task").to_owned();
    assert_eq!(echo.calls.count(), 1);
    for (host, code) in [("10.1.2.3", 0), ("10.2.2.3", 1)] {
        let hook = format!("https://{host}/hook");
        let create = ["task", "push", "create", &url, &task, "--url", &hook, "--data", "client"];
        let created = convoke.run(create.iter().chain(&["--header", &header])).await;
        assert_eq!(created.code, code, "{host}: {}", created.stderr);
    }
    served.process.terminate();
    let _stopped = served.process.end().await;
}

#[tokio::test]
async fn a_scope_that_there_is_not_is_wrong_usage() {
    let convoke = Convoke::default();
    let refused = convoke.run(["keys", "add", "--scope", "runs:write"]).await.exits(2);
    assert!(refused.stderr.contains("runs:start:WORKFLOW"), "{}", refused.stderr);
    let none = convoke.run(["keys", "add"]).await.exits(2);
    assert!(none.stderr.contains("--scope"), "{}", none.stderr);
    let bad = convoke.run(["keys", "add", "--scope", "admin", "--account", "a b"]).await.exits(2);
    assert!(bad.stderr.contains("spaces"), "{}", bad.stderr);
}
