//! `convoke send`, `task` and `card show --extended` as a client of any agent, by all three bindings.

mod errors;
mod files;
mod flags;
mod tasks;

const BINDINGS: [&str; 3] = ["jsonrpc", "http+json", "grpc"];
