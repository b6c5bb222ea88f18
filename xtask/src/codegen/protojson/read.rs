//! `Deserialize`: each field by its JSON name or its protobuf name.

use proc_macro2::TokenStream;
use prost_reflect::MessageDescriptor;
use quote::quote;

use super::names;
use super::shape::{Field, Shape};

pub(super) fn deserialize(message: &MessageDescriptor, fields: &[Field]) -> TokenStream {
    let name = names::type_name(message.name());
    let title = message.name();
    let indices = fields.iter().zip(0_u8..).map(|(field, index)| {
        let keys = keys(field);
        quote!(#keys => #index,)
    });
    let arms = fields.iter().zip(0_u8..).map(|(field, index)| {
        let value = value(message, field);
        quote!(#index => #value,)
    });
    quote! {
        impl<'de> Deserialize<'de> for #name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                read::object(deserializer)
            }
        }

        impl ReadFields for #name {
            const NAME: &'static str = #title;

            fn index(name: &str) -> Option<u8> {
                Some(match name {
                    #(#indices)*
                    _ => return None,
                })
            }

            fn read<'de, A: MapAccess<'de>>(
                &mut self,
                field: u8,
                map: &mut A,
            ) -> Result<(), A::Error> {
                match field {
                    #(#arms)*
                    _ => read::ignored(map),
                }
            }
        }
    }
}

fn keys(field: &Field) -> TokenStream {
    let json_name = field.json_name();
    let proto_name = field.descriptor.name();
    if json_name == proto_name { quote!(#json_name) } else { quote!(#json_name | #proto_name) }
}

fn value(message: &MessageDescriptor, field: &Field) -> TokenStream {
    let name = field.name();
    let reader = field.reader();
    match &field.shape {
        Shape::Singular => quote!(read::singular::<#reader, _, _>(map, &mut self.#name)),
        Shape::Optional => quote!(read::optional::<#reader, _, _>(map, &mut self.#name)),
        Shape::Repeated => quote!(read::singular::<Vec<#reader>, _, _>(map, &mut self.#name)),
        Shape::Map => {
            quote!(read::singular::<BTreeMap<String, #reader>, _, _>(map, &mut self.#name))
        }
        Shape::Member(oneof) => {
            let function = if field.takes_null() { quote!(any_member) } else { quote!(member) };
            let oneof_name = names::field_name(oneof.name());
            let variant = names::variant(message, oneof, &field.descriptor);
            quote!(read::#function::<#reader, _, _, _>(map, &mut self.#oneof_name, #variant))
        }
    }
}
