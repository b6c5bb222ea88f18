//! ListTasks: filters, order, pages.

use std::{cmp::Reverse, sync::Arc};

use protocol::{
    error::Error,
    v1::{ListTasksRequest, ListTasksResponse, Task, TaskState},
    wkt::Timestamp,
};

use super::record::Record;

const DEFAULT_PAGE: i32 = 50;
const LARGEST_PAGE: i32 = 100;

/// The place of a Task in the order: newest status first, then by id.
type Place = (Reverse<Option<Timestamp>>, String);

/// One page of some Tasks.
///
/// # Errors
/// Invalid parameters for a page size outside 1 to 100, a negative history length, or a page token
/// that was not made here.
pub(crate) fn page(
    records: &[Arc<Record>],
    request: &ListTasksRequest,
) -> Result<ListTasksResponse, Error> {
    let page_size = request.page_size.unwrap_or(DEFAULT_PAGE);
    if !(1..=LARGEST_PAGE).contains(&page_size) {
        return Err(Error::invalid_field("pageSize", "must be between 1 and 100"));
    }
    let after = match request.page_token.as_str() {
        "" => None,
        token => Some(read_token(token)?),
    };
    let mut places: Vec<(Place, &Arc<Record>)> = records
        .iter()
        .filter(|record| record.read(|task| is_wanted(task, request)))
        .map(|record| (record.read(place), record))
        .collect();
    places.sort_by(|(one, _), (other, _)| one.cmp(other));
    let total_size = i32::try_from(places.len()).unwrap_or(i32::MAX);
    places.retain(|(place, _)| after.as_ref().is_none_or(|after| place > after));
    let count = usize::try_from(page_size).expect("it is between 1 and 100");
    let has_more = places.len() > count;
    places.truncate(count);
    let mut tasks = Vec::new();
    for (_, record) in &places {
        let mut task = with_history(record.task(), request.history_length)?;
        if !request.include_artifacts.unwrap_or_default() {
            task.artifacts.clear();
        }
        tasks.push(task);
    }
    let last = places.last().filter(|_| has_more);
    Ok(ListTasksResponse {
        tasks,
        next_page_token: last.map(|(place, _)| token(place)).unwrap_or_default(),
        page_size,
        total_size,
    })
}

/// A Task with at most that many of its newest Messages; unset leaves all, 0 none (A2A §3.2.4).
///
/// # Errors
/// Invalid parameters for a negative length.
pub(crate) fn with_history(mut task: Task, length: Option<i32>) -> Result<Task, Error> {
    if let Some(length) = length {
        let length = usize::try_from(length)
            .map_err(|_| Error::invalid_field("historyLength", "must not be negative"))?;
        let older = task.history.len().saturating_sub(length);
        task.history.drain(..older);
    }
    Ok(task)
}

fn is_wanted(task: &Task, request: &ListTasksRequest) -> bool {
    let of_context = request.context_id.is_empty() || task.context_id == request.context_id;
    let of_state = request.status() == TaskState::Unspecified || task.state() == request.status();
    let is_newer = request.status_timestamp_after;
    let is_newer = is_newer.is_none_or(|after| timestamp(task) >= Some(after));
    of_context && of_state && is_newer
}

fn place(task: &Task) -> Place {
    (Reverse(timestamp(task)), task.id.clone())
}

fn timestamp(task: &Task) -> Option<Timestamp> {
    task.status.as_ref()?.timestamp
}

fn token((Reverse(timestamp), id): &Place) -> String {
    let timestamp = timestamp.unwrap_or_default();
    format!("{}.{}.{id}", timestamp.seconds, timestamp.nanos)
}

fn read_token(token: &str) -> Result<Place, Error> {
    let mut words = token.splitn(3, '.');
    let mut read = || {
        let seconds = words.next()?.parse().ok()?;
        let nanos = words.next()?.parse().ok()?;
        let timestamp = Timestamp { seconds, nanos };
        Some((Reverse(Some(timestamp)), words.next()?.to_owned()))
    };
    read().ok_or_else(|| Error::invalid_field("pageToken", "is not one that this agent gave"))
}
