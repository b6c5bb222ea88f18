//! The context map: which contextId an agent uses where we offered ours. Outlives the run.

use std::collections::HashMap;

use bytes::Bytes;
use store::{AccountId, Expect, MAX_KEY_BYTES, PageQuery, Store, Table, Tags, Write};
use uuid::Uuid;

use crate::ExecutorError;

const CONTEXTS: Table = Table::new("contexts");

/// The agents' own names for one context of ours.
#[derive(Debug)]
pub(crate) struct Contexts {
    account: AccountId,
    ours: String,
    /// What an agent is offered that has no name of its own for it.
    offered: String,
    theirs: HashMap<String, String>,
}

impl Contexts {
    /// Reads what is known of a context.
    pub(crate) async fn load(
        store: &dyn Store,
        account: &AccountId,
        ours: &str,
    ) -> Result<Self, ExecutorError> {
        let mut contexts = Self::fresh(account, ours);
        let mut query = PageQuery::new(Some(account.clone()), CONTEXTS);
        query.key_prefix = row_key(ours, "");
        loop {
            let page = store.page(&query).await?;
            for row in page.rows {
                let agent = row.key[query.key_prefix.len()..].to_owned();
                let theirs = String::from_utf8_lossy(&row.value).into_owned();
                contexts.theirs.insert(agent, theirs);
            }
            match page.next {
                Some(cursor) => query.cursor = Some(cursor),
                None => return Ok(contexts),
            }
        }
    }

    /// A context that no agent has seen.
    pub(crate) fn fresh(account: &AccountId, ours: &str) -> Self {
        let (account, ours) = (account.clone(), ours.to_owned());
        Self { account, offered: ours.clone(), ours, theirs: HashMap::new() }
    }

    /// Offers agents a name that no other account can have them offered: clients choose the names of contexts, and one
    /// that chose the name of somebody else's would be let into that conversation by agents that know both only as us.
    pub(crate) fn of_guest(mut self) -> Self {
        let name = format!("urn:convoke:context:v1:{}\n{}", self.account, self.ours);
        self.offered = Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string();
        self
    }

    /// Our own name for it.
    pub(crate) fn ours(&self) -> &str {
        &self.ours
    }

    /// The contextId to offer an agent: its own, once known.
    pub(crate) fn offer(&self, agent: &str) -> &str {
        self.theirs.get(agent).unwrap_or(&self.offered)
    }

    /// Follows an agent that uses another contextId than the one offered; returns what to commit.
    pub(crate) fn learn(&mut self, agent: &str, theirs: &str) -> Option<Write> {
        if theirs.is_empty() || self.offer(agent) == theirs {
            return None;
        }
        self.theirs.insert(agent.to_owned(), theirs.to_owned());
        let key = row_key(&self.ours, agent);
        // An offer is never worth a failure: an agent whose name is a very long URL is followed in memory only.
        if key.len() > MAX_KEY_BYTES || key.contains('\0') {
            return None;
        }
        Some(Write::Put {
            account: self.account.clone(),
            table: CONTEXTS,
            key,
            sort: String::new(),
            tags: Tags::default(),
            value: Bytes::copy_from_slice(theirs.as_bytes()),
            expect: Expect::Any,
        })
    }
}

fn row_key(ours: &str, agent: &str) -> String {
    format!("{ours}\n{agent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_replaces_the_context_is_followed() {
        let mut contexts = Contexts::fresh(&AccountId::new("local"), "ours");
        assert_eq!(contexts.offer("hotels"), "ours");
        assert!(contexts.learn("hotels", "ours").is_none());
        assert!(contexts.learn("hotels", "").is_none());
        assert!(contexts.learn("hotels", "theirs").is_some());
        assert_eq!(contexts.offer("hotels"), "theirs");
        assert_eq!(contexts.offer("flights"), "ours");
    }

    #[test]
    fn guests_are_offered_under_names_that_no_other_account_can_choose() {
        let of = |account: &str| Contexts::fresh(&AccountId::new(account), "ours").of_guest();
        let (ada, eve) = (of("ada"), of("eve"));
        assert_eq!((ada.ours(), eve.ours()), ("ours", "ours"));
        assert_eq!(ada.offer("hotels"), of("ada").offer("hotels"), "it is the same at each start");
        assert_ne!(ada.offer("hotels"), eve.offer("hotels"));
        let chosen = Contexts::fresh(&AccountId::new("eve"), ada.offer("hotels")).of_guest();
        assert_ne!(chosen.offer("hotels"), ada.offer("hotels"), "not even by its offered name");
    }

    #[test]
    fn an_agent_whose_name_is_too_long_for_a_row_is_followed_in_memory() {
        let mut contexts = Contexts::fresh(&AccountId::new("local"), "ours");
        let name = format!("https://agents.example.com/{}", "x".repeat(MAX_KEY_BYTES));
        assert!(contexts.learn(&name, "theirs").is_none(), "there is nothing to write");
        assert_eq!(contexts.offer(&name), "theirs");
    }

    #[tokio::test]
    async fn the_map_of_one_context_is_read_back_whole_and_alone() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = store::SqliteStore::open(folder.path(), store::OpenOptions::default()).unwrap();
        let account = AccountId::new("local");
        let mut batch = store::Batch::new();
        for ours in ["ours", "ours-too"] {
            let mut contexts = Contexts::fresh(&account, ours);
            for agent in 0..250 {
                let theirs = format!("{ours}/{agent}");
                batch.writes.extend(contexts.learn(&format!("agent-{agent}"), &theirs));
            }
        }
        store.commit(batch).await.unwrap();
        let read = Contexts::load(&store, &account, "ours").await.unwrap();
        assert_eq!(read.theirs.len(), 250);
        assert_eq!(read.offer("agent-249"), "ours/249");
        let other = Contexts::load(&store, &AccountId::new("else"), "ours").await.unwrap();
        assert_eq!(other.offer("agent-249"), "ours");
    }
}
