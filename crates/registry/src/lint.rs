//! What is wrong with a card that can be read: all of it at once, each with a place and what to do.

mod address;
mod texts;

use std::borrow::Cow;
use std::collections::HashMap;

use document::{Node, Severity, Source, brief};
use protocol::v1::{AgentCard, AgentSkill, Required};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use url::Url;

/// How much of a card's own text a finding repeats, in characters.
const MAX_MESSAGE: usize = 400;

/// One thing a card should be better at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// A stable name such as `card::no-skills`.
    pub code: Cow<'static, str>,
    /// Errors keep the agent from being of use; warnings make it worse than it could be.
    pub severity: Severity,
    /// Where in the card, as a JSON pointer (RFC 6901) that may end at what is missing.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
    /// Where that is, when the card stands in a file that people edit: `file:line:column`.
    pub place: Option<String>,
}

impl Finding {
    /// What there is to say of a card that cannot be read, and so cannot be looked over: why.
    #[must_use]
    pub fn unreadable(why: String) -> Self {
        Self {
            code: "card::unreadable".into(),
            severity: Severity::Error,
            pointer: String::new(),
            message: why,
            help: "its author has to mend it".to_owned(),
            place: None,
        }
    }

    /// Notes the place in the file the card stands in; `prefix` is the card's own
    /// pointer in `file`.
    #[must_use]
    pub(crate) fn placed(mut self, source: &Source, file: &Node, prefix: &str) -> Self {
        let span = file.span_at_pointer(&format!("{prefix}{}", self.pointer));
        self.place = Some(source.place(span));
        self
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let pointer = if self.pointer.is_empty() { "/" } else { &self.pointer };
        write!(f, "{severity} {} at {}", self.code, brief(pointer, MAX_MESSAGE))?;
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        write!(f, ": {}; {}", self.message, self.help)
    }
}

/// Looks a card over. `raw` is its JSON as it came, and `url` where it was found, if it was.
#[must_use]
pub fn lint(card: &AgentCard, raw: &Json, url: Option<&str>) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    findings.missing(card);
    findings.interfaces(card, url.and_then(|url| Url::parse(url).ok()).as_ref());
    findings.skills(&card.skills);
    findings.media_types(card);
    findings.security(card);
    findings.older_security(raw);
    findings.texts(card);
    findings.0
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        pointer: impl Into<String>,
        message: impl Into<String>,
        help: &str,
    ) {
        let (pointer, message) = (pointer.into(), brief(&message.into(), MAX_MESSAGE));
        let help = help.to_owned();
        let code = code.into();
        self.0.push(Finding { code, severity, pointer, message, help, place: None });
    }

    fn error(&mut self, code: &'static str, pointer: &str, message: impl Into<String>, help: &str) {
        self.add(Severity::Error, code, pointer, message, help);
    }

    fn warn(&mut self, code: &'static str, pointer: &str, message: impl Into<String>, help: &str) {
        self.add(Severity::Warning, code, pointer, message, help);
    }

    /// REQUIRED fields (A2A §4.4); what has a check of its own below is left to it.
    fn missing(&mut self, card: &AgentCard) {
        for path in card.missing_required() {
            let pointer = pointer_of(&path);
            let has_own_check = pointer == "/skills"
                || pointer == "/supportedInterfaces"
                || (pointer.starts_with("/skills/") && pointer.ends_with("/tags"));
            if !has_own_check {
                self.error(
                    "card::missing-field",
                    &pointer,
                    format!("the required field `{path}` is missing or empty"),
                    "the agent's author has to add it",
                );
            }
        }
    }

    fn media_types(&mut self, card: &AgentCard) {
        let mut lists = vec![
            ("/defaultInputModes".to_owned(), &card.default_input_modes),
            ("/defaultOutputModes".to_owned(), &card.default_output_modes),
        ];
        for (at, skill) in card.skills.iter().enumerate() {
            lists.push((format!("/skills/{at}/inputModes"), &skill.input_modes));
            lists.push((format!("/skills/{at}/outputModes"), &skill.output_modes));
        }
        for (list, modes) in lists {
            for (at, mode) in modes.iter().enumerate().filter(|(_, mode)| !is_media_type(mode)) {
                self.warn(
                    "card::media-type",
                    &format!("{list}/{at}"),
                    format!("`{mode}` is no media type"),
                    "the agent's author has to write it as in `text/plain`",
                );
            }
        }
    }

    /// Whoever calls the agent could not know what to present.
    fn security(&mut self, card: &AgentCard) {
        let of_card = ("/securityRequirements".to_owned(), &card.security_requirements);
        let of_skills = card.skills.iter().enumerate().map(|(at, skill)| {
            (format!("/skills/{at}/securityRequirements"), &skill.security_requirements)
        });
        for (list, requirements) in std::iter::once(of_card).chain(of_skills) {
            for (at, requirement) in requirements.iter().enumerate() {
                let names = requirement.schemes.keys();
                for name in names.filter(|name| !card.security_schemes.contains_key(*name)) {
                    self.error(
                        "card::undeclared-scheme",
                        &format!("{list}/{at}"),
                        format!("the security scheme `{name}` is required and not declared"),
                        "the agent's author has to declare it under `securitySchemes`",
                    );
                }
            }
        }
    }

    /// Whoever reads the card by the letter of 1.0 would call the agent openly.
    fn older_security(&mut self, raw: &Json) {
        for pointer in protocol::card::older_security(raw) {
            self.warn(
                "card::older-security",
                &pointer,
                "says who may call in the form of drafts and older versions; it is read as \
                 `securityRequirements`, and others may not see it at all",
                "the agent's author has to write it as in \
                 `\"securityRequirements\": [{\"schemes\": {\"NAME\": {\"list\": [\"SCOPE\"]}}}]`",
            );
        }
    }

    fn skills(&mut self, skills: &[AgentSkill]) {
        if skills.is_empty() {
            self.error("card::no-skills", "/skills", "the card names no skill", "without skills the agent can only be selected by its name; its author has to add them");
        }
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (at, skill) in skills.iter().enumerate() {
            self.skill(at, skill);
            if skill.id.is_empty() {
                continue;
            }
            if let Some(first) = seen.get(skill.id.as_str()) {
                self.error(
                    "card::duplicate-skill",
                    &format!("/skills/{at}/id"),
                    format!(
                        "the skill id `{}` is there twice, first at /skills/{first}/id",
                        skill.id
                    ),
                    "the agent's author has to give every skill an id of its own",
                );
            } else {
                seen.insert(&skill.id, at);
            }
        }
    }

    fn skill(&mut self, at: usize, skill: &AgentSkill) {
        if skill.tags.iter().all(|tag| tag.trim().is_empty()) {
            self.warn(
                "card::no-tags",
                &format!("/skills/{at}/tags"),
                format!("the skill `{}` has no tags", skill.id),
                "add tags of your own in the catalog, so that steps can select the agent by them",
            );
        }
    }
}

/// Whether a text is a media type: `type/subtype` (RFC 9110 §8.3.1), parameters not looked at.
#[must_use]
pub fn is_media_type(text: &str) -> bool {
    let is_token = |text: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        !text.is_empty() && text.chars().all(is_allowed)
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// `skills[0].inputModes` and `securitySchemes["a/b"].name` as JSON pointers.
pub(crate) fn pointer_of(path: &str) -> String {
    let mut pointer = String::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (segment, after) = match rest.strip_prefix('[') {
            Some(inside) => element(inside),
            None => {
                let rest = rest.strip_prefix('.').unwrap_or(rest);
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        pointer.push('/');
        pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
        rest = after;
    }
    pointer
}

/// What stands between brackets, a number or a quoted key, and what follows them.
fn element(inside: &str) -> (String, &str) {
    let mut quoted = serde_json::Deserializer::from_str(inside).into_iter::<String>();
    if inside.starts_with('"')
        && let Some(Ok(key)) = quoted.next()
    {
        return (key, inside[quoted.byte_offset()..].trim_start_matches(']'));
    }
    let end = inside.find(']').unwrap_or(inside.len());
    (inside[..end].to_owned(), inside[end..].trim_start_matches(']'))
}

#[cfg(test)]
mod tests;
