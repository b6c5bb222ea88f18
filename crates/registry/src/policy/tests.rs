use document::Source;
use insta::assert_snapshot;
use jiff::Timestamp;
use protocol::signature::{Algorithm, Headers, SigningKey};
use serde_json::json;

use super::{Pinned, Policy, Rule, Whence, read_policy};
use crate::{CardDigest, Curation, Decision, DriftClass, History, Record, Signed, Tier, Trust};

fn policy(text: &str) -> Policy {
    read_policy(Source::new("policy.yaml", text)).unwrap()
}

fn problems(text: &str) -> String {
    let problems = read_policy(Source::new("policy.yaml", text)).unwrap_err();
    let lines = problems.diagnostics.iter().map(|it| {
        let place = it.span().map(|span| problems.source_file.place(span)).unwrap_or_default();
        format!("{place} {}: {}", it.code, it.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn by(who: &str) -> Decision {
    Decision { who: who.into(), why: String::new(), at: now() }
}

fn record() -> Record {
    let card = json!({ "name": "it" });
    let digest = CardDigest::of(&card);
    let mut record = Record::new("it".into(), card, digest, History::proposed(by("ada")));
    record.url = "https://a.example/card.json".into();
    record
}

#[test]
fn every_member_of_a_policy_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (key, _) = SigningKey::generate(Algorithm::Es256).unwrap();
    let public = key.public_keys(&Headers::default()).unwrap();
    std::fs::write(folder.path().join("acme.json"), &public).unwrap();
    let path = folder.path().join("policy.yaml");
    std::fs::write(
        &path,
        "keys:\n  acme: {file: acme.json}\n  partner: {url: https://partner.example/jwks.json}\n\
         approve:\n  - signed_by: acme\n    evidence: valid\n  - origin: https://a.example/any/path\n  - origin: file\n\
         keep_approval: [cosmetic]\nreview_after_days: 90\nsynonyms: [[flights, air-travel]]\n",
    )
    .unwrap();
    let read = read_policy(Source::read(&path, &document::Limits::default()).unwrap()).unwrap();
    assert_eq!(read.keys["acme"], Pinned::Text(public));
    assert_eq!(read.keys["partner"], Pinned::Url("https://partner.example/jwks.json".into()));
    let origin = "https://a.example".parse().unwrap();
    assert_eq!(
        read.approve,
        [
            Rule { signed_by: Some("acme".into()), evidence: Some(Tier::Valid), origin: None },
            Rule { origin: Some(Whence::Origin(origin)), ..Rule::default() },
            Rule { origin: Some(Whence::File), ..Rule::default() },
        ]
    );
    assert_eq!(read.keep_approval, [DriftClass::Cosmetic]);
    assert_eq!(read.review_after_days, Some(90));
    assert_eq!(read.to_synonyms().groups().count(), 1);
    let stored: Policy = serde_json::from_slice(&serde_json::to_vec(&read).unwrap()).unwrap();
    assert_eq!(stored, read);
    assert_eq!(policy(&document::to_yaml(&read).unwrap()), read, "what is shown can be applied");
    assert_eq!(policy(""), Policy::default());
}

#[test]
fn everything_wrong_with_a_policy_is_said_at_once() {
    assert_snapshot!(problems(
        "keys:\n  none: {file: nowhere.pem}\n  odd: {url: nothing}\n  two: {file: a, url: b}\n\
         approve:\n  - signed_by: acme\n  - origin: nowhere\n  - evidence: much\n  - {}\n  - sign: x\n\
         keep_approval: [breaking, some]\nreview_after_days: 0\nsynonyms: [[one]]\nkey: 1\n"), @r"
    policy.yaml:2:16 policy::key: `nowhere.pem` cannot be read: there is no such file
    policy.yaml:3:14 policy::key: `nothing` is not the URL of a key set
    policy.yaml:4:9 policy::wrong-type: `two` has to be `{file: PATH}`, `{url: https://…}` or `{text: KEY}`
    policy.yaml:7:13 policy::origin: `nowhere` names no origin; write scheme, host and port, as in `https://api.example.com:8443`
    policy.yaml:8:15 policy::evidence: `much` is none of reachable, valid, conformant, proven
    policy.yaml:9:5 policy::wrong-type: a rule is a mapping with a condition
    policy.yaml:10:5 policy::unknown-key: a rule has no key `sign`
    policy.yaml:11:16 policy::keep-approval: a breaking change always takes the approval back
    policy.yaml:11:16 policy::keep-approval: `some` is neither `cosmetic` nor `additive`
    policy.yaml:12:20 policy::wrong-type: `review_after_days` has to be a number of days from 1 to 36500
    policy.yaml:13:13 policy::wrong-type: `synonyms` has to be a list of lists of two or more tags that mean the same
    policy.yaml:14:1 policy::unknown-key: a policy has no key `key`
    policy.yaml:6:5 policy::unknown-signer: no key is called `acme`
    ");
    assert_snapshot!(problems("- a"), @"policy.yaml:1:3 policy::wrong-type: a policy is a mapping");
}

#[test]
fn a_rule_approves_when_all_of_it_fits() {
    let rules = |rule: &str| {
        policy(&format!("keys: {{acme: {{url: https://k.example/}}}}\napprove: [{rule}]"))
    };
    let mut signed = record();
    signed.trust = Trust { signed: Signed::Trusted, signer: Some("acme".into()), flaws: vec![] };
    let mut seen = record();
    seen.tier = Some(Tier::Proven);
    let mut of_file = record();
    of_file.url = String::new();
    let cases = [
        ("signed_by: acme", &signed, &seen, "signed by acme"),
        ("evidence: conformant", &seen, &signed, "evidence: proven"),
        ("origin: https://a.example", &seen, &of_file, "from https://a.example"),
        ("origin: file", &of_file, &signed, "from a file of the operator"),
    ];
    for (rule, fits, other, why) in cases {
        let rules = rules(&format!("{{{rule}}}"));
        assert_eq!(rules.approves(fits).as_deref(), Some(why), "{rule}");
        assert_eq!(rules.approves(other), None, "{rule}");
    }
    let both = rules("{signed_by: acme, evidence: valid}");
    assert_eq!(both.approves(&signed), None);
    signed.tier = Some(Tier::Valid);
    assert_eq!(both.approves(&signed).as_deref(), Some("signed by acme, evidence: valid"));
    signed.trust.signed = Signed::ValidUntrusted;
    assert_eq!(both.approves(&signed), None, "nobody vouches for that key");
    assert_eq!(Policy::default().approves(&seen), None);
}

#[test]
fn rules_decide_about_what_waits_and_about_nothing_else() {
    let rules = policy("approve: [{origin: https://a.example}]\nreview_after_days: 2");
    let mut waits = record();
    assert!(waits.settle(&rules, now()));
    assert_eq!(waits.standing(), Curation::Approved);
    let last = &waits.history.changes()[1].by;
    assert_eq!((last.who.as_str(), last.why.as_str()), ("policy", "from https://a.example"));
    assert_eq!(waits.review_by.unwrap(), now() + jiff::SignedDuration::from_hours(48));
    assert!(!waits.settle(&rules, now()));
    let mut rejected = record();
    rejected.move_to(Curation::Rejected, by("ada"), &rules).unwrap();
    assert!(!rejected.settle(&rules, now()));
}

#[test]
fn an_approval_that_was_lost_is_given_back_by_a_person_only() {
    let rules = policy("approve: [{origin: https://a.example}]");
    let mut record = record();
    record.settle(&rules, now());
    record.hold(by("policy"));
    assert_eq!((record.standing(), record.is_held), (Curation::Proposed, true));
    assert!(!record.settle(&rules, now()));
    record.move_to(Curation::Approved, by("ada"), &rules).unwrap();
    assert!(!record.is_held && record.review_by.is_none());
    record.move_to(Curation::Proposed, by("ada"), &rules).unwrap();
    assert!(record.settle(&rules, now()), "a person proposed it anew");
}
