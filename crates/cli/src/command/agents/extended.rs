//! `convoke agents show --extended`

use crate::{
    args::Args,
    command::card,
    directory::Directory,
    failure::{Exit, Failure},
    output,
};

/// Shows the card that an agent has for those it knows (A2A §3.1.11), asked for where its credentials are.
pub(super) async fn show(args: &Args, directory: &Directory, name: &str) -> Result<Exit, Failure> {
    let card = directory.extended_card(name).await?;
    if args.json {
        output::json(&card)?;
    } else {
        card::print(&card, &format!("{name}, extended"));
    }
    Ok(Exit::Ok)
}
