//! `convoke card sign`

use std::path::Path;

use anstream::{eprintln, println};
use protocol::signature::{self, Algorithm, Headers, SigningKey, Unsigned};

use super::read;
use crate::{
    args::SignArgs,
    content::clean,
    failure::{Exit, Failure},
    output::DIM,
};

pub(super) fn sign(args: &SignArgs) -> Result<Exit, Failure> {
    let in_file = |error| Failure::usage(format!("{}: {error}", args.file.display()));
    let Unsigned { mut card, left_out } = Unsigned::read(&read(&args.file)?).map_err(in_file)?;
    let key = read_key(&args.key)?;
    let headers = Headers {
        algorithm: args.algorithm,
        key_id: args.key_id.clone(),
        key_set_url: args.key_set_url.as_ref().map(ToString::to_string),
    };
    signature::sign(&mut card, &key, &headers).map_err(in_file)?;
    if !left_out.is_empty() && card.signatures.len() > 1 {
        eprintln!(
            "{DIM}note{DIM:#} signatures made before over what is left out are no longer right"
        );
    }
    for path in left_out {
        eprintln!(
            "{DIM}left out{DIM:#} {}: A2A 1.0 does not know it, so others could not check a \
             signature over it",
            clean(&path)
        );
    }
    let text = serde_json::to_string_pretty(&card)?;
    match &args.out {
        None => println!("{text}"),
        Some(out) => std::fs::write(out, text + "\n").map_err(|error| {
            Failure::unavailable(format!("cannot write {}: {error}", out.display()))
        })?,
    }
    Ok(Exit::Ok)
}

/// Reads a private key.
pub(super) fn read_key(path: &Path) -> Result<SigningKey, Failure> {
    let from = path.display().to_string();
    SigningKey::read(&read(path)?, &from).map_err(Failure::usage)
}

/// Reads the name of an algorithm, whatever the case.
pub(crate) fn algorithm(name: &str) -> Result<Algorithm, String> {
    let known = Algorithm::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name));
    known.map_or_else(
        || name.parse().map_err(|error: signature::SignatureError| error.to_string()),
        Ok,
    )
}
