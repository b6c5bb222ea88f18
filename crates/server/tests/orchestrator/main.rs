//! The orchestrator over real sockets: our client in front, example agents behind.

mod listing;
mod pauses;
mod recovery;
mod scene;
mod starting;
mod streams;
