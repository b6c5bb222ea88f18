//! `cargo xtask codegen`: turns `proto/` into the Rust types of `protocol::v1`, and the table of the
//! workflow language into those of its reference.
//!
//! The output is committed, so that an ordinary build needs neither protoc nor
//! the generators; with `--check` nothing is written and differences fail.

mod messages;
mod names;
mod protojson;
mod reference;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The definition everything is generated from, relative to [`PROTO_ROOT`].
const DEFINITION: &str = "lf/a2a/v1/a2a.proto";
const PROTO_ROOT: &str = "proto";
const OUTPUT: &str = "crates/protocol/src/generated";

/// A file to be committed.
struct Generated {
    name: &'static str,
    bytes: Vec<u8>,
}

/// Generates the A2A types and the tables of the reference; with `check`, compares them with what is committed
/// and fails naming every file that differs.
pub(crate) fn run(check: bool) -> anyhow::Result<()> {
    let root = repository_root();
    let files = generate(&root.join(PROTO_ROOT))?;
    let (folder, docs) = (root.join(OUTPUT), root.join(reference::FOLDER));
    // The reference comes after: it takes code that compiles.
    if check {
        compare(&folder, &files)?;
        compare(&docs, &[reference::generate(&root)?])
    } else {
        write(&folder, &files)?;
        write(&docs, &[reference::generate(&root)?])
    }
}

fn repository_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

fn generate(proto: &Path) -> anyhow::Result<Vec<Generated>> {
    let compiler = compile(proto, true)?;
    let pool = compiler.descriptor_pool();
    let definition =
        pool.get_file_by_name(DEFINITION).context("the compiler dropped the file it was given")?;
    let code = messages::generate(&definition)?;
    Ok(vec![
        Generated { name: "messages.rs", bytes: code.messages.into_bytes() },
        Generated { name: "service.rs", bytes: code.service.into_bytes() },
        Generated { name: "protojson.rs", bytes: protojson::generate(&definition)?.into_bytes() },
        // The definition with its imports as a `FileDescriptorSet`: what the
        // tests' second implementation reads. It has no use for comments.
        Generated {
            name: "descriptors.bin",
            bytes: compile(proto, false)?.encode_file_descriptor_set(),
        },
    ])
}

fn compile(proto: &Path, with_comments: bool) -> anyhow::Result<protox::Compiler> {
    let mut compiler = protox::Compiler::new([proto])?;
    compiler
        .include_imports(true)
        .include_source_info(with_comments)
        .open_file(DEFINITION)
        .with_context(|| format!("compiling {}", proto.join(DEFINITION).display()))?;
    Ok(compiler)
}

fn write(folder: &Path, files: &[Generated]) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for file in files {
        let path = folder.join(file.name);
        fs::write(&path, &file.bytes).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn compare(folder: &Path, files: &[Generated]) -> anyhow::Result<()> {
    let differences: Vec<String> =
        files.iter().filter_map(|file| difference(folder, file)).collect();
    if differences.is_empty() {
        return Ok(());
    }
    bail!(
        "what is generated is out of date:\n  {}\nRun `cargo xtask codegen` and commit what it writes.",
        differences.join("\n  ")
    )
}

/// Says how the committed file differs from the generated one.
fn difference(folder: &Path, file: &Generated) -> Option<String> {
    let path = folder.join(file.name);
    let committed = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => return Some(format!("{}: {error}", path.display())),
    };
    if committed == file.bytes {
        return None;
    }
    let line = first_difference(&committed, &file.bytes);
    Some(format!("{} differs from line {line} on", path.display()))
}

/// The one-based number of the first line that differs.
fn first_difference(left: &[u8], right: &[u8]) -> usize {
    let same = left.iter().zip(right).take_while(|(a, b)| a == b);
    1 + same.filter(|(byte, _)| **byte == b'\n').count()
}

#[cfg(test)]
mod tests;
