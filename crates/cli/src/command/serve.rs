//! `convoke serve`

use std::{io, net::SocketAddr, path::Path, sync::Arc};

use anstream::eprintln;
use executor::Callbacks;
use protocol::{
    auth::Secret,
    outbound::{Outbound, Policy},
};
use server::{
    Access, CALLBACKS, Delegation, Folder, Hosts, Offering, Orchestrator, Parts, ServeError,
    Settings, access::Tokens,
};
use store::AccountId;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    args::{Args, ConfigArgs},
    command::webhook,
    config::Config,
    drive::Here,
    failure::{Exit, Failure},
    interrupts::Stops,
    output,
    place::Place,
    workflow_file::shown,
};

pub(crate) async fn run(args: &Args, serve: &ConfigArgs) -> Result<Exit, Failure> {
    let (config, _) = Config::load(serve)?;
    let folder = open(&config)?;
    let listener = listen(config.listen).await?;
    let address = listener.local_addr().map_err(Failure::unavailable)?;
    let public_url = public_url(config.public_url.as_ref(), address);
    let mut stops = Stops::new().map_err(Failure::unavailable)?;
    let place = Place::open(args).await?.with_policy(policy(&config))?;
    let place = place.with_card_freshness(config.card_freshness);
    let registry = place.registry().await?;
    let callback_secret = secret(&config)?;
    let outcomes = place.outcomes(config.evidence).await?;
    let mut executor = place.executor().await?.with_run_limits(config.runs).with_outcomes(outcomes);
    if let Some(callbacks) = callbacks(&config, &public_url) {
        executor = executor.with_callbacks(callbacks);
    }
    let executor = Arc::new(executor);
    let resumed = executor.resume_all().await?;
    let here = Here::over(&place, Arc::clone(&executor)).await?;
    if !resumed.is_empty() {
        eprintln!("goes on with {} unfinished runs", resumed.len());
    }
    eprintln!(
        "serves {} workflows from {}; its card: {public_url}/.well-known/agent-card.json",
        folder.workflows().len(),
        shown(&config.workflows)
    );
    let prober = place.prober(config.evidence).await?;
    let stop = CancellationToken::new();
    let orchestrator = Orchestrator::new(Parts {
        executor,
        registry,
        prober: prober.with_message(config.probe_message.as_deref()),
        offering: Offering::Folder(folder),
        public_url,
        push: place.push()?,
        for_accounts: Outbound::new(policy_for_accounts(&config)).map_err(Failure::unavailable)?,
        access: access(&config, &place),
        settings: Settings { callback_secret, ..settings(&config) },
        stop: stop.clone(),
    })
    .map_err(failure)?;
    let mut serving = std::pin::pin!(server::serve(listener, orchestrator, stop.clone()));
    let served = tokio::select! {
        served = &mut serving => served,
        () = stops.next() => {
            eprintln!("stopping: runs stay where they stand and go on at the next start");
            stop.cancel();
            tokio::select! {
                served = serving => served,
                () = stops.next() => return Ok(Exit::Interrupted),
            }
        }
    };
    here.close().await;
    served.map(|()| Exit::Ok).map_err(failure)
}

fn settings(config: &Config) -> Settings {
    Settings {
        limits: config.limits,
        hosts: Hosts::new(config.allowed_hosts.iter().map(String::as_str)),
        remember: config.remember,
        delegation: config.delegation.clone(),
        find_agents: config.find_agents,
        declared: config.declared.clone(),
        older_versions: config.older_versions,
        publish: config.publish,
        push: config.push,
        public_skills: config.public_skills.clone(),
        schedule_account: config.schedule_account.as_deref().map(AccountId::new),
        callback_secret: None,
    }
}

/// Where it connects: loopback while nobody else can reach it.
fn policy(config: &Config) -> Policy {
    Policy {
        allow_loopback: config.listen.ip().is_loopback(),
        allow_networks: config.allow_networks.clone(),
        ..Policy::default()
    }
}

/// Where it connects for callers of other accounts, who are not the operator: nowhere beyond the public internet, unless
/// the operator says so.
fn policy_for_accounts(config: &Config) -> Policy {
    Policy { allow_networks: config.account_networks.clone(), ..Policy::default() }
}

fn access(config: &Config, place: &Place) -> Access {
    let access = Access::default();
    let access = match config.auth.api_keys {
        true => access.with_keys(place.keys()),
        false => access,
    };
    match config.auth.tokens() {
        Some(tokens) => access.with_tokens(Tokens::new(place.outbound.clone(), tokens)),
        None => access,
    }
}

/// Where agents are asked to tell of their Tasks; nowhere when they are not.
fn callbacks(config: &Config, public_url: &str) -> Option<Callbacks> {
    let base = format!("{public_url}{CALLBACKS}");
    config.has_callbacks().then(|| Callbacks::new(&base, config.callbacks.poll))
}

/// What notifications of agents have to be signed with.
fn secret(config: &Config) -> Result<Option<Secret>, Failure> {
    let name = config.callbacks.secret_env.as_deref();
    let secret = name.map(|name| webhook::secret(name, "push.callback_secret_env")).transpose()?;
    Ok(secret.map(Secret::new))
}

/// The folder of workflows. What is wrong with a file is shown, and the file is left out.
fn open(config: &Config) -> Result<Folder, Failure> {
    let path: &Path = &config.workflows;
    let folder = Folder::open(path).map(|it| it.with_max_depth(config.max_depth)).map_err(|error| {
        Failure::usage(format!(
            "cannot read the folder of workflows {}: {error}; name another one with --workflows",
            shown(path)
        ))
    })?;
    let workflows = folder.workflows();
    for problems in &workflows.broken {
        eprintln!("{}", output::problems(problems).trim_end());
        eprintln!("{} is left out\n", problems.source_file.name());
    }
    let has_other_skills = config.delegation != Delegation::Off || config.find_agents;
    if workflows.is_empty() && !has_other_skills {
        let path = shown(path);
        eprintln!("there is no workflow in {path}: every Message will be rejected");
    }
    Ok(folder)
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another process listens there; stop it, or choose another port with --listen"
            }
            _ => "choose another address with --listen",
        };
        Failure::unavailable(format!("cannot listen on {address}: {error}; {advice}"))
    })
}

fn public_url(given: Option<&Url>, address: SocketAddr) -> String {
    match given {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{address}"),
    }
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::Executor(error) => error.into(),
        ServeError::Socket(_) | ServeError::Keys { .. } => Failure::unavailable(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callbacks_are_below_the_public_url_and_as_patient_as_they_are_set() {
        let config = |set: &[&str]| {
            let set = set.iter().map(ToString::to_string).collect();
            Config::load(&ConfigArgs { set, ..ConfigArgs::default() }).unwrap().0
        };
        let shown =
            |set: &[&str]| format!("{:?}", callbacks(&config(set), "http://public.example"));
        assert_eq!(shown(&["push.callbacks=off"]), "None");
        let patient = shown(&["push.callbacks=on", "push.callback_poll=7s"]);
        assert!(patient.contains("\"http://public.example/callbacks\""), "{patient}");
        assert!(patient.contains("longest_pause: 7s"), "{patient}");
    }
}
