//! `retry`, in `defaults` and on steps.

use std::collections::BTreeSet;

use document::{Node, Value};

use super::{Checker, duration};
use crate::language::Place;
use crate::step::{ErrorClass, Jitter, Retry};

const MAX_ATTEMPTS: u64 = 100;
pub(super) const JITTER: [(&str, Jitter); 2] = [("full", Jitter::Full), ("none", Jitter::None)];

impl Checker<'_, '_> {
    /// Reads a `retry`; what it does not say holds as in `base`.
    pub(super) fn retry(&mut self, node: &Node, what: &str, base: &Retry) -> Retry {
        let mut retry = base.clone();
        let what = format!("`retry` of {what}");
        let fields = self.decoder.fields(node, &what, Place::Retry);
        if let Some(node) = fields.get("attempts") {
            let attempts =
                self.decoder.integer(node, &format!("`attempts` in {what}"), 1, MAX_ATTEMPTS);
            retry.attempts =
                attempts.and_then(|value| u32::try_from(value).ok()).unwrap_or(retry.attempts);
        }
        if let Some(node) = fields.get("backoff") {
            self.backoff(node, &what, &mut retry);
        }
        if let Some(node) = fields.get("on") {
            retry.on = self.error_classes(node, &what);
        }
        retry
    }

    fn backoff(&mut self, node: &Node, what: &str, retry: &mut Retry) {
        let fields = self.decoder.fields(node, &format!("`backoff` in {what}"), Place::Backoff);
        if let Some(initial) = self.duration(fields, "initial", &format!("`initial` in {what}")) {
            retry.initial = initial;
        }
        if let Some(max) = self.duration(fields, "max", &format!("`max` in {what}")) {
            retry.max = max;
        }
        if let Some(node) = fields.get("factor") {
            retry.factor = self.factor(node, what).unwrap_or(retry.factor);
        }
        if let Some(node) = fields.get("jitter") {
            retry.jitter = self
                .decoder
                .one_of(node, &format!("`jitter` in {what}"), &JITTER)
                .unwrap_or(retry.jitter);
        }
        if retry.initial > retry.max {
            let message = format!(
                "in {what} the first delay is longer than the longest, which is {}",
                duration::show(retry.max)
            );
            let at = fields.get("initial").or(fields.get("max")).unwrap_or(node);
            self.decoder.invalid(at.head_span(), message, "make `initial` shorter or `max` longer");
        }
    }

    fn factor(&mut self, node: &Node, what: &str) -> Option<f64> {
        let factor = match &node.value {
            Value::Number(number) => number.as_f64(),
            _ => None,
        };
        match factor.filter(|factor| (1.0..=100.0).contains(factor)) {
            Some(factor) => Some(factor),
            None => {
                let message = format!("`factor` in {what} must be a number from 1 to 100");
                self.decoder.invalid(node.head_span(), message, "2 doubles each delay");
                None
            }
        }
    }

    fn error_classes(&mut self, node: &Node, what: &str) -> BTreeSet<ErrorClass> {
        let options = ErrorClass::OF_ATTEMPTS.map(|class| (class.as_str(), class));
        let Value::Sequence(items) = &node.value else {
            let help = "write it as a list, as in `[unavailable, timeout]`";
            let what = format!("`on` in {what}");
            self.decoder.expected(node, &what, "a list of error classes", help);
            return BTreeSet::new();
        };
        items.iter().filter_map(|item| self.decoder.one_of(item, "`on`", &options)).collect()
    }
}
