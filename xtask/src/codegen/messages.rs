//! The message types and the gRPC service, written by prost-build and tonic's generator.

use std::{cell::RefCell, rc::Rc};

use anyhow::Context as _;
use prost_build::{Config, Module, Service, ServiceGenerator};
use prost_reflect::FileDescriptor;

use super::names::WELL_KNOWN;

/// The Rust code of one definition.
pub(super) struct Code {
    /// The structs and enums.
    pub(super) messages: String,
    /// The server side of the gRPC service.
    pub(super) service: String,
}

/// Generates the code of `definition`. The client side of the service is not generated: one generic
/// call over the table of operations does it.
pub(super) fn generate(definition: &FileDescriptor) -> anyhow::Result<Code> {
    // The imports go in as well: prost-build asks of every field's type what it
    // can derive. What they generate themselves is dropped.
    let files = definition.parent_pool().files();
    let requests = files.map(|file| (module(&file), file.file_descriptor_proto().clone()));
    let service = Rc::default();
    let messages = configuration(&service)
        .generate(requests.collect())?
        .remove(&module(definition))
        .with_context(|| format!("{} generates nothing", definition.name()))?;
    Ok(Code { messages, service: formatted(&service.take())? })
}

fn formatted(code: &str) -> anyhow::Result<String> {
    let file = syn::parse_file(code).context("the service does not parse")?;
    Ok(prettyplease::unparse(&file))
}

/// Keeps the service apart from the messages, which are the public model; it is not.
struct Apart {
    tonic: Box<dyn ServiceGenerator>,
    code: Rc<RefCell<String>>,
}

impl ServiceGenerator for Apart {
    fn generate(&mut self, service: Service, _messages: &mut String) {
        self.tonic.generate(service, &mut self.code.borrow_mut());
    }

    fn finalize(&mut self, _messages: &mut String) {
        self.tonic.finalize(&mut self.code.borrow_mut());
    }
}

fn module(file: &FileDescriptor) -> Module {
    Module::from_protobuf_package_name(file.package_name())
}

fn configuration(service: &Rc<RefCell<String>>) -> Config {
    let mut config = Config::new();
    let tonic = tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .codec_path("super::super::codec::Codec");
    config.service_generator(Box::new(Apart {
        tonic: tonic.service_generator(),
        code: service.clone(),
    }));
    // Ordered maps make the JSON, and with it every digest, reproducible.
    config.btree_map(["."]);
    for name in WELL_KNOWN {
        config.extern_path(format!(".google.protobuf.{name}"), format!("crate::wkt::{name}"));
    }
    config
}
