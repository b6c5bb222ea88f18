//! `convoke agents --server`: every verb does on a server what it does in the data folder.

use std::sync::{Arc, Mutex};

use axum::{Json, response::IntoResponse as _};
use examples::{Kind, Options};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::{
    agent::{Scripted, card},
    convoke::{Convoke, Done, finish},
};

use crate::{served::Served, steady};

/// A directory in a data folder, one on a server, and an agent whose card can be changed.
struct Scene {
    near: Convoke,
    far: Convoke,
    served: Served,
    server: Convoke,
    agent: Scripted,
    change: Arc<Mutex<Value>>,
}

impl Scene {
    async fn new(settings: &[&str]) -> Self {
        let change = Arc::new(Mutex::new(json!({})));
        let changed = Arc::clone(&change);
        let agent = Scripted::with_card(move |url| {
            let mut card = card("Agent", url);
            let members = changed.lock().expect("not poisoned").clone();
            let members = members.as_object().expect("an object").clone();
            card.as_object_mut().expect("an object").extend(members);
            Json(card).into_response()
        })
        .await;
        let server = Convoke::default();
        std::fs::create_dir_all(server.folder().join("workflows")).expect("a folder");
        let served = Served::with(&server, settings).await;
        let (near, far) = (Convoke::default(), Convoke::default());
        Self { near, far, served, server, agent, change }
    }

    fn write(&self, name: &str, content: &str) {
        self.near.write(name, content);
        self.far.write(name, content);
    }

    fn serve(&self, change: Value) {
        *self.change.lock().expect("not poisoned") = change;
    }

    /// Runs a command near and far, and gives what both print.
    async fn both(&self, args: &[&str]) -> Done {
        let near = self.near.run(args).await;
        let far = self.far.run(args.iter().copied().chain(["--server", &self.served.url])).await;
        assert_eq!(masked(&near, &self.near), masked(&far, &self.far), "{args:?}");
        assert!(!self.far.data().exists(), "no data folder is needed");
        far
    }

    async fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = ["--json"].iter().chain(args).copied().collect();
        self.both(&args).await.json()
    }
}

/// What is printed, but for who decided, when, and in which folder.
fn masked(done: &Done, convoke: &Convoke) -> (i32, String, String) {
    let folder = convoke.folder().canonicalize().expect("it is there").display().to_string();
    let masked = |text: &str| {
        // A data folder knows a catalog by its path, a server by the name of its file.
        let text = text.replace(&format!("{folder}/catalog.yaml"), "catalog.yaml");
        let text = text.replace(&folder, "FOLDER");
        if let Ok(mut value) = serde_json::from_str::<Value>(&text) {
            forget(&mut value);
            return value.to_string();
        }
        let is_steady = |line: &&str| {
            [" by tester", " by local", " since "].iter().all(|it| !line.contains(it))
        };
        let lines = text.lines().filter(is_steady);
        lines.collect::<Vec<_>>().join("\n")
    };
    (done.code, masked(&done.stdout), masked(&done.stderr))
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !["at", "since", "who", "card_since"].contains(&key.as_str()));
            members.values_mut().for_each(forget);
        }
        Value::Array(items) => items.iter_mut().for_each(forget),
        _ => {}
    }
}

#[tokio::test]
async fn every_verb_prints_the_same_on_a_server_as_here() {
    let scene = Scene::new(&[]).await;
    let url = scene.agent.url.clone();
    assert_eq!(scene.both(&["agents", "list"]).await.stdout, "");
    scene.both(&["agents", "add", &url, "--name", "it"]).await.exits(0);
    let added = scene.json(&["agents", "add", &url, "--name", "it", "--approve"]).await;
    assert_eq!(added["agents"][0]["outcome"], "changed");
    scene.write("card.json", &card("Filed", "http://127.0.0.1:9/").to_string());
    scene.both(&["agents", "add", "card.json"]).await.exits(0);
    for (verb, standing) in [
        ("deprecate", "deprecated"),
        ("retire", "retired"),
        ("propose", "proposed"),
        ("suspend", "suspended"),
        ("reject", "rejected"),
        ("approve", "approved"),
    ] {
        let decided = scene.both(&["agents", verb, "it", "--why", "because"]).await.exits(0);
        assert_eq!(decided.stdout, format!("it is {standing}\n"));
    }
    scene.both(&["agents", "approve", "filed", "--review-by", "2999-12-31"]).await.exits(0);
    let record = scene.json(&["agents", "show", "filed"]).await;
    assert!(record["review_by"].is_string(), "{record}");
    let tagged = scene.both(&["agents", "tag", "it", "fast", "cheap"]).await.exits(0);
    assert_eq!(tagged.stdout, "it: fast, cheap\n");
    scene.both(&["agents", "tag", "it", "--remove", "cheap"]).await.exits(0);
    scene.both(&["agents", "remove", "filed"]).await.exits(0);
}

#[tokio::test]
async fn what_is_looked_at_is_the_same_on_a_server_as_here() {
    let scene = Scene::new(&[]).await;
    let url = scene.agent.url.clone();
    scene.both(&["agents", "add", &url, "--name", "it", "--approve"]).await.exits(0);
    scene.both(&["agents", "tag", "it", "fast"]).await.exits(0);
    scene.write("card.json", &card("Filed", "http://127.0.0.1:9/").to_string());
    scene.both(&["agents", "add", "card.json"]).await.exits(0);
    let listed = scene.json(&["agents", "list", "--facets", "--tag", "fast"]).await;
    assert_eq!(listed["total"], 1);
    for flags in [
        &["--any-tag", "fast", "--any-tag", "slow"][..],
        &["--state", "approved", "--state", "proposed", "--capability", "streaming"],
        &["--skill", "act", "--binding", "jsonrpc", "--a2a", "1.0", "--signed", "unsigned"],
        &["--input-mode", "text/plain", "--output-mode", "text/plain"],
        &["--provider", "nobody"],
        &["--min-evidence", "proven"],
        &["--limit", "1"],
    ] {
        let args: Vec<&str> = ["agents", "list"].iter().chain(flags).copied().collect();
        scene.both(&args).await.exits(0);
        scene.json(&args).await;
    }
    scene.both(&["agents", "search", "act fst"]).await.exits(0);
    assert_eq!(scene.json(&["agents", "search", "agent"]).await[0]["agent"]["name"], "it");
    scene.both(&["agents", "show", "it"]).await.exits(0);
    scene.both(&["agents", "export"]).await.exits(0);
    scene.json(&["agents", "export", "it"]).await;
}

#[tokio::test]
async fn cards_that_change_and_what_is_wrong_are_told_the_same_on_a_server_as_here() {
    let scene = Scene::new(&[]).await;
    let url = scene.agent.url.clone();
    scene.both(&["agents", "add", &url, "--name", "it", "--approve"]).await.exits(0);
    scene.write("card.json", &card("Filed", "http://127.0.0.1:9/").to_string());
    scene.both(&["agents", "add", "card.json"]).await.exits(0);
    scene.serve(json!({ "description": "Says it another way." }));
    scene.both(&["agents", "refresh", "it", "--dry-run"]).await.exits(0);
    scene.both(&["agents", "refresh"]).await.exits(0);
    scene.both(&["agents", "refresh", "filed"]).await.exits(1);
    scene.both(&["agents", "diff", "it"]).await.exits(0);
    scene.json(&["agents", "diff", "it", "--from", "1", "--to", "2"]).await;
    scene.both(&["agents", "lint", "it"]).await.exits(0);
    scene.json(&["agents", "lint", &url]).await;
    scene.write("poor.json", r#"{"name": "x"}"#);
    scene.both(&["agents", "lint", "poor.json"]).await.exits(1);
    for (wrong, code) in [
        (&["agents", "show", "is"][..], 2),
        (&["agents", "diff", "it", "--to", "9"], 2),
        (&["agents", "retire", "it"], 1),
        (&["agents", "export", "nobody"], 2),
        (&["agents", "tag", "nobody", "x"], 2),
        (&["agents", "remove", "nobody"], 2),
        (&["agents", "add", "http://127.0.0.1:9/"], 3),
    ] {
        scene.both(wrong).await.exits(code);
    }
}

#[tokio::test]
async fn a_server_knows_a_catalog_by_its_name_wherever_it_is_kept_and_whoever_applies_it() {
    let scene = Scene::new(&[]).await;
    let url = &scene.agent.url;
    let other = Convoke::default();
    let apply = async |from: &Convoke, file: &str, text: String| {
        from.write(file, text);
        let args = ["--json", "agents", "apply", file, "--server", &scene.served.url];
        let told = from.run(args).await.exits(0).json();
        let agents = told["agents"].as_array().expect("a list").iter();
        let outcome = |agent: &Value| format!("{} {}", agent["name"], agent["outcome"]);
        agents.map(outcome).collect::<Vec<_>>().join(", ")
    };
    let a = format!("agents:\n- {{url: '{url}', name: a}}\n");
    let first = apply(&scene.far, "here/agents.yaml", format!("catalog: desk\n{a}")).await;
    assert_eq!(first, r#""a" "added""#);
    // Another catalog whose file is called the same takes nothing away.
    let theirs = apply(&other, "agents.yaml", "catalog: theirs\nagents: []\n".to_owned()).await;
    assert_eq!(theirs, "");
    let same = apply(&other, "elsewhere.yaml", format!("catalog: desk\n{a}")).await;
    assert_eq!(same, r#""a" "unchanged""#);
    let less = apply(&other, "elsewhere.yaml", "catalog: desk\nagents: []\n".to_owned()).await;
    assert_eq!(less, r#""a" "removed""#);
    // Without a name, that of the file counts, and not its folder.
    let _added = apply(&scene.far, "here/agents.yaml", a).await;
    let less = apply(&other, "there/agents.yaml", "agents: []\n".to_owned()).await;
    assert_eq!(less, r#""a" "removed""#);
}

#[tokio::test]
async fn catalogs_and_policies_with_the_files_they_name_reach_a_server() {
    let scene = Scene::new(&[]).await;
    scene.write("cards/b.json", &card("B", "http://127.0.0.1:9/").to_string());
    let url = &scene.agent.url;
    let catalog =
        format!("agents:\n- {{url: '{url}', name: a, notes: mine}}\n- card: cards/b.json\n");
    scene.write("catalog.yaml", &catalog);
    scene.both(&["agents", "apply", "catalog.yaml", "--dry-run"]).await.exits(0);
    scene.both(&["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    let again = scene.json(&["agents", "apply", "catalog.yaml"]).await;
    assert_eq!(again["agents"][1]["outcome"], "unchanged");
    scene.write("catalog.yaml", &format!("agents:\n- {{url: '{url}', name: a, public: true}}\n"));
    let less = scene.json(&["agents", "apply", "catalog.yaml"]).await;
    assert_eq!(less["agents"][1]["outcome"], "removed");
    assert_eq!(scene.json(&["agents", "show", "a"]).await["details"]["public"], true);
    scene.write("catalog.yaml", "agents:\n- {url: 7}\n- {cards: x}\n");
    scene.both(&["agents", "apply", "catalog.yaml"]).await.exits(2);
    let made = scene.near.run(["card", "keys", "generate", "k.pem", "--kid", "k"]).await.exits(0);
    scene.write("keys/acme.json", &made.stdout);
    let policy = "keys: {acme: {file: keys/acme.json}}\napprove: [{signed_by: acme}]\nsynonyms: [[acting, doing]]\n";
    scene.write("policy.yaml", policy);
    scene.both(&["agents", "policy", "policy.yaml"]).await.exits(0);
    scene.both(&["agents", "policy"]).await.exits(0);
    scene.json(&["agents", "policy"]).await;
    assert_eq!(scene.json(&["agents", "list", "--tag", "doing"]).await[0]["name"], "a");
    scene.write("policy.yaml", "approve: [{origin: nowhere}]\nkey: 1\n");
    scene.both(&["agents", "policy", "policy.yaml"]).await.exits(2);
}

#[tokio::test]
async fn probes_and_extended_cards_are_had_from_a_server_as_they_are_here() {
    let scene = Scene::new(&[]).await;
    let agent = tests::agent::example(Kind::Conformance, Options::default()).await;
    scene.both(&["agents", "add", &agent.url, "--name", "it", "--approve"]).await.exits(0);
    scene.both(&["agents", "show", "it", "--extended"]).await.exits(0);
    let extended = scene.json(&["agents", "show", "it", "--extended"]).await;
    let skills = extended["skills"].as_array().expect("a list");
    assert!(skills.iter().any(|skill| skill["id"] == "extended"), "{extended}");
    scene.both(&["agents", "probe", "nobody"]).await.exits(2);
    scene.both(&["agents", "probe"]).await.exits(0);
    scene.write("c.json", &card("gone", "http://127.0.0.1:9/").to_string());
    scene.both(&["agents", "add", "c.json"]).await.exits(0);
    let far = ["--server", &scene.served.url];
    for (convoke, more) in [(&scene.near, &[][..]), (&scene.far, &far)] {
        let probe = ["--json", "agents", "probe", "it", "gone"];
        let probed = convoke.run(probe.iter().chain(more)).await.exits(1).json();
        let tiers: Vec<_> =
            [0, 1].map(|at| (&probed[at]["name"], &probed[at]["evidence"]["tier"])).into();
        assert_eq!(tiers, [(&json!("it"), &json!("conformant")), (&json!("gone"), &json!(null))]);
        let why = probed[1]["probe"]["shortfalls"][0].as_str().expect("a reason");
        assert!(why.contains("cannot be reached"), "{why}");
    }
}

#[tokio::test]
async fn an_address_without_a_scheme_is_one_on_this_machine() {
    let scene = Scene::new(&[]).await;
    let bare = scene.agent.url.strip_prefix("http://").expect("its scheme");
    let added = scene.json(&["agents", "add", bare, "--name", "it"]).await;
    assert_eq!(added["agents"][0]["outcome"], "added");
    let told = scene.both(&["agents", "add", "agents.example.com:8080"]).await.exits(2).stderr;
    assert!(told.contains("write its scheme, as in https://agents.example.com:8080"), "{told}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_is_refused_and_not_waited_for() {
    let convoke = Convoke::default();
    let pipe = convoke.folder().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    convoke.write("catalog.yaml", "agents: [{card: pipe}]\n");
    let apply = ["agents", "apply", "catalog.yaml"];
    for (args, code) in
        [(&["agents", "add", "pipe"][..], 2), (&["agents", "apply", "pipe"], 2), (&apply, 1)]
    {
        let refused = convoke.run(args.iter().copied()).await.exits(code);
        let told = format!("{}{}", refused.stdout, refused.stderr);
        assert!(told.contains("it is a pipe, a socket or a device"), "{args:?}: {told}");
    }
}

#[tokio::test]
async fn a_key_may_end_with_a_line_break_and_holds_none() {
    let scene = Scene::new(&["--set", "auth.api_keys=true"]).await;
    let made = scene.server.run(["keys", "add", "--scope", "agents:read"]).await.exits(0);
    let key = made.stdout.trim().to_owned();
    let list = async |key: &str| {
        let mut command = scene.far.command(["agents", "list", "--server", &scene.served.url]);
        command.env("CONVOKE_KEY", key);
        finish(command).await
    };
    list(&format!("{key}\r\n")).await.exits(0);
    for broken in [format!("{key}\n{key}"), format!("{key} x"), format!("X\u{1b}{key}")] {
        let told = list(&broken).await.exits(2).stderr;
        assert!(
            told.contains("CONVOKE_KEY holds no key: there is a space, a line break"),
            "{told}"
        );
        assert!(!told.contains(&key), "{told}");
    }
}

#[tokio::test]
async fn what_a_server_does_not_do_is_said_with_what_to_do() {
    let scene = Scene::new(&["--set", "auth.api_keys=true"]).await;
    let server = ["--server", &scene.served.url];
    let run = async |args: &[&str], key: Option<(&str, &str)>| {
        let mut command = scene.far.command(args.iter().chain(&server));
        if let Some((variable, key)) = key {
            command.env(variable, key);
        }
        finish(command).await
    };
    let key = async |scopes: &[&str]| {
        let scopes = scopes.iter().flat_map(|scope| ["--scope", scope]);
        let made = scene.server.run(["keys", "add"].into_iter().chain(scopes)).await.exits(0);
        made.stdout.trim().to_owned()
    };
    let (reads, curates) = (key(&["agents:read"]).await, key(&["agents:curate"]).await);
    let bare = run(&["agents", "list"], None).await;
    let unset = run(&["agents", "list", "--bearer-env", "NOT_THERE"], None).await;
    run(&["agents", "list"], Some(("CONVOKE_KEY", &reads))).await.exits(0);
    run(&["agents", "list", "--bearer-env", "MINE"], Some(("MINE", &reads))).await.exits(0);
    let add = ["agents", "add", &scene.agent.url, "--name", "it"];
    let scope = run(&add, Some(("CONVOKE_KEY", &reads))).await;
    run(&add, Some(("CONVOKE_KEY", &curates))).await.exits(0);
    let text = format!(
        "agents:\n- url: {}\n  name: it\n  credentials: [{{bearer: {{env: HOME}}}}]\n",
        scene.agent.url
    );
    scene.write("secret.yaml", &text);
    let secret = run(&["agents", "apply", "secret.yaml"], Some(("CONVOKE_KEY", &curates))).await;
    let login = run(&["agents", "login", "it"], Some(("CONVOKE_KEY", &curates))).await;
    let told = [&bare, &unset, &scope, &secret, &login].map(Done::complaint).concat();
    let mut far = scene.far.command(["agents", "list", "--json"]);
    far.env("CONVOKE_SERVER", &scene.served.url).env("CONVOKE_KEY", &reads);
    assert_eq!(finish(far).await.exits(0).json()[0]["name"], "it");
    let _steady = steady();
    assert_snapshot!(told, @r#"
    exit 1
    error: this agent answers callers with an API key only; send it as "X-API-Key: KEY". `--bearer-env VARIABLE` names the environment variable that holds an API key or a token
    exit 2
    error: --bearer-env NOT_THERE: there is no such variable, or nothing in it
    exit 1
    error: changing the agent directory needs the scope agents:curate, which these credentials lack
    exit 2
    error: secret.yaml cannot be used as it is
      secret.yaml:2:3: credentials cannot be given from elsewhere; they name places of the machine that calls the agent: apply this catalog there, on its data folder
    exit 2
    error: nobody logs in over the network: the tokens are kept in the data folder of the server. Run `convoke agents login it` on its machine, without --server; the server may be running meanwhile
    "#);
}
