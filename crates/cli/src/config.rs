//! The settings of a server: defaults, a file, the environment, and flags, the later ones stronger.

mod access;
mod layers;
mod read;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use executor::RunLimits;
use protocol::limits::ServerLimits;
use protocol::outbound::Network;
use registry::EvidenceSettings;
use server::{Declared, Delegation, PublicSkills, Publish, PushSettings};
use url::Url;

use self::read::Reader;
pub(crate) use self::{access::Auth, layers::Layers};
use crate::{args::ConfigArgs, failure::Failure};

/// Every setting with its default.
const DEFAULTS: &str = include_str!("config.default.yaml");

/// What a server is run with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) insecure: bool,
    pub(crate) auth: Auth,
    pub(crate) public_skills: PublicSkills,
    pub(crate) allow_networks: Vec<Network>,
    pub(crate) account_networks: Vec<Network>,
    pub(crate) public_url: Option<Url>,
    pub(crate) workflows: PathBuf,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) delegation: Delegation,
    pub(crate) find_agents: bool,
    pub(crate) declared: Declared,
    pub(crate) publish: Publish,
    /// How long cards are fresh whose servers do not say.
    pub(crate) card_freshness: Duration,
    pub(crate) runs: RunLimits,
    /// How many workflows may be inside each other.
    pub(crate) max_depth: usize,
    pub(crate) remember: Option<Duration>,
    pub(crate) push: PushSettings,
    pub(crate) callbacks: CallbackConfig,
    pub(crate) limits: ServerLimits,
    pub(crate) older_versions: bool,
    pub(crate) evidence: EvidenceSettings,
    /// The account that scheduled runs belong to.
    pub(crate) schedule_account: Option<String>,
    /// The text that agents are tried out with.
    pub(crate) probe_message: Option<String>,
}

/// Whether and how agents tell of their Tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallbackConfig {
    /// Absent: when there is a public URL.
    pub(crate) is_on: Option<bool>,
    /// The longest pause between two looks at a Task of which its agent tells.
    pub(crate) poll: Duration,
    /// The environment variable that holds a shared secret.
    pub(crate) secret_env: Option<String>,
}

impl Config {
    /// Whether agents are asked to tell of their Tasks.
    pub(crate) fn has_callbacks(&self) -> bool {
        self.callbacks.is_on.unwrap_or(self.public_url.is_some())
    }

    /// Puts together what holds, and says where each value comes from.
    ///
    /// # Errors
    /// Everything that is wrong, wherever it was written.
    pub(crate) fn load(args: &ConfigArgs) -> Result<(Self, Layers), Failure> {
        let mut layers = Layers::of_defaults(DEFAULTS);
        if let Some(file) = &args.config {
            layers.add_file(file);
        }
        layers.add_environment(|name| std::env::var_os(name));
        for (key, flag, value) in args.flags() {
            layers.add_flag(key, flag, &value);
        }
        for set in &args.set {
            layers.add_set(set);
        }
        let config = Self::read(&mut layers);
        if let Some(config) = &config {
            config.check(&mut layers);
        }
        layers.check()?;
        let config = config.expect("a value that cannot be read is a problem, and there is none");
        Ok((config, layers))
    }

    /// Evidence that does not count until the next probe would be none most of the time.
    fn check_evidence(&self, layers: &mut Layers) {
        let EvidenceSettings { interval, stale_after, .. } = self.evidence;
        let Some(interval) = interval.filter(|interval| *interval > stale_after) else { return };
        let message = format!(
            "agents are probed every {interval:?}, and what was seen of them counts for {stale_after:?} \
             (`evidence.stale_after`): it would be stale before the next probe"
        );
        let help =
            "set `evidence.interval` to no more than `evidence.stale_after`, or that to no less";
        let _: Option<()> = Reader::new(layers).invalid("evidence.interval", &message, help);
    }

    fn read(layers: &mut Layers) -> Option<Self> {
        let mut reader = Reader::new(layers);
        let listen = reader.address("listen");
        let insecure = reader.boolean("insecure");
        let auth = Auth::read(&mut reader);
        let public_skills = reader.public_skills("card.public_skills");
        let allow_networks = reader.networks("outbound.allow_networks");
        let account_networks = reader.networks("outbound.account_networks");
        let public_url = reader.public_url("public_url");
        let workflows = reader.path("workflows");
        let allowed_hosts = reader.hosts("allowed_hosts");
        let delegation = reader.delegation("delegate");
        let find_agents = reader.switch("find_agents");
        let declared = declared(&mut reader);
        let publish = reader.publish("directory.publish");
        let card_freshness = reader.duration("directory.card_freshness");
        let older_versions = reader.switch("older_versions");
        let max_active = reader.number("runs.max_active", 1);
        let queue = reader.number("runs.queue", 0);
        let max_depth = reader.number("runs.max_depth", 1);
        let remember = reader.duration_or_off("messages.remember");
        let push = push(&mut reader);
        let callbacks = callbacks(&mut reader);
        let evidence = evidence(&mut reader);
        let schedule_account = reader.name("schedules.account");
        let probe_message = reader.name("evidence.probe_message");
        let max_body_bytes = reader.number("limits.body_bytes", 1);
        let body_timeout = reader.duration("limits.body_timeout");
        let keep_alive = reader.duration("limits.keep_alive");
        let card_max_age = reader.duration("limits.card_max_age");
        Some(Self {
            listen: listen?,
            insecure: insecure?,
            auth: auth?,
            public_skills: public_skills?,
            allow_networks: allow_networks?,
            account_networks: account_networks?,
            public_url: public_url?,
            workflows: workflows?,
            allowed_hosts: allowed_hosts?,
            delegation: delegation?,
            find_agents: find_agents?,
            declared: declared?,
            publish: publish?,
            card_freshness: card_freshness?,
            runs: RunLimits { max_active: max_active?, queue: queue? },
            max_depth: max_depth?,
            remember: remember?,
            older_versions: older_versions?,
            push: push?,
            callbacks: callbacks?,
            evidence: evidence?,
            schedule_account: schedule_account?,
            probe_message: probe_message?,
            limits: ServerLimits {
                max_body_bytes: max_body_bytes?,
                body_timeout: body_timeout?,
                keep_alive: keep_alive?,
                card_max_age: card_max_age?,
            },
        })
    }
}

fn declared(reader: &mut Reader<'_>) -> Option<Declared> {
    let streaming = reader.switch("capabilities.streaming");
    let push_notifications = reader.switch("capabilities.push_notifications");
    let required_extensions = reader.extensions("extensions.required");
    Some(Declared {
        streaming: streaming?,
        push_notifications: push_notifications?,
        required_extensions: required_extensions?,
    })
}

fn push(reader: &mut Reader<'_>) -> Option<PushSettings> {
    let attempts = reader.number("push.attempts", 1);
    let give_up_after = reader.duration("push.give_up_after");
    let at_once = reader.number("push.at_once", 1);
    let verify_url = reader.boolean("push.verify_url");
    let keep = reader.duration("push.keep");
    let key_max_age = reader.duration("push.key_max_age");
    Some(PushSettings {
        attempts: u32::try_from(attempts?).unwrap_or(u32::MAX),
        give_up_after: give_up_after?,
        at_once: at_once?,
        verify_url: verify_url?,
        keep: keep?,
        key_max_age: key_max_age?,
    })
}

fn callbacks(reader: &mut Reader<'_>) -> Option<CallbackConfig> {
    let is_on = reader.switch_or_auto("push.callbacks");
    let poll = reader.duration("push.callback_poll");
    let secret_env = reader.name("push.callback_secret_env");
    Some(CallbackConfig { is_on: is_on?, poll: poll?, secret_env: secret_env? })
}

fn evidence(reader: &mut Reader<'_>) -> Option<EvidenceSettings> {
    let interval = reader.duration_or_off("evidence.interval");
    let stale_after = reader.duration("evidence.stale_after");
    let window = reader.duration("evidence.window");
    let at_once = reader.number("evidence.at_once", 1);
    Some(EvidenceSettings {
        interval: interval?,
        stale_after: stale_after?,
        window: window?,
        at_once: at_once?,
    })
}

#[cfg(test)]
mod tests;
