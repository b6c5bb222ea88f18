use std::{collections::BTreeMap, ffi::OsString};

use super::*;
use crate::failure::Exit;

/// Every setting: its key, its default, another value as it is written in a file, and in the environment or a flag.
const SETTINGS: [(&str, &str, &str, &str); 45] = [
    ("listen", "127.0.0.1:8100", "127.0.0.1:1", "127.0.0.1:2"),
    ("insecure", "false", "true", "false"),
    ("auth.api_keys", "false", "true", "false"),
    ("auth.jwt.issuer", "None", "https://one.example", "http://127.0.0.1:9/two"),
    ("auth.jwt.audience", "None", "one", "two"),
    ("auth.jwt.jwks_url", "None", "https://one.example/keys", "http://localhost/keys"),
    ("auth.jwt.scopes_claim", "scope", "one", "two"),
    ("auth.jwt.account_claim", "sub", "one", "two"),
    ("auth.jwt.exchange", "false", "true", "false"),
    ("card.public_skills", "All", "[one, two]", "none"),
    ("outbound.allow_networks", "[]", "[10.0.0.0/8, 192.168.0.0/16]", "fd00::/8"),
    ("outbound.account_networks", "[]", "[127.0.0.0/8, 192.168.0.0/16]", "fd00::/8"),
    ("public_url", "None", "http://one.example", "http://two.example"),
    ("allowed_hosts", "[]", "[one.example, two.example]", "three.example, [::1]"),
    ("delegate", "Off", "on", "echo"),
    ("find_agents", "false", "true", "false"),
    ("capabilities.streaming", "true", "false", "true"),
    ("capabilities.push_notifications", "true", "false", "true"),
    ("extensions.required", "[]", "[urn:one, urn:two]", "urn:three, https://x.example/ext"),
    ("directory.publish", "Off", "own", "public"),
    ("directory.card_freshness", "300s", "1s", "2s"),
    ("older_versions", "false", "true", "false"),
    ("runs.max_active", "64", "1", "2"),
    ("runs.queue", "1000", "0", "2"),
    ("runs.max_depth", "8", "1", "2"),
    ("messages.remember", "Some(3600s)", "off", "2m"),
    ("push.attempts", "20", "1", "2"),
    ("push.give_up_after", "86400s", "1s", "2s"),
    ("push.at_once", "32", "1", "2"),
    ("push.verify_url", "false", "true", "false"),
    ("push.keep", "86400s", "1s", "2s"),
    ("push.key_max_age", "7776000s", "1s", "2s"),
    ("push.callbacks", "None", "on", "off"),
    ("push.callback_poll", "60s", "1s", "2s"),
    ("push.callback_secret_env", "None", "ONE", "TWO"),
    ("evidence.interval", "Some(300s)", "off", "2m"),
    ("evidence.stale_after", "900s", "1s", "2s"),
    ("evidence.window", "2592000s", "1s", "2s"),
    ("evidence.at_once", "16", "1", "2"),
    ("evidence.probe_message", "None", "one", "two"),
    ("schedules.account", "None", "one", "two"),
    ("limits.body_bytes", "16777216", "1", "2"),
    ("limits.body_timeout", "30s", "1ms", "2ms"),
    ("limits.keep_alive", "15s", "1ms", "2ms"),
    ("limits.card_max_age", "300s", "1s", "2s"),
];

/// What a setting became.
fn shown(config: &Config, key: &str) -> String {
    let Config {
        listen,
        insecure,
        auth,
        public_skills,
        allow_networks,
        account_networks,
        max_depth,
        public_url,
        workflows,
        allowed_hosts,
        delegation,
        find_agents,
        declared,
        publish,
        card_freshness,
        runs,
        remember,
        push,
        callbacks,
        limits,
        older_versions,
        evidence,
        schedule_account,
        probe_message,
    } = config;
    match key {
        "listen" => listen.to_string(),
        "insecure" => insecure.to_string(),
        _ if key.starts_with("auth.") => shown_of_auth(auth, key),
        "card.public_skills" => format!("{public_skills:?}"),
        "outbound.allow_networks" => format!("{allow_networks:?}"),
        "outbound.account_networks" => format!("{account_networks:?}"),
        "public_url" => format!("{:?}", public_url.as_ref().map(Url::as_str)),
        "workflows" => workflows.display().to_string(),
        "allowed_hosts" => format!("{allowed_hosts:?}"),
        "find_agents" => find_agents.to_string(),
        "delegate" => format!("{delegation:?}"),
        "capabilities.streaming" => declared.streaming.to_string(),
        "capabilities.push_notifications" => declared.push_notifications.to_string(),
        "extensions.required" => format!("{:?}", declared.required_extensions),
        "directory.publish" => format!("{publish:?}"),
        "directory.card_freshness" => format!("{card_freshness:?}"),
        "older_versions" => older_versions.to_string(),
        _ if key.starts_with("runs.") => shown_of_runs(runs, *max_depth, key),
        "messages.remember" => format!("{remember:?}"),
        _ if key.starts_with("push.") => shown_of_push(push, callbacks, key),
        "evidence.probe_message" => format!("{probe_message:?}"),
        _ if key.starts_with("evidence.") => shown_of_evidence(evidence, key),
        "schedules.account" => format!("{schedule_account:?}"),
        _ if key.starts_with("limits.") => shown_of_limits(limits, key),
        _ => panic!("`{key}` is not shown here"),
    }
}

fn shown_of_auth(auth: &Auth, key: &str) -> String {
    match key {
        "auth.api_keys" => auth.api_keys.to_string(),
        "auth.jwt.issuer" => {
            assert_eq!(auth.issuer.is_some(), auth.iss.is_some());
            format!("{:?}", auth.iss)
        }
        "auth.jwt.audience" => format!("{:?}", auth.audience),
        "auth.jwt.jwks_url" => format!("{:?}", auth.jwks_url.as_ref().map(Url::as_str)),
        "auth.jwt.scopes_claim" => auth.scopes_claim.clone(),
        "auth.jwt.account_claim" => auth.account_claim.clone(),
        "auth.jwt.exchange" => auth.exchange.to_string(),
        _ => panic!("`{key}` is not shown here"),
    }
}

fn shown_of_runs(runs: &RunLimits, max_depth: usize, key: &str) -> String {
    match key {
        "runs.max_active" => runs.max_active.to_string(),
        "runs.queue" => runs.queue.to_string(),
        "runs.max_depth" => max_depth.to_string(),
        _ => panic!("`{key}` is not shown here"),
    }
}

fn shown_of_limits(limits: &ServerLimits, key: &str) -> String {
    match key {
        "limits.body_bytes" => limits.max_body_bytes.to_string(),
        "limits.body_timeout" => format!("{:?}", limits.body_timeout),
        "limits.keep_alive" => format!("{:?}", limits.keep_alive),
        "limits.card_max_age" => format!("{:?}", limits.card_max_age),
        _ => panic!("`{key}` is not shown here"),
    }
}

fn shown_of_evidence(evidence: &EvidenceSettings, key: &str) -> String {
    match key {
        "evidence.interval" => format!("{:?}", evidence.interval),
        "evidence.stale_after" => format!("{:?}", evidence.stale_after),
        "evidence.window" => format!("{:?}", evidence.window),
        "evidence.at_once" => evidence.at_once.to_string(),
        _ => panic!("`{key}` is not shown here"),
    }
}

fn shown_of_push(push: &PushSettings, callbacks: &CallbackConfig, key: &str) -> String {
    match key {
        "push.attempts" => push.attempts.to_string(),
        "push.give_up_after" => format!("{:?}", push.give_up_after),
        "push.at_once" => push.at_once.to_string(),
        "push.verify_url" => push.verify_url.to_string(),
        "push.keep" => format!("{:?}", push.keep),
        "push.key_max_age" => format!("{:?}", push.key_max_age),
        "push.callbacks" => format!("{:?}", callbacks.is_on),
        "push.callback_poll" => format!("{:?}", callbacks.poll),
        "push.callback_secret_env" => format!("{:?}", callbacks.secret_env),
        _ => panic!("`{key}` is not shown here"),
    }
}

fn read(layers: &mut Layers) -> Config {
    let config = Config::read(layers);
    assert!(layers.check().is_ok(), "{layers:?}");
    config.unwrap()
}

/// A setting as it is after a file, the environment and a flag, each where there is one.
fn layered(key: &str, file: Option<&str>, variable: Option<&str>, flag: Option<&str>) -> String {
    let mut layers = Layers::of_defaults(DEFAULTS);
    if let Some(value) = file {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("convoke.yaml");
        let parts: Vec<&str> = key.split('.').collect();
        let lines = parts.iter().enumerate().map(|(depth, part)| {
            let indent = "  ".repeat(depth);
            if depth + 1 == parts.len() {
                format!("{indent}{part}: {value}\n")
            } else {
                format!("{indent}{part}:\n")
            }
        });
        let text: String = lines.collect();
        std::fs::write(&path, text).unwrap();
        layers.add_file(&path);
    }
    let name = format!("CONVOKE_{}", key.replace('.', "_").to_uppercase());
    layers.add_environment(|asked| variable.filter(|_| asked == name).map(OsString::from));
    if let Some(value) = flag {
        layers.add_set(&format!("{key}={value}"));
    }
    shown(&read(&mut layers), key)
}

#[test]
fn every_setting_is_taken_from_flag_before_environment_before_file_before_default() {
    for (key, default, in_file, written) in SETTINGS {
        let none = layered(key, None, None, None);
        assert_eq!(none, default, "{key}");
        let file = layered(key, Some(in_file), None, None);
        assert_ne!(file, none, "{key} in a file");
        let variable = layered(key, Some(in_file), Some(written), None);
        assert_ne!(variable, file, "{key} in the environment");
        assert_eq!(layered(key, None, Some(written), None), variable, "{key}");
        assert_eq!(layered(key, Some(in_file), Some(written), Some(written)), variable, "{key}");
        assert_eq!(layered(key, None, None, Some(written)), variable, "{key} as a flag");
        let other = layered(key, None, None, Some(in_file.trim_matches(['[', ']'])));
        assert_eq!(
            layered(key, None, Some(written), Some(in_file.trim_matches(['[', ']']))),
            other
        );
        assert_eq!(other, file, "{key}: a flag means what the file means");
    }
}

#[test]
fn no_setting_is_left_out_of_the_tests_above() {
    let layers = Layers::of_defaults(DEFAULTS);
    let tested = SETTINGS.map(|(key, ..)| key);
    let untested: Vec<&str> =
        layers.iter().map(|(key, _)| key).filter(|key| !tested.contains(key)).collect();
    assert_eq!(untested, ["workflows"], "which is a path, and has a test of its own");
}

#[test]
fn a_folder_that_a_file_names_is_beside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("convoke.yaml");
    std::fs::write(&path, "workflows: flows\n").unwrap();
    let mut layers = Layers::of_defaults(DEFAULTS);
    assert_eq!(shown(&read(&mut layers), "workflows"), "workflows");
    layers.add_file(&path);
    assert_eq!(read(&mut layers).workflows, folder.path().join("flows"));
    layers.add_environment(|name| (name == "CONVOKE_WORKFLOWS").then(|| "here".into()));
    assert_eq!(shown(&read(&mut layers), "workflows"), "here");
    layers.add_flag("workflows", "--workflows", "/there");
    assert_eq!(shown(&read(&mut layers), "workflows"), "/there");
}

#[test]
fn the_defaults_are_those_of_the_parts_that_they_set() {
    let config = read(&mut Layers::of_defaults(DEFAULTS));
    assert_eq!(config.limits, ServerLimits::default());
    assert_eq!(config.remember, server::Settings::default().remember);
    assert_eq!(config.older_versions, server::Settings::default().older_versions);
    assert_eq!(config.declared, Declared::default());
    assert_eq!(config.evidence, EvidenceSettings::default());
}

#[test]
fn agents_tell_of_their_tasks_where_they_can_or_when_told_to() {
    for (callbacks, public_url, expected) in [
        ("auto", None, false),
        ("auto", Some("https://convoke.example"), true),
        ("on", None, true),
        ("off", Some("https://convoke.example"), false),
    ] {
        let mut layers = Layers::of_defaults(DEFAULTS);
        layers.add_set(&format!("push.callbacks={callbacks}"));
        if let Some(url) = public_url {
            layers.add_set(&format!("public_url={url}"));
        }
        assert_eq!(read(&mut layers).has_callbacks(), expected, "{callbacks} {public_url:?}");
    }
}

#[test]
fn flags_of_their_own_are_as_strong_as_any() {
    let args = ConfigArgs {
        listen: Some("127.0.0.1:7".parse().unwrap()),
        public_url: Some("http://flag.example".parse().unwrap()),
        workflows: Some("flag".into()),
        older_versions: true,
        insecure: true,
        ..ConfigArgs::default()
    };
    let (config, layers) = Config::load(&args).unwrap();
    assert_eq!(shown(&config, "listen"), "127.0.0.1:7");
    assert_eq!(shown(&config, "public_url"), "Some(\"http://flag.example/\")");
    assert_eq!(shown(&config, "workflows"), "flag");
    assert_eq!(shown(&config, "older_versions"), "true");
    assert_eq!(shown(&config, "insecure"), "true");
    let origins: BTreeMap<&str, String> =
        layers.iter().map(|(key, setting)| (key, setting.origin.to_string())).collect();
    assert_eq!(origins["listen"], "--listen");
    assert_eq!(origins["runs.queue"], "default");
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("convoke.yaml");
    let text = "listen: 0.0.0.0:1\npublic_url: 'ftp://x'\nworkflows: ''\nallowed_hosts: [ok, 'a:1', 7]\n\
                older_versions: 'yes'\ncapabilities: {streaming: off}\n\
                extensions: {required: [urn:ok, 'urn:a,urn:b', plain, 7]}\n\
                run: {}\nruns: {max_active: 0, queue: many, que: 1}\nmessages: 5m\n\
                push: {callbacks: perhaps, callback_secret_env: ''}\n\
                limits: {body_bytes: -1, body_timeout: soon, keep_alive: 5}\n";
    std::fs::write(&path, text).unwrap();
    let mut layers = Layers::of_defaults(DEFAULTS);
    layers.add_file(&path);
    layers.add_set("limits.card_max_agge=1s");
    assert!(Config::read(&mut layers).is_none());
    let failure = format!("{:?}", layers.check().unwrap_err());
    for said in [
        "this cannot be the URL of an agent",
        "`workflows` is empty",
        "`a:1` is no host",
        "a number is no host",
        "`older_versions` must be true or false, not a string",
        "`capabilities.streaming` must be true or false",
        "`urn:a,urn:b` is no URI of an extension",
        "`plain` is no URI of an extension",
        "a number is no URI of an extension",
        "`run` is no setting",
        "did you mean `runs`?",
        "`runs.max_active` must be a whole number from 1",
        "`runs.queue` must be a whole number from 0, not a string",
        "did you mean `runs.queue`?",
        "`messages` must be a mapping, not a string",
        "`push.callbacks` cannot be `perhaps`",
        "`push.callback_secret_env` is empty",
        "`limits.body_bytes` must be a whole number from 1",
        "`limits.body_timeout` is no duration",
        "`limits.keep_alive` must be a duration, as in 500ms",
        "did you mean `limits.card_max_age`?",
        "convoke.yaml:2:13",
    ] {
        assert!(failure.contains(said), "{said}:\n{failure}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_wrong_usage_and_an_empty_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("convoke.yaml");
    let mut layers = Layers::of_defaults(DEFAULTS);
    layers.add_file(&path);
    assert_eq!(layers.check().unwrap_err().report(), Exit::Usage);
    std::fs::write(&path, "# nothing yet\n").unwrap();
    let mut layers = Layers::of_defaults(DEFAULTS);
    layers.add_file(&path);
    assert_eq!(read(&mut layers), read(&mut Layers::of_defaults(DEFAULTS)));
}

/// What is wrong with settings that can each be read.
fn wrong_together(sets: &[&str]) -> String {
    let mut layers = Layers::of_defaults(DEFAULTS);
    sets.iter().for_each(|set| layers.add_set(set));
    read(&mut layers).check(&mut layers);
    layers.check().err().map(|failure| failure.to_string()).unwrap_or_default()
}

#[test]
fn elsewhere_than_on_loopback_it_listens_behind_a_proxy_and_for_callers_with_credentials_only() {
    let elsewhere = "listen=192.0.2.1:1";
    for (sets, said) in [
        (&[elsewhere][..], "192.0.2.1:1 is not a loopback address"),
        (&[elsewhere, "insecure=true"], "192.0.2.1:1 is not a loopback address"),
        (&[elsewhere, "auth.api_keys=true"], "and there is no TLS"),
        (
            &["listen=0.0.0.0:1", "auth.api_keys=true", "insecure=true"],
            "0.0.0.0 is no address that clients could call",
        ),
    ] {
        let wrong = wrong_together(sets);
        assert!(wrong.contains(said), "{sets:?}: {wrong}");
    }
    for sets in [
        &["listen=[::1]:1"][..],
        &[elsewhere, "auth.api_keys=true", "insecure=true"],
        &[
            "listen=0.0.0.0:1",
            "auth.api_keys=true",
            "insecure=true",
            "public_url=https://a.example",
        ],
        &[elsewhere, "auth.jwt.issuer=https://i.example", "auth.jwt.audience=a", "insecure=true"],
    ] {
        assert_eq!(wrong_together(sets), "", "{sets:?}");
    }
}

#[test]
fn an_issuer_and_its_audience_are_set_together_and_reached_in_a_protected_way() {
    assert!(wrong_together(&["auth.jwt.issuer=https://i.example"]).contains("auth.jwt.audience"));
    assert!(wrong_together(&["auth.jwt.exchange=true"]).contains("auth.jwt.issuer"));
    assert!(wrong_together(&["auth.jwt.audience=a"]).contains("auth.jwt.issuer"));
    assert!(wrong_together(&["auth.jwt.jwks_url=https://i.example"]).contains("auth.jwt.issuer"));
    for (key, value) in [
        ("auth.jwt.issuer", "http://i.example"),
        ("auth.jwt.jwks_url", "http://i.example/keys"),
        ("auth.jwt.issuer", "i.example"),
        ("auth.jwt.scopes_claim", ""),
        ("outbound.allow_networks", "10.0.0.1/99"),
        ("card.public_skills", "one,,two"),
    ] {
        let mut layers = Layers::of_defaults(DEFAULTS);
        layers.add_set(&format!("{key}={value}"));
        assert!(Config::read(&mut layers).is_none() && layers.check().is_err(), "{key}={value}");
    }
}

#[test]
fn evidence_counts_at_least_until_the_next_probe() {
    let wrong = wrong_together(&["evidence.interval=20m"]);
    for said in ["evidence.interval", "1200s", "evidence.stale_after", "900s"] {
        assert!(wrong.contains(said), "{said}: {wrong}");
    }
    assert!(wrong_together(&["evidence.stale_after=2m"]).contains("evidence.interval"));
    for sets in [
        &["evidence.interval=15m"][..],
        &["evidence.interval=20m", "evidence.stale_after=20m"],
        &["evidence.interval=off", "evidence.stale_after=1s"],
    ] {
        assert_eq!(wrong_together(sets), "", "{sets:?}");
    }
}

#[test]
fn settings_in_sections_of_sections_are_written_as_they_are_read() {
    let json = Layers::of_defaults(DEFAULTS).to_json();
    assert_eq!(json["auth"]["jwt"]["scopes_claim"], "scope");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("convoke.yaml");
    std::fs::write(&path, json.to_string()).unwrap();
    let mut layers = Layers::of_defaults(DEFAULTS);
    layers.add_file(&path);
    let again = read(&mut layers);
    assert_eq!(again.auth, read(&mut Layers::of_defaults(DEFAULTS)).auth);
}
