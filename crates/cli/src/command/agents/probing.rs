//! What is seen of agents: `agents probe`, and how it is shown.

use anstream::{eprintln, println};
use registry::{Seen, Tier};
use server::directory::wire::{EvidenceOut, ProbeOut, ProbedOut, ServiceOut};

use crate::{
    args::Args,
    content::{brief, clean},
    directory::Directory,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

/// How many of the newest probes are shown.
const SHOWN: usize = 5;

pub(super) async fn probe(
    args: &Args,
    directory: &Directory,
    names: &[String],
) -> Result<Exit, Failure> {
    let probed = directory.probe(names).await?;
    if args.json {
        output::json(&probed)?;
    } else if probed.is_empty() {
        eprintln!("no agents; `convoke agents add URL` takes one in");
    } else {
        probed.iter().for_each(print_probed);
    }
    let falls_short =
        |it: &ProbedOut| it.evidence.as_ref().is_none_or(|seen| seen.tier < Some(Tier::Conformant));
    Ok(if probed.iter().any(falls_short) { Exit::WorkFailed } else { Exit::Ok })
}

fn print_probed(probed: &ProbedOut) {
    println!("{BOLD}{}{BOLD:#}  {}", clean(&probed.name), word(probed.evidence.as_ref()));
    let Some(probe) = &probed.probe else { return };
    for shortfall in &probe.shortfalls {
        println!("  {}", brief(shortfall));
    }
    if let Some(why) = &probe.unmeasured {
        println!("  not measured: {}", brief(why));
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
    for rung in &seen.tiers {
        println!("    {DIM}tier{DIM:#} {}", brief(&rung.to_string()));
    }
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
