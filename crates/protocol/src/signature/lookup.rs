//! Keys from the network: those the operator names, and those a card names itself.

use std::collections::BTreeMap;

use url::Url;

use super::{
    Keys, SignatureError, Verification,
    verify::{Checking, Offer},
};
use crate::outbound::{FetchLimits, Outbound};

/// The largest key set that is read, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// How many key sets one card may send us for.
const MAX_LOOKUPS: usize = 2;

/// Fetches the keys at an address that the operator named.
///
/// # Errors
/// [`SignatureError::Fetch`], [`SignatureError::Status`] and [`SignatureError::PublicKey`].
pub async fn fetch_keys(outbound: &Outbound, url: &str) -> Result<Keys, SignatureError> {
    keys_at(outbound, url).await.map(|(_, keys)| keys)
}

/// Checks the signatures of a card that was fetched from an address, as [`super::verify()`] does. For
/// keys that are not known it looks where the card says they are (`jku`), if that is on the server
/// the card came from; nowhere else, so that a card cannot send us about. Such a signature is valid
/// at most, never trusted.
///
/// # Errors
/// [`SignatureError::Json`] when the text is no JSON object. A key set that cannot be had is the
/// flaw of the signature that names it.
pub async fn check(
    outbound: &Outbound,
    text: &[u8],
    card_url: &str,
    keys: &Keys,
) -> Result<Verification, SignatureError> {
    let checking = Checking::of(text)?;
    let mut found: BTreeMap<&str, Result<Keys, String>> = BTreeMap::new();
    for url in checking.unknown(keys) {
        if found.contains_key(url) {
            continue;
        }
        let looked_up = match found.len() {
            ..MAX_LOOKUPS => offered(outbound, url, card_url).await,
            _ => Err(format!("only {MAX_LOOKUPS} addresses are looked up for one card")),
        };
        found.insert(url, looked_up);
    }
    Ok(checking.verification(keys, &|url| match found.get(url) {
        None => Offer::None,
        Some(Ok(keys)) => Offer::Keys(keys),
        Some(Err(why)) => Offer::Refused(why.clone()),
    }))
}

/// Fetches the keys at an address that a card names, if they are on the card's own server.
async fn offered(outbound: &Outbound, url: &str, card_url: &str) -> Result<Keys, String> {
    let origin = |url: &str| Url::parse(url).map(|url| url.origin());
    let (Ok(here), Ok(there)) = (origin(card_url), origin(url)) else {
        return Err("it is not a URL".to_owned());
    };
    let elsewhere =
        || "it is not on the server that the card came from, and no other is asked".to_owned();
    if here != there {
        return Err(elsewhere());
    }
    let (found_at, keys) = keys_at(outbound, url).await.map_err(|error| error.to_string())?;
    // A redirect must not lead to where the card may not point.
    if found_at.origin() == here { Ok(keys) } else { Err(elsewhere()) }
}

async fn keys_at(outbound: &Outbound, url: &str) -> Result<(Url, Keys), SignatureError> {
    let limits = FetchLimits { max_bytes: MAX_BYTES, ..FetchLimits::default() };
    let fetched = outbound.fetch(url, limits).await?;
    if !fetched.status.is_success() {
        let (url, status) = (fetched.url.to_string(), fetched.status.as_u16());
        return Err(SignatureError::Status { url, status });
    }
    let keys = Keys::read(&fetched.body, fetched.url.as_str())?;
    Ok((fetched.url, keys))
}
