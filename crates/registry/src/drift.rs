//! How much a card that came anew differs from the one that was approved.

use std::collections::{BTreeMap, BTreeSet};

use protocol::v1::{AgentCard, AgentSkill};
use serde::{Deserialize, Serialize};
use url::Url;

/// Says whether a changed card still deserves what was decided about the former one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    /// Only words changed.
    Cosmetic,
    /// It is found or called in other ways than before: new skills, media types or interfaces, other
    /// tags or capabilities. Every skill and interface that was there still is.
    Additive,
    /// Something a plan or a decision relied on is gone or elsewhere: what, in words.
    Breaking(Vec<String>),
}

/// The class of a [`Drift`], which policies speak of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftClass {
    /// [`Drift::Cosmetic`].
    Cosmetic,
    /// [`Drift::Additive`].
    Additive,
    /// [`Drift::Breaking`].
    Breaking,
}

impl DriftClass {
    /// The word people and programs read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cosmetic => "cosmetic",
            Self::Additive => "additive",
            Self::Breaking => "breaking",
        }
    }
}

impl Drift {
    /// Its class.
    #[must_use]
    pub fn class(&self) -> DriftClass {
        match self {
            Self::Cosmetic => DriftClass::Cosmetic,
            Self::Additive => DriftClass::Additive,
            Self::Breaking(_) => DriftClass::Breaking,
        }
    }

    /// Adds one thing that is gone or elsewhere.
    pub(crate) fn and_broken(self, what: String) -> Self {
        let mut broken = match self {
            Self::Breaking(broken) => broken,
            Self::Cosmetic | Self::Additive => Vec::new(),
        };
        broken.push(what);
        Self::Breaking(broken)
    }

    /// Compares two versions of a card.
    #[must_use]
    pub fn between(old: &AgentCard, new: &AgentCard) -> Self {
        let mut broken = Vec::new();
        skills(old, new, &mut broken);
        origins(old, new, &mut broken);
        security(old, new, &mut broken);
        if !broken.is_empty() {
            return Self::Breaking(broken);
        }
        let is_same = shapes(old) == shapes(new)
            && tags(old) == tags(new)
            && old.capabilities == new.capabilities
            && interfaces(old) == interfaces(new)
            && old.security_schemes.len() == new.security_schemes.len();
        if is_same { Self::Cosmetic } else { Self::Additive }
    }
}

/// Skill ids with their modes.
fn shapes(card: &AgentCard) -> BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> {
    let shape = |skill| (modes(skill, card, Way::In), modes(skill, card, Way::Out));
    card.skills.iter().map(|skill| (skill.id.as_str(), shape(skill))).collect()
}

/// What steps select the agent by, each with the skill it is of.
fn tags(card: &AgentCard) -> BTreeSet<(&str, &str)> {
    let skills = card.skills.iter();
    skills.flat_map(|skill| skill.tags.iter().map(|tag| (&*skill.id, &**tag))).collect()
}

#[derive(Clone, Copy)]
enum Way {
    In,
    Out,
}

/// The skill's own modes, else the agent's.
fn modes<'a>(skill: &'a AgentSkill, card: &'a AgentCard, way: Way) -> BTreeSet<&'a str> {
    let (own, general) = match way {
        Way::In => (&skill.input_modes, &card.default_input_modes),
        Way::Out => (&skill.output_modes, &card.default_output_modes),
    };
    let chosen = if own.is_empty() { general } else { own };
    chosen.iter().map(String::as_str).collect()
}

fn skills(old: &AgentCard, new: &AgentCard, broken: &mut Vec<String>) {
    let now = shapes(new);
    for (id, (input, output)) in shapes(old) {
        match now.get(id) {
            None => broken.push(format!("skill `{id}` was removed")),
            Some((new_input, new_output)) => {
                if !new_input.is_superset(&input) || !new_output.is_superset(&output) {
                    broken.push(format!("skill `{id}` takes or gives fewer media types"));
                }
            }
        }
    }
}

fn interfaces(card: &AgentCard) -> BTreeSet<(&str, &str, &str, &str)> {
    let interfaces = card.supported_interfaces.iter();
    interfaces
        .map(|it| (&*it.url, &*it.protocol_binding, &*it.tenant, &*it.protocol_version))
        .collect()
}

fn origins(old: &AgentCard, new: &AgentCard, broken: &mut Vec<String>) {
    let of = |card: &AgentCard| -> BTreeSet<String> {
        card.supported_interfaces.iter().map(|interface| origin(&interface.url)).collect()
    };
    let before = of(old);
    for origin in of(new).difference(&before) {
        broken.push(format!("an interface is now on `{origin}`"));
    }
    let (was, is) = (interfaces(old), interfaces(new));
    for (url, binding, ..) in was.difference(&is) {
        broken.push(format!("the {binding} interface `{url}` was removed or changed"));
    }
}

/// An origin that means nothing elsewhere (RFC 6454) stands for itself.
fn origin(url: &str) -> String {
    match Url::parse(url).map(|url| url.origin()) {
        Ok(origin) if origin.is_tuple() => origin.ascii_serialization(),
        _ => url.to_owned(),
    }
}

fn security(old: &AgentCard, new: &AgentCard, broken: &mut Vec<String>) {
    if old.security_requirements != new.security_requirements {
        broken.push("the security requirements changed".to_owned());
    }
    for skill in &old.skills {
        let now = new.skills.iter().find(|now| now.id == skill.id);
        if now.is_some_and(|now| now.security_requirements != skill.security_requirements) {
            broken.push(format!("the security requirements of skill `{}` changed", skill.id));
        }
    }
    let is_changed = |(name, scheme)| new.security_schemes.get(name) != Some(scheme);
    for (name, _) in old.security_schemes.iter().filter(|entry| is_changed(*entry)) {
        broken.push(format!("the security scheme `{name}` was removed or changed"));
    }
}

#[cfg(test)]
mod tests;
