//! Reading what people write of the directory: every problem at once, each with its place.

use document::{Diagnostic, Entry as Field, Source, Value, nearest};

/// What the general problems of a kind of file are called.
#[derive(Clone, Copy)]
pub(crate) struct Codes {
    pub(crate) wrong_type: &'static str,
    pub(crate) unknown_key: &'static str,
}

pub(crate) struct Reader<'s> {
    pub(crate) source: &'s Source,
    pub(crate) problems: Vec<Diagnostic>,
    codes: Codes,
}

impl<'s> Reader<'s> {
    pub(crate) fn new(source: &'s Source, codes: Codes) -> Self {
        Self { source, problems: Vec::new(), codes }
    }

    pub(crate) fn text(&mut self, field: &Field) -> Option<String> {
        match &field.value.value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            _ => {
                self.wrong_type(field, "a string");
                None
            }
        }
    }

    pub(crate) fn texts(&mut self, field: &Field) -> Vec<String> {
        let items = match &field.value.value {
            Value::Null => return Vec::new(),
            Value::Sequence(items) => items.as_slice(),
            _ => std::slice::from_ref(&field.value),
        };
        let texts: Option<Vec<String>> =
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        texts.unwrap_or_else(|| {
            self.wrong_type(field, "a list of strings");
            Vec::new()
        })
    }

    pub(crate) fn flag(&mut self, field: &Field) -> bool {
        match &field.value.value {
            Value::Null => false,
            Value::Bool(flag) => *flag,
            _ => {
                self.wrong_type(field, "`true` or `false`");
                false
            }
        }
    }

    pub(crate) fn wrong_type(&mut self, field: &Field, expected: &str) {
        self.problems.push(
            Diagnostic::error(
                self.codes.wrong_type,
                format!("`{}` has to be {expected}", field.key),
            )
            .at(field.value.head_span(), format!("this is {}", field.value.kind())),
        );
    }

    pub(crate) fn unknown_key(&mut self, field: &Field, whose: &str, known: &[&str]) {
        let diagnostic = Diagnostic::error(
            self.codes.unknown_key,
            format!("{whose} has no key `{}`", field.key),
        )
        .at(field.key_span, "unknown key");
        self.problems.push(match nearest(&field.key, known.iter().copied()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("known keys: {}", known.join(", "))),
        });
    }
}
