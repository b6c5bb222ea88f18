//! How a run stands in the store: its journal entries, and its row in the table of runs.

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::{AccountId, Expect, JournalId, Seq, Store, Table, Tags, Write};

use crate::{
    ExecutorError, RunId,
    run::{RunEvent, projection::RunState},
};

/// Version of the entries written today. Older ones are read for ever.
const VERSION: u32 = 1;

/// Entries read at once.
const PAGE: usize = 1_000;

/// The table of runs: one row for each, its status only.
pub const RUNS: Table = Table::new("runs");

#[derive(Serialize)]
struct EntryOut<'a> {
    v: u32,
    event: &'a RunEvent,
}

#[derive(Deserialize)]
struct EntryIn {
    v: u32,
    event: RunEvent,
}

#[derive(Deserialize)]
struct EntryVersion {
    v: u32,
}

/// Writes an event as a journal entry.
pub(crate) fn encode(event: &RunEvent) -> Result<Bytes, ExecutorError> {
    Ok(Bytes::from(serde_json::to_vec(&EntryOut { v: VERSION, event })?))
}

/// Reads a journal entry.
pub(crate) fn decode(bytes: &[u8]) -> Result<RunEvent, ExecutorError> {
    match serde_json::from_slice::<EntryIn>(bytes) {
        Ok(entry) if entry.v == VERSION => Ok(entry.event),
        Ok(entry) => Err(newer(entry.v)),
        // What a newer version wrote may well be unreadable: then the version is the news.
        Err(error) => match serde_json::from_slice::<EntryVersion>(bytes) {
            Ok(EntryVersion { v }) if v != VERSION => Err(newer(v)),
            _ => Err(error.into()),
        },
    }
}

fn newer(version: u32) -> ExecutorError {
    ExecutorError::NewerJournal { version, known: VERSION }
}

/// Reads a run's events after `after`; an unknown run has none.
pub(crate) async fn read(
    store: &dyn Store,
    account: &AccountId,
    run: &RunId,
    after: Seq,
) -> Result<(Vec<RunEvent>, Seq), ExecutorError> {
    let mut events = Vec::new();
    let mut last = after;
    loop {
        let page = store.entries(account, &run.journal(), last, PAGE).await?;
        let is_last = page.len() < PAGE;
        for entry in page {
            events.push(decode(&entry.bytes)?);
            last = entry.seq;
        }
        if is_last {
            return Ok((events, last));
        }
    }
}

/// What a list of runs shows of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The run.
    pub id: RunId,
    /// Name of its workflow; absent while it is not clear which one is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The context it shares with its agents.
    pub context_id: String,
    /// Where it stands.
    pub state: RunState,
    /// When it started; while it has not, when it was asked for.
    pub started_at: Timestamp,
    /// When its state, or what it waits for, changed last.
    pub updated_at: Timestamp,
    /// Why it failed, or was rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl RunSummary {
    /// The write that brings the row up to date.
    pub(crate) fn put(&self, account: &AccountId) -> Result<Write, ExecutorError> {
        Ok(Write::Put {
            account: account.clone(),
            table: RUNS,
            key: self.id.to_string(),
            sort: sort_key(self.updated_at),
            tags: Tags::from([
                self.workflow.clone(),
                Some(self.state.as_str().to_owned()),
                Some(self.context_id.clone()),
                None,
            ]),
            value: Bytes::from(serde_json::to_vec(self)?),
            expect: Expect::Any,
        })
    }
}

/// Timestamps of equal length, so that they sort as text.
pub(crate) fn sort_key(at: Timestamp) -> String {
    format!("{at:.6}")
}

impl RunId {
    /// The journal of this run.
    pub(crate) fn journal(&self) -> JournalId {
        JournalId::new(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_back_as_it_was() {
        let event = RunEvent::CancelRequested { at: Timestamp::UNIX_EPOCH };
        let bytes = encode(&event).unwrap();
        assert_eq!(
            std::str::from_utf8(&bytes).unwrap(),
            r#"{"v":1,"event":{"cancel_requested":{"at":"1970-01-01T00:00:00Z"}}}"#
        );
        assert_eq!(decode(&bytes).unwrap(), event);
    }

    #[test]
    fn a_chunk_says_only_what_is_so() {
        let entry = |flags: &str| {
            let artifact = r#""artifact":{"inline":{"artifactId":"a/1"}}"#;
            let chunk = format!(r#"{{{flags}{artifact}}}"#);
            let event = format!(r#"{{"step":"a","attempt":1,"chunk":{chunk}}}"#);
            format!(r#"{{"v":1,"event":{{"artifact_chunked":{event}}}}}"#)
        };
        for (flags, said) in
            [("", (false, false)), (r#""append":true,"last_chunk":true,"#, (true, true))]
        {
            let event = decode(entry(flags).as_bytes()).unwrap();
            let RunEvent::ArtifactChunked { chunk, .. } = &event else { panic!("{event:?}") };
            assert_eq!((chunk.append, chunk.last_chunk), said);
            assert_eq!(encode(&event).unwrap(), entry(flags).as_bytes());
        }
    }

    #[test]
    fn a_run_that_no_client_has_started_has_no_message_of_one() {
        let body = r#"{"inline":{}}"#;
        let header = format!(
            r#"{{"workflow":"w","context_id":"c","plan":{body},"inputs":{body},"start":{body}}}"#
        );
        let entry = format!(
            r#"{{"v":1,"event":{{"run_started":{{"at":"1970-01-01T00:00:00Z","header":{header}}}}}}}"#
        );
        let event = decode(entry.as_bytes()).unwrap();
        assert_eq!(event.said(), None);
        assert_eq!(encode(&event).unwrap(), entry.as_bytes());
    }

    #[test]
    fn a_journal_of_a_newer_version_is_refused() {
        let error = decode(br#"{"v":2,"event":{"unheard_of":{}}}"#).unwrap_err();
        assert!(matches!(error, ExecutorError::NewerJournal { version: 2, known: 1 }), "{error}");
    }
}
