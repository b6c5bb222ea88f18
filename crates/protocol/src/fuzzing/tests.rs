//! The examples of `fuzz/corpus`, and what comes of breaking them, in every run of the tests.

use std::{collections::BTreeSet, fs, path::PathBuf};

use super::TARGETS;

/// An example: its name, which begins with `taken` or `refused`, and its bytes.
type Example = (String, Vec<u8>);

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus"))
}

fn examples(target: &str) -> Vec<Example> {
    let files = fs::read_dir(folder().join(target)).expect("every target has examples");
    let read = files.map(|file| {
        let file = file.expect("the folder can be listed");
        let name = file.file_name().into_string().expect("a name");
        (name, fs::read(file.path()).expect("an example can be read"))
    });
    read.collect()
}

#[test]
fn every_example_is_taken_or_refused_as_its_name_says() {
    for (target, run) in TARGETS {
        let examples = examples(target);
        for word in ["taken", "refused"] {
            assert!(examples.iter().any(|(name, _)| name.starts_with(word)), "{target}: {word}");
        }
        for (name, bytes) in examples {
            let word = if run(&bytes) { "taken" } else { "refused" };
            assert!(name.starts_with(word), "{target}/{name} is {word}");
        }
    }
}

#[test]
fn only_targets_have_examples() {
    let folders = fs::read_dir(folder()).expect("the folder is in the repository");
    let folders = folders.map(|folder| folder.expect("it can be listed").file_name());
    let names: BTreeSet<String> = folders.filter_map(|name| name.into_string().ok()).collect();
    assert_eq!(names, TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect());
}

/// At how many places of an example it is broken.
const PLACES: usize = 40;

/// Bytes that mean something in one of the formats.
const BYTES: &[u8] = b"\0\n\r \"-./0:[\\]{}\x7f\x80\xff";

#[test]
fn examples_that_are_cut_or_broken_break_nothing() {
    for (target, run) in TARGETS {
        for (at, (_, bytes)) in examples(target).iter().enumerate() {
            for place in (0..bytes.len()).step_by(bytes.len() / PLACES + 1) {
                run(&bytes[..place]);
                let mut broken = bytes.clone();
                broken[place] = BYTES[(place + at) % BYTES.len()];
                run(&broken);
                broken.remove(place);
                run(&broken);
            }
        }
    }
}
