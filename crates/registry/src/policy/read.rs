use std::collections::BTreeMap;

use document::{Diagnostic, Entry as Field, Limits, Node, Problems, Source, Value};
use protocol::signature::Keys;

use super::{Pinned, Policy, Rule, Whence};
use crate::brought::{Beside, Brought};
use crate::form::{Codes, Reader};
use crate::{DriftClass, Tier};

const CODES: Codes = Codes { wrong_type: "policy::wrong-type", unknown_key: "policy::unknown-key" };
const KEYS: [&str; 5] = ["keys", "approve", "keep_approval", "review_after_days", "synonyms"];

/// Reads a policy (`keys: {NAME: {file | url | text}}`, `approve: [{signed_by?, origin?, evidence?}]`,
/// `keep_approval`, `review_after_days`, `synonyms`); files of keys are read with it.
///
/// # Errors
/// Everything the file is wrong about.
pub fn read(source: Source) -> Result<Policy, Problems> {
    let beside = source.clone();
    read_beside(source, Beside::Folder(&beside))
}

/// Reads a policy that came from elsewhere, as [`read`].
///
/// # Errors
/// Everything the file is wrong about.
pub fn read_brought(brought: &Brought) -> Result<Policy, Problems> {
    read_beside(brought.source.clone(), Beside::Brought(&brought.files))
}

fn read_beside(source: Source, beside: Beside<'_>) -> Result<Policy, Problems> {
    let root = match document::parse(&source, &Limits::default()) {
        Ok(root) => root,
        Err(diagnostics) => return Err(Problems { source_file: source, diagnostics }),
    };
    let mut reader = Reader::new(&source, CODES);
    let policy = reader.policy(&root, beside);
    let diagnostics = reader.problems;
    if diagnostics.is_empty() {
        return Ok(policy);
    }
    Err(Problems { source_file: source, diagnostics })
}

impl Reader<'_> {
    fn policy(&mut self, root: &Node, beside: Beside<'_>) -> Policy {
        let mut policy = Policy::default();
        let Some(fields) = root.as_mapping() else {
            if !matches!(root.value, Value::Null) {
                let problem = Diagnostic::error(CODES.wrong_type, "a policy is a mapping")
                    .at(root.head_span(), format!("this is {}", root.kind()));
                self.problems.push(problem.help(format!("its keys are {}", KEYS.join(", "))));
            }
            return policy;
        };
        for field in fields {
            match field.key.as_str() {
                "keys" => policy.keys = self.keys(field, beside),
                "approve" => policy.approve = self.rules(field),
                "keep_approval" => policy.keep_approval = self.classes(field),
                "review_after_days" => policy.review_after_days = self.days(field),
                "synonyms" => policy.synonyms = self.groups(field),
                _ => self.unknown_key(field, "a policy", &KEYS),
            }
        }
        self.unpinned(root, &policy);
        policy
    }

    fn keys(&mut self, field: &Field, beside: Beside<'_>) -> BTreeMap<String, Pinned> {
        let Some(named) = field.value.as_mapping() else {
            self.wrong_type(field, "a mapping from names to keys");
            return BTreeMap::new();
        };
        let keys = named.iter().filter_map(|it| Some((it.key.clone(), self.pinned(it, beside)?)));
        keys.collect()
    }

    fn pinned(&mut self, named: &Field, beside: Beside<'_>) -> Option<Pinned> {
        let is_one = named.value.as_mapping().is_some_and(|fields| fields.len() == 1);
        let member = |key| named.value.entry(key).filter(|_| is_one);
        if let Some(file) = member("file") {
            return self.key_file(file, beside);
        }
        if let Some(url) = member("url") {
            return self.key_url(url);
        }
        if let Some(text) = member("text") {
            let written = self.text(text)?;
            return self.checked(text, written, &named.key);
        }
        self.wrong_type(named, "`{file: PATH}`, `{url: https://…}` or `{text: KEY}`");
        None
    }

    fn key_file(&mut self, field: &Field, beside: Beside<'_>) -> Option<Pinned> {
        let path = self.text(field)?;
        match beside.read(&path, &Limits::default()) {
            Ok(key) => self.checked(field, key.text().to_owned(), &beside.shown(&path)),
            Err(problems) => {
                let why = problems.diagnostics.into_iter().map(|it| it.message);
                self.bad(field, "policy::key", why.collect::<Vec<_>>().join("; "));
                None
            }
        }
    }

    fn checked(&mut self, field: &Field, text: String, from: &str) -> Option<Pinned> {
        match Keys::read(text.as_bytes(), from) {
            Ok(_) => Some(Pinned::Text(text)),
            Err(error) => {
                self.bad(field, "policy::key", error.to_string());
                None
            }
        }
    }

    fn key_url(&mut self, field: &Field) -> Option<Pinned> {
        let text = self.text(field)?;
        let parsed = url::Url::parse(&text).ok();
        if parsed.is_some_and(|url| matches!(url.scheme(), "https" | "http")) {
            return Some(Pinned::Url(text));
        }
        self.bad(field, "policy::key", format!("`{text}` is not the URL of a key set"));
        None
    }

    fn rules(&mut self, field: &Field) -> Vec<Rule> {
        let Some(items) = field.value.as_sequence() else {
            self.wrong_type(field, "a list of rules");
            return Vec::new();
        };
        items.iter().filter_map(|item| self.rule(item)).collect()
    }

    fn rule(&mut self, item: &Node) -> Option<Rule> {
        const KEYS: [&str; 3] = ["signed_by", "origin", "evidence"];
        let fields = item.as_mapping().filter(|fields| !fields.is_empty());
        let Some(fields) = fields else {
            let problem =
                Diagnostic::error(CODES.wrong_type, "a rule is a mapping with a condition")
                    .at(item.head_span(), format!("this is {}", item.kind()))
                    .help(format!(
                        "its conditions are {}; all of a rule have to hold",
                        KEYS.join(", ")
                    ));
            self.problems.push(problem);
            return None;
        };
        let mut rule = Rule::default();
        for field in fields {
            match field.key.as_str() {
                "signed_by" => rule.signed_by = self.text(field),
                "origin" => rule.origin = self.whence(field),
                "evidence" => rule.evidence = self.tier(field),
                _ => self.unknown_key(field, "a rule", &KEYS),
            }
        }
        Some(rule)
    }

    fn whence(&mut self, field: &Field) -> Option<Whence> {
        let text = self.text(field)?;
        match Whence::try_from(text) {
            Ok(whence) => Some(whence),
            Err(error) => {
                self.bad(field, "policy::origin", error.to_string());
                None
            }
        }
    }

    fn tier(&mut self, field: &Field) -> Option<Tier> {
        let text = self.text(field)?;
        let tier = Tier::of_word(&text);
        if tier.is_none() {
            let known = Tier::ALL.map(Tier::as_str).join(", ");
            self.bad(field, "policy::evidence", format!("`{text}` is none of {known}"));
        }
        tier
    }

    fn classes(&mut self, field: &Field) -> Vec<DriftClass> {
        let mut classes = Vec::new();
        for text in self.texts(field) {
            match text.as_str() {
                "cosmetic" => classes.push(DriftClass::Cosmetic),
                "additive" => classes.push(DriftClass::Additive),
                "breaking" => self.bad(
                    field,
                    "policy::keep-approval",
                    "a breaking change always takes the approval back".to_owned(),
                ),
                _ => self.bad(
                    field,
                    "policy::keep-approval",
                    format!("`{text}` is neither `cosmetic` nor `additive`"),
                ),
            }
        }
        classes
    }

    fn days(&mut self, field: &Field) -> Option<u32> {
        let number = match &field.value.value {
            Value::Null => return None,
            Value::Number(number) => number.as_u64().and_then(|days| u32::try_from(days).ok()),
            _ => None,
        };
        let days = number.filter(|days| (1..=36_500).contains(days));
        if days.is_none() {
            self.wrong_type(field, "a number of days from 1 to 36500");
        }
        days
    }

    fn groups(&mut self, field: &Field) -> Vec<Vec<String>> {
        let items = field.value.as_sequence().unwrap_or_default();
        let group = |item: &Node| -> Option<Vec<String>> {
            let tags = item.as_sequence()?.iter().map(|tag| tag.as_str().map(str::to_owned));
            tags.collect::<Option<Vec<_>>>().filter(|tags| tags.len() > 1)
        };
        let groups: Option<Vec<Vec<String>>> = items.iter().map(group).collect();
        let groups = groups.filter(|groups| !groups.is_empty());
        groups.unwrap_or_else(|| {
            self.wrong_type(field, "a list of lists of two or more tags that mean the same");
            Vec::new()
        })
    }

    /// Every rule's signer has to be there.
    fn unpinned(&mut self, root: &Node, policy: &Policy) {
        for (at, rule) in policy.approve.iter().enumerate() {
            let missing = rule.signed_by.as_ref().filter(|name| !policy.keys.contains_key(*name));
            // A key that is there and no good was reported.
            let is_written =
                |name: &str| root.get("keys").and_then(|keys| keys.get(name)).is_some();
            if let Some(name) = missing.filter(|name| !is_written(name)) {
                let span = root.span_at_pointer(&format!("/approve/{at}/signed_by"));
                let problem = format!("no key is called `{name}`");
                self.problems.push(
                    Diagnostic::error("policy::unknown-signer", problem)
                        .at(span, "this signer")
                        .help(format!("pin it: `keys: {{{name}: {{file: PATH}}}}`")),
                );
            }
        }
    }

    fn bad(&mut self, field: &Field, code: &'static str, problem: String) {
        self.problems.push(Diagnostic::error(code, problem).at(field.value.span, ""));
    }
}
