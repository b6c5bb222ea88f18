use serde::Serialize;

/// Says why a value cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("a value cannot be written as YAML: {0}")]
pub struct WriteError(#[from] serde_yaml::Error);

/// Writes a value as YAML that [`crate::parse()`] reads back to the same value.
///
/// # Errors
/// When the value has no YAML form, such as a map whose keys are not scalars.
pub fn to_yaml<T: Serialize>(value: &T) -> Result<String, WriteError> {
    Ok(serde_yaml::to_string(value)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::to_yaml;
    use crate::{Limits, Source, parse};

    fn read_back(value: &serde_json::Value) -> serde_json::Value {
        let text = to_yaml(value).unwrap();
        let source = Source::new("written.yaml", &text);
        parse(&source, &Limits::default())
            .unwrap_or_else(|problems| panic!("{problems:?} in {text:?}"))
            .to_json()
    }

    #[test]
    fn words_that_look_like_other_types_keep_their_type() {
        let value =
            json!(["true", "no", "null", "~", "", "012", "1_000", "1e3", "0x1f", "2.0", "- a"]);
        assert_eq!(read_back(&value), value);
    }

    proptest! {
        #[test]
        fn any_text_comes_back(texts in prop::collection::vec("[ -~\n\tä☃]{0,20}", 0..6)) {
            let value = json!(texts);
            prop_assert_eq!(read_back(&value), value);
        }
    }
}
