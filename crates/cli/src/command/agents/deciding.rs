//! What a curator decides: `agents approve|reject|…|tag|policy|remove`.

use std::path::Path;

use anstream::println;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use registry::{Curation, Decision, Registry, read_policy};
use serde_json::json;

use crate::{
    args::{self, Args},
    content::clean,
    failure::{Exit, Failure},
    output::{self, DIM},
    workflow_file,
};

pub(super) async fn decide(
    args: &Args,
    registry: &Registry,
    to: Curation,
    asked: &args::Decision,
) -> Result<Exit, Failure> {
    let record = registry.transition(&asked.name, to, &decision(asked.why.as_deref())).await?;
    if args.json {
        output::json(&json!({ "name": record.name, "standing": record.standing() }))?;
    } else {
        println!("{} is {}", clean(&record.name), record.standing());
    }
    Ok(Exit::Ok)
}

/// The approval holds to the end of the day that was named, by the clock of this machine's place.
pub(super) async fn approve(
    args: &Args,
    registry: &Registry,
    asked: &args::Decision,
    review_by: Option<Date>,
) -> Result<Exit, Failure> {
    let Some(day) = review_by else {
        return decide(args, registry, Curation::Approved, asked).await;
    };
    let end = day.tomorrow().and_then(|next| next.to_zoned_datetime(TimeZone::system()));
    let end = end.map_err(Failure::usage)?.timestamp();
    if end <= Timestamp::now() {
        return Err(Failure::usage(format!("--review-by {day} is over; name a day to come")));
    }
    let exit = decide(args, registry, Curation::Approved, asked).await?;
    registry.review_by(&asked.name, Some(end)).await?;
    Ok(exit)
}

pub(super) async fn tag(
    args: &Args,
    registry: &Registry,
    name: &str,
    tags: &[String],
    removed: &[String],
) -> Result<Exit, Failure> {
    if tags.is_empty() && removed.is_empty() {
        return Err(Failure::usage("name a tag to give, or one to take away with --remove"));
    }
    let record = registry.tag(name, tags, removed).await?;
    let tags = &record.details.tags;
    if args.json {
        output::json(&json!({ "name": record.name, "tags": tags }))?;
    } else if tags.is_empty() {
        println!("{} has no tags of yours", clean(&record.name));
    } else {
        println!("{}: {}", clean(&record.name), clean(&tags.join(", ")));
    }
    Ok(Exit::Ok)
}

pub(super) async fn policy(
    args: &Args,
    registry: &Registry,
    file: Option<&Path>,
) -> Result<Exit, Failure> {
    let Some(file) = file else {
        let policy = registry.policy();
        if args.json {
            output::json(&*policy)?;
        } else {
            println!("{}", clean(document::to_yaml(&*policy).map_err(Failure::work)?.trim_end()));
        }
        return Ok(Exit::Ok);
    };
    let policy = read_policy(workflow_file::read(file)?)
        .map_err(|problems| Failure::file(output::problems(&problems)))?;
    let changed = registry.set_policy(policy, Timestamp::now()).await?;
    if args.json {
        output::json(&json!({ "changed": changed }))?;
        return Ok(Exit::Ok);
    }
    println!("the policy is in force");
    for name in changed {
        let agent = registry.get(&name)?;
        println!("  {} is {} {DIM}({}){DIM:#}", clean(&name), agent.curation, agent.signed);
    }
    Ok(Exit::Ok)
}

pub(super) async fn remove(args: &Args, registry: &Registry, name: &str) -> Result<Exit, Failure> {
    let removed = registry.remove(name).await?;
    if args.json {
        output::json(&json!({ "name": removed.name, "outcome": "removed" }))?;
    } else {
        println!("removed {}", clean(&removed.name));
    }
    Ok(Exit::Ok)
}

/// Whoever is logged in decides.
pub(super) fn decision(why: Option<&str>) -> Decision {
    let who = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    Decision {
        who: who.unwrap_or_else(|_| "operator".to_owned()),
        why: why.unwrap_or_default().to_owned(),
        at: Timestamp::now(),
    }
}
