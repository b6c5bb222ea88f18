//! All that is known of an agent: `agents show`.

use anstream::println;
use registry::{Record, Registry};

use super::card;
use crate::{
    args::Args,
    content::clean,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

pub(super) async fn show(args: &Args, registry: &Registry, name: &str) -> Result<Exit, Failure> {
    let record = registry.record(name).await?;
    if args.json {
        output::json(&record)?;
        return Ok(Exit::Ok);
    }
    let origin = if record.url.is_empty() { "a file" } else { record.url.as_str() };
    card::print(&record.read_card()?, &clean(origin));
    print_curation(&record);
    Ok(Exit::Ok)
}

fn print_curation(record: &Record) {
    println!("\n{BOLD}{}{BOLD:#} {}", clean(&record.name), record.standing());
    println!("  {DIM}digest{DIM:#} {} {DIM}since{DIM:#} {}", record.digest, record.card_since);
    let details = &record.details;
    let lists = [("tags", details.tags.join(", ")), ("aliases", details.aliases.join(", "))];
    let texts = [("owner", details.owner.clone()), ("notes", details.notes.clone())]
        .map(|(name, text)| (name, text.unwrap_or_default()));
    for (name, text) in lists.into_iter().chain(texts).filter(|(_, text)| !text.is_empty()) {
        println!("  {DIM}{name}{DIM:#} {}", clean(&text));
    }
    for credential in &details.credentials {
        println!("  {DIM}credential{DIM:#} {}", clean(&credential.to_string()));
    }
    for origin in &details.origins {
        println!("  {DIM}credentials also go to{DIM:#} {origin}");
    }
    print_trust(record);
    for change in record.history.changes() {
        let why =
            if change.by.why.is_empty() { String::new() } else { format!(": {}", change.by.why) };
        println!(
            "  {DIM}{}{DIM:#} {} by {}{}",
            change.by.at.strftime("%Y-%m-%d %H:%M:%SZ"),
            change.to,
            clean(&change.by.who),
            clean(&why)
        );
    }
}

fn print_trust(record: &Record) {
    let by = record.trust.signer.as_ref().map(|signer| format!(" by {signer}")).unwrap_or_default();
    println!("  {DIM}signatures{DIM:#} {}{}", record.trust.signed, clean(&by));
    for flaw in &record.trust.flaws {
        println!("    {}", clean(flaw));
    }
    let drift = record.drift.as_ref().map(|drift| format!(", {}", drift.class().as_str()));
    println!("  {DIM}card version{DIM:#} {}{}", record.version, drift.unwrap_or_default());
    if let Some(due) = record.review_by {
        println!("  {DIM}to be reviewed by{DIM:#} {}", due.strftime("%Y-%m-%d %H:%M:%SZ"));
    }
}
