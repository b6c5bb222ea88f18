//! Whole runs in one process: a real store in a temporary folder, real agents on loopback.

mod agent;
mod bodies;
mod budget;
mod cancel;
mod chunks;
mod computed;
mod context;
mod each;
mod failing_store;
mod follow;
mod gates;
mod groups;
mod hints;
mod interfaces;
mod odd;
mod outcomes;
mod pauses;
mod policies;
mod queue;
mod recovery;
mod rounds;
mod scene;
mod store_failures;
mod timeouts;
