//! API keys: made for an account, shown once, kept as a hash, and good until revoked.
//!
//! A key reads `cvk_ID_SECRET`: the id names it in lists and finds its row, the secret are 256 random bits. The row
//! holds the SHA-256 of the whole key; for that many random bits no slower hash makes a guess any harder.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use jiff::Timestamp;
use protocol::auth::Secret;
use serde::{Deserialize, Serialize};
use store::{
    AccountId, Batch, BlobId, Expect, PageQuery, Row, Store, StoreError, Table, Tags, Write,
};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use super::{AccessError, Principal, Scopes};

/// One row for each key, in the account of the process, ordered by when it was made.
pub(crate) const KEYS: Table = Table::new("api_keys");

/// What every key begins with.
const PREFIX: &str = "cvk_";

/// Version of what is written.
const VERSION: u32 = 1;

/// How often a row is written anew because somebody else has written it meanwhile.
const TRIES: usize = 5;

/// The API keys in a store.
#[derive(Clone)]
pub struct ApiKeys {
    store: Arc<dyn Store>,
    /// In whose rows they are; not whose they are.
    home: AccountId,
}

/// What a key is made for.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Whose Tasks are those of whoever shows it.
    pub account: AccountId,
    /// What it is good for.
    pub scopes: Scopes,
    /// For people: who has it, and what for.
    pub label: String,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// What is kept of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    v: u32,
    id: String,
    hash: String,
    account: AccountId,
    scopes: Scopes,
    label: String,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
}

/// Whether a key is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It is.
    Active,
    /// Its time is over.
    Expired,
    /// Its operator has ended it.
    Revoked,
}

/// A key as its operator sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyReport {
    /// Its id, which is also in the key.
    pub id: String,
    /// Whose it is.
    pub account: AccountId,
    /// What for.
    pub label: String,
    /// What it is good for.
    pub scopes: Scopes,
    /// Whether it is good.
    pub state: KeyState,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// Whether a bearer token is meant as an API key.
pub(super) fn is_meant(token: &str) -> bool {
    token.starts_with(PREFIX)
}

impl NewKey {
    /// Makes the key itself, which is known nowhere else, and what is kept of it.
    #[must_use]
    pub fn draw(self) -> (Secret, KeyRecord) {
        let id = Uuid::new_v4().simple().to_string()[..10].to_owned();
        let key = Secret::draw(&format!("{PREFIX}{id}_"));
        let Self { account, scopes, label, expires_at } = self;
        let (hash, created_at) = (hash(key.expose()), Timestamp::now());
        let revoked_at = None;
        let record = KeyRecord {
            v: VERSION,
            id,
            hash,
            account,
            scopes,
            label,
            created_at,
            expires_at,
            revoked_at,
        };
        (key, record)
    }
}

impl KeyRecord {
    fn state(&self) -> KeyState {
        if self.revoked_at.is_some() {
            KeyState::Revoked
        } else if self.expires_at.is_some_and(|end| end <= Timestamp::now()) {
            KeyState::Expired
        } else {
            KeyState::Active
        }
    }

    fn write(&self, home: &AccountId, expect: Expect) -> Write {
        Write::Put {
            account: home.clone(),
            table: KEYS,
            key: self.id.clone(),
            sort: format!("{:.6}", self.created_at),
            tags: Tags::default(),
            value: Bytes::from(serde_json::to_vec(self).expect("strings and times are JSON")),
            expect,
        }
    }
}

impl From<KeyRecord> for KeyReport {
    fn from(record: KeyRecord) -> Self {
        let state = record.state();
        let KeyRecord { id, account, label, scopes, created_at, expires_at, revoked_at, .. } =
            record;
        Self { id, account, label, scopes, state, created_at, expires_at, revoked_at }
    }
}

impl ApiKeys {
    /// The keys in a store, whose rows are those of an account.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, home: AccountId) -> Self {
        Self { store, home }
    }

    /// Takes a key in. It is good when this returns.
    ///
    /// # Errors
    /// When the store fails, or cannot be written from here.
    pub async fn add(&self, record: &KeyRecord) -> Result<(), StoreError> {
        self.store.commit(Batch::new().write(record.write(&self.home, Expect::Absent))).await
    }

    /// Lists all keys, the oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self) -> Result<Vec<KeyReport>, StoreError> {
        let mut query = PageQuery::new(Some(self.home.clone()), KEYS);
        let mut reports = Vec::new();
        loop {
            let page = self.store.page(&query).await?;
            for row in &page.rows {
                reports.push(record(row)?.into());
            }
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(reports),
            }
        }
    }

    /// Ends a key. When this returns, it is good for no further call. Says whether there is such a key; ending it
    /// twice is no error.
    ///
    /// # Errors
    /// When the store fails, or cannot be written from here.
    pub async fn revoke(&self, id: &str) -> Result<bool, StoreError> {
        let mut tries = 0;
        loop {
            let Some((known, row)) = self.read(id).await? else { return Ok(false) };
            if known.revoked_at.is_some() {
                return Ok(true);
            }
            let revoked = KeyRecord { revoked_at: Some(Timestamp::now()), ..known };
            let write = revoked.write(&self.home, Expect::Version(row.version));
            tries += 1;
            match self.store.commit(Batch::new().write(write)).await {
                Ok(()) => return Ok(true),
                Err(StoreError::Conflict(_)) if tries < TRIES => (),
                Err(error) => return Err(error),
            }
        }
    }

    /// Finds out whose a key is.
    pub(super) async fn identify(&self, key: &str) -> Result<Principal, AccessError> {
        let bad = |why: &str| Err(AccessError::BadCredentials(why.to_owned()));
        let unknown = "the API key is not one that this agent knows";
        let id = key.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
        let Some((id, _)) = id.filter(|(id, _)| is_id(id)) else { return bad(unknown) };
        let known = self.read(id).await.map_err(|error| {
            tracing::warn!(%error, "API keys cannot be looked at just now");
            AccessError::Unknown("API keys cannot be checked just now; try again".to_owned())
        })?;
        let Some((known, _)) = known else { return bad(unknown) };
        if !bool::from(known.hash.as_bytes().ct_eq(hash(key).as_bytes())) {
            return bad(unknown);
        }
        match known.state() {
            KeyState::Active => Ok(Principal {
                token: None,
                account: known.account,
                scopes: known.scopes,
                key: Some(known.id),
                expires_at: known.expires_at,
            }),
            KeyState::Expired => bad("the API key has expired"),
            KeyState::Revoked => bad("the API key was revoked"),
        }
    }

    /// Whether a key that was good before still is; one that cannot be looked at now counts as good.
    pub(super) async fn is_good(&self, id: &str) -> bool {
        match self.read(id).await {
            Ok(known) => known.is_some_and(|(known, _)| known.state() == KeyState::Active),
            Err(_) => true,
        }
    }

    async fn read(&self, id: &str) -> Result<Option<(KeyRecord, Row)>, StoreError> {
        let row = self.store.row(&self.home, KEYS, id).await?;
        row.map(|row| Ok((record(&row)?, row))).transpose()
    }
}

/// Shows nothing of the store.
impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys").field("home", &self.home).finish_non_exhaustive()
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hash(key: &str) -> String {
    BlobId::of(key.as_bytes()).to_string()
}

/// Reads a row. One that a newer version has written is good for nothing here.
fn record(row: &Row) -> Result<KeyRecord, StoreError> {
    let read = serde_json::from_slice::<KeyRecord>(&row.value).map_err(|error| error.to_string());
    let known = read.and_then(|record| match record.v {
        VERSION => Ok(record),
        version => Err(format!("it has version {version}, and {VERSION} is known here")),
    });
    known.map_err(|cause| StoreError::Unavailable {
        doing: format!("reading the API key {}", row.key),
        cause: Arc::from(Box::from(cause)),
    })
}

#[cfg(test)]
mod tests {
    use store::{OpenOptions, SqliteStore};

    use super::*;
    use crate::access::Scope;

    fn keys() -> (tempfile::TempDir, ApiKeys) {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap();
        (folder, ApiKeys::new(Arc::new(store), AccountId::new("local")))
    }

    fn new(expires_at: Option<Timestamp>) -> NewKey {
        let scopes = Scopes::from_iter([Scope::ReadRuns]);
        NewKey { account: AccountId::new("ada"), scopes, label: "laptop".to_owned(), expires_at }
    }

    async fn refused(keys: &ApiKeys, key: &str) -> String {
        keys.identify(key).await.expect_err("it is refused").to_string()
    }

    #[tokio::test]
    async fn a_key_is_its_accounts_until_it_is_revoked() {
        let (_folder, keys) = keys();
        let (key, record) = new(None).draw();
        assert!(refused(&keys, key.expose()).await.contains("not one that this agent knows"));
        keys.add(&record).await.unwrap();
        let principal = keys.identify(key.expose()).await.unwrap();
        assert_eq!(principal.account, AccountId::new("ada"));
        assert!(principal.scopes.hold(&Scope::ReadRuns) && !principal.scopes.hold(&Scope::Admin));
        assert!(keys.is_good(&record.id).await);
        assert!(keys.revoke(&record.id).await.unwrap());
        assert_eq!(refused(&keys, key.expose()).await, "the API key was revoked");
        assert!(!keys.is_good(&record.id).await);
        let [report] = &keys.list().await.unwrap()[..] else { panic!("one key") };
        assert_eq!((report.state, &*report.label), (KeyState::Revoked, "laptop"));
        let at = report.revoked_at;
        assert!(keys.revoke(&record.id).await.unwrap(), "twice is no error");
        assert_eq!(keys.list().await.unwrap()[0].revoked_at, at, "and changes nothing");
        assert!(!keys.revoke("0000000000").await.unwrap());
    }

    #[tokio::test]
    async fn a_key_ends_when_its_time_is_over() {
        let (_folder, keys) = keys();
        let (key, record) = new(Some(Timestamp::UNIX_EPOCH)).draw();
        keys.add(&record).await.unwrap();
        assert_eq!(refused(&keys, key.expose()).await, "the API key has expired");
        assert_eq!(keys.list().await.unwrap()[0].state, KeyState::Expired);
        let (key, record) = new(Some(Timestamp::MAX)).draw();
        keys.add(&record).await.unwrap();
        assert!(keys.identify(key.expose()).await.is_ok());
    }

    #[tokio::test]
    async fn only_the_whole_key_counts_and_only_its_hash_is_kept() {
        let (folder, keys) = keys();
        let (key, record) = new(None).draw();
        keys.add(&record).await.unwrap();
        let key = key.expose();
        assert_eq!(key.len(), PREFIX.len() + 10 + 1 + 43);
        let (other, _) = new(None).draw();
        let spliced = format!("{PREFIX}{}_{}", record.id, &other.expose()[PREFIX.len() + 11..]);
        for wrong in [
            &key[..key.len() - 1],
            &format!("{key}A"),
            &spliced,
            "cvk_",
            "cvk_x_y",
            "",
            &record.hash,
        ] {
            assert!(refused(&keys, wrong).await.contains("not one that"), "{wrong}");
        }
        let secret = &key[PREFIX.len() + 11..];
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap_or_default();
            let holds = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!holds, "the secret is nowhere on disk");
        }
    }
}
