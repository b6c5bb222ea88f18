//! Cards of any version.

use serde_json::Value;

use super::{assert_bounded, assert_same_by_json};
use crate::{
    card::{interfaces_spoken, read},
    dialect,
    v1::{AgentCard, Required as _},
};

/// Reads a card. One that is taken is the same when it was written and is read again, with and without
/// the fields that clients of older versions look for.
pub fn card(data: &[u8]) -> bool {
    let Ok(json) = serde_json::from_slice::<Value>(data) else { return false };
    let card = match read(&json) {
        Ok(card) => card,
        Err(error) => {
            assert_bounded(error.to_string().len(), data.len());
            return false;
        }
    };
    assert_bounded(assert_same_by_json(&card).len(), data.len());
    let written = serde_json::to_value(&card).expect("cards are JSON");
    assert_eq!(read(&written).expect("a card that was written is a card"), card);
    assert!(interfaces_spoken(&card).len() <= card.supported_interfaces.len());
    card.missing_required();
    check_older_fields(&card, written);
    true
}

/// They are beside what 1.0 says, and change nothing of it.
fn check_older_fields(card: &AgentCard, written: Value) {
    let Value::Object(mut fields) = written else { panic!("cards are objects") };
    dialect::card::add_older_fields(&mut fields);
    let mut again = read(&Value::Object(fields)).expect("the fields of 1.0 are still there");
    again.supported_interfaces.truncate(card.supported_interfaces.len());
    assert_eq!(again, *card);
}
