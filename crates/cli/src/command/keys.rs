//! `convoke keys add|list|revoke`

use anstream::{eprintln, println};
use comfy_table::{Table, presets};
use jiff::Timestamp;
use serde_json::json;
use server::{
    access::{KeyReport, NewKey, Scopes},
    local::Ask,
};

use crate::{
    args::{Args, KeysCommand},
    content,
    failure::{Exit, Failure},
    output,
    place::{HandedOver, Place},
};

pub(crate) async fn run(args: &Args, command: &KeysCommand) -> Result<Exit, Failure> {
    let place = Place::look(args).await?;
    match command {
        KeysCommand::Add { scopes, label, expires } => {
            let until = |lasts| Timestamp::now().checked_add(lasts).unwrap_or(Timestamp::MAX);
            let new = NewKey {
                account: place.account.clone(),
                scopes: scopes.iter().cloned().collect(),
                label: label.clone(),
                expires_at: expires.map(until),
            };
            add(args, &place, new).await
        }
        KeysCommand::List => list(args, &place).await,
        KeysCommand::Revoke { id } => revoke(args, &place, id).await,
    }
}

/// Makes a key. It leaves this process on stdout only: whoever holds the folder gets what is kept of it.
async fn add(args: &Args, place: &Place, new: NewKey) -> Result<Exit, Failure> {
    let (key, record) = new.draw();
    let ask = Ask::AddKey { account: place.home(), record: Box::new(record.clone()) };
    if matches!(place.hand_over(&ask).await?, HandedOver::Alone) {
        place.keys().add(&record).await?;
    }
    let report = KeyReport::from(record);
    if args.json {
        let mut shown = serde_json::to_value(&report)?;
        shown["key"] = json!(key.expose());
        output::json(&shown)?;
    } else {
        println!("{}", key.expose());
        eprintln!(
            "this is key {} of the account {}; it is shown this once. `convoke serve` takes it where `auth.api_keys` is \
             true",
            report.id, report.account
        );
    }
    Ok(Exit::Ok)
}

async fn list(args: &Args, place: &Place) -> Result<Exit, Failure> {
    let keys = place.keys().list().await?;
    if args.json {
        output::json(&keys)?;
    } else if keys.is_empty() {
        eprintln!("no keys; `convoke keys add` makes one");
    } else {
        println!("{}", table(&keys).trim_fmt());
    }
    Ok(Exit::Ok)
}

fn table(keys: &[KeyReport]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["ID", "ACCOUNT", "STATE", "SCOPES", "CREATED", "EXPIRES", "LABEL"]);
    for key in keys {
        let state = serde_json::to_value(key.state).unwrap_or_default();
        table.add_row([
            key.id.clone(),
            content::clean(key.account.as_str()),
            state.as_str().unwrap_or_default().to_owned(),
            content::clean(&said(&key.scopes)),
            format!("{:.0}", key.created_at),
            key.expires_at.map(|at| format!("{at:.0}")).unwrap_or_default(),
            content::clean(&key.label),
        ]);
    }
    table
}

fn said(scopes: &Scopes) -> String {
    scopes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

async fn revoke(args: &Args, place: &Place, id: &str) -> Result<Exit, Failure> {
    let known = place.keys().list().await?;
    if !known.iter().any(|key| key.id == id) {
        return Err(Failure::usage(format!(
            "there is no key {id:?}; `convoke keys list` shows what there is"
        )));
    }
    let ask = Ask::RevokeKey { account: place.home(), id: id.to_owned() };
    if matches!(place.hand_over(&ask).await?, HandedOver::Alone) {
        place.keys().revoke(id).await?;
    }
    if args.json {
        output::json(&json!({ "revoked": id }))?;
    } else {
        eprintln!("key {id} is good no more");
    }
    Ok(Exit::Ok)
}
