use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Names one version of an Agent Card: the SHA-256 of its JSON as it came, with the keys of every
/// object in byte order and no white space. Written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CardDigest([u8; 32]);

impl CardDigest {
    /// Computes the digest of a card as it came.
    #[must_use]
    pub fn of(card: &Value) -> Self {
        let mut canonical = String::new();
        write_canonical(card, &mut canonical);
        Self(Sha256::digest(canonical).into())
    }

    /// The first twelve hexadecimal digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string()["sha256:".len()..][..12].to_owned()
    }
}

/// The order of keys in memory depends on how serde_json was built, so it is made here.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, field)) in sorted.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(field, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

impl fmt::Display for CardDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for CardDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CardDigest({})", self.short())
    }
}

/// Says that a text is no card digest.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a card digest, which is `sha256:` and 64 hexadecimal digits")]
pub struct NotADigest(String);

impl FromStr for CardDigest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let error = || NotADigest(text.to_owned());
        let digits = text.strip_prefix("sha256:").ok_or_else(error)?;
        let is_hex = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let pair = &digits[at * 2..at * 2 + 2];
            *byte = u8::from_str_radix(pair, 16).expect("only hexadecimal digits are left");
        }
        Ok(Self(bytes))
    }
}

impl Serialize for CardDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CardDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::CardDigest;

    #[test]
    fn the_order_of_keys_and_white_space_do_not_matter() {
        let one: Value = serde_json::from_str(r#"{"b": [1, {"y": 1, "x": 2}], "a": "é"}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"a":"é","b":[1,{"x":2,"y":1}]}"#).unwrap();
        assert_eq!(CardDigest::of(&one), CardDigest::of(&other));
        assert_ne!(CardDigest::of(&one), CardDigest::of(&json!({"a": "e"})));
    }

    #[test]
    fn a_digest_is_read_back_as_it_is_written() {
        let digest = CardDigest::of(&json!({}));
        let text = digest.to_string();
        assert_eq!(text, "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        assert_eq!(digest.short(), "44136fa355b3");
        assert_eq!(text.parse(), Ok(digest));
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<CardDigest>(&json).unwrap(), digest);
    }

    #[test]
    fn a_text_that_is_no_digest_is_refused() {
        for text in ["", "sha256:12", &format!("sha256:{}", "é".repeat(32)), &"a".repeat(64)] {
            assert!(text.parse::<CardDigest>().is_err(), "{text}");
        }
    }
}
