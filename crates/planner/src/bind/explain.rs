//! Says in words why agents were not chosen.

use std::time::Duration;

use document::nearest;
use protocol::card::interfaces_spoken;
use registry::{Agent, Curation, Index, Tier};

use super::Problem;
use super::candidates::{Candidate, Candidates};
use crate::criteria::{Criteria, Preference};
use crate::plan::Lost;

/// What an agent must speak to be called.
pub(super) const SPOKEN: &str = "an agent is called through an interface of A2A 1.0 (JSONRPC, HTTP+JSON or GRPC), of 0.3 or \
                                 0.2 (JSONRPC or HTTP+JSON), or of 0.1 (JSONRPC)";

/// The most candidates that are explained one by one.
const MAX_EXPLAINED: usize = 20;

/// Why each candidate but the winner was not chosen: those that fit best first.
pub(super) fn lost(
    asked: &Criteria,
    candidates: &Candidates<'_>,
    winner: &Candidate<'_>,
) -> Vec<Lost> {
    let others = candidates.list.iter().filter(|it| !std::ptr::eq(it.agent, winner.agent));
    explained(others, candidates.more, |candidate| {
        reason(candidate).unwrap_or_else(|| outranked(asked, candidate.agent, winner.agent))
    })
}

/// Why each candidate but the one that the lock names was not chosen.
pub(super) fn lost_to_the_lock(
    candidates: &Candidates<'_>,
    locked: &Agent,
    file: &str,
) -> Vec<Lost> {
    let others = candidates.list.iter().filter(|it| it.agent.name != locked.name);
    explained(others, candidates.more, |candidate| {
        reason(candidate).unwrap_or_else(|| format!("fits, but {file} has `{}`", locked.name))
    })
}

/// Why nothing fits, with every candidate.
pub(super) fn nothing_fits(
    asked: &Criteria,
    candidates: &Candidates<'_>,
    index: &Index,
) -> Problem {
    if candidates.list.is_empty() {
        return no_candidates(asked, index);
    }
    let all = candidates.list.iter();
    let reasons = explained(all, candidates.more, |it| reason(it).unwrap_or_default());
    let help: Vec<String> =
        reasons.iter().map(|lost| format!("`{}` {}", lost.agent, lost.why)).collect();
    let message = match (candidates.list.len(), candidates.more) {
        (1, 0) => "the only candidate cannot be used".to_owned(),
        (count, 0) => format!("none of the {count} candidates can be used"),
        (count, more) => format!("none of at least {} candidates can be used", count + more),
    };
    Problem::new(message, help.join("\n"))
}

fn no_candidates(asked: &Criteria, index: &Index) -> Problem {
    let message = "there are no candidates".to_owned();
    if index.is_empty() {
        let help = "the registry is empty: add an agent with `convoke agents add URL --approve`, \
                    or name one under `agents`";
        return Problem::new(message, help.to_owned());
    }
    let mut hints = Vec::new();
    if let Some(name) = &asked.name {
        hints.push(hint("agent", name, nearest(name, sorted(index.names()))));
    }
    if let Some(skill) = &asked.skill {
        hints.push(hint("skill", skill, nearest(skill, sorted(index.skills()))));
    }
    for tag in asked.tags.iter().chain(&asked.any_tags) {
        hints.push(hint("tag", tag, nearest(tag, sorted(index.tags()))));
    }
    hints.extend(asked.provider.as_ref().map(|provider| hint("provider", provider, None)));
    Problem::new(message, hints.join("\n"))
}

fn hint(kind: &str, word: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("the registry knows no {kind} `{word}`; did you mean `{near}`?"),
        None => format!("the registry knows no {kind} `{word}`"),
    }
}

/// In order, so that of equally near words always the same one is offered.
fn sorted<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut words: Vec<&str> = words.collect();
    words.sort_unstable();
    words
}

fn explained<'c>(
    candidates: impl Iterator<Item = &'c Candidate<'c>>,
    more: usize,
    why: impl Fn(&Candidate<'_>) -> String,
) -> Vec<Lost> {
    let by_fit = |(at, it): (usize, &'c Candidate<'c>)| ((it.lacks.len(), it.rank, at), it);
    let mut fitting: Vec<_> = candidates.enumerate().map(by_fit).collect();
    let hidden = fitting.len().saturating_sub(MAX_EXPLAINED);
    if hidden > 0 {
        fitting.select_nth_unstable_by_key(MAX_EXPLAINED, |(key, _)| *key);
        fitting.truncate(MAX_EXPLAINED);
    }
    fitting.sort_unstable_by_key(|(key, _)| *key);
    let lost = |(_, it): &(_, &Candidate<'_>)| Lost { agent: it.agent.name.clone(), why: why(it) };
    let mut lost: Vec<Lost> = fitting.iter().map(lost).collect();
    let hidden = match (hidden, more) {
        (0, 0) => return lost,
        (hidden, 0) => format!("{hidden} more"),
        (hidden, more) => format!("at least {} more", hidden + more),
    };
    lost.push(Lost { agent: hidden, why: "fit no better".to_owned() });
    lost
}

/// Why a candidate cannot be used; none when it could.
pub(super) fn reason(candidate: &Candidate<'_>) -> Option<String> {
    let agent = candidate.agent;
    if !candidate.fits() {
        return Some(candidate.lacks.join(" and "));
    }
    if candidate.is_before {
        return Some("is tried before".to_owned());
    }
    if !agent.curation.is_bindable() {
        let remedy = match agent.curation {
            Curation::Proposed => {
                format!("; approve it with `convoke agents approve {}`", agent.name)
            }
            _ => String::new(),
        };
        return Some(format!("is {}, not approved{remedy}", agent.curation));
    }
    if interfaces_spoken(&agent.card).is_empty() {
        return Some(not_spoken(agent));
    }
    candidate.unseen.clone()
}

/// What an agent offers instead of an interface spoken here.
pub(super) fn not_spoken(agent: &Agent) -> String {
    let offered: Vec<String> = agent
        .card
        .supported_interfaces
        .iter()
        .map(|interface| format!("{} {}", interface.protocol_binding, interface.protocol_version))
        .collect();
    match offered.is_empty() {
        true => "offers no interface at all".to_owned(),
        false => {
            format!(
                "offers no interface spoken here (JSONRPC, HTTP+JSON or GRPC 1.0), only {}",
                offered.join(", ")
            )
        }
    }
}

fn outranked(asked: &Criteria, agent: &Agent, winner: &Agent) -> String {
    let latency = |agent: &Agent| agent.latency(asked.skill.as_deref());
    let tier = |agent: &Agent| agent.tier.map_or("not proven to be there", Tier::as_str);
    if agent.curation != winner.curation {
        format!("fits, but is {}", agent.curation)
    } else if asked.prefer == Preference::Evidence && agent.tier != winner.tier {
        format!("fits, but `{}` is {}, and it is {}", winner.name, tier(winner), tier(agent))
    } else if asked.prefer == Preference::Latency && latency(agent) != latency(winner) {
        let millis = |time: Duration| format!("{} ms", time.as_millis());
        let own = latency(agent)
            .map_or("of it nothing is known".to_owned(), |it| format!("it needs {}", millis(it)));
        let best = latency(winner).map(millis).unwrap_or_default();
        format!("fits, but `{}` needs {best} in the middle, and {own}", winner.name)
    } else if agent.priority != winner.priority {
        format!(
            "fits, but `{}` has the higher priority ({} over {})",
            winner.name, winner.priority, agent.priority
        )
    } else {
        format!("fits, but `{}` comes first by name", winner.name)
    }
}
