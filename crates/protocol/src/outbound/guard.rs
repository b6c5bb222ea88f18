//! The resolver that judges every answer.

use std::{
    error::Error,
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{OutboundError, Policy};

/// Looks a name up. A value, so that tests can answer differently each time.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Asks the operating system.
pub(super) fn system_lookup() -> Lookup {
    Arc::new(|host| {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((host, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    })
}

/// A resolver that hands out only addresses the policy allows. It is asked for every new
/// connection, so an answer that changes is judged when it is used and not only when it was first
/// seen.
pub(super) struct Guard {
    policy: Arc<Policy>,
    lookup: Lookup,
}

impl Guard {
    pub(super) fn new(policy: Arc<Policy>, lookup: Lookup) -> Guard {
        Guard { policy, lookup }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guard").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, lookup) = (self.policy.clone(), self.lookup.clone());
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let answers = lookup(host.clone()).await;
            let usable = usable(&policy, host, answers)?;
            Ok(Box::new(usable.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

/// Keeps the allowed answers. One refused answer beside an allowed one is left out, not fatal: a
/// dual-stack host may have a unique-local address besides its public one.
fn usable(
    policy: &Policy,
    host: String,
    answers: io::Result<Vec<IpAddr>>,
) -> Result<Vec<IpAddr>, Unusable> {
    let answers = match answers {
        Ok(answers) => answers,
        Err(error) => return Err(Unusable::Unresolved { host, why: error.to_string() }),
    };
    let mut allowed = Vec::with_capacity(answers.len());
    let mut refused = None;
    for address in answers {
        match policy.refusal(address) {
            None => allowed.push(address),
            Some(range) => refused = refused.or(Some((address, range))),
        }
    }
    match (allowed.is_empty(), refused) {
        (false, _) => Ok(allowed),
        (true, Some((address, range))) => Err(Unusable::Refused { address, range }),
        (true, None) => Err(Unusable::Unresolved { host, why: "it has no addresses".to_owned() }),
    }
}

/// Why a name gave nothing to connect to; travels inside the client's own error.
#[derive(Clone, Debug)]
pub(super) enum Unusable {
    Refused { address: IpAddr, range: &'static str },
    Unresolved { host: String, why: String },
}

impl Unusable {
    /// Finds the guard's word behind an error of the HTTP client.
    pub(super) fn behind(error: &(dyn Error + 'static)) -> Option<Unusable> {
        let mut next = Some(error);
        while let Some(cause) = next {
            if let Some(found) = cause.downcast_ref::<Unusable>() {
                return Some(found.clone());
            }
            next = cause.source();
        }
        None
    }

    pub(super) fn into_error(self, url: String) -> OutboundError {
        match self {
            Unusable::Refused { address, range } => OutboundError::Refused { url, address, range },
            Unusable::Unresolved { host, why } => OutboundError::Unresolved { url, host, why },
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Refused { address, range } => {
                write!(formatter, "{address} is a {range} address")
            }
            Unusable::Unresolved { host, why } => write!(formatter, "{host}: {why}"),
        }
    }
}

impl Error for Unusable {}
