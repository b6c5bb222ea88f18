use std::collections::BTreeMap;

use jiff::Timestamp;
use protocol::auth::{Credential, SecretSource};
use serde_json::{Value, json};
use store::{Expect, Version};

use super::{ApplyOptions, Change, Missed, Request, Step, Wanted, decide};
use crate::record::Stored;
use crate::{Curation, Decision, Details, Outcome, Policy, Provenance, Trust};

fn options(approve: bool) -> ApplyOptions {
    let at = Timestamp::from_second(1_800_000_000).unwrap();
    ApplyOptions {
        approve,
        dry_run: false,
        by: Decision { who: "ada".into(), why: "try".into(), at },
    }
}

fn wanted(name: &str) -> Wanted {
    wanted_card(
        name,
        json!({
            "name": name,
            "supportedInterfaces": [{"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "skills": [{"id": "book"}]
        }),
    )
}

fn wanted_card(name: &str, raw: Value) -> Wanted {
    Wanted {
        name: name.into(),
        asked_url: format!("https://{name}.example"),
        url: format!("https://{name}.example/card"),
        card: protocol::card::read(&raw).unwrap(),
        raw,
        details: Some(Details::default()),
        findings: Vec::new(),
        trust: Trust::default(),
        source: None,
    }
}

/// The agent as somebody's catalog lists it.
fn listed(name: &str, catalog: &str) -> Wanted {
    let via = vec![format!("{catalog}/nested"), catalog.to_owned()];
    let source = Provenance { asked: catalog.into(), via, identifier: None };
    Wanted { source: Some(source), ..wanted(name) }
}

fn missed(label: &str, asked_url: &str, is_failure: bool) -> Missed {
    let (label, asked_url, why) = (label.into(), asked_url.into(), "down".into());
    Missed { label, name: None, asked_url, why, is_failure }
}

struct Directory(BTreeMap<String, Stored>);

impl Directory {
    fn with(catalog: Option<&str>, approve: bool, wanted: &[Wanted]) -> Self {
        let mut directory = Self(BTreeMap::new());
        directory.apply(catalog, approve, wanted, &[]);
        directory
    }

    /// Decides, keeps what would be written, and returns the outcomes.
    fn apply(
        &mut self,
        catalog: Option<&str>,
        approve: bool,
        wanted: &[Wanted],
        missed: &[Missed],
    ) -> Vec<(String, Outcome)> {
        let (options, policy) = (options(approve), Policy::default());
        let (options, policy, is_again) = (&options, &policy, false);
        let request = Request { wanted, missed, catalog, options, policy, is_again };
        decide(&self.0, &request).into_iter().map(|step| self.keep(step)).collect()
    }

    /// The same for agents whose cards were looked at again.
    fn look_again(&mut self, wanted: &[Wanted]) -> Vec<(String, Outcome)> {
        let (options, policy) = (options(false), Policy::default());
        let (missed, catalog, options, policy) = (&[], None, &options, &policy);
        let request = Request { wanted, missed, catalog, options, policy, is_again: true };
        decide(&self.0, &request).into_iter().map(|step| self.keep(step)).collect()
    }

    fn keep(&mut self, step: Step) -> (String, Outcome) {
        match step.change {
            Some(Change::Put(record, expect) | Change::PutCard(record, expect)) => {
                let before = self.0.get(&record.name).map(|stored| stored.version);
                assert_eq!(expect, before.map_or(Expect::Absent, Expect::Version));
                let version = Version(before.map_or(1, |before| before.0 + 1));
                self.0.insert(record.name.clone(), Stored { record: *record, version });
            }
            Some(Change::Delete(name, expect)) => {
                let removed = self.0.remove(&name).unwrap();
                assert_eq!(expect, Expect::Version(removed.version));
            }
            None => {}
        }
        (step.applied.name, step.applied.outcome)
    }

    fn standing(&self, name: &str) -> Curation {
        self.0[name].record.standing()
    }

    fn move_to(&mut self, name: &str, to: Curation) {
        let history = &mut self.0.get_mut(name).unwrap().record.history;
        history.transition(to, options(false).by).unwrap();
    }
}

fn outcome(name: &str, outcome: Outcome) -> (String, Outcome) {
    (name.to_owned(), outcome)
}

#[test]
fn a_second_time_changes_nothing() {
    let list = [wanted("b"), wanted("a")];
    let mut directory = Directory(BTreeMap::new());
    let first = directory.apply(Some("c"), false, &list, &[]);
    assert_eq!(first, [outcome("a", Outcome::Added), outcome("b", Outcome::Added)]);
    let before = directory.0.clone();
    let second = directory.apply(Some("c"), false, &list, &[]);
    assert_eq!(second, [outcome("a", Outcome::Unchanged), outcome("b", Outcome::Unchanged)]);
    assert_eq!(directory.0, before);
}

#[test]
fn agents_are_proposed_unless_approval_is_asked_for() {
    assert_eq!(Directory::with(None, false, &[wanted("a")]).standing("a"), Curation::Proposed);
    let mut directory = Directory::with(None, true, &[wanted("a")]);
    assert_eq!(directory.standing("a"), Curation::Approved);
    let changes = directory.0["a"].record.history.changes().to_vec();
    assert_eq!((changes.len(), changes[1].by.who.as_str()), (2, "ada"));
    directory.move_to("a", Curation::Suspended);
    assert_eq!(
        directory.apply(None, true, &[wanted("a")], &[]),
        [outcome("a", Outcome::Unchanged)]
    );
    assert_eq!(directory.standing("a"), Curation::Suspended);
}

#[test]
fn approving_what_was_proposed_is_a_change() {
    let mut directory = Directory::with(None, false, &[wanted("a")]);
    let outcomes = directory.apply(None, true, &[wanted("a")], &[]);
    assert_eq!(outcomes, [outcome("a", Outcome::Changed(vec!["was proposed".into()]))]);
}

#[test]
fn every_detail_that_changes_is_named() {
    let mut directory = Directory::with(Some("c"), false, &[wanted("a")]);
    let mut other = wanted("a");
    other.details = Some(Details {
        tags: vec!["t".into()],
        category: Some("k".into()),
        aliases: vec!["b".into()],
        owner: Some("o".into()),
        notes: Some("n".into()),
        notes_review_by: Some(jiff::civil::date(2027, 6, 30)),
        priority: 1,
        credentials: vec![Credential::bearer(SecretSource::Env("TOKEN".into()))],
        origins: vec!["https://api.example".parse().unwrap()],
        probe_message: Some("m".into()),
        public: true,
    });
    other.url = "https://moved.example/card".into();
    let what = "url tags category aliases owner notes notes_review_by priority credentials origins \
                probe_message public";
    let what: Vec<String> = what.split(' ').map(str::to_owned).collect();
    let outcomes = directory.apply(Some("c"), false, &[other.clone()], &[]);
    assert_eq!(outcomes, [outcome("a", Outcome::Changed(what))]);
    assert_eq!(directory.0["a"].record.details, other.details.clone().unwrap());
    other.details = None;
    assert_eq!(
        directory.apply(Some("c"), false, &[other], &[]),
        [outcome("a", Outcome::Unchanged)]
    );
}

#[test]
fn a_breaking_card_loses_the_approval_and_another_change_keeps_it() {
    let mut directory = Directory::with(None, true, &[wanted("a")]);
    let mut raw = wanted("a").raw;
    raw["description"] = json!("New words.");
    let outcomes = directory.apply(None, false, &[wanted_card("a", raw.clone())], &[]);
    assert_eq!(outcomes, [outcome("a", Outcome::Changed(vec!["card: only words".into()]))]);
    assert_eq!(directory.standing("a"), Curation::Approved);

    raw["skills"][0]["id"] = json!("other");
    let outcomes = directory.apply(None, false, &[wanted_card("a", raw.clone())], &[]);
    let what = vec!["card: skill `book` was removed".to_owned(), "was approved".to_owned()];
    assert_eq!(outcomes, [outcome("a", Outcome::Changed(what))]);
    assert_eq!(directory.standing("a"), Curation::Proposed);
    let last = directory.0["a"].record.history.changes().last().unwrap().clone();
    assert_eq!(last.by.why, "the card changed: skill `book` was removed");
    assert_eq!(directory.0["a"].record.card, raw);
}

#[test]
fn what_a_catalog_no_longer_lists_is_removed_and_nothing_else() {
    let mut directory = Directory::with(Some("c"), false, &[wanted("a"), wanted("b")]);
    directory.apply(Some("other"), false, &[wanted("x")], &[]);
    directory.apply(None, false, &[wanted("by-hand")], &[]);
    let outcomes = directory.apply(Some("c"), false, &[wanted("b")], &[]);
    assert_eq!(outcomes, [outcome("a", Outcome::Removed), outcome("b", Outcome::Unchanged)]);
    let left: Vec<_> = directory.0.keys().cloned().collect();
    assert_eq!(left, ["b", "by-hand", "x"]);
}

#[test]
fn an_agent_that_cannot_be_read_this_time_stays_as_it_is() {
    let mut directory = Directory::with(Some("c"), true, &[wanted("a"), wanted("b")]);
    let missed = [
        Missed { name: Some("a".into()), ..missed("a", "", true) },
        missed("https://b.example", "https://b.example", true),
    ];
    let outcomes = directory.apply(Some("c"), false, &[], &missed);
    let down = || Outcome::Failed("down".into());
    assert_eq!(outcomes, [outcome("a", down()), outcome("https://b.example", down())]);
    assert_eq!(directory.0.len(), 2);
}

#[test]
fn what_somebody_else_lists_is_not_approved_by_a_flag() {
    let mut directory = Directory::with(None, true, &[listed("a", "https://x.example")]);
    assert_eq!(directory.standing("a"), Curation::Proposed);
    assert_eq!(directory.0["a"].record.source, listed("a", "https://x.example").source);
    // One that is asked for itself is, and it is still known where it was heard of.
    directory.apply(None, true, &[wanted("a")], &[]);
    assert_eq!(directory.standing("a"), Curation::Approved);
    assert_eq!(directory.0["a"].record.source, listed("a", "https://x.example").source);
}

#[test]
fn an_agent_of_our_own_stays_what_it_is_when_somebody_lists_it_too() {
    let mut own = wanted("a");
    own.details = Some(Details { tags: vec!["mine".into()], ..Details::default() });
    let mut directory = Directory::with(None, false, &[own]);
    let theirs = Details { tags: vec!["theirs".into()], public: true, ..Details::default() };
    let theirs = Wanted {
        asked_url: "https://x.example/a".into(),
        details: Some(theirs),
        ..listed("a", "https://x.example")
    };
    let outcomes = directory.apply(Some("c"), false, &[theirs], &[]);
    assert_eq!(outcomes, [outcome("a", Outcome::Unchanged)]);
    let record = &directory.0["a"].record;
    assert_eq!((&record.source, &record.catalog), (&None, &None));
    assert_eq!((record.details.tags.join(""), record.details.public), ("mine".into(), false));
}

#[test]
fn an_agent_is_remembered_where_it_was_heard_of_first() {
    let asked = |directory: &Directory| directory.0["a"].record.source.clone().unwrap().asked;
    let mut directory = Directory::with(None, false, &[listed("a", "https://x.example")]);
    let outcomes = directory.apply(None, false, &[listed("a", "https://y.example")], &[]);
    assert_eq!(outcomes, [outcome("a", Outcome::Unchanged)]);
    assert_eq!(asked(&directory), "https://x.example");
    directory.apply(Some("c"), false, &[listed("a", "https://y.example")], &[]);
    assert_eq!(asked(&directory), "https://y.example", "a file follows this one now");
}

#[test]
fn a_catalog_that_cannot_be_read_says_nothing_of_its_agents() {
    let list = [listed("a", "https://x.example"), listed("b", "https://y.example")];
    for missing in ["https://x.example", "https://x.example/nested"] {
        let mut directory = Directory::with(Some("c"), false, &list);
        let missed = [missed("x", missing, true)];
        directory.apply(Some("c"), false, &[], &missed);
        assert_eq!(directory.0.keys().collect::<Vec<_>>(), ["a"], "{missing}");
    }
}

#[test]
fn what_is_no_agent_is_no_failure() {
    let mut directory = Directory(BTreeMap::new());
    let outcomes = directory.apply(None, false, &[], &[missed("tool", "", false)]);
    assert_eq!(outcomes, [outcome("tool", Outcome::Ignored("down".into()))]);
}

#[test]
fn a_name_is_not_taken_over_by_another_agent() {
    let mut directory = Directory::with(None, true, &[wanted("a")]);
    let mut thief = wanted("a");
    thief.url = "https://thief.example/card".into();
    thief.asked_url = "https://thief.example".into();
    let outcomes = directory.apply(None, true, std::slice::from_ref(&thief), &[]);
    let why =
        "the name belongs to the agent at https://a.example/card; give this one a name of its own";
    assert_eq!(outcomes, [outcome("a", Outcome::Failed(why.into()))]);
    let outcomes = directory.apply(None, true, &[wanted("n"), wanted("n")], &[]);
    assert_eq!(outcomes[0], outcome("n", Outcome::Added));
    assert!(matches!(&outcomes[1].1, Outcome::Failed(why) if why.contains("same list")));
}

#[test]
fn what_was_removed_or_moved_while_it_was_looked_at_stays_so() {
    let mut directory = Directory::with(None, false, &[wanted("a")]);
    let failed = |why: &str| [outcome("a", Outcome::Failed(why.into()))];
    assert_eq!(directory.look_again(&[wanted("a")]), [outcome("a", Outcome::Unchanged)]);
    let moved = Wanted { asked_url: "https://moved.example".into(), ..wanted("a") };
    let why = "it moved meanwhile; look at it once more";
    assert_eq!(directory.look_again(&[moved]), failed(why));
    directory.0.clear();
    assert_eq!(directory.look_again(&[wanted("a")]), failed("it was removed meanwhile"));
    assert!(directory.0.is_empty());
}
