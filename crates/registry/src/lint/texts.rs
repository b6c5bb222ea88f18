//! What should not stand in the texts of a card, wherever they are: nothing, secrets, and words that
//! are meant for a model instead of a reader.

use protocol::v1::AgentCard;
use serde_json::Value;

use super::Findings;

/// How secrets of well-known kinds begin, and how many characters of a token follow at least.
static SECRETS: [(&str, usize, &str); 14] = [
    ("-----BEGIN PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN RSA PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN EC PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN OPENSSH PRIVATE KEY", 0, "a private key"),
    ("AKIA", 16, "an access key"),
    ("AIza", 30, "an API key"),
    ("sk-", 20, "an API key"),
    ("sk_live_", 16, "an API key"),
    ("ghp_", 30, "an access token"),
    ("github_pat_", 30, "an access token"),
    ("glpat-", 16, "an access token"),
    ("xoxb-", 16, "an access token"),
    ("xoxp-", 16, "an access token"),
    ("eyJ", 40, "a JSON Web Token"),
];

/// Words before a value that is a secret, and how much of a value there is at least.
static ASSIGNED: [&str; 6] = ["password", "passwd", "api_key", "api key", "secret", "bearer"];
const MIN_ASSIGNED: usize = 8;

/// What nobody writes to describe an agent, and many write to make a model do something, in small
/// letters and with one space between words.
static PROMPTS: [&str; 16] = [
    "ignore previous instructions",
    "ignore all previous",
    "ignore the previous",
    "ignore all other",
    "ignore your instructions",
    "disregard previous",
    "disregard all previous",
    "forget your instructions",
    "do not tell the user",
    "don't tell the user",
    "without telling the user",
    "your system prompt",
    "always choose this agent",
    "always select this agent",
    "<|im_start|>",
    "[inst]",
];

impl Findings {
    /// Looks through every text but the signatures, which are no words.
    pub(super) fn texts(&mut self, card: &AgentCard) {
        let mut card = serde_json::to_value(card).unwrap_or_default();
        if let Some(members) = card.as_object_mut() {
            members.remove("signatures");
        }
        self.texts_in(&mut String::new(), &card);
    }

    fn texts_in(&mut self, pointer: &mut String, value: &Value) {
        let outer = pointer.len();
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    pointer.push('/');
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.texts_in(pointer, value);
                    pointer.truncate(outer);
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{at}"));
                    self.texts_in(pointer, value);
                    pointer.truncate(outer);
                }
            }
            Value::String(text) => self.text(pointer, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, pointer: &str, text: &str) {
        // That nothing at all is there is missing, and said so.
        if pointer.ends_with("/description") && !text.is_empty() && text.trim().is_empty() {
            self.warn(
                "card::empty-description",
                pointer,
                "the description holds nothing but spaces",
                "the agent's author has to say what it does",
            );
        }
        if let Some(what) = secret(text) {
            self.error(
                "card::secret",
                pointer,
                format!("the text seems to hold {what}, which everybody can read"),
                "the agent's author has to take it out of the card, and to change it",
            );
        }
        if let Some(words) = prompt(text) {
            self.warn(
                "card::prompt",
                pointer,
                format!("the text gives orders to a model: `{words}`"),
                "read the whole card before you approve it; it does not only describe the agent",
            );
        }
    }
}

/// What kind of secret a text holds.
fn secret(text: &str) -> Option<&'static str> {
    let begins = |(start, least, what): &(&str, usize, &'static str)| {
        let mut found = text.match_indices(start);
        found
            .any(|(at, _)| is_start(text, at) && token(&text[at + start.len()..]) >= *least)
            .then_some(*what)
    };
    SECRETS.iter().find_map(begins).or_else(|| assigned(text).then_some("a password or key"))
}

/// Whether no word goes on there: `task-` holds no `sk-`.
fn is_start(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric())
}

/// How many characters of a token a text begins with.
fn token(text: &str) -> usize {
    text.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).count()
}

/// Whether a password or the like is followed by a value with a digit in it: `password: hunter2!x`.
fn assigned(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    ASSIGNED.iter().any(|word| {
        small.match_indices(word).any(|(at, _)| {
            let rest = small[at + word.len()..].trim_start_matches(['"', '\'']);
            let value = match *word {
                "bearer" => rest.strip_prefix(' '),
                _ => rest.trim_start().strip_prefix([':', '=']),
            };
            let value = value.unwrap_or_default().trim_start().trim_start_matches(['"', '\'', '`']);
            let value: String = value.chars().take_while(|c| !c.is_whitespace()).collect();
            let is_mixed = value.contains(|c: char| c.is_ascii_digit())
                && value.contains(|c: char| c.is_ascii_alphabetic());
            value.len() >= MIN_ASSIGNED && is_mixed
        })
    })
}

/// The orders that a text gives.
fn prompt(text: &str) -> Option<&'static str> {
    let small = text.to_lowercase();
    let words: Vec<&str> = small.split_whitespace().collect();
    let plain = words.join(" ");
    PROMPTS.iter().copied().find(|prompt| plain.contains(prompt))
}
