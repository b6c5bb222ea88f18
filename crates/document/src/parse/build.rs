use std::collections::HashMap;

use super::events::{Event, Events, Kind};
use super::{Limits, explain, scalar};
use crate::{Diagnostic, Entry, Node, Span, Value};

/// Builds the tree of the collected events; with problems, the tree is only a stand-in.
pub(super) fn build(events: &Events<'_>, limits: &Limits) -> (Node, Vec<Diagnostic>) {
    let mut builder = Builder {
        events: &events.list,
        limits,
        problems: Vec::new(),
        alias_nodes: 0,
        alias_bytes: 0,
        gave_up: false,
    };
    let node =
        if events.list.is_empty() { null(Span::default()) } else { builder.node(0, 0, None).0 };
    (node, builder.problems)
}

struct Builder<'a> {
    events: &'a [Event<'a>],
    limits: &'a Limits,
    problems: Vec<Diagnostic>,
    alias_nodes: usize,
    alias_bytes: usize,
    /// A budget is used up: nothing further is built.
    gave_up: bool,
}

impl Builder<'_> {
    /// The node that starts at event `at`, and the index after it; `alias` is where the alias
    /// stands through which it was reached.
    fn node(&mut self, at: usize, depth: usize, alias: Option<Span>) -> (Node, usize) {
        let event = &self.events[at];
        if self.gave_up || !self.afford(event, alias) {
            return (null(event.span), self.after(at));
        }
        let node = match &event.kind {
            Kind::Scalar { text, is_plain } => Node {
                span: event.span,
                value: if *is_plain && event.tag != Some("str") {
                    scalar::resolve(text)
                } else {
                    Value::String(text.clone().into_owned())
                },
            },
            Kind::Alias { target } => self.alias(at, *target, depth, alias),
            Kind::Sequence { .. } | Kind::Mapping { .. } if depth >= self.limits.max_depth => {
                self.give_up(explain::too_deep(alias.unwrap_or(event.span), self.limits));
                null(event.span)
            }
            Kind::Sequence { end } => self.sequence(at, *end, depth, alias),
            Kind::Mapping { end } => self.mapping(at, *end, depth, alias),
            Kind::End => unreachable!("an end is never a node"),
        };
        self.check_tag(event, &node, alias);
        (node, self.after(at))
    }

    fn sequence(&mut self, at: usize, end: usize, depth: usize, alias: Option<Span>) -> Node {
        let mut items = Vec::new();
        let mut next = at + 1;
        while next < end {
            let (item, after) = self.node(next, depth + 1, alias);
            items.push(item);
            next = after;
        }
        Node { span: self.collection_span(at, end), value: Value::Sequence(items) }
    }

    fn mapping(&mut self, at: usize, end: usize, depth: usize, alias: Option<Span>) -> Node {
        let mut entries = Vec::new();
        let mut next = at + 1;
        while next < end {
            let key = self.key(next, alias);
            let (value, after) = self.node(self.after(next), depth + 1, alias);
            if let Some((key, key_span)) = key {
                entries.push(Entry { key, key_span, value });
            }
            next = after;
        }
        // What an anchor holds was checked where it stands.
        if alias.is_none() {
            self.problems.extend(duplicates(&entries));
        }
        Node { span: self.collection_span(at, end), value: Value::Mapping(entries) }
    }

    fn key(&mut self, at: usize, alias: Option<Span>) -> Option<(String, Span)> {
        let event = &self.events[at];
        let target = match event.kind {
            Kind::Alias { target } => &self.events[target?],
            _ => event,
        };
        if self.gave_up || !self.afford(target, alias) {
            return None;
        }
        match &target.kind {
            Kind::Scalar { text, is_plain } => {
                if *is_plain && text == "<<" && alias.is_none() {
                    self.problems.push(explain::merge_key(event.span));
                }
                Some((text.clone().into_owned(), event.span))
            }
            _ => {
                self.problems.push(explain::key_not_scalar(event.span));
                None
            }
        }
    }

    fn alias(
        &mut self,
        at: usize,
        target: Option<usize>,
        depth: usize,
        outer: Option<Span>,
    ) -> Node {
        let span = self.events[at].span;
        let Some(target) = target else {
            return null(span);
        };
        if target < at && at < self.after(target) {
            if outer.is_none() {
                self.problems.push(explain::alias_of_itself(span));
            }
            return null(span);
        }
        self.node(target, depth, outer.or(Some(span))).0
    }

    /// Counts what an alias repeats; what is written out was counted when it was scanned.
    fn afford(&mut self, event: &Event<'_>, alias: Option<Span>) -> bool {
        let Some(alias) = alias else {
            return true;
        };
        self.alias_nodes += 1;
        if let Kind::Scalar { text, .. } = &event.kind {
            self.alias_bytes += text.len();
        }
        if self.alias_nodes > self.limits.max_alias_nodes {
            self.give_up(explain::too_many_alias_nodes(alias, self.limits));
        } else if self.alias_bytes > self.limits.max_alias_bytes {
            self.give_up(explain::too_many_alias_bytes(alias, self.limits));
        }
        !self.gave_up
    }

    fn give_up(&mut self, diagnostic: Diagnostic) {
        if !self.gave_up {
            self.problems.push(diagnostic);
        }
        self.gave_up = true;
    }

    fn after(&self, at: usize) -> usize {
        match self.events[at].kind {
            Kind::Sequence { end } | Kind::Mapping { end } => end + 1,
            _ => at + 1,
        }
    }

    /// The parser ends a block collection where the next token begins, comments and empty lines
    /// included; people expect it to end with its last part.
    fn collection_span(&self, at: usize, end: usize) -> Span {
        let is_block_end = |event: &&Event<'_>| {
            matches!(event.kind, Kind::End) && event.span.start == event.span.end
        };
        let last = self.events[at..=end].iter().rev().find(|event| !is_block_end(event));
        let start = self.events[at].span;
        start.to(last.map_or(start, |last| last.span))
    }

    fn check_tag(&mut self, event: &Event<'_>, node: &Node, alias: Option<Span>) {
        let Some(tag) = event.tag.filter(|_| alias.is_none() && !self.gave_up) else {
            return;
        };
        if !scalar::agrees(&node.value, tag) {
            self.problems.push(explain::tag_disagrees(event.span, tag, node));
        }
    }
}

fn null(span: Span) -> Node {
    Node { span, value: Value::Null }
}

/// Every key that was there before, with the place of its first use.
fn duplicates(entries: &[Entry]) -> Vec<Diagnostic> {
    const FEW: usize = 8;
    if entries.len() <= FEW {
        let repeats = entries.iter().enumerate().filter_map(|(at, entry)| {
            let first = entries[..at].iter().find(|first| first.key == entry.key)?;
            Some(explain::duplicate_key(entry, first.key_span))
        });
        return repeats.collect();
    }
    let mut seen: HashMap<&str, Span> = HashMap::with_capacity(entries.len());
    let mut repeats = Vec::new();
    for entry in entries {
        match seen.get(entry.key.as_str()) {
            Some(first) => repeats.push(explain::duplicate_key(entry, *first)),
            None => {
                seen.insert(&entry.key, entry.key_span);
            }
        }
    }
    repeats
}
