//! The Rust names prost-build gives to protobuf names.

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use proc_macro2::{Ident, Span, TokenStream};
use prost_reflect::{FieldDescriptor, MessageDescriptor, OneofDescriptor};
use quote::quote;

/// The types of `google.protobuf` that `protocol::wkt` writes by hand.
pub(super) const WELL_KNOWN: [&str; 3] = ["Struct", "Timestamp", "Value"];

/// The Rust type of a message or enum of ours.
pub(super) fn type_name(name: &str) -> Ident {
    identifier(&name.to_upper_camel_case())
}

/// The struct field that holds a message field or oneof.
pub(super) fn field_name(name: &str) -> Ident {
    identifier(&name.to_snake_case())
}

/// The path of the variant that holds a member of a oneof.
pub(super) fn variant(
    message: &MessageDescriptor,
    oneof: &OneofDescriptor,
    field: &FieldDescriptor,
) -> TokenStream {
    let module = field_name(message.name());
    let kind = type_name(oneof.name());
    let variant = type_name(field.name());
    quote!(#module::#kind::#variant)
}

fn identifier(name: &str) -> Ident {
    if syn::parse_str::<Ident>(name).is_ok() {
        Ident::new(name, Span::call_site())
    } else {
        Ident::new_raw(name, Span::call_site())
    }
}
