use serde::Serialize;
use serde_yaml::with::singleton_map_recursive;

/// Says why a value cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("a value cannot be written as YAML: {0}")]
pub struct WriteError(#[from] serde_yaml::Error);

/// Writes a value as YAML that [`crate::parse()`] reads back to the same value. Variants that hold something are maps
/// of one key, as in JSON, not tags.
///
/// # Errors
/// When the value has no YAML form, such as a map whose keys are not scalars.
pub fn to_yaml<T: Serialize>(value: &T) -> Result<String, WriteError> {
    let mut text = Vec::new();
    singleton_map_recursive::serialize(value, &mut serde_yaml::Serializer::new(&mut text))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
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
    fn a_variant_is_written_as_in_json() {
        #[derive(serde::Serialize)]
        enum Kind {
            Unit,
            Of(&'static str),
        }
        let value = [Kind::Unit, Kind::Of("x")];
        assert_eq!(to_yaml(&value).unwrap(), "- Unit\n- Of: x\n");
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
