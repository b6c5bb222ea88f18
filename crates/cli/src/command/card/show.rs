//! `convoke card show`

use anstream::println;
use protocol::{card, v1::AgentCard};

use super::{check, outbound, pinned, receive, verify};
use crate::{
    args::Args,
    content::clean,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

pub(super) async fn show(args: &Args, from: &str, keys: &[String]) -> Result<Exit, Failure> {
    let outbound = outbound()?;
    let keys = pinned(&outbound, keys).await?;
    let received = receive(&outbound, from).await?;
    let raw = serde_json::from_slice(&received.text)
        .map_err(|error| Failure::usage(format!("{from} is not JSON: {error}")))?;
    let card = card::read(&raw).map_err(Failure::usage)?;
    if args.json {
        output::json(&raw)?;
        return Ok(Exit::Ok);
    }
    print(&card, &received.origin);
    println!();
    verify::print(&check(&outbound, &received, &keys).await?);
    Ok(Exit::Ok)
}

/// Prints a card for a person.
pub(crate) fn print(card: &AgentCard, origin: &str) {
    println!("{BOLD}{}{BOLD:#} {}", clean(&card.name), clean(&card.version));
    println!("{}", clean(&card.description));
    println!("{DIM}card{DIM:#} {origin}");
    if let Some(provider) = &card.provider {
        println!("{DIM}provider{DIM:#} {} {}", clean(&provider.organization), clean(&provider.url));
    }
    for interface in &card.supported_interfaces {
        println!(
            "{DIM}interface{DIM:#} {} {} {}",
            clean(&interface.protocol_binding),
            clean(&interface.protocol_version),
            clean(&interface.url)
        );
    }
    if let Some(can) = &card.capabilities {
        let all = [
            (can.streaming, "streaming"),
            (can.push_notifications, "push notifications"),
            (can.extended_agent_card, "extended card"),
        ];
        let named: Vec<&str> =
            all.iter().filter(|(can, _)| *can == Some(true)).map(|(_, name)| *name).collect();
        println!("{DIM}capabilities{DIM:#} {}", named.join(", "));
    }
    for skill in &card.skills {
        let tags: Vec<String> = skill.tags.iter().map(|tag| clean(tag)).collect();
        println!("\n{BOLD}{}{BOLD:#}  {}", clean(&skill.id), clean(&skill.name));
        println!("  {}", clean(&skill.description));
        println!("  {DIM}tags{DIM:#} {}", tags.join(", "));
    }
}
