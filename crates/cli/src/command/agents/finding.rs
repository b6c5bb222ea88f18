//! Which agents there are: `agents list|search`.

use std::sync::Arc;

use anstream::{eprintln, println};
use comfy_table::{Table, presets};
use registry::{Agent, Facet, Filter, Found, Hit, Query, Registry};
use serde_json::{Map, Value, json};

use crate::{
    args::{Args, FindArgs},
    content::clean,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

pub(super) fn list(args: &Args, registry: &Registry, find: &FindArgs) -> Result<Exit, Failure> {
    let found = registry.index().find(&query("", find));
    if args.json {
        let agents: Vec<Value> = found.hits.iter().map(|hit| to_json(&hit.agent)).collect();
        return print_json(&agents, &found, find);
    }
    if found.hits.is_empty() {
        eprintln!("no agents; `convoke agents add URL --approve` takes one in");
    } else {
        println!("{}", table(&found.hits).trim_fmt());
    }
    print_rest(&found);
    Ok(Exit::Ok)
}

pub(super) fn search(
    args: &Args,
    registry: &Registry,
    words: &str,
    find: &FindArgs,
) -> Result<Exit, Failure> {
    let found = registry.index().find(&query(words, find));
    if args.json {
        let hits: Vec<Value> = found.hits.iter().map(hit_json).collect();
        return print_json(&hits, &found, find);
    }
    if found.hits.is_empty() {
        eprintln!("nothing found");
    }
    for hit in &found.hits {
        println!("{BOLD}{}{BOLD:#}  {}", clean(&hit.agent.name), hit.agent.curation);
        println!("  {}", clean(&hit.agent.card.description));
        println!("  {DIM}{}{DIM:#}", clean(&why(hit).join("; ")));
    }
    print_rest(&found);
    Ok(Exit::Ok)
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
fn print_json(agents: &[Value], found: &Found, find: &FindArgs) -> Result<Exit, Failure> {
    if !find.facets {
        output::json(&agents)?;
        return Ok(Exit::Ok);
    }
    let facets = found.counts.iter().map(|(facet, values)| {
        let values = values.iter().map(|(value, count)| (value.clone(), json!(count)));
        (facet.to_string(), Value::Object(values.collect()))
    });
    let facets: Map<String, Value> = facets.collect();
    output::json(&json!({ "agents": agents, "total": found.total, "facets": facets }))?;
    Ok(Exit::Ok)
}

fn print_rest(found: &Found) {
    if found.hits.len() < found.total {
        eprintln!("{DIM}{} of {}{DIM:#}", found.hits.len(), found.total);
    }
    for (facet, values) in &found.counts {
        let values: Vec<String> =
            values.iter().map(|(value, count)| format!("{} {count}", clean(value))).collect();
        println!("{DIM}{facet}{DIM:#} {}", values.join(", "));
    }
}

fn table(hits: &[Hit]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["AGENT", "STANDING", "TAGS", "URL"]);
    for Hit { agent, .. } in hits {
        let tags: Vec<String> = agent.all_tags().into_iter().collect();
        table.add_row([
            clean(&agent.name),
            agent.curation.to_string(),
            clean(&tags.join(", ")),
            clean(&agent.url),
        ]);
    }
    table
}

fn hit_json(hit: &Hit) -> Value {
    json!({ "agent": to_json(&hit.agent), "score": hit.score, "why": why(hit) })
}

fn why(hit: &Hit) -> Vec<String> {
    hit.matches.iter().map(ToString::to_string).collect()
}

fn to_json(agent: &Arc<Agent>) -> Value {
    json!({
        "name": agent.name,
        "standing": agent.curation,
        "signed": agent.signed,
        "evidence": agent.tier,
        "url": agent.url,
        "digest": agent.digest.to_string(),
        "tags": agent.all_tags(),
        "skills": agent.card.skills.iter().map(|skill| &skill.id).collect::<Vec<_>>(),
        "description": agent.card.description,
    })
}
