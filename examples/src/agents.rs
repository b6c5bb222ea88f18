//! The agents themselves: what each one does with a Message.

mod activities;
mod asks;
mod booking;
mod chunks;
mod echo;
mod flaky;
mod flights;
mod gate;
mod hotels;
mod painter;
mod slow;

use std::{sync::Arc, time::Duration};

use axum::Router;
use tokio_util::sync::CancellationToken;

use crate::{
    Kind, Options,
    harness::{Agent, calls::CallLog, service::Service},
};

/// The routes of an agent: A2A, and `GET /calls`.
pub(crate) fn router(
    kind: Kind,
    url: &str,
    options: &Options,
    calls: &CallLog,
    stop: &CancellationToken,
) -> Router {
    let pace = options.pace.unwrap_or_else(|| usual_pace(kind));
    let gate = gate::Gate::default();
    let service =
        Service::new(agent(kind, options, &gate), url, options, pace, calls.clone(), stop.clone());
    let router = protocol::server::router(Arc::new(service));
    let router = match kind {
        Kind::Flaky => flaky::before(router, options, calls),
        Kind::Gate => router.merge(gate.router()),
        _ => router,
    };
    router.merge(calls.router())
}

fn agent(kind: Kind, options: &Options, gate: &gate::Gate) -> Arc<dyn Agent> {
    match kind {
        Kind::Flights => Arc::new(flights::Flights),
        Kind::Hotels => Arc::new(hotels::Hotels),
        Kind::Activities => Arc::new(activities::Activities),
        Kind::Echo => Arc::new(echo::Echo { direct: options.direct }),
        Kind::Slow => Arc::new(slow::Slow { delay: options.delay }),
        Kind::Flaky => Arc::new(flaky::Flaky::new(options)),
        Kind::Asks => Arc::new(asks::Asks { turns: options.turns }),
        Kind::Gate => Arc::new(gate.clone()),
        Kind::Painter => Arc::new(painter::Painter),
        Kind::Chunks => Arc::new(chunks::Chunks { pieces: options.chunks }),
    }
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
        | Kind::Painter => Duration::ZERO,
    }
}
