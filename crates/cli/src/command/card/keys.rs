//! `convoke card keys`

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    path::Path,
};

use anstream::println;
use protocol::signature::{Headers, SigningKey};

use super::sign::read_key;
use crate::{
    args::CardKeysCommand,
    failure::{Exit, Failure},
};

pub(super) fn run(command: &CardKeysCommand) -> Result<Exit, Failure> {
    let (key, algorithm, key_id) = match command {
        CardKeysCommand::Generate { file, algorithm, key_id } => {
            let (key, pem) = SigningKey::generate(*algorithm).map_err(Failure::work)?;
            write_secret(file, &pem)?;
            (key, Some(*algorithm), key_id)
        }
        CardKeysCommand::Public { file, algorithm, key_id } => {
            (read_key(file)?, *algorithm, key_id)
        }
    };
    let headers = Headers { algorithm, key_id: key_id.clone(), key_set_url: None };
    println!("{}", key.public_keys(&headers).map_err(Failure::usage)?);
    Ok(Exit::Ok)
}

/// Writes a new file that its owner alone can read. A key that is there already is never replaced:
/// it may be the only one.
fn write_secret(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!(
            "{} is there already and is not replaced; name another file, or move that one away",
            path.display()
        )),
        _ => Failure::unavailable(format!("cannot write {}: {error}", path.display())),
    })
}
