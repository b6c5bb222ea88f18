//! Where agents may tell that one of our Tasks with them has changed: a hint to look, never more than that.
//!
//! A callback belongs to one attempt. Its URL and its token stand in the attempt's intent, so that they are the same
//! when the Message is sent again and after a restart; while the attempt goes on, its driver holds it open here.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use dashmap::DashMap;
use protocol::v1::TaskPushNotificationConfig;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use uuid::Uuid;

/// How many callbacks are remembered after their attempts have ended. Beyond that they are as unknown as any.
const REMEMBERED: usize = 4_096;

/// Names a callback: the last segment of its URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallbackId(Arc<str>);

/// What an agent shows to be believed. No formatter shows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallbackToken(Arc<str>);

impl fmt::Debug for CallbackToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// Where the agent of an attempt sends its push notifications (A2A §4.3.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback {
    /// Which.
    pub id: CallbackId,
    /// Its whole URL.
    pub url: String,
    /// Drawn for this attempt alone.
    pub token: CallbackToken,
}

impl Callback {
    /// As the agent is told, along with the Message.
    pub(crate) fn config(&self) -> TaskPushNotificationConfig {
        TaskPushNotificationConfig {
            id: self.id.0.to_string(),
            url: self.url.clone(),
            token: self.token.0.to_string(),
            ..TaskPushNotificationConfig::default()
        }
    }
}

/// The callbacks of all runs of a process. Cheap to clone; clones are the same.
#[derive(Clone, Debug)]
pub struct Callbacks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// What the URLs begin with.
    base: String,
    /// The longest pause between two looks at a Task of whose changes its agent tells.
    longest_pause: Duration,
    known: DashMap<CallbackId, Known>,
    /// Those that have ended, the longest ago first.
    ended: Mutex<VecDeque<CallbackId>>,
}

/// A callback that agents know of.
#[derive(Clone, Debug)]
struct Known {
    token: CallbackToken,
    agent_url: Arc<str>,
    news: Arc<Notify>,
    is_over: bool,
}

/// A callback as whoever takes notifications finds it.
#[derive(Clone, Debug)]
pub struct Awaited {
    known: Known,
}

impl Callbacks {
    /// Callbacks below a URL: each is `{base}/{id}`. A Task whose agent sends hints is looked at without one after
    /// `longest_pause` at the latest.
    #[must_use]
    pub fn new(base: &str, longest_pause: Duration) -> Self {
        let inner = Inner {
            base: base.trim_end_matches('/').to_owned(),
            longest_pause,
            known: DashMap::new(),
            ended: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Finds a callback by the last segment of its URL: one whose attempt goes on, or has ended not long ago.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Awaited> {
        let known = self.inner.known.get(&CallbackId(id.into()))?;
        Some(Awaited { known: known.clone() })
    }

    /// A new one, which nobody can guess.
    pub(crate) fn draw(&self) -> Callback {
        let id = Uuid::new_v4().simple().to_string();
        // Two of 122 random bits each.
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Callback {
            url: format!("{}/{id}", self.inner.base),
            id: CallbackId(id.into()),
            token: CallbackToken(token.into()),
        }
    }

    /// Takes hints of an agent until what is returned is dropped.
    pub(crate) fn open(&self, callback: &Callback, agent_url: &str) -> Listening {
        let news = Arc::new(Notify::new());
        let known = Known {
            token: callback.token.clone(),
            agent_url: agent_url.into(),
            news: Arc::clone(&news),
            is_over: false,
        };
        self.inner.known.insert(callback.id.clone(), known);
        Listening { callbacks: self.clone(), id: callback.id.clone(), news }
    }

    fn close(&self, id: &CallbackId, news: &Arc<Notify>) {
        match self.inner.known.get_mut(id) {
            // A driver that took over has opened it anew.
            Some(known) if !Arc::ptr_eq(&known.news, news) => return,
            Some(mut known) => known.is_over = true,
            None => return,
        }
        let mut ended = self.inner.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push_back(id.clone());
        if ended.len() > REMEMBERED
            && let Some(oldest) = ended.pop_front()
        {
            // One that was opened anew since is in the queue once more when it ends.
            self.inner.known.remove_if(&oldest, |_, known| known.is_over);
        }
    }
}

impl Awaited {
    /// The token that notifications have to bring.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.known.token.0
    }

    /// Where the agent was called: what is fetched to check its signatures may come from there alone.
    #[must_use]
    pub fn agent_url(&self) -> &str {
        &self.known.agent_url
    }

    /// Whether its attempt has ended, so that nobody waits for a hint any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.known.is_over
    }

    /// Has the agent's Task looked at, now or as soon as somebody follows it.
    pub fn hint(&self) {
        self.known.news.notify_one();
    }
}

/// Holds a callback open. Dropping it ends that.
#[derive(Debug)]
pub(crate) struct Listening {
    callbacks: Callbacks,
    id: CallbackId,
    news: Arc<Notify>,
}

impl Listening {
    /// What there is to hear, for whoever follows the Task.
    pub(crate) fn hints(&self) -> Hints {
        let longest_pause = self.callbacks.inner.longest_pause;
        Hints { news: Arc::clone(&self.news), longest_pause }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.callbacks.close(&self.id, &self.news);
    }
}

/// Hints about one Task.
#[derive(Clone, Debug)]
pub(crate) struct Hints {
    news: Arc<Notify>,
    /// The longest pause between two looks once hints have come.
    pub(crate) longest_pause: Duration,
}

impl Hints {
    /// Waits for the next; one that came meanwhile counts, any number as one. Cancel safe.
    pub(crate) async fn heard(&self) {
        self.news.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::iter::repeat_with;

    use super::*;

    fn callbacks() -> Callbacks {
        Callbacks::new("https://convoke.example/callbacks/", Duration::from_secs(60))
    }

    #[test]
    fn each_has_a_url_and_a_token_of_its_own_and_the_agent_is_told_both() {
        let callbacks = callbacks();
        let (one, other) = (callbacks.draw(), callbacks.draw());
        assert!(one.id != other.id && one.token != other.token);
        let config = one.config();
        assert_eq!(config.url, format!("https://convoke.example/callbacks/{}", config.id));
        assert_eq!((config.id.len(), config.token.len()), (32, 64));
        assert!(!format!("{one:?}").contains(&config.token), "no log shows it");
    }

    #[test]
    fn one_is_known_by_its_id_and_over_once_nobody_listens() {
        let callbacks = callbacks();
        let callback = callbacks.draw();
        let id = callback.config().id;
        assert!(callbacks.find(&id).is_none(), "nobody waits for it yet");
        let listening = callbacks.open(&callback, "https://agent.example/a2a");
        let found = callbacks.find(&id).unwrap();
        assert_eq!((found.token(), found.is_over()), (&*callback.config().token, false));
        assert_eq!(found.agent_url(), "https://agent.example/a2a");
        drop(listening);
        assert!(callbacks.find(&id).unwrap().is_over());
    }

    #[test]
    fn who_takes_over_keeps_it_open_when_the_former_goes() {
        let callbacks = callbacks();
        let callback = callbacks.draw();
        let former = callbacks.open(&callback, "https://agent.example");
        let latter = callbacks.open(&callback, "https://agent.example");
        drop(former);
        assert!(!callbacks.find(&callback.config().id).unwrap().is_over());
        drop(latter);
        assert!(callbacks.find(&callback.config().id).unwrap().is_over());
    }

    #[test]
    fn those_that_ended_long_ago_are_forgotten() {
        let callbacks = callbacks();
        let all: Vec<_> = repeat_with(|| callbacks.draw()).take(REMEMBERED + 1).collect();
        for callback in &all {
            drop(callbacks.open(callback, "https://agent.example"));
        }
        assert!(callbacks.find(&all[0].id.0).is_none());
        assert!(callbacks.find(&all[1].id.0).is_some());
        assert_eq!(callbacks.inner.known.len(), REMEMBERED);
    }

    #[tokio::test]
    async fn hints_that_come_before_anybody_waits_count_as_one() {
        let callbacks = callbacks();
        let callback = callbacks.draw();
        let listening = callbacks.open(&callback, "https://agent.example");
        let found = callbacks.find(&callback.config().id).unwrap();
        found.hint();
        found.hint();
        let hints = listening.hints();
        assert_eq!(hints.longest_pause, Duration::from_secs(60));
        hints.heard().await;
        let second = tokio::time::timeout(Duration::ZERO, hints.heard()).await;
        assert!(second.is_err(), "there is no second one");
    }
}
