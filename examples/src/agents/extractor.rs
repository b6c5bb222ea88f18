//! Reads facts out of texts, not always all of them.

use std::{collections::HashMap, sync::Mutex};

use async_trait::async_trait;
use protocol::v1::Part;
use serde_json::{Map, Value};

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// Artifact `facts`: each line `Name: value` of the texts as a member of an object, numbers as numbers. As models do, it
/// leaves something out at first: the last fact, so many times for each distinct text.
pub(super) struct Extractor {
    pub(super) careless: u32,
    pub(super) had: Mutex<HashMap<String, u32>>,
}

#[async_trait]
impl Agent for Extractor {
    fn profile(&self) -> Profile {
        Profile {
            name: "extractor",
            description: "Reads facts out of texts, and leaves some out when it is asked for the first time.",
            skills: vec![skill(
                "extract",
                "Extract facts",
                "Makes an object of the lines `Name: value` of a text.",
                &["texts", "extraction"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text();
        let mut facts: Vec<(String, Value)> = text.lines().filter_map(fact).collect();
        if self.is_careless(&text) {
            facts.pop();
        }
        let facts: Map<String, Value> = facts.into_iter().collect();
        work.artifact("facts", vec![Part::data(Value::Object(facts))]);
        Ending::Completed
    }
}

impl Extractor {
    fn is_careless(&self, text: &str) -> bool {
        let mut had = self.had.lock().expect("nothing panics under this lock");
        let had = had.entry(text.to_owned()).or_default();
        *had += 1;
        *had <= self.careless
    }
}

fn fact(line: &str) -> Option<(String, Value)> {
    let (name, value) = line.split_once(':')?;
    let (name, value) = (name.trim().to_lowercase().replace(' ', "_"), value.trim());
    let number = value.parse::<f64>().ok().map(Value::from);
    let is_fact = !name.is_empty() && !value.is_empty();
    is_fact.then(|| (name, number.unwrap_or_else(|| Value::from(value))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_fact_when_it_has_a_name_and_a_value() {
        assert_eq!(fact("Vendor name: Acme"), Some(("vendor_name".into(), json!("Acme"))));
        assert_eq!(fact(" Total : 12.5 "), Some(("total".into(), json!(12.5))));
        assert_eq!(fact("Read this invoice:"), None);
        assert_eq!(fact("nothing"), None);
    }
}
