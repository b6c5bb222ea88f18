//! From what the registry says to what is said over HTTP.

use std::{sync::Arc, time::Duration};

use registry::{
    Agent, CardVersion, Facet, Field, Found, Hit, Index, Kind, Match, News, Probed, Prober, Record,
    Registry, RegistryError, Seen, Service,
};

use super::{
    AgentOut, CountOut, EvidenceOut, FacetOut, HitOut, JudgedOut, LintedOut, Listed, MatchOut,
    NewsOut, PolicySetOut, ProbeOut, ProbedOut, ProbesOut, RecordOut, ServiceOut, VersionOut,
};

/// How much a list repeats of one text of a card, in characters: the card itself has all of it.
const LONGEST_TEXT: usize = 1000;

/// How many tags and skills of an agent a list repeats.
const MOST_WORDS: usize = 200;

/// As much of a text as a list repeats; that more is missing is told by an ellipsis.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

impl From<&Found> for Listed {
    fn from(found: &Found) -> Self {
        let count =
            |(value, count): &(String, usize)| CountOut { value: cut(value), count: *count };
        let facet = |(facet, values): &(Facet, Vec<_>)| FacetOut {
            facet: facet.to_string(),
            values: values.iter().map(count).collect(),
        };
        Self {
            agents: found.hits.iter().map(HitOut::from).collect(),
            total: found.total,
            facets: found.counts.iter().map(facet).collect(),
            next_page_token: None,
        }
    }
}

impl From<&Hit> for HitOut {
    fn from(hit: &Hit) -> Self {
        Self {
            agent: AgentOut::from(&*hit.agent),
            score: hit.score,
            why: hit.matches.iter().map(|it| cut(&it.to_string())).collect(),
            matches: hit.matches.iter().map(MatchOut::from).collect(),
        }
    }
}

impl From<&Match> for MatchOut {
    fn from(it: &Match) -> Self {
        let kind = match it.kind {
            Kind::Exact => "exact",
            Kind::Synonym => "synonym",
            Kind::Prefix => "prefix",
            Kind::Typo => "typo",
        };
        let fields = it.fields.iter().map(|field: &Field| field.as_str().to_owned());
        Self {
            word: it.word.clone(),
            term: cut(&it.term),
            kind: kind.to_owned(),
            fields: fields.collect(),
        }
    }
}

impl From<&Agent> for AgentOut {
    fn from(agent: &Agent) -> Self {
        Self {
            name: agent.name.clone(),
            standing: agent.curation,
            signed: agent.signed,
            evidence: agent.seen.as_deref().cloned(),
            url: agent.url.clone(),
            digest: agent.digest,
            tags: agent.all_tags().iter().take(MOST_WORDS).map(|tag| cut(tag)).collect(),
            skills: agent.card.skills.iter().take(MOST_WORDS).map(|it| cut(&it.id)).collect(),
            description: cut(&agent.card.description),
            public: agent.is_public,
        }
    }
}

impl EvidenceOut {
    /// What a directory has seen of an agent of it.
    #[must_use]
    pub fn of(registry: &Registry, name: &str) -> Self {
        Self {
            seen: registry.seen(name).as_deref().cloned(),
            probes: registry.probes(name).iter().map(ProbeOut::from).collect(),
            runs: registry.services(name).iter().map(ServiceOut::from).collect(),
        }
    }
}

impl EvidenceOut {
    /// What other accounts see of it: how much was seen, and nothing of runs.
    pub(in crate::directory) fn for_others(self) -> Self {
        let probe = |it: ProbeOut| {
            let unmeasured = it.unmeasured.map(|_| String::new());
            ProbeOut { shortfalls: Vec::new(), unmeasured, ..it }
        };
        Self {
            seen: self.seen.map(|seen| seen.for_others()),
            probes: self.probes.into_iter().map(probe).collect(),
            runs: Vec::new(),
        }
    }
}

impl From<&Probed> for ProbeOut {
    fn from(probed: &Probed) -> Self {
        Self {
            at: probed.at,
            tier: probed.tier,
            shortfalls: probed.shortfalls.iter().map(ToString::to_string).collect(),
            took_ms: millis(probed.took),
            unmeasured: probed.unmeasured.clone(),
        }
    }
}

impl ProbesOut {
    /// Probes agents of a directory, or all that are in use or wait to be.
    ///
    /// # Errors
    /// Those of [`Prober::probe_all`].
    pub async fn of(
        registry: &Registry,
        prober: &Prober,
        names: &[String],
    ) -> Result<Self, RegistryError> {
        let all = if names.is_empty() { prober.watched() } else { names.to_vec() };
        let probed = |(name, seen): (String, Option<Arc<Seen>>)| ProbedOut {
            evidence: seen.as_deref().cloned(),
            probe: registry.probes(&name).last().map(ProbeOut::from),
            name,
        };
        let agents = prober.probe_all(&all).await?.into_iter().map(probed).collect();
        Ok(Self { agents })
    }
}

impl From<&Service> for ServiceOut {
    fn from(service: &Service) -> Self {
        Self {
            skill: service.skill.clone(),
            completed: service.completed,
            failed: service.failed,
            median_ms: service.median.map(millis),
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl RecordOut {
    pub(in crate::directory) fn of(
        record: Record,
        evidence: EvidenceOut,
        versions: &[CardVersion],
    ) -> Self {
        Self {
            standing: record.standing(),
            evidence,
            versions: versions.iter().map(VersionOut::from).collect(),
            record,
        }
    }
}

impl From<&CardVersion> for VersionOut {
    fn from(version: &CardVersion) -> Self {
        Self {
            number: version.number,
            digest: version.digest,
            since: version.since,
            signed: version.trust.signed,
            drift: version.drift.clone(),
        }
    }
}

impl From<&Agent> for JudgedOut {
    fn from(agent: &Agent) -> Self {
        Self { name: agent.name.clone(), standing: agent.curation, signed: agent.signed }
    }
}

impl PolicySetOut {
    /// How the agents stand now that a policy changed.
    #[must_use]
    pub fn of(index: &Index, changed: &[String]) -> Self {
        let judged = changed.iter().filter_map(|name| index.by_name(name));
        Self { changed: judged.map(|agent| JudgedOut::from(&**agent)).collect() }
    }
}

impl LintedOut {
    /// What the card of an agent of the directory should be better at.
    ///
    /// # Errors
    /// Those of [`Registry::lint`].
    pub fn of(registry: &Registry, record: &Record) -> Result<Self, RegistryError> {
        Ok(Self { name: record.name.clone(), findings: registry.lint(record)? })
    }
}

impl From<&News> for NewsOut {
    fn from(news: &News) -> Self {
        Self {
            name: news.name.clone(),
            at: news.at,
            was: news.was,
            standing: news.standing,
            signed: news.signed,
            version: news.version,
            digest: news.digest,
        }
    }
}
