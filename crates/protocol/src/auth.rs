//! Credentials for calling other agents (A2A §7).
//!
//! An operator writes down [`Credential`]s for an agent; its card says what it wants. A [`Keyring`]
//! brings the two together and makes, for each call, the [`Proof`] that the call carries. Two rules
//! hold whatever a card says: a proof goes to origins that the operator approved and to no others,
//! and secrets are known here by reference until they are needed, and never shown, also not where an agent
//! repeats them.

mod caller;
mod credential;
mod endpoints;
mod error;
mod exchange;
mod fetch;
mod hidden;
mod keyring;
mod login;
mod origin;
mod proof;
mod scheme;
mod secret;
mod secrets;
mod shown;
#[cfg(test)]
mod tests;
mod token;
mod vault;

pub use caller::{Caller, CallerToken};
pub use credential::{Credential, Flow, Issuer, Method, OAuthClient};
pub use error::AuthError;
pub use exchange::TokenExchange;
pub use keyring::Keyring;
pub use login::{Login, LoginByBrowser, LoginByDevice};
pub use origin::{NotAnOrigin, Origin};
pub use proof::Proof;
pub use secret::{Secret, SecretSource};
pub use vault::Vault;

pub(crate) use endpoints::well_known;
pub(crate) use fetch::FetchError;
pub(crate) use hidden::{Hidden, Repeated};
