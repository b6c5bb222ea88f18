//! The orchestrator over real sockets: our client in front, example agents behind.

mod callbacks;
mod chunks;
mod dripping;
mod listing;
mod pauses;
mod pushes;
mod recovery;
mod relay;
mod scene;
mod serving;
mod starting;
mod streams;
