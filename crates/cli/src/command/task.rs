//! `convoke task`

mod push;

use std::{cell::Cell, collections::HashSet};

use anstream::{eprintln, println};
use comfy_table::{Table, presets};
use protocol::v1::{CancelTaskRequest, GetTaskRequest, ListTasksRequest, Task, TaskState};
use serde_json::json;

use crate::{
    agent,
    args::{Args, ListArgs, PageArgs, TaskCommand},
    content::clean,
    failure::{Exit, Failure},
    message,
    output::{self, DIM},
    reply::Reply,
};

pub(crate) async fn run(args: &Args, command: &TaskCommand) -> Result<Exit, Failure> {
    match command {
        TaskCommand::Get { at, history, out } => {
            let agent = agent::find(args, &at.of).await?;
            let (id, history_length) = (at.task.clone(), *history);
            let request = GetTaskRequest { id, history_length, ..GetTaskRequest::default() };
            let task = agent.peer.get_task(request, agent.timeout).await?;
            if args.json {
                output::json(&task)?;
            }
            let reply = Reply::new(args, &agent, out.as_deref()).with_history(*history);
            reply.only(task.into()).await
        }
        TaskCommand::List(it) => list(args, it).await,
        TaskCommand::Cancel { at, metadata } => {
            let metadata = message::metadata(metadata)?;
            let agent = agent::find(args, &at.of).await?;
            let request =
                CancelTaskRequest { id: at.task.clone(), metadata, ..CancelTaskRequest::default() };
            let task = agent.peer.cancel_task(request, agent.timeout).await?;
            if args.json {
                output::json(&task)?;
            }
            let is_canceled = task.state() == TaskState::Canceled;
            let exit = Reply::new(args, &agent, None).only(task.into()).await?;
            Ok(if is_canceled { Exit::Ok } else { exit })
        }
        TaskCommand::Subscribe { at, out } => {
            let agent = agent::find(args, &at.of).await?;
            Reply::new(args, &agent, out.as_deref()).rejoin(&at.task).await
        }
        TaskCommand::Push(command) => push::run(args, command).await,
    }
}

async fn list(args: &Args, list: &ListArgs) -> Result<Exit, Failure> {
    let agent = agent::find(args, &list.of).await?;
    let request = ListTasksRequest {
        context_id: list.context.clone().unwrap_or_default(),
        status: list.status.unwrap_or_default().into(),
        page_size: list.page.page_size,
        history_length: list.history,
        status_timestamp_after: list.since,
        include_artifacts: list.artifacts.then_some(true),
        ..ListTasksRequest::default()
    };
    let total = Cell::new(0);
    let (tasks, next) = pages(&list.page, async |page_token| {
        let request = ListTasksRequest { page_token, ..request.clone() };
        let page = agent.peer.list_tasks(request, agent.timeout).await?;
        total.set(page.total_size);
        Ok((page.tasks, page.next_page_token))
    })
    .await?;
    if args.json {
        let total = total.get();
        output::json(&json!({ "tasks": tasks, "nextPageToken": next, "totalSize": total }))?;
    } else if tasks.is_empty() {
        eprintln!("no Tasks");
    } else {
        println!("{}", table(&tasks, list).trim_fmt());
        more(&next);
    }
    Ok(Exit::Ok)
}

/// Reads one page, or all of them. Returns what is in them, and where the next one begins.
async fn pages<T>(
    page: &PageArgs,
    ask: impl AsyncFn(String) -> Result<(Vec<T>, String), Failure>,
) -> Result<(Vec<T>, String), Failure> {
    let (mut all, mut next) = ask(page.page_token.clone().unwrap_or_default()).await?;
    let mut seen = HashSet::new();
    while page.all && !next.is_empty() {
        if !seen.insert(next.clone()) {
            let why = "its list has no end; read it page by page, with --page-token";
            return Err(Failure::work(format!("the agent names page `{next}` twice: {why}")));
        }
        let (more, after) = ask(next).await?;
        all.extend(more);
        next = after;
    }
    Ok((all, next))
}

fn more(next: &str) {
    if !next.is_empty() {
        eprintln!("{DIM}there are more: --page-token {}, or --all{DIM:#}", clean(next));
    }
}

fn table(tasks: &[Task], asked: &ListArgs) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec!["TASK", "STATE", "SINCE", "CONTEXT"];
    header.extend(asked.history.map(|_| "MESSAGES"));
    header.extend(asked.artifacts.then_some("ARTIFACTS"));
    table.set_header(header);
    for task in tasks {
        let since = task.status.as_ref().and_then(|status| status.timestamp);
        let since = since.and_then(|since| jiff::Timestamp::try_from(since).ok());
        let since = since.map(|since| since.strftime("%Y-%m-%d %H:%M:%SZ").to_string());
        let mut row = vec![
            clean(&task.id),
            task.state().word().to_owned(),
            since.unwrap_or_default(),
            clean(&task.context_id),
        ];
        row.extend(asked.history.map(|_| task.history.len().to_string()));
        let names = || task.artifacts.iter().map(|it| clean(&it.name)).collect::<Vec<_>>();
        row.extend(asked.artifacts.then(|| names().join(", ")));
        table.add_row(row);
    }
    table
}
