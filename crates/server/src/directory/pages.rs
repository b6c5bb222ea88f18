//! Pages of what was found, and how they stay together while the directory changes.
//!
//! A page is cut from the index that its first page was cut from, as long as that is kept: nothing comes twice and
//! nothing is left out because others came, went or rank otherwise now. What is shown of each agent is how it is now,
//! and those that do not fit any more are left out. When the index is not kept any more (after five minutes, four
//! changes, or a restart), the next page goes on in the present one after the last hit: a list without words loses and
//! repeats nothing even then.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use registry::{CardDigest, Found, Index, Position, Query, of_page_token, to_page_token};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

/// How long an index is kept for further pages.
const KEPT: Duration = Duration::from_secs(5 * 60);

/// How many are.
const MOST: usize = 4;

/// Indexes that pages were cut from.
#[derive(Default)]
pub(super) struct Snapshots(Mutex<VecDeque<Snapshot>>);

struct Snapshot {
    id: Uuid,
    index: Arc<Index>,
    since: Instant,
}

/// Where a list goes on.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Token {
    /// Which query it is of.
    query: String,
    /// The index that the page before was cut from.
    of: Uuid,
    score: f32,
    name: String,
}

impl Snapshots {
    /// Cuts the page of a query that comes after a token; the token of the next page stands beside it.
    ///
    /// # Errors
    /// When the token is not one of this query.
    pub(super) fn page(
        &self,
        now: &Arc<Index>,
        mut query: Query,
        token: Option<&str>,
    ) -> Result<(Found, Option<String>), &'static str> {
        let shape = shape(&query);
        let mut index = Arc::clone(now);
        if let Some(token) = token {
            let token = of_page_token(token).filter(|it: &Token| it.query == shape);
            let token = token.ok_or("is not one that was given for this query")?;
            index = self.get(token.of).unwrap_or(index);
            query.after = Some(Position { score: token.score, name: token.name });
        }
        let mut found = index.find(&query);
        let next = found.next.take().map(|Position { score, name }| {
            let token = Token { query: shape, of: self.keep(&index), score, name };
            to_page_token(&token)
        });
        if !Arc::ptr_eq(&index, now) {
            found.hits.retain_mut(|hit| match now.fitting(&hit.agent.name, &query.filters) {
                Some(agent) => {
                    hit.agent = Arc::clone(agent);
                    true
                }
                None => false,
            });
        }
        Ok((found, next))
    }

    /// Lets go of what is too old to be asked for.
    pub(super) fn forget_old(&self) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|it| it.since.elapsed() < KEPT);
    }

    fn keep(&self, index: &Arc<Index>) -> Uuid {
        self.forget_old();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter_mut().find(|it| Arc::ptr_eq(&it.index, index)) {
            known.since = Instant::now();
            return known.id;
        }
        if kept.len() == MOST {
            kept.pop_front();
        }
        let id = Uuid::new_v4();
        kept.push_back(Snapshot { id, index: Arc::clone(index), since: Instant::now() });
        id
    }

    fn get(&self, id: Uuid) -> Option<Arc<Index>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|it| it.id == id).map(|it| Arc::clone(&it.index))
    }
}

/// What a token depends on: words and filters.
fn shape(query: &Query) -> String {
    let filters = query.filters.iter().map(|filter| json!([filter.facet.as_str(), filter.any]));
    CardDigest::of(&json!([query.text, filters.collect::<Vec<_>>()])).short()
}
