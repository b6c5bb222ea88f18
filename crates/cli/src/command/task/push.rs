//! `convoke task push`

use anstream::{eprintln, println};
use protocol::v1::{
    AuthenticationInfo, DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
    TaskPushNotificationConfig,
};
use serde_json::json;

use super::{more, pages};
use crate::{
    agent,
    args::{Args, PageArgs, PushCommand, TaskArgs},
    content::clean,
    failure::{Exit, Failure},
    message,
    output::{self, DIM},
};

pub(super) async fn run(args: &Args, command: &PushCommand) -> Result<Exit, Failure> {
    match command {
        PushCommand::Create { at, url, id, token, scheme, credentials_env } => {
            let config = TaskPushNotificationConfig {
                id: id.clone().unwrap_or_default(),
                task_id: at.task.clone(),
                url: message::url("--url", url)?,
                token: token.clone().unwrap_or_default(),
                authentication: authentication(scheme.as_ref(), credentials_env.as_ref())?,
                ..TaskPushNotificationConfig::default()
            };
            let agent = agent::find(args, &at.of).await?;
            let created = agent.peer.create_push_config(config, agent.timeout).await?;
            show(args, &created)
        }
        PushCommand::Get { at, id } => {
            let agent = agent::find(args, &at.of).await?;
            let request = GetTaskPushNotificationConfigRequest {
                task_id: at.task.clone(),
                id: id.clone(),
                ..GetTaskPushNotificationConfigRequest::default()
            };
            let config = agent.peer.get_push_config(request, agent.timeout).await?;
            show(args, &config)
        }
        PushCommand::List { at, page } => list(args, at, page).await,
        PushCommand::Delete { at, id } => {
            let agent = agent::find(args, &at.of).await?;
            let request = DeleteTaskPushNotificationConfigRequest {
                task_id: at.task.clone(),
                id: id.clone(),
                ..DeleteTaskPushNotificationConfigRequest::default()
            };
            agent.peer.delete_push_config(request, agent.timeout).await?;
            if args.json {
                output::json(&json!({ "taskId": at.task, "id": id, "outcome": "deleted" }))?;
            } else {
                println!("deleted {}", clean(id));
            }
            Ok(Exit::Ok)
        }
    }
}

async fn list(args: &Args, at: &TaskArgs, page: &PageArgs) -> Result<Exit, Failure> {
    let agent = agent::find(args, &at.of).await?;
    let request = ListTaskPushNotificationConfigsRequest {
        task_id: at.task.clone(),
        page_size: page.page_size.unwrap_or_default(),
        ..ListTaskPushNotificationConfigsRequest::default()
    };
    let (configs, next) = pages(page, async |page_token| {
        let request = ListTaskPushNotificationConfigsRequest { page_token, ..request.clone() };
        let page = agent.peer.list_push_configs(request, agent.timeout).await?;
        Ok((page.configs, page.next_page_token))
    })
    .await?;
    if args.json {
        output::json(&json!({ "configs": configs, "nextPageToken": next }))?;
        return Ok(Exit::Ok);
    }
    if configs.is_empty() {
        eprintln!("no webhooks");
    }
    configs.iter().for_each(print);
    more(&next);
    Ok(Exit::Ok)
}

/// The credentials stay out of the command line, which other users of a machine can read.
fn authentication(
    scheme: Option<&String>,
    variable: Option<&String>,
) -> Result<Option<AuthenticationInfo>, Failure> {
    let (Some(scheme), Some(variable)) = (scheme, variable) else { return Ok(None) };
    let credentials = std::env::var(variable).map_err(|error| {
        Failure::usage(format!("--credentials-env {variable} cannot be read: {error}"))
    })?;
    Ok(Some(AuthenticationInfo { scheme: scheme.clone(), credentials }))
}

fn show(args: &Args, config: &TaskPushNotificationConfig) -> Result<Exit, Failure> {
    if args.json {
        output::json(config)?;
    } else {
        print(config);
    }
    Ok(Exit::Ok)
}

/// One line, without what is secret.
fn print(config: &TaskPushNotificationConfig) {
    let token = if config.token.is_empty() { "" } else { " with a token" };
    let scheme = config.authentication.as_ref().map(|it| format!(" by {}", clean(&it.scheme)));
    println!(
        "{}  {}{DIM}{token}{}{DIM:#}",
        clean(&config.id),
        clean(&config.url),
        scheme.unwrap_or_default()
    );
}
