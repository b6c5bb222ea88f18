//! ListTasks: one page of rows; journals are read only for what a row does not hold.

use executor::{ExecutorError, RunQuery, RunState, RunSummary, Runs};
use protocol::{
    error::Error,
    v1::{ListTasksRequest, ListTasksResponse, Task, TaskState},
};
use store::Cursor;

use crate::{
    delegate,
    error::wire,
    view::{self, Extent},
};

/// Tasks on a page when nobody says how many (A2A §3.1.4).
const DEFAULT_PAGE: i32 = 50;

/// One page of Tasks, those whose status changed last first.
pub(crate) async fn page(
    runs: &Runs,
    request: ListTasksRequest,
) -> Result<ListTasksResponse, Error> {
    let page_size = request.page_size.unwrap_or(DEFAULT_PAGE);
    let limit = usize::try_from(page_size)
        .ok()
        .filter(|limit| (1..=100).contains(limit))
        .ok_or_else(|| Error::invalid_field("pageSize", "must be between 1 and 100"))?;
    let state = match request.status() {
        TaskState::Unspecified => None,
        state => match RunState::of_task(state) {
            Some(state) => Some(state),
            // No Task of ours is ever in it.
            None => return Ok(ListTasksResponse { page_size, ..ListTasksResponse::default() }),
        },
    };
    let since = match request.status_timestamp_after {
        Some(after) => Some(
            jiff::Timestamp::try_from(after)
                .map_err(|error| Error::invalid_field("statusTimestampAfter", error.to_string()))?,
        ),
        None => None,
    };
    let query = RunQuery {
        context_id: Some(request.context_id).filter(|context| !context.is_empty()),
        state,
        since,
        limit,
        cursor: Some(request.page_token).filter(|token| !token.is_empty()).map(Cursor::new),
    };
    let page = runs.list(query).await.map_err(wire)?;
    let extent = Extent {
        artifacts: request.include_artifacts.unwrap_or_default(),
        ..Extent::with_history(request.history_length)
    };
    let mut tasks = Vec::new();
    for row in &page.runs {
        tasks.push(task(runs, row, extent).await.map_err(wire)?);
    }
    Ok(ListTasksResponse {
        tasks,
        next_page_token: page.next.map(|next| next.to_string()).unwrap_or_default(),
        page_size,
        total_size: i32::try_from(page.total).unwrap_or(i32::MAX),
    })
}

/// A Task as its row has it where that is enough: without history and artifacts, and with nothing to say.
async fn task(runs: &Runs, row: &RunSummary, extent: Extent) -> Result<Task, ExecutorError> {
    let has_words = !matches!(
        row.state,
        RunState::Submitted | RunState::Working | RunState::Completed | RunState::Canceled
    );
    // What the agent of a relay says stands in the journal.
    let has_words = has_words || row.workflow.as_deref() == Some(delegate::NAME);
    if extent.history == Some(0) && !extent.artifacts && !has_words {
        let status = view::plain_status(row.state, row.updated_at);
        let task = Task::new(row.id.as_str(), row.context_id.as_str(), status);
        return Ok(view::of_workflow(task, row.workflow.as_deref()));
    }
    let record = runs.task(&row.id).await?;
    view::task(runs, &record, extent).await
}
