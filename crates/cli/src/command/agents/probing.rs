//! What is seen of agents: `agents probe`, and how it is shown.

use std::sync::Arc;

use anstream::{eprintln, println};
use registry::{EvidenceSettings, Registry, Seen, Tier};
use serde_json::json;
use server::directory::wire::{EvidenceOut, ProbeOut, ServiceOut};

use crate::{
    args::Args,
    content::{brief, clean},
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
    place::Place,
};

/// How many of the newest probes are shown.
const SHOWN: usize = 5;

pub(super) async fn probe(args: &Args, place: &Place, names: &[String]) -> Result<Exit, Failure> {
    let prober = place.prober(EvidenceSettings::default()).await?;
    let watched = if names.is_empty() { prober.watched() } else { names.to_vec() };
    let seen = prober.probe_all(&watched).await?;
    let registry = place.registry().await?;
    if args.json {
        let agents = seen.iter().map(|(name, seen)| {
            let newest = registry.probes(name).pop();
            json!({ "name": name, "evidence": seen, "probe": newest.as_ref().map(ProbeOut::from) })
        });
        output::json(&agents.collect::<Vec<_>>())?;
    } else if seen.is_empty() {
        eprintln!("no agents; `convoke agents add URL` takes one in");
    } else {
        seen.iter().for_each(|(name, seen)| print_probed(&registry, name, seen.as_deref()));
    }
    let falls_short = |seen: &Option<Arc<Seen>>| {
        seen.as_ref().is_none_or(|seen| seen.tier < Some(Tier::Conformant))
    };
    let is_short = seen.iter().any(|(_, seen)| falls_short(seen));
    Ok(if is_short { Exit::WorkFailed } else { Exit::Ok })
}

fn print_probed(registry: &Registry, name: &str, seen: Option<&Seen>) {
    println!("{BOLD}{}{BOLD:#}  {}", clean(name), word(seen));
    let Some(probed) = registry.probes(name).pop() else { return };
    for shortfall in probed.shortfalls {
        println!("  {}", brief(&shortfall.to_string()));
    }
    if let Some(why) = probed.unmeasured {
        println!("  not measured: {}", brief(&why));
    }
}

/// What was seen of an agent, in a word.
pub(super) fn word(seen: Option<&Seen>) -> String {
    let since = |seen: &Seen| seen.since.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
    seen.map_or_else(
        || "unseen".to_owned(),
        |seen| format!("{} since {}", seen.in_short(), since(seen)),
    )
}

/// Everything that is known of how an agent does; nothing for one that was not looked at.
pub(super) fn print_evidence(evidence: &EvidenceOut) {
    let Some(seen) = &evidence.seen else { return };
    println!("  {DIM}evidence{DIM:#} {}", brief(&seen.to_string()));
    for probe in evidence.probes.iter().rev().take(SHOWN) {
        println!("    {DIM}probe{DIM:#} {}", brief(&in_a_line(probe)));
    }
    for service in &evidence.runs {
        println!("    {DIM}runs{DIM:#} {}", brief(&done(service)));
    }
}

fn in_a_line(probe: &ProbeOut) -> String {
    if let Some(why) = &probe.unmeasured {
        return format!("{} not measured: {why}", probe.at.strftime("%Y-%m-%d %H:%M:%SZ"));
    }
    let tier = probe.tier.map_or("none", Tier::as_str);
    let why = probe.shortfalls.first().map(|first| format!(": {first}")).unwrap_or_default();
    format!("{} {tier}{why}", probe.at.strftime("%Y-%m-%d %H:%M:%SZ"))
}

fn done(service: &ServiceOut) -> String {
    let skill = service.skill.as_deref().map_or("any skill".to_owned(), |it| format!("skill {it}"));
    let all = service.completed + service.failed;
    let time = service.median_ms.map(|it| format!(", {it} ms in the middle"));
    format!("{skill}: {} of {all} completed{}", service.completed, time.unwrap_or_default())
}
