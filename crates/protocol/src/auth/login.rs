//! Logging in: a person authorizes, and tokens are kept.

mod browser;
mod device;

pub use browser::LoginByBrowser;
pub use device::LoginByDevice;

use super::{AuthError, Flow, Keyring, Method, endpoints::Endpoints, scheme::Use};

/// A login that waits for a person.
#[derive(Debug)]
pub enum Login {
    /// In a browser on this machine.
    Browser(LoginByBrowser),
    /// On whatever device, with a code.
    Device(LoginByDevice),
}

impl Login {
    /// Waits until the person has authorized, and keeps the tokens.
    ///
    /// # Errors
    /// When the person declines, time runs out, or the authorization server fails.
    pub async fn finish(self) -> Result<(), AuthError> {
        match self {
            Login::Browser(login) => login.finish().await,
            Login::Device(login) => login.finish().await,
        }
    }
}

impl Keyring {
    /// Begins the login that the agent's card and credentials ask for.
    ///
    /// # Errors
    /// When they ask for none, or the authorization server fails.
    pub async fn login(&self) -> Result<Login, AuthError> {
        for used in self.inner.uses()? {
            let Method::Oauth2(client) = &self.inner.credentials[used.index].method else {
                continue;
            };
            let endpoints = self.inner.endpoints(&used, client).await?;
            return match endpoints.flow {
                Flow::AuthorizationCode => {
                    Ok(Login::Browser(self.by_browser(used, endpoints).await?))
                }
                Flow::DeviceCode => Ok(Login::Device(self.by_device(used, endpoints).await?)),
                Flow::ClientCredentials => Err(self.failed(
                    "its token is gotten by client credentials, without anybody logging in; \
                     where the card leaves the choice, `flow` in the catalog makes it",
                )),
            };
        }
        Err(self.failed("its credentials hold no `oauth2`, so there is nothing to log in to"))
    }

    fn failed(&self, why: &str) -> AuthError {
        AuthError::Login { agent: self.inner.agent.clone(), why: why.to_owned() }
    }
}

/// What both ways share: whose login it is, and where.
#[derive(Clone, Debug)]
struct Begun {
    keyring: Keyring,
    used: Use,
    endpoints: Endpoints,
}
