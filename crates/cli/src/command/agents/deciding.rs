//! What a curator decides: `agents approve|reject|…|publish|tag|policy|remove`.

use std::path::Path;

use anstream::println;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use registry::{Curation, Decision};
use serde_json::json;

use crate::{
    args::{self, Args},
    content::{brief, clean},
    directory::Directory,
    failure::{Exit, Failure},
    output::{self, DIM},
    workflow_file,
};

pub(super) async fn decide(
    args: &Args,
    directory: &Directory,
    to: Curation,
    asked: &args::Decision,
) -> Result<Exit, Failure> {
    decide_until(args, directory, to, asked, None).await
}

async fn decide_until(
    args: &Args,
    directory: &Directory,
    to: Curation,
    asked: &args::Decision,
    review_by: Option<Timestamp>,
) -> Result<Exit, Failure> {
    let by = decision(asked.why.as_deref());
    let decided = directory.decide(&asked.name, to, &by, review_by).await?;
    if args.json {
        output::json(&json!({ "name": decided.name, "standing": decided.standing }))?;
    } else {
        println!("{} is {}", clean(&decided.name), decided.standing);
    }
    Ok(Exit::Ok)
}

/// The approval holds to the end of the day that was named, by the clock of this machine's place.
pub(super) async fn approve(
    args: &Args,
    directory: &Directory,
    asked: &args::Decision,
    review_by: Option<Date>,
) -> Result<Exit, Failure> {
    let Some(day) = review_by else {
        return decide(args, directory, Curation::Approved, asked).await;
    };
    let end = day.tomorrow().and_then(|next| next.to_zoned_datetime(TimeZone::system()));
    let end = end.map_err(Failure::usage)?.timestamp();
    if end <= Timestamp::now() {
        return Err(Failure::usage(format!("--review-by {day} is over; name a day to come")));
    }
    decide_until(args, directory, Curation::Approved, asked, Some(end)).await
}

pub(super) async fn publish(
    args: &Args,
    directory: &Directory,
    name: &str,
    is_public: bool,
) -> Result<Exit, Failure> {
    let published = directory.publish(name, is_public).await?;
    let (name, standing) = (clean(&published.name), published.standing);
    if args.json {
        output::json(&published)?;
    } else if !is_public {
        println!("{name} is not public");
    } else if standing == Curation::Approved {
        println!("{name} is public");
    } else {
        println!("{name} is public once it is approved; it is {standing}");
    }
    Ok(Exit::Ok)
}

pub(super) async fn tag(
    args: &Args,
    directory: &Directory,
    name: &str,
    tags: &[String],
    removed: &[String],
) -> Result<Exit, Failure> {
    if tags.is_empty() && removed.is_empty() {
        return Err(Failure::usage("name a tag to give, or one to take away with --remove"));
    }
    let tagged = directory.tag(name, tags, removed).await?;
    if args.json {
        output::json(&json!({ "name": tagged.name, "tags": tagged.tags }))?;
    } else if tagged.tags.is_empty() {
        println!("{} has no tags of yours", clean(&tagged.name));
    } else {
        println!("{}: {}", clean(&tagged.name), brief(&tagged.tags.join(", ")));
    }
    Ok(Exit::Ok)
}

pub(super) async fn policy(
    args: &Args,
    directory: &Directory,
    file: Option<&Path>,
) -> Result<Exit, Failure> {
    let Some(file) = file else {
        let policy = directory.policy().await?;
        if args.json {
            output::json(&policy)?;
        } else {
            println!("{}", clean(document::to_yaml(&policy).map_err(Failure::work)?.trim_end()));
        }
        return Ok(Exit::Ok);
    };
    let changed = directory.set_policy(workflow_file::read(file)?).await?.changed;
    if args.json {
        let names: Vec<&str> = changed.iter().map(|it| it.name.as_str()).collect();
        output::json(&json!({ "changed": names }))?;
        return Ok(Exit::Ok);
    }
    println!("the policy is in force");
    for agent in changed {
        println!("  {} is {} {DIM}({}){DIM:#}", clean(&agent.name), agent.standing, agent.signed);
    }
    Ok(Exit::Ok)
}

pub(super) async fn remove(
    args: &Args,
    directory: &Directory,
    name: &str,
) -> Result<Exit, Failure> {
    let removed = directory.remove(name).await?;
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
