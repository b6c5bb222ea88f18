//! `GET /v1/agents:watch`: what happens in the directory, as server-sent events.
//!
//! The id of an event is how far its reader was told: the number of the last news of the account's own directory, and,
//! for another account than the server's, that of what others are told of the server's, with a `-` between. Neither
//! counts what the reader does not see. A reader that comes again with it
//! (`Last-Event-ID`, or the parameter `after`) is told everything that it has missed. News are kept for a while; who
//! comes later than that is told `reset`, and has to list anew.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::{RawQuery, State},
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use registry::{News, Registry, RegistryError};
use serde_json::json;
use tokio::sync::watch;

use super::{
    Directory,
    problem::Problem,
    query::{Parameters, Wrong},
    visit::Visit,
    wire::NewsOut,
};

/// How often is looked for what other processes changed, and whether the credentials still hold.
const LOOK: Duration = Duration::from_secs(5);

const LAST: &str = "last-event-id";

/// How far a reader was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    own: u64,
    /// Of what others are told of the server's directory, for another account.
    home: Option<u64>,
}

/// A reader that is told.
struct Reader {
    directory: Arc<Directory>,
    visit: Visit,
    told: Told,
    wakes: Vec<watch::Receiver<()>>,
    waiting: VecDeque<Event>,
    is_done: bool,
}

pub(super) async fn watch(
    State(directory): State<Arc<Directory>>,
    visit: Visit,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let mut given = Parameters::read(query.as_deref());
    let after = given.one("after");
    given.end()?;
    let last = headers.get(LAST).and_then(|last| last.to_str().ok()).map(str::to_owned);
    // Subscribed first: what comes between counts as news.
    let registries = std::iter::once(&visit.view.own).chain(&visit.view.home);
    let wakes = registries.map(|registry| registry.told()).collect();
    let now = Told::now(&visit).await?;
    let told = match last.or(after) {
        Some(text) => Told::read(&text, now).ok_or_else(|| {
            let wrong = Wrong::new("after", "is not the id of an event of this stream");
            Problem::all_bad("the stream cannot go on from there", vec![wrong])
        })?,
        None => now,
    };
    let keep_alive = KeepAlive::new().interval(directory.limits.keep_alive);
    let ready = Event::default().event("ready").id(told.to_string()).data("{}");
    let reader =
        Reader { directory, visit, told, wakes, waiting: VecDeque::from([ready]), is_done: false };
    Ok(Sse::new(stream::unfold(reader, Reader::next)).keep_alive(keep_alive))
}

impl Told {
    async fn now(visit: &Visit) -> Result<Self, RegistryError> {
        let home = match &visit.view.home {
            Some(home) => Some(home.last_public_news().await?),
            None => None,
        };
        Ok(Self { own: visit.view.own.last_news().await?, home })
    }

    fn read(text: &str, now: Self) -> Option<Self> {
        match (text.split_once('-'), now.home) {
            (None, None) => Some(Self { own: text.parse().ok()?, home: None }),
            (Some((own, home)), Some(_)) => {
                Some(Self { own: own.parse().ok()?, home: Some(home.parse().ok()?) })
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.home {
            Some(home) => write!(f, "{}-{home}", self.own),
            None => write!(f, "{}", self.own),
        }
    }
}

impl Reader {
    /// The next event; none when the server stops, the credentials are good no more, or the store fails: the reader
    /// comes again.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some((Ok(event), self));
            }
            if self.is_done || self.directory.stop.is_cancelled() {
                return None;
            }
            let access = &self.directory.access;
            if !access.is_open() && !access.still_holds(&self.visit.caller).await {
                return None;
            }
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "a reader of the directory's news is let go");
                return None;
            }
            if self.waiting.is_empty() {
                self.wait().await;
            }
        }
    }

    async fn look(&mut self) -> Result<(), RegistryError> {
        let own = Arc::clone(&self.visit.view.own);
        self.look_at(&own, self.told.own, true).await?;
        if let (Some(home), Some(after)) = (self.visit.view.home.clone(), self.told.home) {
            self.look_at(&home, after, false).await?;
        }
        Ok(())
    }

    async fn look_at(
        &mut self,
        registry: &Registry,
        after: u64,
        is_own: bool,
    ) -> Result<(), RegistryError> {
        let at = match is_own {
            true => registry.news(after).await?,
            false => registry.public_news(after).await?,
        };
        if at.is_broken {
            self.told = Told::now(&self.visit).await?;
            let why = json!({ "reason": "some news are no longer kept: list the agents anew" });
            let event = Event::default().event("reset").id(self.told.to_string());
            self.waiting.push_back(event.data(why.to_string()));
            return Ok(());
        }
        for news in at.news {
            let seq = news.seq;
            match is_own {
                true => self.told.own = seq,
                false => self.told.home = Some(seq),
            }
            self.waiting.push_back(self.event(&news));
        }
        Ok(())
    }

    fn event(&self, news: &News) -> Event {
        let event = Event::default().event(news.event.as_str()).id(self.told.to_string());
        event.data(json!(NewsOut::from(news)).to_string())
    }

    /// Waits until there may be something to tell.
    async fn wait(&mut self) {
        let woken = self.wakes.iter_mut().map(|wake| Box::pin(wake.changed()));
        let woken = futures_util::future::select_all(woken);
        tokio::select! {
            () = self.directory.stop.cancelled() => self.is_done = true,
            (woken, ..) = woken => {
                // Its directory was closed; what is in the store is still looked at.
                if woken.is_err() {
                    tokio::time::sleep(LOOK).await;
                }
            }
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_says_how_far_its_reader_was_told() {
        let home = Told { own: 7, home: None };
        let other = Told { own: 7, home: Some(3) };
        assert_eq!((home.to_string(), other.to_string()), ("7".to_owned(), "7-3".to_owned()));
        assert_eq!(Told::read("7", home), Some(home));
        assert_eq!(Told::read("7-3", other), Some(other));
        for (wrong, now) in [("7-3", home), ("7", other), ("x", home), ("", home), ("-", other)] {
            assert_eq!(Told::read(wrong, now), None, "{wrong}");
        }
    }
}
