//! What an operator can decide about a server.

use std::time::Duration;

use protocol::{auth::Secret, limits::ServerLimits};
use store::AccountId;

use crate::{Delegation, Hosts, PublicSkills};

/// Settings of a server; each has a default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the bindings take.
    pub limits: ServerLimits,
    /// Hosts that requests may name besides loopback and that of the public URL.
    pub hosts: Hosts,
    /// For how long an equal Message counts as the same one; `None` takes each Message as new.
    pub remember: Option<Duration>,
    /// Whether Messages are passed on to agents of the directory.
    pub delegation: Delegation,
    /// Whether the directory answers Messages (`find-agents`).
    pub find_agents: bool,
    /// What its cards declare.
    pub declared: Declared,
    /// Whether A2A 0.3, 0.2 and 0.1 are spoken besides 1.0.
    pub older_versions: bool,
    /// What others may learn of the directory.
    pub publish: Publish,
    /// How notifications are delivered.
    pub push: PushSettings,
    /// Which skills stand on the card that everybody can read.
    pub public_skills: PublicSkills,
    /// The account that scheduled runs belong to; that of the process without.
    pub schedule_account: Option<AccountId>,
    /// What notifications of agents have to be signed with (HMAC-SHA-256), besides bringing their token.
    pub callback_secret: Option<Secret>,
}

/// What the cards of a server declare, and it keeps to: what is not declared is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Whether clients may follow Tasks as streams. Default yes.
    pub streaming: bool,
    /// Whether clients may register webhooks. Default yes.
    pub push_notifications: bool,
    /// Protocol extensions that each call has to ask for, as URIs. Default none.
    pub required_extensions: Vec<String>,
}

impl Default for Declared {
    fn default() -> Self {
        Self { streaming: true, push_notifications: true, required_extensions: Vec::new() }
    }
}

/// What a server publishes by Agentic Resource Discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Publish {
    /// Nothing. The default: whom a server works with is its own affair.
    #[default]
    Off,
    /// The server itself, by its card.
    Own,
    /// Also the agents of its directory that are approved and marked public.
    Public,
}

/// How push notifications are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushSettings {
    /// How often one notification is sent until its webhook counts as gone. Default 20.
    pub attempts: u32,
    /// How long that is tried at most. Default one day.
    pub give_up_after: Duration,
    /// How many notifications are under way at once, a quarter of them to one host at most. Default 32.
    pub at_once: usize,
    /// Whether a webhook has to answer a challenge before it is registered. Default no.
    pub verify_url: bool,
    /// How long a configuration is kept once nothing more is delivered to it. Default one day.
    pub keep: Duration,
    /// How long one key signs. Default 90 days.
    pub key_max_age: Duration,
}

impl Default for PushSettings {
    fn default() -> Self {
        let day = Duration::from_hours(24);
        Self {
            attempts: 20,
            give_up_after: day,
            at_once: 32,
            verify_url: false,
            keep: day,
            key_max_age: day * 90,
        }
    }
}

impl Default for Settings {
    /// Loopback only, A2A 1.0 alone, Messages remembered for an hour, none passed on or
    /// answered by the directory.
    fn default() -> Self {
        Self {
            limits: ServerLimits::default(),
            hosts: Hosts::default(),
            remember: Some(Duration::from_hours(1)),
            delegation: Delegation::default(),
            find_agents: false,
            declared: Declared::default(),
            older_versions: false,
            publish: Publish::Off,
            push: PushSettings::default(),
            public_skills: PublicSkills::default(),
            schedule_account: None,
            callback_secret: None,
        }
    }
}
