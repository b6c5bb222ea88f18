//! What can be typed after `convoke keys`.

use std::time::Duration;

use clap::Subcommand;
use server::access::Scope;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key for the account of `--account`, and print it; it is shown this once.
    Add {
        /// What it is good for: runs:start:WORKFLOW, runs:start:*, runs:read, agents:read, agents:curate or admin; may
        /// be given more than once.
        #[arg(long = "scope", required = true, value_name = "SCOPE")]
        scopes: Vec<Scope>,
        /// Who has it, or what for.
        #[arg(long, default_value = "", value_name = "TEXT")]
        label: String,
        /// How long it is good, as in 90d; for ever when absent.
        #[arg(long, value_name = "DURATION", value_parser = planner::parse_duration)]
        expires: Option<Duration>,
    },
    /// List the keys of all accounts; none of them is shown itself.
    List,
    /// End a key, at once.
    Revoke {
        /// Its id, as listed.
        id: String,
    },
}
