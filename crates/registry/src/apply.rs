//! What an agent of a file or an address means for the directory as it is: a pure decision.

use std::collections::{BTreeMap, BTreeSet};

use protocol::auth::Origin;
use protocol::v1::AgentCard;
use serde_json::Value;
use store::{AccountId, Batch, Expect, Write};

use crate::record::{AGENTS, Record, Stored};
use crate::report::{Applied, Outcome};
use crate::versions::CardVersion;
use crate::{
    CardDigest, Curation, Decision, Details, Drift, DriftClass, Finding, History, Policy,
    Provenance, Trust,
};

/// Says how agents are taken in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApplyOptions {
    /// Approves what is or becomes proposed. What a curator rejected, suspended or retired stays so.
    pub approve: bool,
    /// Only says what would happen.
    pub dry_run: bool,
    /// Who does it, when and why; kept in the history of what it changes.
    pub by: Decision,
}

/// An agent whose card was read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// The URL as it was written, and where the card was found; both empty for a card of a file.
    pub(crate) asked_url: String,
    pub(crate) url: String,
    pub(crate) raw: Value,
    pub(crate) card: AgentCard,
    /// What was said beside the card; nothing leaves it as it is.
    pub(crate) details: Option<Details>,
    pub(crate) findings: Vec<Finding>,
    /// What the signatures are worth.
    pub(crate) trust: Trust,
    /// The catalog of others that lists it; nothing for an agent that was asked for itself.
    pub(crate) source: Option<Provenance>,
}

/// An agent whose card was not read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Missed {
    /// What people know it by.
    pub(crate) label: String,
    pub(crate) name: Option<String>,
    pub(crate) asked_url: String,
    pub(crate) why: String,
    /// Whether it should have been read; else it is nothing that the directory holds.
    pub(crate) is_failure: bool,
}

/// Everything that was asked for at once.
pub(crate) struct Request<'a> {
    pub(crate) wanted: &'a [Wanted],
    pub(crate) missed: &'a [Missed],
    /// The catalog it comes from, whose other agents are removed.
    pub(crate) catalog: Option<&'a str>,
    pub(crate) options: &'a ApplyOptions,
    pub(crate) policy: &'a Policy,
    /// Whether only agents that are there, at the address they were looked at, are changed: what was removed while its
    /// card was fetched stays away.
    pub(crate) is_again: bool,
}

/// What becomes of one agent, and what is written for it.
pub(crate) struct Step {
    pub(crate) applied: Applied,
    pub(crate) change: Option<Change>,
}

pub(crate) enum Change {
    /// Keeps a record.
    Put(Box<Record>, Expect),
    /// Keeps a record with another version of its card.
    PutCard(Box<Record>, Expect),
    Delete(String, Expect),
}

/// Decides about everything asked for, against the records of these names and of the catalog.
/// In the order of names.
pub(crate) fn decide(existing: &BTreeMap<String, Stored>, request: &Request<'_>) -> Vec<Step> {
    let mut taken = BTreeSet::new();
    let mut steps = Vec::new();
    for wanted in request.wanted {
        let stored = existing.get(&wanted.name);
        let is_repeated = !taken.insert(wanted.name.as_str());
        steps.push(match stored {
            _ if is_repeated => refuse(
                wanted,
                "another agent of the same list has this name; give each a name of its own",
            ),
            None if request.is_again => refuse(wanted, "it was removed meanwhile"),
            Some(stored) if request.is_again && stored.record.asked_url != wanted.asked_url => {
                refuse(wanted, "it moved meanwhile; look at it once more")
            }
            None => add(wanted, request),
            Some(stored) if is_another(&stored.record, wanted, request) => refuse(
                wanted,
                &format!(
                    "the name belongs to the agent at {}; give this one a name of its own",
                    stored.record.url
                ),
            ),
            Some(stored) => change(stored, wanted, request),
        });
    }
    steps.extend(request.missed.iter().map(miss));
    steps
        .extend(existing.values().filter(|stored| is_dropped(&stored.record, request)).map(remove));
    steps.sort_by(|a, b| a.applied.name.cmp(&b.applied.name));
    steps
}

/// The writes of all changes, as one batch.
pub(crate) fn batch(changes: &[Change], account: &AccountId) -> Batch {
    let mut writes = Vec::new();
    for change in changes {
        match change {
            Change::Put(record, expect) => writes.push(record.write(account, *expect)),
            Change::PutCard(record, expect) => {
                writes.push(record.write(account, *expect));
                writes.extend(CardVersion::writes(record, account));
            }
            Change::Delete(name, expect) => writes.push(Write::Delete {
                account: account.clone(),
                table: AGENTS,
                key: name.clone(),
                expect: *expect,
            }),
        }
    }
    Batch { fences: Vec::new(), writes }
}

/// A catalog may move its own agents; nobody takes over another one's name.
fn is_another(record: &Record, wanted: &Wanted, request: &Request<'_>) -> bool {
    let is_elsewhere = !record.url.is_empty()
        && !wanted.url.is_empty()
        && record.url != wanted.url
        && record.asked_url != wanted.asked_url;
    let is_own = request.catalog.is_some() && record.catalog.as_deref() == request.catalog;
    is_elsewhere && !is_own
}

/// An agent that could not be read this time is not dropped for it, nor are those of a catalog that
/// could not.
fn is_dropped(record: &Record, request: &Request<'_>) -> bool {
    let is_of_catalog = request.catalog.is_some() && record.catalog.as_deref() == request.catalog;
    let is_listed = request.wanted.iter().any(|wanted| wanted.name == record.name);
    let is_missed = request.missed.iter().any(|missed| {
        missed.name.as_ref() == Some(&record.name)
            || (!missed.asked_url.is_empty()
                && (missed.asked_url == record.asked_url || record.is_listed_at(&missed.asked_url)))
    });
    is_of_catalog && !is_listed && !is_missed
}

fn add(wanted: &Wanted, request: &Request<'_>) -> Step {
    let by = request.options.by.clone();
    let digest = CardDigest::of(&wanted.raw);
    let history = History::proposed(by);
    let mut record = Record::new(wanted.name.clone(), wanted.raw.clone(), digest, history);
    record.url.clone_from(&wanted.url);
    record.asked_url.clone_from(&wanted.asked_url);
    record.details = wanted.details.clone().unwrap_or_default();
    record.catalog = request.catalog.map(str::to_owned);
    record.trust = wanted.trust.clone();
    record.source = wanted.source.clone();
    approve(&mut record, request, wanted);
    let applied = applied(&record, wanted, Outcome::Added);
    Step { applied, change: Some(Change::PutCard(Box::new(record), Expect::Absent)) }
}

fn change(stored: &Stored, wanted: &Wanted, request: &Request<'_>) -> Step {
    let mut record = stored.record.clone();
    let mut what = Vec::new();
    let was = record.decided();
    record.expire(request.options.by.at);
    replace_card(&mut record, wanted, request, &mut what);
    let is_moved = origin(&record.url) != origin(&wanted.url);
    replace(&mut record.url, &wanted.url, "url", &mut what);
    if is_moved {
        record.found(true, request.options.by.at);
    }
    // What somebody else lists as well stays what it is here.
    if wanted.source.is_none() || record.source.is_some() {
        record.asked_url.clone_from(&wanted.asked_url);
        if let Some(details) = &wanted.details {
            replace_details(&mut record.details, details, &mut what);
        }
        if let Some(catalog) = request.catalog {
            replace(&mut record.catalog, &Some(catalog.to_owned()), "catalog", &mut what);
        }
        if is_of_same_source(&record, wanted, request) {
            replace(&mut record.source, &wanted.source, "source", &mut what);
        }
    }
    approve(&mut record, request, wanted);
    if record.decided() != was {
        what.push(format!("was {was}"));
    }
    let outcome = if what.is_empty() { Outcome::Unchanged } else { Outcome::Changed(what) };
    let applied = applied(&record, wanted, outcome);
    let expect = Expect::Version(stored.version);
    let change = if record == stored.record {
        None
    } else if record.version == stored.record.version {
        Some(Change::Put(Box::new(record), expect))
    } else {
        Some(Change::PutCard(Box::new(record), expect))
    };
    Step { applied, change }
}

/// An agent is remembered where it was heard of first, unless a file of the operator follows another
/// catalog now.
fn is_of_same_source(record: &Record, wanted: &Wanted, request: &Request<'_>) -> bool {
    let asked = |source: &Option<Provenance>| source.as_ref().map(|it| it.asked.clone());
    let new = asked(&wanted.source);
    new.is_some() && (request.catalog.is_some() || new == asked(&record.source))
}

fn replace_card(
    record: &mut Record,
    wanted: &Wanted,
    request: &Request<'_>,
    what: &mut Vec<String>,
) {
    let digest = CardDigest::of(&wanted.raw);
    let lost = record.trust.lost(&wanted.trust);
    let is_same = digest == record.digest;
    if !is_same || lost.is_some() {
        let drift = drift(record, wanted, is_same, lost);
        what.push(match &drift {
            Drift::Cosmetic => "card: only words".to_owned(),
            Drift::Additive => "card: other abilities, none gone".to_owned(),
            Drift::Breaking(broken) => format!("card: {}", broken.join(", ")),
        });
        let at = request.options.by.at;
        if !is_same {
            record.version += 1;
            record.card = wanted.raw.clone();
            record.digest = digest;
            record.card_since = at;
            record.drift = Some(drift.clone());
            record.found(drift.class() == DriftClass::Breaking, at);
        }
        if !request.policy.keeps(drift.class()) {
            let why = match drift {
                Drift::Breaking(broken) => format!("the card changed: {}", broken.join(", ")),
                other => format!(
                    "the card changed ({}), and the policy does not keep approvals then",
                    other.class().as_str()
                ),
            };
            record.hold(Decision { who: request.options.by.who.clone(), why, at });
        }
    }
    replace(&mut record.trust, &wanted.trust, "signatures", what);
}

/// Where a card was found; nothing for one of a file.
fn origin(url: &str) -> Option<Origin> {
    url.parse().ok()
}

fn drift(record: &Record, wanted: &Wanted, is_same: bool, lost: Option<String>) -> Drift {
    let drift = match record.read_card() {
        _ if is_same => Drift::Cosmetic,
        Ok(old) => Drift::between(&old, &wanted.card),
        Err(_) => Drift::Breaking(vec!["the former card can no longer be read".to_owned()]),
    };
    match lost {
        Some(lost) => drift.and_broken(lost),
        None => drift,
    }
}

fn replace_details(old: &mut Details, new: &Details, what: &mut Vec<String>) {
    replace(&mut old.tags, &new.tags, "tags", what);
    replace(&mut old.category, &new.category, "category", what);
    replace(&mut old.aliases, &new.aliases, "aliases", what);
    replace(&mut old.owner, &new.owner, "owner", what);
    replace(&mut old.notes, &new.notes, "notes", what);
    replace(&mut old.notes_review_by, &new.notes_review_by, "notes_review_by", what);
    replace(&mut old.priority, &new.priority, "priority", what);
    replace(&mut old.credentials, &new.credentials, "credentials", what);
    replace(&mut old.origins, &new.origins, "origins", what);
    replace(&mut old.probe_message, &new.probe_message, "probe_message", what);
    replace(&mut old.public, &new.public, "public", what);
}

fn replace<T: PartialEq + Clone>(old: &mut T, new: &T, name: &str, what: &mut Vec<String>) {
    if old != new {
        what.push(name.to_owned());
        old.clone_from(new);
    }
}

/// What was asked for by a person counts before the rules. Nobody has asked for what somebody else's
/// catalog lists.
fn approve(record: &mut Record, request: &Request<'_>, wanted: &Wanted) {
    let options = request.options;
    let is_asked_for = wanted.source.is_none();
    if options.approve && is_asked_for && record.decided() == Curation::Proposed {
        let moved = record.move_to(Curation::Approved, options.by.clone(), request.policy);
        moved.expect("what is proposed can be approved");
    }
    record.settle(request.policy, options.by.at);
}

fn applied(record: &Record, wanted: &Wanted, outcome: Outcome) -> Applied {
    Applied {
        name: record.name.clone(),
        outcome,
        standing: Some(record.decided()),
        findings: wanted.findings.clone(),
    }
}

fn remove(stored: &Stored) -> Step {
    let name = stored.record.name.clone();
    let change = Some(Change::Delete(name.clone(), Expect::Version(stored.version)));
    Step { change, ..none(name, Outcome::Removed) }
}

fn refuse(wanted: &Wanted, why: &str) -> Step {
    failed(wanted.name.clone(), why.to_owned())
}

fn miss(missed: &Missed) -> Step {
    let (name, why) = (missed.label.clone(), missed.why.clone());
    if missed.is_failure { failed(name, why) } else { none(name, Outcome::Ignored(why)) }
}

fn failed(name: String, why: String) -> Step {
    none(name, Outcome::Failed(why))
}

/// What comes of an agent that is not in the directory.
fn none(name: String, outcome: Outcome) -> Step {
    let applied = Applied { name, outcome, standing: None, findings: Vec::new() };
    Step { applied, change: None }
}

#[cfg(test)]
mod tests;
