//! `convoke serve`

use std::{io, net::SocketAddr, sync::Arc};

use anstream::eprintln;
use server::{Orchestrator, Parts, ServeError, Workflows};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    args::{Args, ServeArgs},
    drive::Here,
    failure::{Exit, Failure},
    interrupts::Stops,
    output,
    place::Place,
    workflow_file::shown,
};

pub(crate) async fn run(args: &Args, serve: &ServeArgs) -> Result<Exit, Failure> {
    if !serve.listen.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "{} is not a loopback address: whoever reaches the server may run workflows, so it listens on this \
             machine only until it can tell callers apart; use 127.0.0.1:PORT or [::1]:PORT",
            serve.listen
        )));
    }
    let workflows = read(serve)?;
    let listener = listen(serve.listen).await?;
    let address = listener.local_addr().map_err(Failure::unavailable)?;
    let public_url = public_url(serve.public_url.as_ref(), address)?;
    let mut stops = Stops::new().map_err(Failure::unavailable)?;
    let place = Place::open(args).await?;
    let registry = Arc::new(place.registry().await?);
    let executor = Arc::new(place.executor().await?);
    let resumed = executor.resume_all().await?;
    let here = Here::over(&place, Arc::clone(&executor)).await?;
    if !resumed.is_empty() {
        eprintln!("goes on with {} unfinished runs", resumed.len());
    }
    eprintln!(
        "serves {} workflows from {}; its card: {public_url}/.well-known/agent-card.json",
        workflows.len(),
        shown(&serve.workflows)
    );
    let stop = CancellationToken::new();
    let orchestrator =
        Orchestrator::new(Parts { executor, registry, workflows, public_url, stop: stop.clone() });
    let mut serving = std::pin::pin!(server::serve(listener, orchestrator, stop.clone()));
    let served = tokio::select! {
        served = &mut serving => served,
        () = stops.next() => {
            eprintln!("stopping: runs stay where they stand and go on at the next start");
            stop.cancel();
            tokio::select! {
                served = serving => served,
                () = stops.next() => return Ok(Exit::Interrupted),
            }
        }
    };
    here.close().await;
    served.map(|()| Exit::Ok).map_err(failure)
}

/// The workflows of the folder. What is wrong with a file is shown, and the file is left out.
fn read(serve: &ServeArgs) -> Result<Workflows, Failure> {
    let folder = &serve.workflows;
    let workflows = Workflows::read(folder).map_err(|error| {
        Failure::usage(format!(
            "cannot read the folder of workflows {}: {error}; name another one with --workflows",
            shown(folder)
        ))
    })?;
    for problems in &workflows.broken {
        eprintln!("{}", output::problems(problems).trim_end());
        eprintln!("{} is left out\n", problems.source_file.name());
    }
    if workflows.is_empty() {
        eprintln!("there is no workflow in {}: every Message will be rejected", shown(folder));
    }
    Ok(workflows)
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another process listens there; stop it, or choose another port with --listen"
            }
            _ => "choose another address with --listen",
        };
        Failure::unavailable(format!("cannot listen on {address}: {error}; {advice}"))
    })
}

fn public_url(given: Option<&Url>, address: SocketAddr) -> Result<String, Failure> {
    let Some(url) = given else { return Ok(format!("http://{address}")) };
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.host().is_some()
        && url.query().is_none()
        && url.fragment().is_none();
    if !is_plain {
        return Err(Failure::usage(format!(
            "`{url}` cannot be the URL of an agent: write http:// or https://, a host, and no query"
        )));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::Executor(error) => error.into(),
        ServeError::Socket(_) => Failure::unavailable(error),
    }
}
