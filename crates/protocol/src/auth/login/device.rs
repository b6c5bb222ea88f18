//! The device authorization grant (RFC 8628).

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::Begun;
use crate::auth::{
    AuthError, Keyring, Secret,
    endpoints::Endpoints,
    scheme::Use,
    token::{Answer, scopes},
};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// How often to ask when the server does not say (RFC 8628 §3.2), and how much slower when it wants
/// that (§3.5).
const INTERVAL: Duration = Duration::from_secs(5);
/// However fast the server wants to be asked.
const SHORTEST: Duration = Duration::from_millis(20);

/// A login by a code that a person types elsewhere.
#[derive(Debug)]
pub struct LoginByDevice {
    /// Where the person goes.
    pub url: String,
    /// What the person types there.
    pub code: String,
    /// A URL that holds the code already, if the server has one.
    pub complete_url: Option<String>,
    begun: Begun,
    device_code: Secret,
    interval: Duration,
    until: Instant,
}

/// What the device endpoint answers (RFC 8628 §3.2).
#[derive(Deserialize)]
struct Granted {
    device_code: String,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    #[serde(default = "half_an_hour")]
    expires_in: u64,
    interval: Option<u64>,
}

fn half_an_hour() -> u64 {
    30 * 60
}

impl Keyring {
    pub(super) async fn by_device(
        &self,
        used: Use,
        endpoints: Endpoints,
    ) -> Result<LoginByDevice, AuthError> {
        let Some(url) = &endpoints.device else {
            return Err(self.failed("its authorization server has no device endpoint"));
        };
        let client = self.inner.client(&used);
        let scope = scopes(&used, client);
        let form = if scope.is_empty() { vec![] } else { vec![("scope", scope.as_str())] };
        let granted: Granted = self.inner.ask((&used, client), &endpoints, url, &form).await?;
        let begun = Begun { keyring: self.clone(), used, endpoints };
        Ok(LoginByDevice {
            url: granted.verification_uri,
            code: granted.user_code,
            complete_url: granted.verification_uri_complete,
            begun,
            device_code: Secret::new(granted.device_code),
            interval: granted.interval.map_or(INTERVAL, Duration::from_secs).max(SHORTEST),
            until: Instant::now() + Duration::from_secs(granted.expires_in),
        })
    }
}

impl LoginByDevice {
    /// Asks again and again until the person has authorized.
    pub(super) async fn finish(mut self) -> Result<(), AuthError> {
        let Begun { keyring, used, endpoints } = self.begun.clone();
        let (inner, client) = (&keyring.inner, keyring.inner.client(&used));
        let form = [("grant_type", GRANT), ("device_code", self.device_code.expose())];
        while Instant::now() < self.until {
            sleep(self.interval).await;
            let asked = inner.ask::<Answer>((&used, client), &endpoints, &endpoints.token, &form);
            match asked.await {
                Ok(answer) => return inner.keep(&used, &endpoints, answer).await,
                Err(AuthError::Refused { code, .. }) if code == "authorization_pending" => {}
                Err(AuthError::Refused { code, .. }) if code == "slow_down" => {
                    self.interval += INTERVAL;
                }
                Err(error) if error.is_passing() => {}
                Err(error) => return Err(error),
            }
        }
        Err(keyring.failed("nobody typed the code in time; run the command again"))
    }
}
