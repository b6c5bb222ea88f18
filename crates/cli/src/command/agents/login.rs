//! `convoke agents login`

use anstream::{eprintln, println};
use protocol::auth::{AuthError, Login};

use crate::{
    content::clean,
    failure::{Exit, Failure},
    output::{BOLD, DIM},
    place::Place,
};

/// Logs in, and keeps the tokens in the data folder.
pub(super) async fn run(place: &Place, name: &str) -> Result<Exit, Failure> {
    let (agent, keyring) = place.keyrings().await?.by_name(name)?;
    let login = keyring.login().await.map_err(failure)?;
    match &login {
        Login::Browser(login) => {
            eprintln!("open this in a browser on this machine:");
            println!("{}", clean(login.url.as_str()));
        }
        Login::Device(login) => {
            eprintln!("open this on any device:");
            println!("{}", clean(login.complete_url.as_deref().unwrap_or(&login.url)));
            eprintln!("and type the code {BOLD}{}{BOLD:#}", clean(&login.code));
        }
    }
    eprintln!("{DIM}waiting; Ctrl-C gives up{DIM:#}");
    login.finish().await.map_err(failure)?;
    eprintln!("logged in to {}", clean(&agent.name));
    Ok(Exit::Ok)
}

fn failure(error: AuthError) -> Failure {
    match error {
        AuthError::Unreachable { .. } | AuthError::Vault { .. } => Failure::unavailable(error),
        _ => Failure::work(error),
    }
}
