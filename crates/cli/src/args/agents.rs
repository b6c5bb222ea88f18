use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use url::Url;

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct AgentsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

// Whose directory it is.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ServerArgs {
    /// Work on the directory of this server (`convoke serve`) instead of the one in the data folder.
    #[arg(long, global = true, env = "CONVOKE_SERVER", value_name = "URL")]
    pub(crate) server: Option<Url>,
    /// The environment variable that holds the API key or the token for the server; CONVOKE_KEY when absent.
    #[arg(long, global = true, value_name = "VARIABLE")]
    pub(crate) bearer_env: Option<String>,
}

impl ServerArgs {
    /// The environment variable that holds the key.
    pub(crate) fn variable(&self) -> &str {
        self.bearer_env.as_deref().unwrap_or("CONVOKE_KEY")
    }
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Take in the card of an agent, or the agents that a host's catalog lists.
    Add {
        /// A URL of a card, a host or a catalog, or a file that holds a card or an array of cards; `-` reads stdin.
        #[arg(value_name = "URL|FILE")]
        from: String,
        /// Its name in the directory; made from the card's name when absent.
        #[arg(long)]
        name: Option<String>,
        /// Approve it in one go, so that workflows may use it; not what somebody else's catalog lists.
        #[arg(long)]
        approve: bool,
    },
    /// Bring the directory in line with a catalog file.
    Apply {
        /// The catalog.
        file: PathBuf,
        /// Approve what it adds.
        #[arg(long)]
        approve: bool,
        /// Only say what would change.
        #[arg(long)]
        dry_run: bool,
    },
    /// List agents.
    List {
        #[command(flatten)]
        find: FindArgs,
    },
    /// Find agents by words.
    Search {
        /// The words.
        words: String,
        #[command(flatten)]
        find: FindArgs,
    },
    /// Show all that is known of an agent.
    Show {
        name: String,
        /// Ask the agent for the card it shows to those it knows, and show that.
        #[arg(long)]
        extended: bool,
    },
    /// Let workflows use an agent.
    Approve {
        #[command(flatten)]
        decision: Decision,
        /// The last day before the approval has to be renewed; otherwise the policy says.
        #[arg(long, value_name = "YYYY-MM-DD")]
        review_by: Option<jiff::civil::Date>,
    },
    /// Propose an agent anew.
    Propose(Decision),
    /// Refuse an agent.
    Reject(Decision),
    /// Take an agent out at once, until a matter is cleared.
    Suspend(Decision),
    /// Say that there is something better than an agent.
    Deprecate(Decision),
    /// Take a deprecated agent out of use.
    Retire(Decision),
    /// Let others learn of an agent, once it is approved (`directory.publish` of the server).
    Publish {
        name: String,
        /// Let them no longer.
        #[arg(long)]
        withdraw: bool,
    },
    /// Give an agent tags of your own.
    Tag {
        name: String,
        /// The tags.
        tags: Vec<String>,
        /// Takes a tag of yours away; may be given more than once.
        #[arg(long = "remove", value_name = "TAG")]
        removed: Vec<String>,
    },
    /// Look again at the cards of agents.
    Refresh {
        /// Which; all of them when absent.
        names: Vec<String>,
        /// Only say what would change.
        #[arg(long)]
        dry_run: bool,
    },
    /// Look now whether agents are there and speak A2A as their cards say; exit 1 when one is not conformant.
    Probe {
        /// Which; all that are in use or wait to be when absent.
        names: Vec<String>,
    },
    /// Compare two versions of an agent's card.
    Diff {
        name: String,
        /// The earlier version; the one before the later when absent.
        #[arg(long, value_name = "NUMBER")]
        from: Option<u32>,
        /// The later version; the present one when absent.
        #[arg(long, value_name = "NUMBER")]
        to: Option<u32>,
    },
    /// Say what a card should be better at; exit 1 when it has errors.
    Lint {
        /// An agent of the directory, a URL, or a file; `-` reads stdin.
        #[arg(value_name = "NAME|URL|FILE")]
        what: String,
    },
    /// Write agents down as a catalog.
    Export {
        /// Which; all of them when absent.
        names: Vec<String>,
    },
    /// Show what is decided without asking, or replace it by a file.
    Policy {
        /// The policy.
        file: Option<PathBuf>,
    },
    /// Log in to an agent whose card wants a person for that, by a browser or a code.
    Login { name: String },
    /// Forget an agent.
    Remove { name: String },
}

impl AgentsCommand {
    /// Whether it leaves the directory as it is.
    pub(crate) fn only_looks(&self) -> bool {
        match self {
            Self::List { .. }
            | Self::Search { .. }
            | Self::Show { .. }
            | Self::Diff { .. }
            | Self::Lint { .. }
            | Self::Login { .. }
            | Self::Export { .. }
            | Self::Policy { file: None }
            | Self::Apply { dry_run: true, .. }
            | Self::Refresh { dry_run: true, .. } => true,
            Self::Add { .. }
            | Self::Apply { .. }
            | Self::Approve { .. }
            | Self::Propose(_)
            | Self::Reject(_)
            | Self::Suspend(_)
            | Self::Deprecate(_)
            | Self::Retire(_)
            | Self::Publish { .. }
            | Self::Tag { .. }
            | Self::Refresh { .. }
            | Self::Probe { .. }
            | Self::Policy { .. }
            | Self::Remove { .. } => false,
        }
    }
}

/// Which agents; all conditions have to hold, and those given more than once each time.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct FindArgs {
    /// Only those with this tag; may be given more than once.
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only those with one of these tags; may be given more than once.
    #[arg(long = "any-tag", value_name = "TAG")]
    pub(crate) any_tags: Vec<String>,
    /// Only those of this category of the curator's.
    #[arg(long, value_name = "NAME")]
    pub(crate) category: Option<String>,
    /// Only those with this skill.
    #[arg(long, value_name = "ID")]
    pub(crate) skill: Option<String>,
    /// Only those of this provider.
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Only those that take this media type.
    #[arg(long, value_name = "TYPE")]
    pub(crate) input_mode: Option<String>,
    /// Only those that give this media type.
    #[arg(long, value_name = "TYPE")]
    pub(crate) output_mode: Option<String>,
    /// Only those with an interface of this binding.
    #[arg(long, value_name = "BINDING")]
    pub(crate) binding: Option<String>,
    /// Only those with an interface of this A2A version.
    #[arg(long = "a2a", value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Only those that declare it: streaming, push_notifications, extended_card.
    #[arg(long, value_name = "NAME")]
    pub(crate) capability: Option<String>,
    /// Only those that stand so; may be given more than once, and one is enough.
    #[arg(long = "state", value_name = "STANDING", value_parser = standing)]
    pub(crate) states: Vec<String>,
    /// Only those whose card is signed so.
    #[arg(long, value_name = "WORTH", value_parser = signed)]
    pub(crate) signed: Option<String>,
    /// Only those of which at least so much was seen.
    #[arg(long, value_name = "TIER", value_parser = tier)]
    pub(crate) min_evidence: Option<String>,
    /// How many at most.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Also count the values of all that are found.
    #[arg(long)]
    pub(crate) facets: bool,
}

fn standing(word: &str) -> Result<String, String> {
    known(word, &registry::Curation::ALL.map(registry::Curation::as_str))
}

fn signed(word: &str) -> Result<String, String> {
    known(word, &registry::Signed::ALL.map(registry::Signed::as_str))
}

fn tier(word: &str) -> Result<String, String> {
    known(word, &registry::Tier::ALL.map(registry::Tier::as_str))
}

fn known(word: &str, words: &[&str]) -> Result<String, String> {
    let is_known = words.contains(&word);
    is_known.then(|| word.to_owned()).ok_or_else(|| format!("it is one of {}", words.join(", ")))
}

#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct Decision {
    /// The agent.
    pub(crate) name: String,
    /// Why; kept with the decision.
    #[arg(long, value_name = "REASON")]
    pub(crate) why: Option<String>,
}
