use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::observed::{Observed, Probed, Work};
use super::{Grounds, Tier};

/// After how many failures in a row an agent's work no longer proves it.
pub const FAILURES: usize = 3;

/// Why nothing counts that was seen of an agent whose card is another now.
const VOID: &str = "its card changed in a breaking way or moved, and what was seen of the former one counts no more";

/// What is known of an agent at a moment, and since when, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// What counts now; `None` when the agent could not be reached, or what was seen is stale.
    pub tier: Option<Tier>,
    /// What was seen last, stale or not.
    pub last: Option<Tier>,
    /// The tier before that one, when it was another.
    pub was: Option<Tier>,
    /// Since when it has been `last`.
    pub since: Timestamp,
    /// Why it is not more, or what shows that it is so much.
    pub why: String,
    /// When it was looked at last.
    pub at: Timestamp,
    /// Until when that counts.
    pub fresh_until: Timestamp,
    /// Whether that is over.
    pub is_stale: bool,
    /// How it did at each skill in our runs.
    #[serde(skip)]
    pub services: Vec<Service>,
    /// The same of each tier, least first; none when nothing counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Rung>,
    /// Why the newest look measured nothing, for a reason on this side; it takes nothing from the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
    /// When something of this may be different without another look.
    #[serde(skip)]
    pub(crate) holds_until: Timestamp,
}

/// Whether an agent has a tier, by what was seen of it last.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rung {
    /// The tier.
    pub tier: Tier,
    /// Whether it has it.
    pub is_held: bool,
    /// Since when that is so.
    pub since: Timestamp,
    /// Why it does not, or what proves that it does; empty where there is nothing to say.
    pub why: String,
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = if self.is_held { "since" } else { "not, since" };
        write!(f, "{} {held} {}", self.tier, self.since.strftime("%Y-%m-%d %H:%M:%SZ"))?;
        if self.why.is_empty() { Ok(()) } else { write!(f, ": {}", self.why) }
    }
}

/// How an agent did at one skill in our runs, as far as that is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Service {
    /// The skill that steps asked for; absent for those that asked for none.
    pub skill: Option<String>,
    /// How many attempts completed.
    pub completed: usize,
    /// How many failed.
    pub failed: usize,
    /// How long the completed ones took: the middle one.
    pub median: Option<Duration>,
}

impl Seen {
    /// What other accounts see of it: not why, which tells of runs.
    #[must_use]
    pub fn for_others(&self) -> Self {
        let without_why = |rung: &Rung| Rung { why: String::new(), ..rung.clone() };
        let tiers = self.tiers.iter().map(without_why).collect();
        let why = String::new();
        Self { why, tiers, services: Vec::new(), unmeasured: None, ..self.clone() }
    }

    /// How it stands, in a word for tables: the tier, with a mark when it is stale.
    #[must_use]
    pub fn in_short(&self) -> String {
        let last = self.last.map_or("none", Tier::as_str);
        if self.is_stale { format!("{last} (stale)") } else { last.to_owned() }
    }

    /// What follows at a moment from those observations that count; nothing when there are none at all.
    pub(crate) fn of(observed: &Observed, grounds: &Grounds, now: Timestamp) -> Option<Self> {
        let looks = in_order(observed);
        let newest = looks.last()?;
        let mut tale = Tale::default();
        for look in looks.iter().filter(|look| look.counts(grounds)) {
            tale.take(*look);
        }
        let seen = tale.end(observed.probes.since, now);
        let seen = seen.unwrap_or_else(|| Self::nothing(&looks, newest, grounds));
        Some(Self {
            unmeasured: newest.unmeasured(),
            services: services(observed, grounds),
            ..seen
        })
    }

    /// What is known of an agent when no look at it counts.
    fn nothing(looks: &[Look<'_>], newest: &Look<'_>, grounds: &Grounds) -> Self {
        let former = looks.iter().rfind(|look| look.unmeasured().is_none());
        let (at, since, why) = match former {
            Some(former) => (former.at(), grounds.since.max(former.at()), VOID),
            None => (newest.at(), newest.at(), "nothing of it was measured yet"),
        };
        Self {
            tier: None,
            last: None,
            was: None,
            since,
            why: why.to_owned(),
            at,
            fresh_until: at,
            is_stale: false,
            tiers: Vec::new(),
            unmeasured: None,
            services: Vec::new(),
            holds_until: Timestamp::MAX,
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M:%SZ");
        write!(f, "{} since {}", self.last.map_or("none", Tier::as_str), time(self.since))?;
        if let Some(was) = self.was {
            write!(f, " (was {was})")?;
        }
        write!(f, ", looked at {}", time(self.at))?;
        if self.is_stale {
            write!(f, ", stale since {}", time(self.fresh_until))?;
        }
        if !self.why.is_empty() {
            write!(f, ": {}", self.why)?;
        }
        match &self.unmeasured {
            Some(why) => write!(f, "; {why}"),
            None => Ok(()),
        }
    }
}

/// How the agent did at each skill, as far as that counts.
pub(super) fn services(observed: &Observed, grounds: &Grounds) -> Vec<Service> {
    let mut by_skill: BTreeMap<Option<&str>, Vec<&Work>> = BTreeMap::new();
    for work in observed.work.iter().filter(|work| grounds.count(work.card, work.at)) {
        by_skill.entry(work.skill.as_deref()).or_default().push(work);
    }
    let service = |(skill, works): (Option<&str>, Vec<&Work>)| {
        let done = works.iter().filter(|work| work.error.is_none());
        let mut took: Vec<Duration> = done.map(|work| work.took).collect();
        took.sort_unstable();
        Service {
            skill: skill.map(str::to_owned),
            completed: took.len(),
            failed: works.len() - took.len(),
            median: took.get(took.len() / 2).copied(),
        }
    };
    by_skill.into_iter().map(service).collect()
}

/// One observation of either kind.
#[derive(Clone, Copy)]
enum Look<'a> {
    Probe(&'a Probed),
    Work(&'a Work),
}

fn in_order(observed: &Observed) -> Vec<Look<'_>> {
    let probes = observed.probes.recent.iter().map(Look::Probe);
    let work = observed.work.iter().chain(&observed.unmeasured).map(Look::Work);
    let mut looks: Vec<_> = probes.chain(work).collect();
    looks.sort_by_key(Look::at);
    looks
}

impl Look<'_> {
    fn at(&self) -> Timestamp {
        match self {
            Self::Probe(probed) => probed.at,
            Self::Work(work) => work.at,
        }
    }

    /// Whether it says something of the agent as its card is now.
    fn counts(&self, grounds: &Grounds) -> bool {
        let card = match self {
            Self::Probe(probed) => probed.card,
            Self::Work(work) => work.card,
        };
        self.unmeasured().is_none() && grounds.count(card, self.at())
    }

    /// Why it measured nothing, if it did not.
    fn unmeasured(&self) -> Option<String> {
        let why = match self {
            Self::Probe(probed) => probed.unmeasured.clone(),
            Self::Work(work) if work.is_unmeasured => {
                let why = work.error.as_deref().unwrap_or_default();
                Some(format!("step `{}` of run {} failed with: {why}", work.step, work.run))
            }
            Self::Work(_) => None,
        }?;
        let at = self.at().strftime("%Y-%m-%d %H:%M:%SZ");
        Some(format!("not measured at {at}: {why}"))
    }
}

/// What has been seen so far, while it is gone through in order.
#[derive(Default)]
struct Tale<'a> {
    probe: Option<&'a Probed>,
    /// The newest work that was completed.
    done: Option<&'a Work>,
    /// The newest that failed, and how many have since the newest that was completed.
    failed: Option<&'a Work>,
    failures: usize,
    standing: Option<Standing>,
    held: Held,
}

/// Whether each tier is held, and since when.
type Held = [Option<(bool, Timestamp)>; Tier::ALL.len()];

/// A tier, and since when.
struct Standing {
    tier: Option<Tier>,
    was: Option<Tier>,
    since: Timestamp,
    /// Whether it is the first there was, which may have been so before.
    is_first: bool,
}

impl<'a> Tale<'a> {
    fn take(&mut self, look: Look<'a>) {
        match look {
            Look::Probe(probed) => self.probe = Some(probed),
            Look::Work(work) if work.error.is_none() => {
                (self.done, self.failures) = (Some(work), 0);
            }
            Look::Work(work) => {
                (self.failed, self.failures) = (Some(work), self.failures + 1);
            }
        }
        let (tier, _) = self.verdict(look.at());
        self.stand(tier, look.at());
    }

    fn stand(&mut self, tier: Option<Tier>, at: Timestamp) {
        for (each, held) in Tier::ALL.into_iter().zip(&mut self.held) {
            let is_held = tier >= Some(each);
            if held.is_none_or(|(was_held, _)| was_held != is_held) {
                *held = Some((is_held, at));
            }
        }
        match &self.standing {
            Some(standing) if standing.tier == tier => {}
            Some(Standing { tier: was, .. }) => {
                let was = *was;
                self.standing = Some(Standing { tier, was, since: at, is_first: false });
            }
            None => {
                self.standing = Some(Standing { tier, was: None, since: at, is_first: true });
            }
        }
    }

    /// The tier that follows, and why.
    ///
    /// Completed work proves an agent, unless its answers to probes are wrong: they would be for the
    /// next Message as well. That it once was not reached says less than work done after that.
    fn verdict(&self, now: Timestamp) -> (Option<Tier>, String) {
        let proof = self.done.filter(|done| now < done.counts_until && self.failures < FAILURES);
        let proven = |done: &Work| (Some(Tier::Proven), completed(done));
        match (self.probe, proof) {
            (None, Some(done)) => proven(done),
            (None, None) => (None, self.doubt(now)),
            (Some(probe), Some(done)) if probe.tier >= Some(Tier::Conformant) => proven(done),
            (Some(probe), Some(done)) if probe.is_silent && done.at > probe.at => proven(done),
            (Some(probe), _) if probe.tier >= Some(Tier::Conformant) => {
                (probe.tier, self.doubt(now))
            }
            (Some(probe), _) => (probe.tier, first(probe)),
        }
    }

    /// Why work does not prove the agent.
    fn doubt(&self, now: Timestamp) -> String {
        match (self.failed, self.done) {
            (Some(failed), _) if self.failures >= FAILURES => {
                let why = failed.error.as_deref().unwrap_or_default();
                format!(
                    "its last {} attempts in our runs failed, step `{}` of run {} with: {why}",
                    self.failures, failed.step, failed.run
                )
            }
            (_, Some(done)) if now >= done.counts_until => {
                format!("completed nothing in our runs since {}", done.at.strftime("%Y-%m-%d"))
            }
            _ => "completed nothing in our runs yet".to_owned(),
        }
    }

    fn end(mut self, probes_since: Timestamp, now: Timestamp) -> Option<Seen> {
        let looks = [
            self.probe.map(|it| (it.at, it.fresh_until)),
            self.done.map(|it| (it.at, it.fresh_until)),
        ];
        let at =
            looks.into_iter().flatten().map(|it| it.0).chain(self.failed.map(|it| it.at)).max();
        let at = at?;
        let fresh_until = looks.into_iter().flatten().map(|it| it.1).max().unwrap_or(at);
        let counts_until = self.done.map(|done| done.counts_until).filter(|until| now < *until);
        // Nothing was seen when the proof ran out, but that was the moment.
        if let Some(over) = self.done.map(|done| done.counts_until).filter(|over| *over <= now) {
            let (tier, _) = self.verdict(now);
            self.stand(tier, over);
        }
        let (last, why) = self.verdict(now);
        let Standing { was, mut since, is_first, .. } = self.standing?;
        if is_first && self.probe.is_some_and(|probe| probe.tier == last) {
            since = since.min(probes_since);
        }
        let tiers = rungs(self.held, last, &why, is_first.then_some(since));
        let is_stale = last.is_some() && now >= fresh_until;
        let fresh = (!is_stale && last.is_some()).then_some(fresh_until);
        let holds_until = fresh.into_iter().chain(counts_until).min().unwrap_or(Timestamp::MAX);
        let tier = last.filter(|_| !is_stale);
        let unmeasured = None;
        Some(Seen {
            tier,
            last,
            was,
            since,
            why,
            at,
            fresh_until,
            is_stale,
            tiers,
            services: Vec::new(),
            unmeasured,
            holds_until,
        })
    }
}

/// Each tier by itself. What keeps an agent from one keeps it from all above. `always` is since when it has had the same
/// tier, when it never had another.
fn rungs(held: Held, last: Option<Tier>, why: &str, always: Option<Timestamp>) -> Vec<Rung> {
    let rung = |(tier, held): (Tier, Option<(bool, Timestamp)>)| {
        let (is_held, since) = held?;
        let is_told = !is_held || (tier == Tier::Proven && last == Some(tier));
        let why = if is_told { why.to_owned() } else { String::new() };
        Some(Rung { tier, is_held, since: always.map_or(since, |it| it.min(since)), why })
    };
    Tier::ALL.into_iter().zip(held).filter_map(rung).collect()
}

fn completed(done: &Work) -> String {
    format!("completed step `{}` of run {}", done.step, done.run)
}

/// The first thing that was not as it should be, and how many more there are.
fn first(probe: &Probed) -> String {
    match probe.shortfalls.as_slice() {
        [] => "nothing was found that keeps it from more".to_owned(),
        [one] => one.to_string(),
        [one, others @ ..] => format!("{one} (and {} more)", others.len()),
    }
}
