//! Shows a plan: as text for people, as JSON for programs, as a mermaid diagram for documents, as a
//! graph for Graphviz, as a picture.

use serde_json::{Value as Json, json};

use crate::ask::DEFAULT_PAUSE_TIMEOUT;
use crate::criteria::Criteria;
use crate::dag::Edge;
use crate::plan::{Binding, Plan};
use crate::step::{Join, RunIf, Selector, Step, StepEffect};
use crate::template::Template;
use crate::workflow::duration;

mod asked;
mod dot;
mod layout;
mod mermaid;
mod svg;
mod whole;

pub use dot::dot;
pub use mermaid::mermaid;
pub use svg::{TooLarge, svg};

/// Shows a plan as text: for each step its agent, why no other, and what it waits for and why.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let workflow = &plan.workflow;
    let mut out = String::new();
    let title = workflow.title.as_ref().map(|title| format!(": {title}")).unwrap_or_default();
    line(&mut out, &format!("{}{title}", workflow.name));
    line(
        &mut out,
        &format!(
            "{}, at most {} at once and {} in all",
            counted(workflow.steps.len(), "step"),
            workflow.parallel,
            duration::show(workflow.timeout)
        ),
    );
    whole::lines(workflow).iter().for_each(|of_all_runs| line(&mut out, of_all_runs));
    for step in 0..workflow.steps.len() {
        step_text(plan, step, &mut out);
    }
    for (step, binding) in (workflow.steps.len()..).zip(&plan.clean_up_bindings) {
        line(&mut out, "");
        line(&mut out, &workflow.step_at(step).id);
        if let Some(binding) = binding {
            binding_text("agent    ", &selected_by(plan, step), binding, &mut out);
        }
        further_text(plan, step, &mut out);
    }
    for child in plan.children.values() {
        out.push('\n');
        out.push_str(&text(child));
    }
    out
}

/// Who is tried after the agent of a step.
fn further_text(plan: &Plan, step: usize, out: &mut String) {
    let further = &plan.workflow.step_at(step).fallback;
    for (binding, of_file) in plan.fallbacks(step).iter().zip(further) {
        binding_text("else     ", &by(plan, &of_file.selector), binding, out);
    }
}

fn step_text(plan: &Plan, step: usize, out: &mut String) {
    line(out, "");
    line(out, &plan.workflow.steps[step].id);
    if let Some(binding) = &plan.bindings[step] {
        binding_text("agent    ", &selected_by(plan, step), binding, out);
    }
    if let Some(sub) = &plan.workflow.steps[step].workflow {
        let with: Vec<&str> = sub.with.iter().map(|given| given.name.as_str()).collect();
        let with =
            if with.is_empty() { String::new() } else { format!(" with {}", with.join(", ")) };
        line(out, &format!("  workflow   {}{with}", sub.name));
    }
    if let Some(asks) = asks(plan, step) {
        line(out, &format!("  asks       {asks}"));
    }
    if plan.workflow.steps[step].undo.is_some() {
        line(out, "  undo       when the run fails or is canceled");
    }
    further_text(plan, step, out);
    policies(plan, step).iter().for_each(|policy| line(out, policy));
    if let Some(set) = names(plan.workflow.steps[step].set.as_ref()) {
        line(out, &format!("  computes   {}", set.join(", ")));
    }
    if let Some(outputs) = names(plan.workflow.steps[step].outputs.as_ref()) {
        line(out, &format!("  yields     {}", outputs.join(", ")));
    }
    asked::lines(&plan.workflow.steps[step]).iter().for_each(|asked| line(out, asked));
    if let Some(each) = for_each(plan, step) {
        line(out, &format!("  for each   {each}"));
    }
    for edge in incoming(plan, step) {
        let before = &plan.workflow.steps[edge.from].id;
        line(out, &format!("  after      {before}: {}", why(plan, edge)));
    }
    if let Some(gate) = gate(plan, step) {
        line(out, &format!("  runs       {gate}"));
    }
    let references = ids(plan, &plan.references[step]);
    if !references.is_empty() {
        line(out, &format!("  refers to  {}", references.join(", ")));
    }
}

fn binding_text(label: &str, selected_by: &str, binding: &Binding, out: &mut String) {
    let interface = &binding.interface;
    let streaming = if binding.streaming { "streaming" } else { "not streaming" };
    line(out, &format!("  {label}  {} ({selected_by}), {streaming}", shown(&binding.agent)));
    line(
        out,
        &format!(
            "  interface  {} {} at {}",
            interface.binding,
            shown(&interface.version),
            shown(&interface.url)
        ),
    );
    line(out, &format!("  card       {}", binding.digest));
    for lost in binding.lost.iter() {
        line(out, &format!("  not        {}: {}", shown(&lost.agent), shown(&lost.why)));
    }
}

/// The names of a mapping's values, in the order of the file.
fn names(values: Option<&Template>) -> Option<Vec<&str>> {
    Some(match values? {
        Template::Mapping(entries) => entries.iter().map(|(name, _)| name.as_str()).collect(),
        Template::Literal(Json::Object(entries)) => entries.keys().map(String::as_str).collect(),
        Template::Literal(_) | Template::Expression(_) | Template::Sequence(_) => Vec::new(),
    })
}

/// The list that a step runs for, as written, and how many items at once.
fn for_each(plan: &Plan, step: usize) -> Option<String> {
    let for_each = plan.workflow.steps[step].for_each.as_ref()?;
    let list = document::brief(plan.workflow.source.slice(for_each.span), 200);
    let most = for_each.concurrency.map(|most| format!(", {most} at once")).unwrap_or_default();
    Some(format!("{list}{most}"))
}

/// The question that a step asks, as written, and how long an answer is waited for; of a step with an agent the
/// latter alone, where the file says something about it.
fn asks(plan: &Plan, step: usize) -> Option<String> {
    let step = &plan.workflow.steps[step];
    let longest = duration::show(step.pause_timeout);
    match &step.ask {
        Some(ask) => {
            let fits = if ask.schema.is_some() { ", for what fits a schema" } else { "" };
            Some(format!("{}{fits}, {longest} at most", shown(&ask.question.written())))
        }
        None if step.pause_timeout == DEFAULT_PAUSE_TIMEOUT => None,
        None if step.set.is_some() || step.pause_timeout == duration::MAX => None,
        None if step.workflow.is_some() => {
            Some(format!("what it waits for inside, {longest} at most"))
        }
        None => Some(format!("what its agent asks, {longest} at most")),
    }
}

/// What a step waits for, when that is not all of its dependencies and their success.
fn gate(plan: &Plan, step: usize) -> Option<String> {
    let (of, step_of_file) = (plan.dependencies[step].len(), &plan.workflow.steps[step]);
    let rest = if step_of_file.cancel_rest { ", which cancels the others" } else { "" };
    match (step_of_file.join, step_of_file.run_if) {
        (Join::AtLeast(count), _) => Some(format!("once {count} of {of} completed{rest}")),
        (Join::All, RunIf::Settled) => Some("however these end".to_owned()),
        (Join::All, RunIf::Succeeded) => None,
    }
}

/// What a card says: it must neither move a terminal nor look like another line of the plan.
fn shown(text: &str) -> String {
    document::brief(text, 500)
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// What a step's agent is asked beside its Message, and how long.
fn policies(plan: &Plan, step: usize) -> Vec<String> {
    let step = &plan.workflow.steps[step];
    let repeat = step.repeat.as_ref().map(|repeat| {
        format!("  repeats    until {}, {} times at most", shown(repeat.until.source()), repeat.max)
    });
    let deadline = step.deadline.map(|it| format!("  deadline   {}", duration::show(it)));
    let effect = match step.effect {
        StepEffect::AtLeastOnce => None,
        StepEffect::Idempotent => Some("  effect     idempotent".to_owned()),
        StepEffect::AtMostOnce => Some("  effect     at most once".to_owned()),
    };
    [repeat, deadline, effect].into_iter().flatten().collect()
}

/// How the step asks for its agent.
fn selected_by(plan: &Plan, step: usize) -> String {
    match &plan.workflow.step_at(step).selector {
        None => "by nobody".to_owned(),
        Some(selector) => by(plan, selector),
    }
}

fn by(plan: &Plan, selector: &Selector) -> String {
    match selector {
        Selector::Url(_) => "by url".to_owned(),
        Selector::SameAs(other) => format!("same as {}", plan.workflow.step_at(*other).id),
        Selector::Match(asked) => {
            // The name stands beside it.
            let rest = Criteria { name: None, ..asked.clone() }.to_string().replace('`', "");
            let name = asked.name.iter().map(|_| "by name".to_owned());
            let rest = Some(rest).filter(|rest| !rest.is_empty());
            name.chain(rest).collect::<Vec<_>>().join(", ")
        }
    }
}

/// The edges into a step; edges are sorted by the step that waits.
fn incoming(plan: &Plan, step: usize) -> &[Edge] {
    let edges = plan.edges();
    let start = edges.partition_point(|edge| edge.to < step);
    let end = edges.partition_point(|edge| edge.to <= step);
    &edges[start..end]
}

/// Each reason of an edge with its line.
fn reasons(plan: &Plan, edge: &Edge) -> Vec<(String, usize)> {
    let position = |offset| plan.workflow.source.position(offset).line;
    edge.reasons
        .iter()
        .map(|reason| (reason.kind.to_string(), position(reason.span.start)))
        .collect()
}

fn ids<'p>(plan: &'p Plan, steps: &[usize]) -> Vec<&'p str> {
    steps.iter().map(|step| plan.workflow.steps[*step].id.as_str()).collect()
}

/// What a diagram calls a step: its id, and whether it runs for items.
fn heading(plan: &Plan, step: usize) -> String {
    let of_file = &plan.workflow.steps[step];
    let each = if of_file.for_each.is_some() { " for each item" } else { "" };
    format!("{}{each}", of_file.id)
}

/// What a diagram shows of a step below its id: the agent, and how it was selected.
fn below(plan: &Plan, step: usize) -> [String; 2] {
    let of_file = &plan.workflow.steps[step];
    match &plan.bindings[step] {
        Some(binding) => [binding.agent.clone(), selected_by(plan, step)],
        None if of_file.ask.is_some() => {
            let question = of_file.ask.as_ref().map(|ask| ask.question.written());
            ["asks a person".to_owned(), shown(&question.unwrap_or_default())]
        }
        None if of_file.workflow.is_some() => {
            let name = of_file.workflow.as_ref().map(|sub| sub.name.clone());
            [name.unwrap_or_default(), "a workflow".to_owned()]
        }
        None => {
            let values = names(of_file.set.as_ref()).unwrap_or_default();
            ["computed here".to_owned(), values.join(", ")]
        }
    }
}

/// Why a step waits, in one line.
fn why(plan: &Plan, edge: &Edge) -> String {
    let reasons = reasons(plan, edge).into_iter().map(|(why, line)| format!("{why} (line {line})"));
    reasons.collect::<Vec<_>>().join(", ")
}

/// What a diagram is called.
fn title(plan: &Plan) -> &str {
    plan.workflow.title.as_deref().unwrap_or(&plan.workflow.name)
}

/// Shows a plan as JSON.
#[must_use]
pub fn json(plan: &Plan) -> Json {
    let workflow = &plan.workflow;
    let steps: Vec<Json> = (0..workflow.steps.len()).map(|step| step_json(plan, step)).collect();
    let mut shown = json!({
        "workflow": workflow.name,
        "parallel": workflow.parallel,
        "timeout_seconds": workflow.timeout.as_secs_f64(),
        "steps": steps,
        "outputs": workflow.outputs.iter().map(|output| &output.name).collect::<Vec<_>>(),
    });
    whole::add(workflow, &mut shown);
    if !plan.children.is_empty() {
        let children = plan.children.iter().map(|(name, child)| (name.clone(), json(child)));
        shown["workflows"] = Json::Object(children.collect());
    }
    shown
}

fn step_json(plan: &Plan, step: usize) -> Json {
    let after = incoming(plan, step).iter().map(|edge| {
        let reasons =
            reasons(plan, edge).into_iter().map(|(why, line)| json!({"why": why, "line": line}));
        json!({"step": plan.workflow.steps[edge.from].id, "reasons": reasons.collect::<Vec<_>>()})
    });
    let mut shown = json!({
        "id": plan.workflow.steps[step].id,
        "after": after.collect::<Vec<_>>(),
        "refers_to": ids(plan, &plan.references[step]),
    });
    if let Some(binding) = &plan.bindings[step] {
        add_binding(&mut shown, &selected_by(plan, step), binding);
    }
    if !plan.fallbacks(step).is_empty() {
        let further = plan.fallbacks(step).iter().zip(&plan.workflow.steps[step].fallback);
        let further = further.map(|(binding, of_file)| {
            let mut shown = json!({});
            add_binding(&mut shown, &by(plan, &of_file.selector), binding);
            shown
        });
        shown["fallback"] = further.collect();
    }
    add_policies(&plan.workflow.steps[step], &mut shown);
    for (key, values) in
        [("set", &plan.workflow.steps[step].set), ("outputs", &plan.workflow.steps[step].outputs)]
    {
        if let Some(names) = names(values.as_ref()) {
            shown[key] = json!(names);
        }
    }
    if let Some(sub) = &plan.workflow.steps[step].workflow {
        shown["workflow"] = json!(sub.name);
        shown["with"] = sub.with.iter().map(|given| given.name.as_str()).collect();
    }
    if let Some(ask) = &plan.workflow.steps[step].ask {
        shown["ask"] = ask.question.written().into();
        shown["schema"] = json!(ask.schema.as_ref().map(|schema| &schema.json));
    }
    if plan.workflow.steps[step].set.is_none() {
        shown["pause_timeout_seconds"] =
            plan.workflow.steps[step].pause_timeout.as_secs_f64().into();
    }
    asked::add(&plan.workflow.steps[step], &mut shown);
    if let Some(for_each) = &plan.workflow.steps[step].for_each {
        shown["for_each"] = plan.workflow.source.slice(for_each.span).into();
        shown["concurrency"] = for_each.concurrency.into();
    }
    if let Join::AtLeast(count) = plan.workflow.steps[step].join {
        shown["join"] = count.into();
        shown["cancel_rest"] = plan.workflow.steps[step].cancel_rest.into();
    }
    if plan.workflow.steps[step].undo.is_some() {
        shown["undo"] = true.into();
    }
    if plan.workflow.steps[step].run_if == RunIf::Settled {
        shown["run_if"] = "settled".into();
    }
    shown
}

fn add_binding(shown: &mut Json, selected_by: &str, binding: &Binding) {
    shown["agent"] = json!(binding.agent);
    shown["selected_by"] = json!(selected_by);
    shown["card"] = json!(binding.digest.to_string());
    shown["interface"] = json!(binding.interface);
    shown["fallbacks"] = json!(binding.fallbacks);
    shown["streaming"] = json!(binding.streaming);
    shown["not"] = json!(*binding.lost);
}

fn add_policies(step: &Step, shown: &mut Json) {
    if let Some(repeat) = &step.repeat {
        shown["repeat"] = json!({"until": repeat.until.source(), "max": repeat.max});
    }
    if let Some(deadline) = step.deadline {
        shown["deadline_seconds"] = json!(deadline.as_secs_f64());
    }
    if step.effect != StepEffect::AtLeastOnce {
        shown["effect"] = json!(step.effect);
    }
}

#[cfg(test)]
mod tests;
