//! Address to card.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::Value as Json;
use url::Url;

use super::freshness::Freshness;
use super::read::is_card;
use super::{CardError, NoCard, read};
use crate::auth::{Hidden, Keyring};
use crate::outbound::{FetchLimits, Fetched, Outbound};
use crate::v1::AgentCard;

/// The largest card that is read, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// What one place may cost.
const LIMITS: FetchLimits =
    FetchLimits { max_bytes: MAX_BYTES, timeout: Duration::from_secs(15), max_redirects: 5 };

/// Where A2A 1.0 and 0.3 put the card (§8.2), and where 0.2 did.
const WELL_KNOWN: [&str; 2] = ["/.well-known/agent-card.json", "/.well-known/agent.json"];

/// A card and where it was found.
#[derive(Clone, Debug)]
pub struct FetchedCard {
    /// The address of the card, after redirects.
    pub url: String,
    /// The card.
    pub card: AgentCard,
    /// The JSON as it was received.
    pub raw: Json,
    /// The text as it was received: what [`crate::signature::check`] looks at.
    pub text: Bytes,
    /// How long the card stays as it is, as its server says.
    pub freshness: Freshness,
    /// Which of the places it was found at, before redirects.
    place: String,
}

/// Fetches the card of the agent at an address: from the address itself, else from
/// the well-known places below its path, else from those of its host.
///
/// An address that ends in `.json` is the card's own, and nothing else is tried.
/// Dropping the future gives the fetch up.
///
/// # Errors
/// [`CardError::At`] for a card that cannot be used; [`CardError::Nothing`] when the
/// only place holds no card or the host cannot be reached; [`CardError::NotFound`]
/// when none of the places holds one.
pub async fn fetch(outbound: &Outbound, url: &str) -> Result<FetchedCard, CardError> {
    fetch_with_headers(outbound, url, &HeaderMap::new()).await
}

/// Fetches a card as [`fetch`] does, with further headers for the origin of the address.
///
/// # Errors
/// As [`fetch`].
pub async fn fetch_with_headers(
    outbound: &Outbound,
    url: &str,
    headers: &HeaderMap,
) -> Result<FetchedCard, CardError> {
    find(&Asked::Openly(outbound, headers), url).await
}

/// Fetches a card as [`fetch`] does, by the client of a keyring, and shows what is in it where the
/// card is refused without. Places of other origins than the approved ones are asked openly.
///
/// # Errors
/// As [`fetch`], and [`NoCard::Auth`] when there is no proof to show.
pub async fn fetch_with_keyring(keyring: &Keyring, url: &str) -> Result<FetchedCard, CardError> {
    find(&Asked::With(keyring), url).await
}

/// How a place is asked.
enum Asked<'a> {
    /// With these headers for the origin of its address.
    Openly(&'a Outbound, &'a HeaderMap),
    /// With a proof where it is refused without.
    With(&'a Keyring),
}

impl Asked<'_> {
    fn outbound(&self) -> &Outbound {
        match self {
            Asked::Openly(outbound, _) => outbound,
            Asked::With(keyring) => keyring.outbound(),
        }
    }

    async fn ask(&self, place: &str) -> Result<Fetched, CardError> {
        let fetched = match self {
            Asked::Openly(outbound, headers) => {
                let fetched = outbound.fetch_with(place, headers, LIMITS).await;
                let hidden = Hidden::default().with_headers(headers);
                let hiding =
                    |fetched: Fetched| Fetched { body: hidden.body(fetched.body), ..fetched };
                fetched.map(hiding).map_err(NoCard::from)
            }
            Asked::With(keyring) => keyring.fetch(place, LIMITS).await.map_err(NoCard::from),
        };
        Ok(fetched?)
    }
}

/// Asks one place after the other until one holds a card.
async fn find(asked: &Asked<'_>, url: &str) -> Result<FetchedCard, CardError> {
    let address = asked.outbound().check(url).map_err(NoCard::from)?;
    let mut tried = Vec::new();
    for place in places(&address) {
        match asked.ask(&place).await.and_then(|fetched| card_of(fetched, &place)) {
            Err(CardError::Nothing(reason)) if reason.leaves_hope() => tried.push(reason),
            outcome => return outcome,
        }
    }
    match tried.pop() {
        Some(only) if tried.is_empty() => Err(only.into()),
        last => {
            tried.extend(last);
            Err(CardError::NotFound { url: url.to_owned(), tried })
        }
    }
}

/// Fetches the card of an agent that was fetched before, by a conditional request to where it was
/// found (A2A §8.6.2): a server whose card is unchanged says no more than that. A card that is no
/// longer there is looked for like a first time.
///
/// # Errors
/// Those of [`fetch`].
pub async fn fetch_again(
    outbound: &Outbound,
    url: &str,
    known: &FetchedCard,
) -> Result<FetchedCard, CardError> {
    let conditions = known.freshness.conditions();
    let answer = Asked::Openly(outbound, &conditions).ask(&known.place).await;
    match answer.and_then(|fetched| same_or_new(fetched, known)) {
        Err(CardError::Nothing(reason)) if reason.leaves_hope() => fetch(outbound, url).await,
        outcome => outcome,
    }
}

fn same_or_new(fetched: Fetched, known: &FetchedCard) -> Result<FetchedCard, CardError> {
    // A redirect that leads elsewhere now says nothing of what was there before.
    if fetched.status == StatusCode::NOT_MODIFIED && fetched.url.as_str() == known.url {
        let freshness = known.freshness.renewed(Freshness::of(&fetched.headers));
        return Ok(FetchedCard { freshness, ..known.clone() });
    }
    card_of(fetched, &known.place)
}

/// Returns the addresses where [`fetch`] looks for the card at an address and below its path, in that
/// order, and before it looks at the host's; none when the address is no URL.
#[must_use]
pub fn own_places(url: &str) -> Vec<String> {
    let Ok(url) = Url::parse(url) else { return Vec::new() };
    places_below(&url, &[url.path().trim_end_matches('/')])
}

/// The addresses where the card may be, each once.
fn places(url: &Url) -> Vec<String> {
    places_below(url, &[url.path().trim_end_matches('/'), ""])
}

fn places_below(url: &Url, bases: &[&str]) -> Vec<String> {
    let mut places = vec![url.to_string()];
    let path = url.path().trim_end_matches('/');
    if path.to_ascii_lowercase().ends_with(".json") {
        return places;
    }
    for base in bases {
        for name in WELL_KNOWN {
            let mut place = url.clone();
            place.set_path(&format!("{base}{name}"));
            place.set_query(None);
            place.set_fragment(None);
            let place = place.to_string();
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

fn card_of(fetched: Fetched, place: &str) -> Result<FetchedCard, CardError> {
    let url = fetched.url.to_string();
    if !fetched.status.is_success() {
        return Err(NoCard::Status { url, status: fetched.status.as_u16() }.into());
    }
    let raw = json(&url, &fetched)?;
    match read(&raw) {
        Ok(card) => Ok(FetchedCard {
            url,
            card,
            raw,
            text: fetched.body,
            freshness: Freshness::of(&fetched.headers),
            place: place.to_owned(),
        }),
        Err(_) if !is_card(&raw) => Err(NoCard::OtherJson { url }.into()),
        Err(error) => Err(CardError::At { url, source: Box::new(error) }),
    }
}

fn json(url: &str, fetched: &Fetched) -> Result<Json, NoCard> {
    serde_json::from_slice(&fetched.body).map_err(|error| {
        let url = url.to_owned();
        if is_html(fetched) {
            NoCard::Html { url }
        } else {
            NoCard::NotJson { url, why: error.to_string() }
        }
    })
}

/// Servers label pages and cards wrongly, so a look at the text decides as well.
fn is_html(fetched: &Fetched) -> bool {
    let content_type = fetched.headers.get(http::header::CONTENT_TYPE);
    let is_labelled = content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.to_ascii_lowercase().starts_with("text/html"));
    is_labelled || fetched.body.trim_ascii_start().starts_with(b"<")
}
