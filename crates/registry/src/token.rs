//! Where a list goes on, as a text that its readers bring back.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes where a list goes on: JSON in base64url, which readers have no reason to look into.
#[must_use]
pub fn to_page_token<T: Serialize>(place: &T) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(place).expect("a place has only text keys"))
}

/// Reads where a list goes on; nothing for a text that was not written so.
#[must_use]
pub fn of_page_token<T: DeserializeOwned>(token: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{of_page_token, to_page_token};

    #[test]
    fn a_place_is_read_as_it_was_written_and_nothing_else_is_one() {
        let token = to_page_token(&(7, "é"));
        assert_eq!(of_page_token(&token), Some((7, "é".to_owned())));
        for wrong in ["", "x", "bm8", &token[1..]] {
            assert_eq!(of_page_token::<(u32, String)>(wrong), None, "{wrong}");
        }
    }
}
