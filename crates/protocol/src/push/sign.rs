//! Signing a notification, so that its receiver knows who sent it, that nobody changed it, and when it was.

use std::sync::{Arc, PoisonError, RwLock};

use http::HeaderName;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{Keyring, PushError};
use crate::v1::TaskPushNotificationConfig;

/// The header with the JWT of a signed notification, on every one of them. The same JWT is the bearer token
/// of Authorization, as A2A's guide to push notifications has it, where a configuration names no credentials.
pub const SIGNATURE_HEADER: HeaderName = HeaderName::from_static("x-convoke-jwt");

/// How long a JWT is good for, in seconds.
const LIFETIME: i64 = 300;

/// Signs notifications with a keyring whose key may change meanwhile.
#[derive(Clone, Debug)]
pub struct Signer {
    issuer: String,
    keys: Arc<RwLock<Keyring>>,
}

/// What a JWT says of a notification.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Claims {
    /// Who sends it: the agent's URL.
    #[serde(default)]
    pub(super) iss: String,
    /// Whom it is for: the URL of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) aud: Option<serde_json::Value>,
    pub(super) iat: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) exp: Option<i64>,
    /// Never used twice: each attempt has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) jti: Option<String>,
    #[serde(default, rename = "taskId", skip_serializing_if = "Option::is_none")]
    pub(super) task_id: Option<String>,
    /// SHA-256 of the body, in hexadecimal digits.
    #[serde(default)]
    pub(super) request_body_sha256: String,
}

impl Signer {
    /// Signs in the name of an issuer, the agent's own URL.
    #[must_use]
    pub fn new(issuer: String, keys: Arc<RwLock<Keyring>>) -> Self {
        Self { issuer, keys }
    }

    /// Makes the JWT of one attempt: over the hash of the body, for this webhook, Task and moment.
    pub(super) fn sign(
        &self,
        config: &TaskPushNotificationConfig,
        body: &[u8],
    ) -> Result<String, PushError> {
        let iat = Timestamp::now().as_second();
        let claims = Claims {
            iss: self.issuer.clone(),
            aud: Some(config.url.as_str().into()),
            iat,
            exp: Some(iat + LIFETIME),
            jti: Some(Uuid::new_v4().to_string()),
            task_id: Some(config.task_id.clone()),
            request_body_sha256: hash(body),
        };
        self.keys.read().unwrap_or_else(PoisonError::into_inner).sign(&claims)
    }
}

/// SHA-256 in lower-case hexadecimal digits.
pub(super) fn hash(body: &[u8]) -> String {
    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
}
