//! Every example agent, asked over HTTP by the project's own client.

mod agents;
mod asking;
mod bindings;
mod conformance;
mod harness;
mod signed;
mod unreliable;
