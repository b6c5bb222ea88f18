//! `convoke agents show --extended`

use std::time::Duration;

use protocol::{client::Peer, v1::GetExtendedAgentCardRequest};

use crate::{
    args::Args,
    command::card,
    failure::{Exit, Failure},
    output,
    place::Place,
};

/// How long the agent may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Shows the card that an agent has for those it knows (A2A §3.1.11). It is asked for each time and
/// kept nowhere: it may say what not everybody should know.
pub(super) async fn show(args: &Args, place: &Place, name: &str) -> Result<Exit, Failure> {
    let (agent, keyring) = place.keyrings().await?.by_name(name)?;
    let peer = Peer::of_card(keyring.outbound(), &agent.card).map_err(Failure::unavailable)?;
    let peer = peer.with_keyring(&keyring);
    let request = GetExtendedAgentCardRequest::default();
    let card = peer.preferred().get_extended_card(request, TIMEOUT).await;
    let card = card.map_err(Failure::unavailable)?;
    if args.json {
        output::json(&card)?;
    } else {
        card::print(&card, &format!("{}, extended", agent.url));
    }
    Ok(Exit::Ok)
}
