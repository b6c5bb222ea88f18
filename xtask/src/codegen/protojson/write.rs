//! `Serialize`: fields in the order of their definition.

use proc_macro2::TokenStream;
use prost_reflect::{MessageDescriptor, OneofDescriptor};
use quote::quote;

use super::names;
use super::shape::{Field, Shape};

pub(super) fn serialize(message: &MessageDescriptor, fields: &[Field]) -> TokenStream {
    let name = names::type_name(message.name());
    let entries = fields.iter().map(|field| entry(message, fields, field));
    quote! {
        impl Serialize for #name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut object = Object::new(serializer)?;
                #(#entries)*
                object.end()
            }
        }
    }
}

fn entry(message: &MessageDescriptor, fields: &[Field], field: &Field) -> TokenStream {
    let json_name = field.json_name();
    let name = field.name();
    let value = field.writer(&quote!(&self.#name));
    match &field.shape {
        Shape::Member(oneof) => oneof_entry(message, fields, field, oneof),
        Shape::Optional => quote!(object.if_some(#json_name, #value)?;),
        _ if field.is_required => quote!(object.always(#json_name, #value)?;),
        _ => quote!(object.unless_default(#json_name, #value)?;),
    }
}

/// All members of a oneof are written where its first one stands.
fn oneof_entry(
    message: &MessageDescriptor,
    fields: &[Field],
    field: &Field,
    oneof: &OneofDescriptor,
) -> TokenStream {
    let is_first = oneof.fields().next().as_ref() == Some(&field.descriptor);
    if !is_first {
        return TokenStream::new();
    }
    let members =
        fields.iter().filter(|field| field.descriptor.containing_oneof().as_ref() == Some(oneof));
    let arms = members.map(|member| {
        let variant = names::variant(message, oneof, &member.descriptor);
        let json_name = member.json_name();
        let value = member.writer(&quote!(value));
        quote!(Some(#variant(value)) => { object.always(#json_name, #value)?; })
    });
    let name = names::field_name(oneof.name());
    quote! {
        match &self.#name {
            #(#arms)*
            None => {}
        }
    }
}
