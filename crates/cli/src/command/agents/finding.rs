//! Which agents there are: `agents list|search`.

use anstream::{eprintln, println};
use comfy_table::{Table, presets};
use registry::{Facet, Filter, Query, Tier};
use serde_json::{Map, Value, json};
use server::directory::wire::{AgentOut, FacetOut, HitOut, Listed};

use super::probing;
use crate::{
    args::{Args, FindArgs},
    content::{brief, clean},
    directory::Directory,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

pub(super) async fn list(
    args: &Args,
    directory: &Directory,
    find: &FindArgs,
) -> Result<Exit, Failure> {
    let found = directory.find(query("", find)).await?;
    if args.json {
        let agents: Vec<Value> = found.agents.iter().map(|hit| to_json(&hit.agent)).collect();
        return print_json(&agents, &found, find);
    }
    if found.agents.is_empty() {
        eprintln!("no agents; `convoke agents add URL --approve` takes one in");
    } else {
        println!("{}", table(&found.agents).trim_fmt());
        found.agents.iter().for_each(|hit| print_shortfall(&hit.agent));
    }
    print_rest(&found);
    Ok(Exit::Ok)
}

pub(super) async fn search(
    args: &Args,
    directory: &Directory,
    words: &str,
    find: &FindArgs,
) -> Result<Exit, Failure> {
    let found = directory.find(query(words, find)).await?;
    if args.json {
        let hits: Vec<Value> = found.agents.iter().map(hit_json).collect();
        return print_json(&hits, &found, find);
    }
    if found.agents.is_empty() {
        eprintln!("nothing found");
    }
    for hit in &found.agents {
        println!("{BOLD}{}{BOLD:#}  {}", clean(&hit.agent.name), hit.agent.standing);
        println!("  {}", brief(&hit.agent.description));
        if let Some(seen) = &hit.agent.evidence {
            println!("  {}", brief(&seen.to_string()));
        }
        println!("  {DIM}{}{DIM:#}", brief(&hit.why.join("; ")));
    }
    print_rest(&found);
    Ok(Exit::Ok)
}

/// What keeps an agent from being conformant, when it was looked at.
fn print_shortfall(agent: &AgentOut) {
    let short = agent.evidence.as_ref().filter(|seen| seen.tier < Some(Tier::Conformant));
    if let Some(seen) = short {
        println!("{DIM}{}{DIM:#} {}", clean(&agent.name), brief(&seen.to_string()));
    }
}

fn query(words: &str, find: &FindArgs) -> Query {
    let mut filters: Vec<Filter> =
        find.tags.iter().map(|tag| Filter::one(Facet::Tag, tag)).collect();
    let several = [(Facet::Tag, &find.any_tags), (Facet::State, &find.states)];
    filters.extend(
        several
            .into_iter()
            .filter(|(_, any)| !any.is_empty())
            .map(|(facet, any)| Filter { facet, any: any.clone() }),
    );
    let single = [
        (Facet::Category, &find.category),
        (Facet::Skill, &find.skill),
        (Facet::Provider, &find.provider),
        (Facet::InputMode, &find.input_mode),
        (Facet::OutputMode, &find.output_mode),
        (Facet::Binding, &find.binding),
        (Facet::Version, &find.version),
        (Facet::Capability, &find.capability),
        (Facet::Signed, &find.signed),
        (Facet::Evidence, &find.min_evidence),
    ];
    let single = single.into_iter();
    filters.extend(single.filter_map(|(facet, value)| Some(Filter::one(facet, value.as_ref()?))));
    Query {
        text: words.to_owned(),
        filters,
        limit: find.limit.map(|limit| limit as usize),
        after: None,
        count: find.facets,
    }
}

/// A list as before, or an object where there is more to say than the list.
fn print_json(agents: &[Value], found: &Listed, find: &FindArgs) -> Result<Exit, Failure> {
    if !find.facets {
        output::json(&agents)?;
        return Ok(Exit::Ok);
    }
    let facets = found.facets.iter().map(|FacetOut { facet, values }| {
        let values = values.iter().map(|it| (it.value.clone(), json!(it.count)));
        (facet.clone(), Value::Object(values.collect()))
    });
    let facets: Map<String, Value> = facets.collect();
    output::json(&json!({ "agents": agents, "total": found.total, "facets": facets }))?;
    Ok(Exit::Ok)
}

fn print_rest(found: &Listed) {
    if found.agents.len() < found.total {
        eprintln!("{DIM}{} of {}{DIM:#}", found.agents.len(), found.total);
    }
    for FacetOut { facet, values } in &found.facets {
        let values: Vec<String> =
            values.iter().map(|it| format!("{} {}", brief(&it.value), it.count)).collect();
        println!("{DIM}{facet}{DIM:#} {}", values.join(", "));
    }
}

fn table(hits: &[HitOut]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["AGENT", "STANDING", "EVIDENCE", "TAGS", "URL"]);
    for HitOut { agent, .. } in hits {
        let tags: Vec<&str> = agent.tags.iter().map(String::as_str).collect();
        table.add_row([
            clean(&agent.name),
            agent.standing.to_string(),
            probing::word(agent.evidence.as_ref()),
            brief(&tags.join(", ")),
            brief(&agent.url),
        ]);
    }
    table
}

fn hit_json(hit: &HitOut) -> Value {
    json!({ "agent": to_json(&hit.agent), "score": hit.score, "why": hit.why })
}

fn to_json(agent: &AgentOut) -> Value {
    json!({
        "name": agent.name,
        "standing": agent.standing,
        "signed": agent.signed,
        "evidence": agent.evidence.as_ref().and_then(|seen| seen.tier),
        "seen": agent.evidence,
        "url": agent.url,
        "digest": agent.digest.to_string(),
        "tags": agent.tags,
        "skills": agent.skills,
        "description": agent.description,
    })
}
