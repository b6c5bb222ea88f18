//! What is read of the data of a step that says itself what its data is: names that can never be there.

use std::collections::BTreeSet;

use document::{Diagnostic, Node, Value};

use super::Checker;
use crate::expression::Member;

/// How many `$ref` are followed, and how deep schemas are looked into.
const DEEPEST: usize = 16;

/// What is known of a value before there is one.
#[derive(Clone, Copy)]
enum Form<'n> {
    /// It fits a schema.
    Fits(&'n Node),
    /// It has the entries of a mapping.
    Is(&'n Node),
}

impl<'n> Checker<'_, 'n> {
    /// Reports a name in the data of a step, or of one of its items, that its `expect`, `schema` or `set` leaves no
    /// room for. `read` is how the step is named.
    pub(super) fn check_data(
        &mut self,
        step: usize,
        read: &str,
        members: &[Member],
        of_item: bool,
    ) {
        let entry = self.names.steps[step];
        let has_items = entry.value.get("for_each").is_some() && !of_item;
        let name = |at: usize| members.get(at).and_then(|member| member.name.as_deref());
        let first = match (name(0), name(1), name(2)) {
            (Some("data"), ..) if !has_items => 1,
            (Some("data"), None, _) if members.len() > 1 => 2,
            (Some("items"), None, Some("data")) if has_items && members.len() > 2 => 3,
            _ => return,
        };
        let Some((key, form)) = form(&entry.value) else { return };
        let Some((at, known)) = impossible(form, &members[first..]) else { return };
        let at = first + at;
        let unknown = name(at).unwrap_or_default();
        let path: String = members[..at].iter().map(shown).collect();
        let message = format!(
            "`{read}{path}` has no `{unknown}`: `{key}` of step `{}` leaves no room for it",
            entry.key
        );
        let help = match self.decoder.nearest(unknown, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => format!("say in `{key}` that it may be there"),
            None => format!("there may be: {}", Vec::from_iter(known).join(", ")),
        };
        let problem = Diagnostic::error("workflow::unknown-data", message);
        self.decoder.report(problem.at(members[at].span, "").help(help));
    }
}

fn shown(member: &Member) -> String {
    match &member.name {
        Some(name) => format!(".{name}"),
        None => "[…]".to_owned(),
    }
}

/// What a step says of its data, and where it does.
fn form(step: &Node) -> Option<(&'static str, Form<'_>)> {
    let ask = step.get("ask").and_then(|_| step.get("schema")).map(|it| ("schema", Form::Fits(it)));
    let expect = || step.get("expect").map(|it| ("expect", Form::Fits(it)));
    ask.or_else(expect).or_else(|| step.get("set").map(|it| ("set", Form::Is(it))))
}

/// Which of these members, each of the one before, cannot be there, and what can be in its place.
fn impossible<'n>(mut form: Form<'n>, members: &[Member]) -> Option<(usize, BTreeSet<&'n str>)> {
    let root = form;
    for (at, member) in members.iter().enumerate() {
        form = match (form, &member.name) {
            (Form::Is(node), Some(name)) => match (&node.value, node.get(name)) {
                (Value::Mapping(_), Some(inner)) => Form::Is(inner),
                (Value::Mapping(entries), None) => {
                    return Some((at, entries.iter().map(|it| it.key.as_str()).collect()));
                }
                _ => return None,
            },
            (Form::Fits(node), Some(name)) => {
                let Form::Fits(root) = root else { return None };
                if let Some(known) = excluded(node, root, name, DEEPEST) {
                    return Some((at, known));
                }
                Form::Fits(target(node, root).get("properties")?.get(name)?)
            }
            (Form::Fits(node), None) => match root {
                Form::Fits(root) => Form::Fits(target(node, root).get("items")?),
                Form::Is(_) => return None,
            },
            (Form::Is(_), None) => return None,
        };
    }
    None
}

/// What an object that fits a schema may have, when that does not have a name.
fn excluded<'n>(
    schema: &'n Node,
    root: &'n Node,
    name: &str,
    depth: usize,
) -> Option<BTreeSet<&'n str>> {
    let depth = depth.checked_sub(1)?;
    let within = |inner: &'n Node| excluded(inner, root, name, depth);
    let known = own_names(schema).filter(|known| !known.contains(name));
    let all = schema.get("allOf").and_then(Node::as_sequence).unwrap_or_default();
    known
        .or_else(|| within(referred(schema, root)?))
        .or_else(|| all.iter().find_map(within))
        .or_else(|| {
            let branches = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_sequence()?;
            let known: Option<Vec<_>> = branches.iter().map(within).collect();
            let known: BTreeSet<&str> = known?.into_iter().flatten().collect();
            (!branches.is_empty()).then_some(known)
        })
}

/// All names that an object may have, where a schema says so itself.
fn own_names(schema: &Node) -> Option<BTreeSet<&str>> {
    const OPEN: [&str; 8] = [
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependentSchemas",
        "patternProperties",
        "additionalProperties",
    ];
    let is_false = |key| schema.get(key).is_some_and(|it| it.value == Value::Bool(false));
    let is_closed = is_false("additionalProperties") && schema.get("patternProperties").is_none();
    let is_closed_as_a_whole =
        is_false("unevaluatedProperties") && OPEN.iter().all(|key| schema.get(key).is_none());
    let properties = schema.get("properties").and_then(Node::as_mapping).unwrap_or_default();
    let names = || properties.iter().map(|entry| entry.key.as_str()).collect();
    (is_closed || is_closed_as_a_whole).then(names)
}

/// The schema that another one is nothing but a reference to, or that one itself.
fn target<'n>(mut schema: &'n Node, root: &'n Node) -> &'n Node {
    for _ in 0..DEEPEST {
        match referred(schema, root) {
            Some(next) if schema.get("properties").is_none() => schema = next,
            _ => break,
        }
    }
    schema
}

fn referred<'n>(schema: &'n Node, root: &'n Node) -> Option<&'n Node> {
    root.at_pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
}
