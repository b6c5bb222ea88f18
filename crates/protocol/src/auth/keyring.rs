//! An agent's credentials, ready to use.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use http::{HeaderName, header};
use url::Url;

pub(super) use super::secrets::Role;
use super::{
    AuthError, Caller, Credential, Hidden, Method, Origin, Proof, Secret, SecretSource, Vault,
    exchange::Exchanged,
    scheme::{Use, Wants},
    secrets::Secrets,
    shown::Shown,
    token::Tokens,
};
use crate::{
    outbound::Outbound,
    v1::{AgentCard, ApiKeySecurityScheme, security_scheme::Scheme},
};

/// The credentials of one agent, its card, and where the credentials may go. Cheap to clone; clones
/// share secrets that were read and tokens that were gotten.
#[derive(Clone)]
pub struct Keyring {
    pub(super) inner: Arc<Inner>,
    /// On whose behalf the agent is called.
    pub(super) caller: Caller,
}

pub(super) struct Inner {
    /// What people know the agent by.
    pub(super) agent: String,
    pub(super) outbound: Outbound,
    pub(super) credentials: Vec<Credential>,
    pub(super) origins: Vec<Origin>,
    pub(super) wants: Wants,
    pub(super) vault: Vault,
    /// For each credential its tokens; the lock is what makes renewals go one at a time.
    pub(super) tokens: Vec<tokio::sync::Mutex<Option<Tokens>>>,
    /// Tokens that were gotten for those of callers.
    pub(super) exchanged: Exchanged,
    pub(super) secrets: Secrets,
    certificate: Mutex<Option<([Secret; 3], Outbound)>>,
    /// Secrets that the agent, or its authorization server, was shown.
    pub(super) shown: Shown,
}

impl Keyring {
    /// Puts together what an operator wrote down for an agent, the origins it may go to, and what
    /// the agent's card wants, when that is known. `agent` is what people know it by.
    #[must_use]
    pub fn new(
        outbound: &Outbound,
        agent: &str,
        (credentials, origins): (Vec<Credential>, Vec<Origin>),
        card: Option<&AgentCard>,
        vault: Vault,
    ) -> Keyring {
        let inner = Inner {
            agent: agent.to_owned(),
            outbound: outbound.clone(),
            tokens: credentials.iter().map(|_| tokio::sync::Mutex::default()).collect(),
            credentials,
            origins,
            wants: card.map(Wants::of).unwrap_or_default(),
            vault,
            exchanged: Exchanged::default(),
            secrets: Secrets::default(),
            certificate: Mutex::default(),
            shown: Shown::default(),
        };
        Keyring { inner: Arc::new(inner), caller: Caller::nobody() }
    }

    /// Calls the agent on behalf of somebody, whose token is exchanged where that is what was written down for it. A
    /// keyring calls on behalf of nobody without this.
    #[must_use]
    pub fn on_behalf_of(self, caller: &Caller) -> Keyring {
        Keyring { caller: caller.clone(), ..self }
    }

    /// Tells whether the agent cannot be called until its caller has come again: what is called for is a token in exchange
    /// for the caller's, and that has ended, or was not kept.
    #[must_use]
    pub fn awaits_caller(&self) -> bool {
        let Ok(uses) = self.inner.uses() else { return false };
        self.caller.is_away() && uses.iter().any(|it| self.inner.lacks_token(it, &self.caller))
    }

    /// Tells whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.credentials.is_empty()
    }

    /// Returns the client that it was made with, which shows no certificate.
    #[must_use]
    pub fn outbound(&self) -> &Outbound {
        &self.inner.outbound
    }

    /// Says in a sentence what the agent's card wants and how to give it.
    #[must_use]
    pub fn advice(&self) -> String {
        self.inner.wants.advice()
    }

    /// Makes what a call to a URL carries. An empty keyring makes an empty proof.
    ///
    /// # Errors
    /// An [`AuthError`]; in particular when the URL is not of an approved origin.
    pub async fn proof(&self, url: &Url) -> Result<Proof, AuthError> {
        if self.is_empty() { Ok(Proof::default()) } else { self.proof_for(url, None).await }
    }

    /// Returns the secrets that the agent was shown so far.
    pub(crate) fn hidden(&self) -> Hidden {
        Hidden::new(self.inner.shown.secrets().into_iter().chain(self.caller.shown()))
    }

    /// Says which secrets [`Keyring::hidden`] would return, as a number each for the agent's and the caller's: another one
    /// when there are more.
    pub(crate) fn hidden_since(&self) -> (u64, u64) {
        (self.inner.shown.count(), self.caller.shown_count())
    }

    /// Makes another proof after one was refused: with secrets read again and tokens gotten anew.
    /// Nothing when that comes to the same.
    ///
    /// # Errors
    /// As [`Keyring::proof`].
    pub(crate) async fn renewed(
        &self,
        url: &Url,
        refused: &Proof,
    ) -> Result<Option<Proof>, AuthError> {
        if self.is_empty() {
            return Ok(None);
        }
        self.inner.secrets.clear();
        let proof = self.proof_for(url, Some(refused)).await?;
        Ok((!proof.is_same(refused)).then_some(proof))
    }

    async fn proof_for(&self, url: &Url, refused: Option<&Proof>) -> Result<Proof, AuthError> {
        self.inner.proof(url, (&self.caller, refused)).await
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { agent, credentials, origins, .. } = &*self.inner;
        let mut shown = formatter.debug_struct("Keyring");
        shown.field("agent", agent).field("credentials", credentials).field("origins", origins);
        shown.finish_non_exhaustive()
    }
}

impl Inner {
    /// The uses that the card's wishes come to.
    pub(super) fn uses(&self) -> Result<Vec<Use>, AuthError> {
        self.wants.choose(&self.credentials).ok_or_else(|| AuthError::Unfit {
            agent: self.agent.clone(),
            given: self
                .credentials
                .iter()
                .map(|it| it.method.name())
                .collect::<Vec<_>>()
                .join(", "),
            wanted: self.wants.advice(),
        })
    }

    async fn proof(
        self: &Arc<Self>,
        url: &Url,
        how: (&Caller, Option<&Proof>),
    ) -> Result<Proof, AuthError> {
        if !self.is_approved(url) {
            return Err(AuthError::Origin {
                agent: self.agent.clone(),
                origin: Origin::of(url).map_or_else(|_| url.to_string(), |it| it.to_string()),
                approved: self.origins.clone(),
            });
        }
        let mut proof = Proof::default();
        for used in self.uses()? {
            self.add(&mut proof, &used, url, how).await?;
        }
        Ok(proof)
    }

    /// What a connection has to show before anything is asked.
    pub(super) async fn certificates(self: &Arc<Self>, url: &Url) -> Result<Proof, AuthError> {
        let mut proof = Proof::default();
        for (index, credential) in self.credentials.iter().enumerate() {
            if matches!(credential.method, Method::Certificate { .. }) {
                self.add(&mut proof, &Use::bare(index), url, (&Caller::nobody(), None)).await?;
            }
        }
        Ok(proof)
    }

    pub(super) fn is_approved(&self, url: &Url) -> bool {
        self.origins.iter().any(|origin| origin.holds(url))
    }

    async fn add(
        self: &Arc<Self>,
        proof: &mut Proof,
        used: &Use,
        url: &Url,
        (caller, refused): (&Caller, Option<&Proof>),
    ) -> Result<(), AuthError> {
        let index = used.index;
        match &self.credentials[index].method {
            Method::ApiKey(source) => {
                let key = self.secret(index, Role::ApiKey, source).await?;
                if let Some(Scheme::ApiKeySecurityScheme(scheme)) = &used.scheme {
                    self.add_key(proof, scheme, key)?;
                }
            }
            Method::Header { name, value } => {
                let value = self.secret(index, Role::Header, value).await?;
                self.add_header(proof, name, "", &value)?;
            }
            Method::Basic { username, password } => {
                let password = self.secret(index, Role::Password, password).await?;
                self.shown.note(&proof.add_basic(username, &password));
            }
            Method::Bearer(source) => {
                let token = self.secret(index, Role::Bearer, source).await?;
                self.add_header(proof, header::AUTHORIZATION.as_str(), "Bearer ", &token)?;
            }
            Method::Oauth2(_) | Method::TokenExchange(_) => {
                let refused = refused.and_then(|it| it.token_of(index));
                let token = match &self.credentials[index].method {
                    Method::TokenExchange(exchange) => {
                        self.exchanged((used, exchange), caller, refused.as_ref()).await?
                    }
                    _ => self.token(used, refused).await?,
                };
                self.add_header(proof, header::AUTHORIZATION.as_str(), "Bearer ", &token)?;
                proof.note_token(index, token);
            }
            Method::Certificate { certificate, key, authorities } => {
                if url.scheme() != "https" {
                    return Err(self.unusable(&format!(
                        "a client certificate can be shown over https alone, and {url} is not"
                    )));
                }
                let sources = (certificate, key, authorities.as_ref());
                proof.show_certificate(self.with_certificate(index, sources).await?);
            }
        }
        Ok(())
    }

    fn add_key(
        &self,
        proof: &mut Proof,
        scheme: &ApiKeySecurityScheme,
        key: Secret,
    ) -> Result<(), AuthError> {
        let ApiKeySecurityScheme { location, name, .. } = scheme;
        match location.to_ascii_lowercase().as_str() {
            "header" | "" => self.add_header(proof, name, "", &key),
            "query" => {
                proof.add_parameter(name, key);
                Ok(())
            }
            "cookie" => proof.add_cookie(name, &key).ok_or_else(|| self.misfit(name)),
            other => Err(self.unusable(&format!(
                "its card wants an API key in `{other}`, which is none of header, query and cookie"
            ))),
        }
    }

    fn add_header(
        &self,
        proof: &mut Proof,
        name: &str,
        prefix: &str,
        secret: &Secret,
    ) -> Result<(), AuthError> {
        let header = HeaderName::try_from(name).map_err(|_| self.misfit(name))?;
        let value = secret.header(prefix).ok_or_else(|| self.misfit(name))?;
        proof.add_header(header, value);
        Ok(())
    }

    fn misfit(&self, name: &str) -> AuthError {
        self.unusable(&format!("what there is for `{name}` cannot stand in a request"))
    }

    /// The client that shows a certificate, made anew when the files say something else.
    async fn with_certificate(
        &self,
        index: usize,
        (certificate, key, authorities): (&SecretSource, &SecretSource, Option<&SecretSource>),
    ) -> Result<Outbound, AuthError> {
        let certificate = self.secret(index, Role::Certificate, certificate).await?;
        let key = self.secret(index, Role::CertificateKey, key).await?;
        let authorities = match authorities {
            Some(source) => self.secret(index, Role::Authorities, source).await?,
            None => Secret::new(""),
        };
        let read = [certificate, key, authorities];
        let mut held = self.certificate.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, outbound)) = &*held
            && *known == read
        {
            return Ok(outbound.clone());
        }
        let [certificate, key, authorities] = &read;
        let pair = format!("{}\n{}\n", certificate.expose(), key.expose());
        let made = self.outbound.with_certificate(pair.as_bytes(), authorities.expose().as_bytes());
        let outbound = made.map_err(|why| {
            self.unusable(&format!("its client certificate cannot be used: {why}"))
        })?;
        *held = Some((read, outbound.clone()));
        Ok(outbound)
    }
}
