//! `convoke deliveries`

use std::sync::Arc;

use anstream::{eprintln, println};
use comfy_table::{Table, presets};
use server::{DeliveryReport, deliveries, local::Ask, retry_deliveries};

use crate::{
    args::{Args, DeliveriesCommand},
    content,
    failure::{Exit, Failure},
    output,
    place::{HandedOver, Place},
};

pub(crate) async fn run(args: &Args, command: &DeliveriesCommand) -> Result<Exit, Failure> {
    let place = Place::look(args).await?;
    match command {
        DeliveriesCommand::List { dead } => list(args, &place, *dead).await,
        DeliveriesCommand::Retry { task, configuration } => {
            retry(args, &place, task, configuration.as_deref()).await
        }
    }
}

async fn list(args: &Args, place: &Place, only_dead: bool) -> Result<Exit, Failure> {
    let reports = known(place, only_dead).await?;
    if args.json {
        output::json(&reports)?;
    } else if reports.is_empty() {
        let what = if only_dead { "nothing is left undelivered" } else { "no webhooks" };
        eprintln!("{what}; those of Tasks that ended are forgotten after `push.keep`");
    } else {
        println!("{}", table(&reports).trim_fmt());
    }
    Ok(Exit::Ok)
}

async fn known(place: &Place, only_dead: bool) -> Result<Vec<DeliveryReport>, Failure> {
    Ok(deliveries(Arc::clone(&place.store), only_dead).await?)
}

fn table(reports: &[DeliveryReport]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["TASK", "CONFIGURATION", "URL", "STATE", "FAILED", "REFUSED", "ERROR"]);
    for report in reports {
        table.add_row([
            report.task.clone(),
            content::clean(&report.id),
            content::clean(&report.url),
            report.state.as_str().to_owned(),
            report.failed_attempts.to_string(),
            report.refused.to_string(),
            report.error.as_deref().map(content::clean).unwrap_or_default(),
        ]);
    }
    table
}

async fn retry(args: &Args, place: &Place, task: &str, id: Option<&str>) -> Result<Exit, Failure> {
    let dead = known(place, true).await?.into_iter().filter(|report| report.task == task);
    let dead: Vec<String> =
        dead.map(|report| report.id).filter(|known| id.is_none_or(|id| id == known)).collect();
    if dead.is_empty() {
        return Err(Failure::usage(format!(
            "there is nothing to send anew for {task}; `convoke deliveries list --dead` shows what there is"
        )));
    }
    let account = place.account.clone();
    let ask = Ask::RetryDeliveries {
        account: account.clone(),
        task: task.to_owned(),
        id: id.map(str::to_owned),
    };
    if matches!(place.hand_over(&ask).await?, HandedOver::Alone) {
        retry_deliveries(Arc::clone(&place.store), account, task, id).await?;
        eprintln!("it is sent once `convoke serve` runs");
    }
    if args.json {
        output::json(&dead)?;
    } else {
        dead.iter().for_each(|id| println!("{}", content::clean(id)));
    }
    Ok(Exit::Ok)
}
