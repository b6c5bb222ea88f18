//! The agents themselves: what each one does with a Message.

mod activities;
mod asks;
mod booking;
mod chunks;
mod echo;
mod extractor;
mod flaky;
mod flights;
mod gate;
mod hotels;
mod oncall;
mod painter;
mod signs;
mod slow;
mod writer;

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    http::{Extensions, HeaderMap},
};
use protocol::{
    limits::ServerLimits,
    server,
    service::{A2aService, Call},
    version::Version,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Kind, Options, conformance,
    harness::{Agent, calls::CallLog, service::Service},
    older,
};

/// The routes of an agent: A2A, and `GET /calls`.
///
/// # Errors
/// When an agent that calls others cannot be set up.
pub(crate) fn router(
    kind: Kind,
    url: &str,
    options: &Options,
    calls: &CallLog,
    stop: &CancellationToken,
) -> io::Result<Router> {
    let pace = options.pace.unwrap_or_else(|| usual_pace(kind));
    let (agent, routes) = agent(kind, url, options)?;
    let service = {
        let (url, options, calls, stop) =
            (url.to_owned(), options.clone(), calls.clone(), stop.clone());
        move || Service::new(agent.clone(), &url, &options, pace, calls.clone(), stop.clone())
    };
    let routed = |service| serve(Arc::new(service), options).merge(routes);
    let router = match kind {
        Kind::Conformance => conformance::router(service, options, stop)?,
        Kind::Flaky => flaky::before(routed(service()), options, calls),
        _ => routed(service()),
    };
    Ok(router.merge(calls.router()))
}

/// The routes of a service, in the versions of A2A that are asked for.
pub(crate) fn serve(service: Arc<dyn A2aService>, options: &Options) -> Router {
    if !options.older_versions && options.card_of.is_none() {
        return server::router(service);
    }
    let card = service.card(&any_call());
    let routes = server::router_with_older_versions(service, ServerLimits::default());
    match options.card_of {
        Some(of) => older::with_card(routes, &card, of),
        None => routes,
    }
}

/// The cards here do not depend on who asks.
fn any_call() -> Call {
    Call {
        version: Version::V1_0,
        extensions: Vec::new(),
        tenant: String::new(),
        headers: HeaderMap::new(),
        context: Extensions::new(),
    }
}

/// An agent, and what it serves beside A2A.
fn agent(kind: Kind, url: &str, options: &Options) -> io::Result<(Arc<dyn Agent>, Router)> {
    let agent: Arc<dyn Agent> = match kind {
        Kind::Flights => Arc::new(flights::Flights),
        Kind::Hotels => Arc::new(hotels::Hotels),
        Kind::Activities => Arc::new(activities::Activities),
        Kind::Echo => Arc::new(echo::Echo { direct: options.direct }),
        Kind::Slow => Arc::new(slow::Slow { delay: options.delay }),
        Kind::Flaky => Arc::new(flaky::Flaky::new(options)),
        Kind::Asks => Arc::new(asks::Asks { turns: options.turns }),
        Kind::Gate => {
            let gate = gate::Gate::default();
            let routes = gate.router();
            return Ok((Arc::new(gate), routes));
        }
        Kind::SignsItsCard => {
            let signs = signs::SignsItsCard::new(url, options.signing_key.as_deref())?;
            let routes = signs.router();
            return Ok((Arc::new(signs), routes));
        }
        Kind::Painter => Arc::new(painter::Painter),
        Kind::Writer => Arc::new(writer::Writer),
        Kind::Extractor => {
            Arc::new(extractor::Extractor { careless: options.failures, had: Mutex::default() })
        }
        Kind::Specialist => Arc::new(oncall::Specialist),
        Kind::Generalist => Arc::new(oncall::Generalist),
        Kind::Notifier => Arc::new(oncall::Notifier),
        Kind::Chunks => Arc::new(chunks::Chunks { pieces: options.chunks }),
        Kind::Conformance => Arc::new(conformance::Scripted),
    };
    Ok((agent, Router::new()))
}

fn usual_pace(kind: Kind) -> Duration {
    match kind {
        Kind::Flights | Kind::Hotels | Kind::Activities => Duration::from_secs(1),
        Kind::Echo
        | Kind::Slow
        | Kind::Flaky
        | Kind::Chunks
        | Kind::Asks
        | Kind::Gate
        | Kind::Painter
        | Kind::Writer
        | Kind::Extractor
        | Kind::Specialist
        | Kind::Generalist
        | Kind::Notifier
        | Kind::SignsItsCard
        | Kind::Conformance => Duration::ZERO,
    }
}
