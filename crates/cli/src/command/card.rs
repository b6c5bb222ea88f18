//! `convoke card`

mod keys;
mod show;
mod sign;
mod verify;

use std::path::Path;

use protocol::{
    card,
    outbound::Outbound,
    signature::{self, Keys, SignatureError, Verification},
};

pub(crate) use show::print;
pub(crate) use sign::algorithm;

use crate::{
    agent,
    args::{Args, CardCommand},
    failure::{Exit, Failure},
    place,
};

pub(crate) async fn run(args: &Args, command: &CardCommand) -> Result<Exit, Failure> {
    match command {
        CardCommand::Show { from, keys, extended: true, headers } => {
            show::extended(args, from, keys, headers).await
        }
        CardCommand::Show { from, keys, extended: false, headers } => {
            show::show(args, from, keys, headers).await
        }
        CardCommand::Sign(sign) => sign::sign(sign),
        CardCommand::Verify { from, keys } => verify::verify(args, from, keys).await,
        CardCommand::Keys(command) => keys::run(command),
    }
}

/// A card as it came.
struct Received {
    /// The file, or the address after redirects.
    origin: String,
    text: Vec<u8>,
    is_fetched: bool,
}

/// Fetches a card, with these headers, or reads it.
async fn receive(outbound: &Outbound, from: &str, headers: &[String]) -> Result<Received, Failure> {
    if is_url(from) {
        let fetched = card::fetch_with_headers(outbound, from, &agent::headers(headers)?).await;
        let fetched = fetched.map_err(Failure::unavailable)?;
        return Ok(Received { origin: fetched.url, text: fetched.text.to_vec(), is_fetched: true });
    }
    if !headers.is_empty() {
        return Err(Failure::usage(format!("--header goes with a URL, and {from} is a file")));
    }
    Ok(Received { origin: from.to_owned(), text: read(from.as_ref())?, is_fetched: false })
}

/// Checks a card's signatures. One that was read from a file needs no network.
async fn check(
    outbound: &Outbound,
    received: &Received,
    keys: &Keys,
) -> Result<Verification, Failure> {
    let Received { origin, text, is_fetched } = received;
    let verification = if *is_fetched {
        signature::check(outbound, text, origin, keys).await
    } else {
        signature::verify(text, keys)
    };
    verification.map_err(|error| Failure::usage(format!("{origin}: {error}")))
}

/// Reads all the keys that the operator named.
async fn pinned(outbound: &Outbound, named: &[String]) -> Result<Keys, Failure> {
    let mut keys = Keys::default();
    for from in named {
        let more = if is_url(from) {
            signature::fetch_keys(outbound, from).await.map_err(|error| match error {
                SignatureError::PublicKey { .. } => Failure::usage(error),
                error => Failure::unavailable(error),
            })?
        } else {
            Keys::read(&read(from.as_ref())?, from).map_err(Failure::usage)?
        };
        keys.join(more);
    }
    Ok(keys)
}

/// Reads a card or a key file.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |why: String| Failure::usage(format!("cannot read {}: {why}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| cannot(error.to_string()))?.len();
    if size > card::MAX_BYTES as u64 {
        return Err(cannot(format!("it is larger than {} bytes", card::MAX_BYTES)));
    }
    std::fs::read(path).map_err(|error| cannot(error.to_string()))
}

fn is_url(from: &str) -> bool {
    from.contains("://")
}

/// The guarded client.
fn outbound() -> Result<Outbound, Failure> {
    place::outbound()
}
