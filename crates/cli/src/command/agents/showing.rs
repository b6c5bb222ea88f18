//! All that is known of an agent: `agents show`.

use anstream::println;
use jiff::Timestamp;
use registry::{Details, Record};
use server::directory::wire::EvidenceOut;

use super::{card, probing};
use crate::{
    args::Args,
    content::{brief, clean},
    directory::Directory,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

pub(super) async fn show(args: &Args, directory: &Directory, name: &str) -> Result<Exit, Failure> {
    let (record, evidence) = directory.record(name).await?;
    if args.json {
        let mut json = serde_json::to_value(&record).map_err(Failure::work)?;
        json["evidence"] = serde_json::to_value(&evidence).map_err(Failure::work)?;
        output::json(&json)?;
        return Ok(Exit::Ok);
    }
    let origin = if record.url.is_empty() { "a file" } else { record.url.as_str() };
    card::print(&record.read_card()?, origin);
    print_curation(&record, &evidence);
    Ok(Exit::Ok)
}

fn print_curation(record: &Record, evidence: &EvidenceOut) {
    println!("\n{BOLD}{}{BOLD:#} {}", clean(&record.name), record.standing_at(Timestamp::now()));
    println!("  {DIM}digest{DIM:#} {} {DIM}since{DIM:#} {}", record.digest, record.card_since);
    let details = &record.details;
    let lists = [("tags", details.tags.join(", ")), ("aliases", details.aliases.join(", "))];
    let texts = [
        ("category", details.category.clone()),
        ("owner", details.owner.clone()),
        (notes(details), details.notes.clone()),
    ];
    let texts = texts.map(|(name, text)| (name, text.unwrap_or_default()));
    for (name, text) in lists.into_iter().chain(texts).filter(|(_, text)| !text.is_empty()) {
        println!("  {DIM}{name}{DIM:#} {}", brief(&text));
    }
    for credential in &details.credentials {
        println!("  {DIM}credential{DIM:#} {}", clean(&credential.to_string()));
    }
    for origin in &details.origins {
        println!("  {DIM}credentials also go to{DIM:#} {origin}");
    }
    if details.public {
        println!("  {DIM}public{DIM:#} others may learn of it while it is approved");
    }
    if let Some(source) = &record.source {
        println!("  {DIM}listed by{DIM:#} {}", clean(&source.to_string()));
    }
    print_trust(record);
    probing::print_evidence(evidence);
    for change in record.history.changes() {
        let why =
            if change.by.why.is_empty() { String::new() } else { format!(": {}", change.by.why) };
        println!(
            "  {DIM}{}{DIM:#} {} by {}{}",
            change.by.at.strftime("%Y-%m-%d %H:%M:%SZ"),
            change.to,
            clean(&change.by.who),
            brief(&why)
        );
    }
}

/// What notes are called, which may be out of date.
fn notes(details: &Details) -> &'static str {
    let is_over = details.notes_until().is_some_and(|until| until <= Timestamp::now());
    if is_over { "notes (out of date, to be reviewed)" } else { "notes" }
}

fn print_trust(record: &Record) {
    let by = record.trust.signer.as_ref().map(|signer| format!(" by {signer}")).unwrap_or_default();
    println!("  {DIM}signatures{DIM:#} {}{}", record.trust.signed, brief(&by));
    for flaw in &record.trust.flaws {
        println!("    {}", brief(flaw));
    }
    let drift = record.drift.as_ref().map(|drift| format!(", {}", drift.class().as_str()));
    println!("  {DIM}card version{DIM:#} {}{}", record.version, drift.unwrap_or_default());
    if let Some(due) = record.review_by {
        println!("  {DIM}to be reviewed by{DIM:#} {}", due.strftime("%Y-%m-%d %H:%M:%SZ"));
    }
}
