//! The configuration file, the environment, and what they decide about a server.

use insta::assert_snapshot;
use serde_json::json;
use tests::{
    agent::{example, one_step},
    convoke::{Convoke, finish},
};

use crate::{served::Served, steady};

/// A folder with a configuration file.
fn configured() -> Convoke {
    let convoke = Convoke::default();
    let text = "workflows: flows\nruns: {queue: 7}\nallowed_hosts: [a.example]\n";
    convoke.write("etc/convoke.yaml", text);
    convoke
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "all settings there are")]
async fn the_settings_that_hold_are_shown_with_where_they_come_from() {
    let convoke = configured();
    let args = "config -c etc/convoke.yaml --listen 127.0.0.1:9 --set runs.max_active=3";
    let mut command = convoke.command(args.split(' '));
    command.env("CONVOKE_MESSAGES_REMEMBER", "off").env("CONVOKE_RUNS_MAX_ACTIVE", "5");
    let shown = finish(command).await.exits(0);
    assert_snapshot!(shown.stdout.replace("127.0.0.1:9", "ADDRESS"), @r##"
    listen: "ADDRESS"                  # --listen
    insecure: false                        # default
    public_url: null                       # default
    workflows: "etc/flows"                 # etc/convoke.yaml:1:1
    allowed_hosts: ["a.example"]           # etc/convoke.yaml:3:1
    delegate: "off"                        # default
    find_agents: false                     # default
    capabilities:
      streaming: true                      # default
      push_notifications: true             # default
    extensions:
      required: []                         # default
    directory:
      publish: "off"                       # default
      card_freshness: "5m"                 # default
    older_versions: false                  # default
    auth:
      api_keys: false                      # default
      jwt:
        issuer: null                       # default
        audience: null                     # default
        jwks_url: null                     # default
        scopes_claim: "scope"              # default
        account_claim: "sub"               # default
        exchange: false                    # default
    card:
      public_skills: "all"                 # default
    outbound:
      allow_networks: []                   # default
      account_networks: []                 # default
    runs:
      max_active: 3                        # --set
      queue: 7                             # etc/convoke.yaml:2:8
      max_depth: 8                         # default
    messages:
      remember: "off"                      # CONVOKE_MESSAGES_REMEMBER
    push:
      attempts: 20                         # default
      give_up_after: "1d"                  # default
      at_once: 32                          # default
      verify_url: false                    # default
      keep: "1d"                           # default
      key_max_age: "90d"                   # default
      callbacks: "auto"                    # default
      callback_poll: "1m"                  # default
      callback_secret_env: null            # default
    evidence:
      interval: "5m"                       # default
      stale_after: "15m"                   # default
      window: "30d"                        # default
      at_once: 16                          # default
      probe_message: null                  # default
    schedules:
      account: null                        # default
    limits:
      body_bytes: 16777216                 # default
      body_timeout: "30s"                  # default
      keep_alive: "15s"                    # default
      card_max_age: "5m"                   # default
    "##);
}

#[tokio::test]
async fn what_holds_is_shown_as_a_configuration_file() {
    let convoke = configured();
    let mut command = convoke.command(["--json", "config"]);
    command.env("CONVOKE_CONFIG", "etc/convoke.yaml");
    let shown = finish(command).await.exits(0);
    assert_eq!(shown.json()["runs"], json!({"max_active": 64, "queue": 7, "max_depth": 8}));
    assert_eq!(shown.json()["workflows"], "etc/flows");
    convoke.write("again.json", &shown.stdout);
    let again = convoke.run(["--json", "config", "-c", "again.json"]).await.exits(0);
    assert_eq!(again.json(), shown.json(), "what is shown is a configuration file");
}

#[tokio::test]
async fn what_is_wrong_is_shown_with_its_place_all_at_once() {
    let convoke = Convoke::default();
    convoke.write("convoke.yaml", "listen: 127.0.0.1\nruns:\n  max_activ: 3\n");
    let complaint = async |command: &str| {
        let mut command = convoke.command([command, "-c", "convoke.yaml", "--set", "runs.queue=x"]);
        command.env("CONVOKE_LIMITS_KEEP_ALIVE", "5");
        finish(command).await.complaint()
    };
    let said = complaint("serve").await;
    assert_eq!(complaint("config").await, said);
    let _steady = steady();
    assert_snapshot!(said, @r##"
    exit 2
    config::invalid-value

      × `127.0.0.1` is no address with a port
       ╭─[convoke.yaml:1:9]
     1 │ listen: 127.0.0.1
       ·         ─────────
     2 │ runs:
       ╰────
      help: write it as in 127.0.0.1:PORT or "[::1]:8100"

    config::unknown-key

      × `runs.max_activ` is no setting
       ╭─[convoke.yaml:3:3]
     2 │ runs:
     3 │   max_activ: 3
       ·   ────┬────
       ·       ╰── unknown key
       ╰────
      help: did you mean `runs.max_active`?

    config::invalid-value

      × `limits.keep_alive` is no duration: `5` has no unit
       ╭─[CONVOKE_LIMITS_KEEP_ALIVE:1:1]
     1 │ 5
       · ─
       ╰────
      help: write a number with its unit: ms, s, m, h or d, as in 500ms, 30s, 5m or 1h30m

    config::wrong-type

      × `runs.queue` must be a whole number from 0, not a string
       ╭─[--set runs.queue:1:1]
     1 │ x
       · ┬
       · ╰── a whole number from 0 goes here
       ╰────
    "##);
}

#[tokio::test]
async fn a_server_is_run_with_what_its_file_says() {
    let agent = example(examples::Kind::Echo, examples::Options::default()).await;
    let convoke = Convoke::default();
    convoke.write("etc/flows/w.yaml", one_step(&agent.url, ""));
    let text = "listen: 127.0.0.1:0\nworkflows: flows\npublic_url: http://agents.example.com/\n";
    convoke.write("etc/convoke.yaml", text);
    let mut process = convoke.start(["serve", "-c", "etc/convoke.yaml"]);
    let line = process.until("serves 1 workflows from etc/flows").await;
    assert!(line.contains("its card: http://agents.example.com/.well-known"), "{line}");
}

#[tokio::test]
async fn only_known_hosts_are_answered_for() {
    let convoke = Convoke::default();
    convoke.write("workflows/readme.txt", "none yet");
    let args = ["--set", "allowed_hosts=convoke.internal", "--set", "limits.card_max_age=7s"];
    let served = Served::with(&convoke, &args).await;
    let card = "/.well-known/agent-card.json";
    let answer = served.get(card, "convoke.internal").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("max-age=7\r\n"), "{answer}");
    let refused = served.get(card, "evil.example").await;
    assert!(refused.starts_with("HTTP/1.1 421"), "{refused}");
    assert!(served.get("/healthz", "localhost").await.starts_with("HTTP/1.1 200"));
}
