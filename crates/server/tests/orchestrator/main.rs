//! The orchestrator over real sockets: our client in front, example agents behind.

mod accounts;
mod callbacks;
mod chunks;
mod declared;
mod directory;
mod dripping;
mod listing;
mod load;
mod pauses;
mod pushes;
mod recovery;
mod references;
mod refusals;
mod relay;
mod scene;
mod schedules;
mod serving;
mod starting;
mod streams;
mod telling;
mod tenants;
mod through;
