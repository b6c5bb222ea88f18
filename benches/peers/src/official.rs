//! The SDK of the A2A project: `a2a-server-lf`.

use std::sync::Arc;

use a2a::{
    A2AError, Artifact, Message, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState,
    TaskStatus, TaskStatusUpdateEvent,
};
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore,
    jsonrpc::jsonrpc_router,
};
use anyhow::Result;
use futures_util::{StreamExt, stream, stream::BoxStream};

use crate::{
    asked::{ARTIFACT, Asked, chunk, pause},
    listening,
};

struct Echo;

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

impl AgentExecutor for Echo {
    fn execute(&self, context: ExecutorContext) -> Events {
        let text = context.message.as_ref().and_then(Message::text).unwrap_or_default();
        match Asked::read(text) {
            Asked::Echo(text) => {
                let task = task(&context, TaskState::Completed, vec![artifact(text)]);
                stream::iter([Ok(StreamResponse::Task(task))]).boxed()
            }
            Asked::Chunks { count, yields } => {
                let first = StreamResponse::Task(task(&context, TaskState::Working, Vec::new()));
                let last = completed(&context);
                let chunks = (0..count).map(move |index| update(&context, index, count));
                let events = stream::iter(std::iter::once(first).chain(chunks).chain([last]));
                events
                    .then(move |event| async move {
                        pause(yields).await;
                        Ok(event)
                    })
                    .boxed()
            }
        }
    }

    fn cancel(&self, context: ExecutorContext) -> Events {
        let task = task(&context, TaskState::Canceled, Vec::new());
        stream::iter([Ok(StreamResponse::Task(task))]).boxed()
    }
}

fn task(context: &ExecutorContext, state: TaskState, artifacts: Vec<Artifact>) -> Task {
    Task {
        id: context.task_id.clone(),
        context_id: context.context_id.clone(),
        status: status(state),
        artifacts: Some(artifacts),
        history: None,
        metadata: None,
    }
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus { state, message: None, timestamp: None }
}

fn artifact(text: String) -> Artifact {
    Artifact {
        artifact_id: ARTIFACT.into(),
        name: None,
        description: None,
        parts: vec![Part::text(text)],
        metadata: None,
        extensions: None,
    }
}

fn update(context: &ExecutorContext, index: usize, count: usize) -> StreamResponse {
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: context.task_id.clone(),
        context_id: context.context_id.clone(),
        artifact: artifact(chunk(index)),
        append: Some(index > 0),
        last_chunk: Some(index + 1 == count),
        metadata: None,
    })
}

fn completed(context: &ExecutorContext) -> StreamResponse {
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: context.task_id.clone(),
        context_id: context.context_id.clone(),
        status: status(TaskState::Completed),
        metadata: None,
    })
}

pub(crate) async fn serve() -> Result<()> {
    let (listener, url) = listening::listen().await?;
    let handler = DefaultRequestHandler::new(Echo, InMemoryTaskStore::new());
    listening::serve(listener, jsonrpc_router(Arc::new(handler)), &url).await
}
