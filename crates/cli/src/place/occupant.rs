//! Asking the process that holds the data folder.

use std::{path::Path, time::Duration};

use http::{Method, StatusCode};
use protocol::outbound::{Outbound, OutboundError};
use serde::de::DeserializeOwned;
use server::local::{Address, Ask, Refusal, VERSION};
use store::StoreError;
use url::Url;

/// How long it may take to say that it is there.
const HELLO: Duration = Duration::from_secs(2);

/// The process that holds a data folder, and listens.
pub(super) struct Occupant {
    url: Url,
    address: Address,
    outbound: Outbound,
    locked: StoreError,
}

/// Why there is no answer.
pub(super) enum Unheard {
    /// It has looked at the request, and says no.
    Refused(Refusal),
    /// The request has not reached it: it is gone.
    Unsent(String),
    /// Nobody knows whether it has done what was asked.
    Lost(String),
}

impl Occupant {
    /// Finds who has the folder open, by the file that it writes there. `None` when there is none, or it was left
    /// behind, or speaks another version.
    pub(super) async fn find(
        folder: &Path,
        outbound: &Outbound,
        locked: &StoreError,
    ) -> Option<Self> {
        let address = Address::read(folder).filter(|address| address.version == VERSION)?;
        let url = Url::parse(&address.url).ok()?;
        let occupant = Self { url, address, outbound: outbound.clone(), locked: locked.clone() };
        occupant.ask::<()>(&Ask::Hello, HELLO).await.ok().map(|()| occupant)
    }

    /// Asks, and reads the answer that goes with what was asked.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        ask: &Ask,
        patience: Duration,
    ) -> Result<T, Unheard> {
        let unsent = |error: OutboundError| Unheard::Unsent(error.to_string());
        let request = self.outbound.request(Method::POST, &self.url).map_err(unsent)?;
        let request = request.bearer_auth(self.address.key.reveal()).timeout(patience).json(ask);
        let response = match self.outbound.send(&self.url, request).await {
            Ok(response) => response,
            Err(error @ OutboundError::Connect { .. }) => return Err(unsent(error)),
            Err(error) => return Err(Unheard::Lost(error.to_string())),
        };
        let status = response.status();
        let body = response.bytes().await.map_err(|error| Unheard::Lost(error.to_string()))?;
        match status {
            StatusCode::OK => read(&body),
            StatusCode::UNPROCESSABLE_ENTITY => Err(Unheard::Refused(read(&body)?)),
            // Another process has the port now.
            StatusCode::UNAUTHORIZED => Err(Unheard::Unsent("the key was refused".to_owned())),
            status => Err(Unheard::Lost(format!("it answered with status {status}"))),
        }
    }

    /// The error of whoever wants the folder for itself: it names this process.
    pub(super) fn locked(&self) -> StoreError {
        self.locked.clone()
    }
}

/// For people.
impl std::fmt::Display for Occupant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.locked {
            StoreError::Locked { holder: Some(holder), .. } => holder.fmt(f),
            _ => f.write_str("another process"),
        }
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Unheard> {
    serde_json::from_slice(body).map_err(|error| Unheard::Lost(error.to_string()))
}
