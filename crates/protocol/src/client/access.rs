//! What calls carry so that the agent lets them in, and what its refusal means.

use std::sync::{Arc, PoisonError};

use ::http::header;

use super::{ClientError, Delivery, FailureClass, Inner, call::Call};
use crate::auth::{AuthError, Hidden, Keyring, Proof};

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

    /// The secrets that the call may have shown: put together once, and again when there are others.
    pub(super) fn hidden(&self) -> Arc<Hidden> {
        let client = &self.client;
        let since = client.keyring.as_ref().map(Keyring::hidden_since).unwrap_or_default();
        let mut known = client.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, hidden)) if *of == since => Arc::clone(hidden),
            _ => {
                let hidden = Arc::new(client.all_hidden());
                *known = Some((since, Arc::clone(&hidden)));
                hidden
            }
        }
    }

    /// A failure without what the agent repeats of the call's secrets.
    pub(super) fn hiding(&self, error: ClientError) -> ClientError {
        let (hidden, mut remote) = (self.hidden(), error.remote);
        if let Some(remote) = &mut remote {
            hidden.error(remote);
        }
        ClientError { message: hidden.text(&error.message).into_owned(), remote, ..error }
    }

    /// Hides secrets in a failure, and adds to a refusal what the agent's card wants and how to give it. Where nothing was sent for
    /// want of a proof, that has been said.
    pub(super) fn advised(&self, error: ClientError) -> ClientError {
        let error = self.hiding(error);
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

impl Inner {
    fn all_hidden(&self) -> Hidden {
        let hidden = self.keyring.as_ref().map(Keyring::hidden).unwrap_or_default();
        let authorization =
            self.authorization.iter().map(|value| (header::AUTHORIZATION, value.clone()));
        hidden.with_headers(&self.headers).with_headers(&authorization.collect())
    }
}
