//! What a step asks of its agent.

use std::fmt;

use protocol::v1::{AgentCard, AgentSkill};
use registry::{Agent, Index, Signed, Tier};
use serde::{Deserialize, Serialize};

/// The capability under which streaming is asked for.
pub(crate) const STREAMING: &str = "streaming";

/// The capability under which push notifications are asked for.
pub(crate) const PUSH: &str = "push_notifications";

/// Everything that an agent has to meet, and which of several that do is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Criteria {
    /// Its name or alias.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The id of a skill it must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Tags it must carry, all of them, on its skills or from its curator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Tags of which it must carry one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_tags: Vec<String>,
    /// The organization that its card names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Media types it must take, all of them: for the skill, or for any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// Media types it must give, in the same way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// Media types, or ranges of them, of which it must give one, in the same way: what the step accepts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// Capabilities and extensions that its card must declare: `streaming`, `push_notifications`, URIs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// Whether its card must have a signature that is trusted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
    /// How much must have been seen of it, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_evidence: Option<Tier>,
    /// Which of several is taken.
    #[serde(skip_serializing_if = "Preference::is_usual")]
    pub prefer: Preference,
}

/// What decides between agents that fit, after whether they are approved and before their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// What the curator says: the higher priority.
    #[default]
    Priority,
    /// What was seen: the higher tier, then the higher priority.
    Evidence,
    /// How fast attempts in our runs completed: the shorter time in the middle, then the higher priority. Agents of
    /// which that is not known come last.
    Latency,
}

impl Preference {
    /// All of them, as workflows write them.
    pub const ALL: [(&'static str, Self); 3] =
        [("priority", Self::Priority), ("evidence", Self::Evidence), ("latency", Self::Latency)];

    fn is_usual(&self) -> bool {
        *self == Self::Priority
    }

    fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }
}

impl Criteria {
    /// Asks for an agent by its name.
    #[must_use]
    pub fn by_name(name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..Self::default() }
    }

    /// Whether there is something to find agents by; the rest only narrows.
    pub(crate) fn selects(&self) -> bool {
        self.name.is_some()
            || self.skill.is_some()
            || self.provider.is_some()
            || !self.tags.is_empty()
            || !self.any_tags.is_empty()
    }

    fn add_lacking_modes(&self, card: &AgentCard, lacks: &mut Vec<String>) {
        if self.input_modes.is_empty() && self.output_modes.is_empty() {
            return;
        }
        let skill = self.skill.as_deref();
        let taken = modes(card, skill, (&card.default_input_modes, |it| &it.input_modes));
        let given = self.gives(card);
        for (wanted, own, verb) in
            [(&self.input_modes, taken, "take"), (&self.output_modes, given, "give")]
        {
            let missing = wanted.iter().filter(|mode| !own.iter().any(|own| holds(own, mode)));
            lacks.extend(missing.map(|mode| format!("does not {verb} `{mode}`")));
        }
    }

    /// What an agent gives, none of which is accepted. One that does not say what it gives may give anything.
    pub(crate) fn gives_nothing_accepted(&self, card: &AgentCard) -> Option<String> {
        if self.accept.is_empty() {
            return None;
        }
        let given = self.gives(card);
        let is_accepted = |own: &&String| {
            self.accept.iter().any(|accepted| holds(own, accepted) || holds(accepted, own))
        };
        if given.is_empty() || given.iter().any(is_accepted) {
            return None;
        }
        let given: Vec<String> = given.into_iter().cloned().collect();
        Some(format!("gives none of {}, only {}", quoted(&self.accept), quoted(&given)))
    }

    /// The media types that an agent says it gives: for the skill that is asked for, else for any.
    pub(crate) fn gives<'a>(&self, card: &'a AgentCard) -> Vec<&'a String> {
        modes(card, self.skill.as_deref(), (&card.default_output_modes, |it| &it.output_modes))
    }

    /// What was seen of an agent instead of the evidence that is wanted.
    pub(crate) fn unseen(&self, agent: &Agent) -> Option<String> {
        let wanted = self.min_evidence.filter(|wanted| agent.tier < Some(*wanted))?;
        Some(match &agent.seen {
            Some(seen) => format!("is not {wanted}: {seen}"),
            None => {
                format!("is not {wanted}: it was not looked at yet; `convoke agents probe` does")
            }
        })
    }
}

/// What a selector asks for, with every tag that means the same.
pub(crate) struct Wanted<'a> {
    asked: &'a Criteria,
    /// For each of `tags`, then of `any_tags`, what means it.
    tags: Vec<Vec<String>>,
    any_tags: Vec<Vec<String>>,
    /// Whether there is more than what agents are found by: without, their cards need no look.
    narrows: bool,
}

impl<'a> Wanted<'a> {
    pub(crate) fn of(asked: &'a Criteria, index: &Index) -> Self {
        let meanings = |tags: &[String]| tags.iter().map(|tag| index.meanings(tag)).collect();
        let Criteria { input_modes, output_modes, accept, requires, signed, .. } = asked;
        let lists = [input_modes, output_modes, accept, requires];
        let narrows = *signed || lists.iter().any(|list| !list.is_empty());
        Self { asked, tags: meanings(&asked.tags), any_tags: meanings(&asked.any_tags), narrows }
    }

    /// Whether an agent meets one of the conditions that agents are found by.
    pub(crate) fn touches(&self, agent: &Agent) -> bool {
        let Criteria { name, skill, provider, .. } = self.asked;
        name.as_deref().is_some_and(|name| is_named(agent, name))
            || skill.as_deref().is_some_and(|skill| has_skill(agent, skill))
            || provider.as_deref().is_some_and(|provider| is_of(agent, provider))
            || self.tags.iter().chain(&self.any_tags).any(|same| has_one(agent, same))
    }

    /// Each condition that an agent does not meet, apart from evidence.
    pub(crate) fn lacks(&self, agent: &Agent) -> Vec<String> {
        let Criteria { name, skill, tags, any_tags, provider, .. } = self.asked;
        let mut lacks = Vec::new();
        if name.as_deref().is_some_and(|name| !is_named(agent, name)) {
            lacks.push("has another name".to_owned());
        }
        if let Some(skill) = skill.as_deref().filter(|skill| !has_skill(agent, skill)) {
            lacks.push(format!("has no skill `{skill}`"));
        }
        if !tags.is_empty() || !any_tags.is_empty() {
            let missing = tags.iter().zip(&self.tags).filter(|(_, same)| !has_one(agent, same));
            lacks.extend(missing.map(|(tag, _)| format!("has no tag `{tag}`")));
            let has_any = self.any_tags.iter().any(|same| has_one(agent, same));
            if !any_tags.is_empty() && !has_any {
                lacks.push(format!("has none of the tags {}", quoted(any_tags)));
            }
        }
        if let Some(provider) = provider.as_deref().filter(|it| !is_of(agent, it)) {
            lacks.push(format!("is not of `{provider}`"));
        }
        lacks.extend(self.lacks_beside(agent));
        lacks
    }

    /// Each condition that an agent does not meet, of those that only narrow what was found.
    pub(crate) fn lacks_beside(&self, agent: &Agent) -> Vec<String> {
        let mut lacks = Vec::new();
        if !self.narrows {
            return lacks;
        }
        let Criteria { requires, signed, .. } = self.asked;
        self.asked.add_lacking_modes(&agent.card, &mut lacks);
        lacks.extend(self.asked.gives_nothing_accepted(&agent.card));
        let undeclared = requires.iter().filter(|wanted| !declares(&agent.card, wanted));
        lacks.extend(undeclared.map(|wanted| format!("does not declare `{wanted}`")));
        if *signed && agent.signed != Signed::Trusted {
            lacks.push(format!("has no trusted signature ({})", agent.signed));
        }
        lacks
    }
}

fn has_one(agent: &Agent, same: &[String]) -> bool {
    same.iter().any(|tag| agent.has_tag(tag))
}

impl fmt::Display for Criteria {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.name.as_ref().map(|name| format!("name `{name}`")));
        parts.extend(self.skill.as_ref().map(|skill| format!("skill `{skill}`")));
        let lists = [
            ("tags", &self.tags),
            ("any of the tags", &self.any_tags),
            ("takes", &self.input_modes),
            ("gives", &self.output_modes),
            ("gives one of", &self.accept),
            ("requires", &self.requires),
        ];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        parts.extend(lists.map(|(what, list)| format!("{what} {}", quoted(list))));
        parts.extend(self.provider.as_ref().map(|provider| format!("provider `{provider}`")));
        parts.extend(self.signed.then(|| "signed".to_owned()));
        parts.extend(self.min_evidence.map(|tier| format!("at least {tier}")));
        if !self.prefer.is_usual() {
            parts.push(format!("by {}", self.prefer.as_str()));
        }
        f.write_str(&parts.join(", "))
    }
}

/// The media types of a skill on one side.
type ModesOf = fn(&AgentSkill) -> &Vec<String>;

/// The media types of an agent on one side: those of the skill that is asked for, else all there are.
fn modes<'a>(
    card: &'a AgentCard,
    skill: Option<&str>,
    (default, of): (&'a [String], ModesOf),
) -> Vec<&'a String> {
    let asked = card.skills.iter().find(|it| Some(it.id.as_str()) == skill);
    match asked.map(of) {
        Some(own) if !own.is_empty() => own.iter().collect(),
        Some(_) => default.iter().collect(),
        None => default.iter().chain(card.skills.iter().flat_map(of)).collect(),
    }
}

/// Whether a media type or range of a card holds a media type. Parameters are not looked at.
pub(crate) fn holds(own: &str, wanted: &str) -> bool {
    let essence =
        |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (own, wanted) = (essence(own), essence(wanted));
    match own.strip_suffix("/*") {
        Some("*") => true,
        Some(kind) => wanted.split('/').next() == Some(kind),
        None => own == wanted,
    }
}

fn declares(card: &AgentCard, wanted: &str) -> bool {
    let Some(declared) = &card.capabilities else { return false };
    match wanted {
        STREAMING => declared.streaming == Some(true),
        PUSH => declared.push_notifications == Some(true),
        uri => declared.extensions.iter().any(|it| it.uri == uri),
    }
}

fn has_skill(agent: &Agent, skill: &str) -> bool {
    agent.card.skills.iter().any(|own| own.id == skill)
}

fn is_of(agent: &Agent, provider: &str) -> bool {
    let own = agent.card.provider.as_ref();
    own.is_some_and(|own| fold(&own.organization) == fold(provider))
}

fn is_named(agent: &Agent, name: &str) -> bool {
    let same = |own: &String| fold(own) == fold(name);
    same(&agent.name) || agent.aliases.iter().any(same)
}

fn fold(word: &str) -> String {
    word.trim().to_lowercase()
}

fn quoted(list: &[String]) -> String {
    list.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
