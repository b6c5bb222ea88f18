//! The message types, written by prost-build.

use anyhow::Context as _;
use prost_build::{Config, Module};
use prost_reflect::FileDescriptor;

use super::names::WELL_KNOWN;

/// Generates the structs and enums of `definition`. Services are left out: a
/// `service_generator` set on the configuration adds them.
pub(super) fn generate(definition: &FileDescriptor) -> anyhow::Result<String> {
    // The imports go in as well: prost-build asks of every field's type what it
    // can derive. What they generate themselves is dropped.
    let files = definition.parent_pool().files();
    let requests = files.map(|file| (module(&file), file.file_descriptor_proto().clone()));
    configuration()
        .generate(requests.collect())?
        .remove(&module(definition))
        .with_context(|| format!("{} generates nothing", definition.name()))
}

fn module(file: &FileDescriptor) -> Module {
    Module::from_protobuf_package_name(file.package_name())
}

fn configuration() -> Config {
    let mut config = Config::new();
    // Ordered maps make the JSON, and with it every digest, reproducible.
    config.btree_map(["."]);
    for name in WELL_KNOWN {
        config.extern_path(format!(".google.protobuf.{name}"), format!("crate::wkt::{name}"));
    }
    config
}
