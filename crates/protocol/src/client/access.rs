//! What calls carry so that the agent lets them in, and what its refusal means.

use super::{ClientError, Delivery, FailureClass, call::Call};
use crate::auth::{AuthError, Proof};

#[cfg(doc)]
use crate::auth::Keyring;

impl Call {
    /// What the call carries; `None` without a [`Keyring`].
    pub(super) async fn proof(&self) -> Result<Option<Proof>, ClientError> {
        let client = &self.client;
        let Some(keyring) = &client.keyring else { return Ok(None) };
        let proof = keyring.proof(&client.url).await;
        proof.map(Some).map_err(|error| self.without_proof(&error))
    }

    /// What the call carries instead of a proof that was refused, if there is anything else.
    pub(super) async fn other_proof(&self, refused: &Proof) -> Result<Option<Proof>, ClientError> {
        let client = &self.client;
        let Some(keyring) = &client.keyring else { return Ok(None) };
        let proof = keyring.renewed(&client.url, refused).await;
        proof.map_err(|error| self.without_proof(&error))
    }

    fn without_proof(&self, error: &AuthError) -> ClientError {
        ClientError::without_proof(self.operation, self.url(), error)
    }

    /// Adds to a refusal what the agent's card wants and how to give it. Where nothing was sent for
    /// want of a proof, that has been said.
    pub(super) fn advised(&self, error: ClientError) -> ClientError {
        let is_refusal =
            error.class == FailureClass::Unauthorized && error.delivery == Delivery::Answered;
        match &self.client.keyring {
            Some(keyring) if is_refusal => {
                let message = format!("{}. {}", error.message, keyring.advice());
                ClientError { message, ..error }
            }
            _ => error,
        }
    }
}
