//! `convoke webhook`

use std::net::SocketAddr;

use anstream::{eprintln, println};
use protocol::{
    outbound::FetchLimits,
    push::{Proof, Verifier},
    v1::{StreamResponse, stream_response::Payload},
};
use serde_json::{Value, json};
use server::webhook::{KeySource, Notification, router};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;

use crate::{
    args::{Args, ListenArgs},
    content,
    failure::{Exit, Failure},
    interrupts::Stops,
    place,
};

/// Notifications that wait to be printed; their senders wait behind them.
const WAITING: usize = 64;

/// Receives notifications until it is told to stop.
pub(crate) async fn listen(args: &Args, listen: &ListenArgs) -> Result<Exit, Failure> {
    let verifier = verifier(listen)?;
    let outbound = place::outbound()?;
    let source = listen.jwks.as_ref().map(|url| KeySource {
        url: url.to_string(),
        outbound,
        limits: FetchLimits::default(),
    });
    let mut stops = Stops::new().map_err(Failure::unavailable)?;
    let listener = bind(listen.listen).await?;
    let address = listener.local_addr().map_err(Failure::unavailable)?;
    let (tell, mut told) = mpsc::channel(WAITING);
    let stop = CancellationToken::new();
    let router = router(verifier, source, tell);
    let mut serving = std::pin::pin!(protocol::server::serve(listener, router, stop.clone()));
    eprintln!("takes notifications at http://{address}/; {}", expected(listen));
    loop {
        tokio::select! {
            Some(notification) = told.recv() => print(args, &notification)?,
            served = &mut serving => {
                while let Ok(notification) = told.try_recv() {
                    print(args, &notification)?;
                }
                return served.map(|()| Exit::Ok).map_err(Failure::unavailable);
            }
            () = stops.next() => {
                if stop.is_cancelled() {
                    return Ok(Exit::Interrupted);
                }
                stop.cancel();
            }
        }
    }
}

fn verifier(listen: &ListenArgs) -> Result<Verifier, Failure> {
    let mut verifier = Verifier::default();
    if let Some(token) = &listen.token {
        verifier = verifier.with_token(token.clone());
    }
    if let Some(name) = &listen.hmac_env {
        verifier = verifier.with_secret(secret(name, "--hmac-env")?.as_bytes());
    }
    Ok(verifier)
}

/// The secret in an environment variable, which a flag or a setting names.
pub(crate) fn secret(name: &str, named_by: &str) -> Result<String, Failure> {
    let secret = std::env::var(name).ok().filter(|secret| !secret.is_empty());
    secret.ok_or_else(|| {
        let why = format!("the environment variable {name} of {named_by} holds no secret");
        Failure::usage(why)
    })
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::unavailable(format!(
            "cannot listen on {address}: {error}; choose another address with --listen"
        ))
    })
}

fn expected(listen: &ListenArgs) -> String {
    let checks = [
        listen.token.as_ref().map(|_| "the token"),
        listen.hmac_env.as_ref().map(|_| "an HMAC"),
        listen.jwks.as_ref().map(|_| "a signature"),
    ];
    match checks.into_iter().flatten().collect::<Vec<_>>()[..] {
        [] => "whoever sends them is believed (--token, --jwks and --hmac-env change that)".into(),
        ref checks => format!("each has to bring {}", checks.join(" and ")),
    }
}

/// Prints a notification as one line on stdout.
fn print(args: &Args, notification: &Notification) -> Result<(), Failure> {
    let Notification { at, checked } = notification;
    if args.json {
        let line = match checked {
            Ok((event, proofs)) => {
                let verified: Vec<Value> = proofs.iter().map(written).collect();
                json!({ "at": at, "verified": verified, "event": event })
            }
            Err(why) => json!({ "at": at, "refused": why.to_string() }),
        };
        println!("{line}");
        return Ok(());
    }
    let time = at.strftime("%H:%M:%S");
    match checked {
        Ok((event, proofs)) => {
            let task = content::clean(event.task_id());
            println!("{time} {task} {} ({})", said(event), verified(proofs));
        }
        Err(why) => println!("{time} refused: {}", content::clean(&why.to_string())),
    }
    Ok(())
}

fn written(proof: &Proof) -> Value {
    match proof {
        Proof::Token => json!({ "by": "token" }),
        Proof::Hmac => json!({ "by": "hmac" }),
        Proof::Jwt { issuer } => json!({ "by": "jwt", "issuer": issuer }),
    }
}

fn verified(proofs: &[Proof]) -> String {
    let words = proofs.iter().map(|proof| match proof {
        Proof::Token => "token".to_owned(),
        Proof::Hmac => "HMAC".to_owned(),
        Proof::Jwt { issuer } => format!("signed by {}", content::clean(issuer)),
    });
    match words.collect::<Vec<_>>()[..] {
        [] => "not verified".to_owned(),
        ref words => words.join(", "),
    }
}

/// An event in a few words.
fn said(event: &StreamResponse) -> String {
    match &event.payload {
        Some(Payload::Task(task)) => task.state().word().to_owned(),
        Some(Payload::StatusUpdate(update)) => {
            let text = update.status.as_ref().and_then(protocol::v1::TaskStatus::text);
            let text = text.map(|text| format!(": {}", content::clean(&text)));
            format!("{}{}", update.state().word(), text.unwrap_or_default())
        }
        Some(Payload::ArtifactUpdate(update)) => {
            let name = update.artifact.as_ref().map_or("", |artifact| &artifact.name);
            format!("artifact {}", content::clean(name))
        }
        Some(Payload::Message(message)) => {
            format!("message: {}", content::clean(&message.text()))
        }
        None => "nothing".to_owned(),
    }
}
