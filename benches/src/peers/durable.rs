//! Our side where Tasks outlive their server: the echo agent on `protocol` and `store`. A Task is on disk
//! before it is told, as with the SDK for Python and its DatabaseTaskStore.

use std::{io, path::Path, sync::Arc};

use async_trait::async_trait;
use protocol::{
    error::Error,
    operation::Operation,
    server,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, Task,
    },
};
use store::{
    AccountId, Batch, Expect, OpenOptions, SqliteStore, Store, StoreError, Table, Tags, Write,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::agent::{card, echoed};

const TASKS: Table = Table::new("echoed");

/// Serves until the future is dropped, with Tasks in a folder, which is made.
///
/// # Errors
/// When the listener fails or the folder cannot be opened.
pub async fn serve(listener: TcpListener, folder: &Path) -> io::Result<()> {
    let url = format!("http://{}/", listener.local_addr()?);
    let store = SqliteStore::open(folder, OpenOptions::default()).map_err(io::Error::other)?;
    let echo = Durable { card: Arc::new(card(&url, false)), store, account: "bench".into() };
    server::serve(listener, server::router(Arc::new(echo)), CancellationToken::new()).await
}

struct Durable {
    card: Arc<AgentCard>,
    store: SqliteStore,
    account: AccountId,
}

impl Durable {
    async fn keep(&self, task: &Task) -> Result<(), Error> {
        let value = serde_json::to_vec(task).expect("a Task of texts is JSON");
        let put = Write::Put {
            account: self.account.clone(),
            table: TASKS,
            key: task.id.clone(),
            sort: String::new(),
            tags: Tags::default(),
            value: value.into(),
            expect: Expect::Absent,
        };
        self.store.commit(Batch::new().write(put)).await.map_err(|error| failed(&error))
    }
}

fn failed(error: &StoreError) -> Error {
    Error::internal(error.to_string())
}

fn unsupported<T>(operation: Operation) -> Result<T, Error> {
    Err(Error::unsupported(format!("this agent does not know {operation}")))
}

#[async_trait]
impl A2aService for Durable {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    async fn send_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let task = echoed(request);
        self.keep(&task).await?;
        Ok(task.into())
    }

    async fn send_streaming_message(
        &self,
        _call: &Call,
        _request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        unsupported(Operation::SendStreamingMessage)
    }

    async fn get_task(&self, _call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        let row = self.store.row(&self.account, TASKS, &request.id).await;
        let row = row.map_err(|error| failed(&error))?;
        let row = row.ok_or_else(|| Error::task_not_found(&request.id))?;
        serde_json::from_slice(&row.value).map_err(|error| Error::internal(error.to_string()))
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        _request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        unsupported(Operation::ListTasks)
    }

    async fn cancel_task(&self, _call: &Call, _request: CancelTaskRequest) -> Result<Task, Error> {
        unsupported(Operation::CancelTask)
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        _request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        unsupported(Operation::SubscribeToTask)
    }
}

#[cfg(test)]
mod tests {
    use protocol::v1::{Message, Part, TaskState};
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn a_task_is_there_after_a_restart() {
        let folder = TempDir::new().expect("a temporary folder");
        let open = || {
            let store = SqliteStore::open(folder.path(), OpenOptions::default());
            let store = store.expect("nobody else has the folder open");
            let card = Arc::new(card("http://127.0.0.1:1/", false));
            Durable { card, store, account: "bench".into() }
        };
        let task = echoed(Message::user(vec![Part::text("hello")]).into());
        open().keep(&task).await.expect("the store takes it");
        let row = open().store.row(&"bench".into(), TASKS, &task.id).await;
        let kept = row.expect("the store answers").expect("it was kept");
        let kept: Task = serde_json::from_slice(&kept.value).expect("a Task");
        assert_eq!((&kept, kept.state()), (&task, TaskState::Completed));
    }
}
