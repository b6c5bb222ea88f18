use std::path::PathBuf;

use insta::assert_snapshot;

use super::{Conflict, Fencing, Holder, Invalid, StoreError};
use crate::{AccountId, Incarnation, JournalId, Seq, Table, Version};

fn message(error: impl Into<StoreError>) -> String {
    error.into().to_string()
}

fn locked(holder: Option<Holder>) -> StoreError {
    StoreError::Locked { folder: PathBuf::from("/data"), holder }
}

#[test]
fn a_locked_folder_says_who_holds_it_and_what_to_do() {
    let holder = Holder {
        pid: 4711,
        command: "convoke serve --data /data".to_owned(),
        started_at: "2026-01-02T03:04:05.678Z".parse().unwrap(),
    };
    assert_snapshot!(message(locked(Some(holder))), @"the data folder /data is in use by process 4711 (`convoke serve --data /data`), since 2026-01-02T03:04:05Z. Stop that process first, or use another data folder");
    assert_snapshot!(message(locked(None)), @"the data folder /data is in use by another process. Stop that process first, or use another data folder");
}

#[test]
fn a_newer_folder_says_which_version_is_needed() {
    let error = StoreError::NewerSchema { folder: PathBuf::from("/data"), found: 9, known: 1 };
    assert_snapshot!(message(error), @"the data folder /data has schema 9, and this version reads up to schema 1. Run the version of Convoke that wrote it or a later one, or use another data folder; nothing was changed");
}

#[test]
fn failing_storage_says_why_and_is_the_only_retryable_error() {
    let full = StoreError::unavailable("writing to the store", "database or disk is full");
    assert!(full.is_retryable());
    assert_eq!(std::error::Error::source(&full).unwrap().to_string(), "database or disk is full");
    assert_snapshot!(full, @"writing to the store failed: database or disk is full; nothing was acknowledged. Check that the data folder is writable and its disk has room, then try again");
    let damaged = StoreError::Corrupt {
        doing: "reading entries".to_owned(),
        what: "entry 3 of journal `run` is missing".to_owned(),
    };
    assert!(!damaged.is_retryable());
    assert_snapshot!(damaged, @"reading entries found damaged data: entry 3 of journal `run` is missing. Stop Convoke, keep a copy of the data folder, and restore it from a backup");
    assert!(!locked(None).is_retryable());
}

#[test]
fn a_conflict_says_what_was_expected_and_what_is_there() {
    let (account, journal) = (AccountId::from("me"), JournalId::from("run"));
    let (table, key) = (Table::new("tasks"), "t1".to_owned());
    let all = [
        message(Conflict::JournalExists { account: account.clone(), journal: journal.clone() }),
        message(Conflict::JournalUnknown { account: account.clone(), journal: journal.clone() }),
        message(Conflict::JournalMoved { account, journal, expected: Seq(3), found: Seq(5) }),
        message(Conflict::RowExists { table, key: key.clone(), found: Version(1) }),
        message(Conflict::RowMoved { table, key, expected: Version(1), found: None }),
    ];
    assert_snapshot!(all.join("\n"), @r"
    journal `run` of account `me` exists already
    account `me` has no journal `run`; open it before writing to it
    journal `run` of account `me` ends at 5, not at 3
    table `tasks` has a row `t1` already
    row `t1` of table `tasks` has changed since it was read
    ");
}

#[test]
fn a_lost_right_says_what_to_do() {
    let incarnation = Incarnation(uuid::Uuid::nil());
    let ended = Fencing::LeaseEnded { incarnation };
    let stolen = Fencing::NotOwned { account: "me".into(), journal: "run".into() };
    assert_snapshot!(message(ended), @"the lease of incarnation 00000000-0000-0000-0000-000000000000 has ended; acquire a new one and claim what is free");
    assert_snapshot!(message(stolen), @"journal `run` of account `me` is no longer owned by this process");
}

#[test]
fn a_broken_rule_names_the_rule() {
    let all = [
        message(Invalid::TooLarge { what: "key", bytes: 2000, limit: 1024 }),
        message(Invalid::Nul { what: "tag", text: "a\0b".to_owned() }),
        message(Invalid::JournalFull { journal: "run".into(), limit: 7 }),
        message(Invalid::BlobId { text: "abc".to_owned() }),
        message(Invalid::Cursor),
    ];
    assert_snapshot!(all.join("\n"), @r#"
    the key is 2000 bytes long; the store takes at most 1024
    the tag "a\0b" holds a NUL character, which cannot be stored
    journal `run` is full: it takes at most 7 entries
    `abc` is not a blob id, which is 64 hexadecimal digits
    the cursor does not belong to this query; start again without one
    "#);
}
