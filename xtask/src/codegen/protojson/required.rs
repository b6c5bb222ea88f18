//! `Required`: which REQUIRED fields were left out, here and further in.

use proc_macro2::TokenStream;
use prost_reflect::{Kind, MessageDescriptor};
use quote::quote;

use super::names;
use super::shape::{Field, Shape};

pub(super) fn required(message: &MessageDescriptor, fields: &[Field]) -> TokenStream {
    let name = names::type_name(message.name());
    let checks: Vec<_> = fields
        .iter()
        .flat_map(|field| [presence(field), inside(message, field)])
        .flatten()
        .collect();
    let parameter = if checks.is_empty() { quote!(_) } else { quote!(missing) };
    quote! {
        impl Required for #name {
            fn find_missing(&self, #parameter: &mut Missing) {
                #(#checks)*
            }
        }
    }
}

/// Numbers and booleans have no value that says they were left out.
fn presence(field: &Field) -> Option<TokenStream> {
    if !field.is_required {
        return None;
    }
    let name = field.name();
    let is_absent = match (&field.shape, &field.kind) {
        (Shape::Member(_), _) => return None,
        (Shape::Optional, _) => quote!(self.#name.is_none()),
        (Shape::Repeated | Shape::Map, _) | (_, Kind::String | Kind::Bytes) => {
            quote!(self.#name.is_empty())
        }
        (_, Kind::Enum(_)) => quote!(self.#name == 0),
        _ => return None,
    };
    let json_name = field.json_name();
    Some(quote!(missing.note(#json_name, #is_absent);))
}

fn inside(message: &MessageDescriptor, field: &Field) -> Option<TokenStream> {
    if !field.is_our_message() {
        return None;
    }
    let json_name = field.json_name();
    if let Shape::Member(oneof) = &field.shape {
        let oneof_name = names::field_name(oneof.name());
        let variant = names::variant(message, oneof, &field.descriptor);
        return Some(quote! {
            if let Some(#variant(value)) = &self.#oneof_name {
                missing.inside(#json_name, value);
            }
        });
    }
    let name = field.name();
    Some(quote!(missing.inside(#json_name, &self.#name);))
}
