//! `convoke card show`

use anstream::println;
use protocol::{
    card,
    outbound::Outbound,
    v1::{AgentCard, GetExtendedAgentCardRequest},
};

use super::{Received, check, outbound, pinned, receive, verify};
use crate::{
    agent,
    args::{AgentArgs, Args, CallArgs},
    content::brief,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

/// Shows the card at a URL or in a file.
pub(super) async fn show(
    args: &Args,
    from: &str,
    keys: &[String],
    headers: &[String],
) -> Result<Exit, Failure> {
    let outbound = outbound()?;
    let received = receive(&outbound, from, headers).await?;
    tell(args, &outbound, &received, keys).await
}

/// Shows the card that an agent has for callers who authenticate.
pub(super) async fn extended(
    args: &Args,
    from: &str,
    keys: &[String],
    headers: &[String],
) -> Result<Exit, Failure> {
    let call = CallArgs::with_headers(headers.to_vec());
    let agent = agent::find(args, &AgentArgs { agent: from.to_owned(), call }).await?;
    let request = GetExtendedAgentCardRequest::default();
    let card = agent.peer.get_extended_card(request, agent.timeout).await?;
    let origin = agent.peer.preferred().url().to_owned();
    let received = Received { origin, text: serde_json::to_vec(&card)?, is_fetched: true };
    tell(args, &outbound()?, &received, keys).await
}

async fn tell(
    args: &Args,
    outbound: &Outbound,
    received: &Received,
    keys: &[String],
) -> Result<Exit, Failure> {
    let keys = pinned(outbound, keys).await?;
    let from = &received.origin;
    let raw = serde_json::from_slice(&received.text)
        .map_err(|error| Failure::usage(format!("{from} is not JSON: {error}")))?;
    let card = card::read(&raw).map_err(Failure::usage)?;
    if args.json {
        output::json(&raw)?;
        return Ok(Exit::Ok);
    }
    print(&card, &received.origin);
    println!();
    verify::print(&check(outbound, received, &keys).await?);
    Ok(Exit::Ok)
}

/// Prints a card for a person.
pub(crate) fn print(card: &AgentCard, origin: &str) {
    println!("{BOLD}{}{BOLD:#} {}", brief(&card.name), brief(&card.version));
    println!("{}", brief(&card.description));
    println!("{DIM}card{DIM:#} {}", brief(origin));
    if let Some(provider) = &card.provider {
        println!("{DIM}provider{DIM:#} {} {}", brief(&provider.organization), brief(&provider.url));
    }
    for interface in &card.supported_interfaces {
        println!(
            "{DIM}interface{DIM:#} {} {} {}",
            brief(&interface.protocol_binding),
            brief(&interface.protocol_version),
            brief(&interface.url)
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
        println!("\n{BOLD}{}{BOLD:#}  {}", brief(&skill.id), brief(&skill.name));
        println!("  {}", brief(&skill.description));
        println!("  {DIM}tags{DIM:#} {}", brief(&skill.tags.join(", ")));
    }
}
