//! What kind of field stands before us: everything else is decided by it.

use anyhow::{Context as _, bail};
use proc_macro2::{Ident, TokenStream};
use prost_reflect::{FieldDescriptor, Kind, OneofDescriptor};
use quote::quote;

use super::names;

/// `google.api.FieldBehavior.REQUIRED`.
const REQUIRED: i32 = 2;

/// A field as ProtoJSON sees it.
pub(super) struct Field {
    pub(super) descriptor: FieldDescriptor,
    pub(super) shape: Shape,
    pub(super) kind: Kind,
    /// Whether `google.api.field_behavior` says REQUIRED.
    pub(super) is_required: bool,
}

/// How often the field can occur, and how Rust holds it.
pub(super) enum Shape {
    /// A plain value; the default means absence.
    Singular,
    /// An `Option`.
    Optional,
    /// A `Vec`.
    Repeated,
    /// A `BTreeMap` with string keys.
    Map,
    /// A variant of a oneof's enum.
    Member(OneofDescriptor),
}

impl Field {
    /// Classifies a field; an error for those that A2A does not use.
    pub(super) fn new(descriptor: FieldDescriptor) -> anyhow::Result<Self> {
        let kind = value_kind(&descriptor)?;
        let shape = shape(&descriptor);
        let field = Self { is_required: is_required(&descriptor)?, descriptor, shape, kind };
        field.refuse_unused()?;
        Ok(field)
    }

    /// The name in JSON.
    pub(super) fn json_name(&self) -> &str {
        self.descriptor.json_name()
    }

    /// The field of the struct.
    pub(super) fn name(&self) -> Ident {
        names::field_name(self.descriptor.name())
    }

    /// Whether the value is a message of ours, with fields of its own.
    pub(super) fn is_our_message(&self) -> bool {
        matches!(&self.kind, Kind::Message(message) if well_known(message.full_name()).is_none())
    }

    /// Whether `null` is a value of the field instead of its absence.
    pub(super) fn takes_null(&self) -> bool {
        matches!(&self.kind, Kind::Message(message) if message.full_name() == "google.protobuf.Value")
    }

    /// The type that reads one value; it converts into the type that holds it.
    pub(super) fn reader(&self) -> TokenStream {
        match &self.kind {
            Kind::String => quote!(String),
            Kind::Bool => quote!(bool),
            Kind::Int32 => quote!(Int32),
            Kind::Bytes => quote!(Base64<Vec<u8>>),
            Kind::Enum(enumeration) => {
                let name = names::type_name(enumeration.name());
                quote!(EnumValue<#name>)
            }
            Kind::Message(message) => message_type(message.full_name(), message.name()),
            _ => unreachable!("refused by value_kind"),
        }
    }

    /// The expression that writes `value`, a reference to the value as it is held.
    pub(super) fn writer(&self, value: &TokenStream) -> TokenStream {
        match &self.kind {
            Kind::Bytes => quote!(&Base64(#value)),
            Kind::Enum(enumeration) => {
                let name = names::type_name(enumeration.name());
                quote!(&EnumName::<#name>::of(#value))
            }
            _ => value.clone(),
        }
    }

    /// Combinations that A2A does not have would need code nobody could test.
    fn refuse_unused(&self) -> anyhow::Result<()> {
        let converted = matches!(self.kind, Kind::Bytes | Kind::Enum(_) | Kind::Int32);
        let refused = match self.shape {
            Shape::Repeated | Shape::Map => converted || self.takes_null(),
            Shape::Optional => {
                matches!(self.kind, Kind::Bytes | Kind::Enum(_)) || self.takes_null()
            }
            Shape::Singular | Shape::Member(_) => false,
        };
        if refused {
            bail!("{}: no ProtoJSON for such a field yet", self.descriptor.full_name());
        }
        Ok(())
    }
}

/// The kind of the field's values: of a map, those under its keys.
fn value_kind(field: &FieldDescriptor) -> anyhow::Result<Kind> {
    let kind = match field.kind() {
        Kind::Message(entry) if field.is_map() => {
            if entry.map_entry_key_field().kind() != Kind::String {
                bail!("{}: only strings are keys", field.full_name());
            }
            entry.map_entry_value_field().kind()
        }
        kind => kind,
    };
    match kind {
        Kind::String
        | Kind::Bool
        | Kind::Int32
        | Kind::Bytes
        | Kind::Enum(_)
        | Kind::Message(_) => Ok(kind),
        other => bail!("{}: no ProtoJSON for {other:?} yet", field.full_name()),
    }
}

fn shape(field: &FieldDescriptor) -> Shape {
    let oneof = field.containing_oneof().filter(|oneof| !oneof.is_synthetic());
    if let Some(oneof) = oneof {
        Shape::Member(oneof)
    } else if field.is_map() {
        Shape::Map
    } else if field.is_list() {
        Shape::Repeated
    } else if field.supports_presence() {
        Shape::Optional
    } else {
        Shape::Singular
    }
}

fn is_required(field: &FieldDescriptor) -> anyhow::Result<bool> {
    let extension = field
        .parent_pool()
        .get_extension_by_name("google.api.field_behavior")
        .context("google/api/field_behavior.proto is not imported")?;
    let options = field.options();
    let behaviours = options.get_extension(&extension);
    let list = behaviours.as_list().unwrap_or_default();
    Ok(list.iter().any(|value| value.as_enum_number() == Some(REQUIRED)))
}

fn message_type(full_name: &str, name: &str) -> TokenStream {
    let ident = names::type_name(name);
    match well_known(full_name) {
        Some(_) => quote!(wkt::#ident),
        None => quote!(#ident),
    }
}

fn well_known(full_name: &str) -> Option<&str> {
    let name = full_name.strip_prefix("google.protobuf.")?;
    names::WELL_KNOWN.contains(&name).then_some(name)
}
