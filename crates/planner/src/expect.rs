//! `expect`: what a step asks of the data that its agent gives, and whether it got it.

use protocol::v1::{Part, part::Content};
use serde_json::Value as Json;

use crate::criteria::holds;
use crate::result::StepResult;
use crate::step::Step;

/// The media type of data.
pub const JSON: &str = "application/json";

/// Keys of the metadata by which a Part says what data it asks for.
const MEDIA_TYPE_KEY: &str = "mimeType";
const SCHEMA_KEY: &str = "schema";

/// Has the text Parts of a Message ask for the data that a step expects; the first Part where none is text. What a Part
/// says already stays.
pub fn ask_for_data(step: &Step, parts: &mut [Part]) {
    let Some(expected) = &step.asks.expect else { return };
    let is_text = |part: &Part| matches!(part.content, Some(Content::Text(_)));
    let has_text = parts.iter().any(is_text);
    for (at, part) in parts.iter_mut().enumerate() {
        if is_text(part) || (!has_text && at == 0) {
            let metadata = &mut part.metadata.get_or_insert_default().0;
            metadata.entry(MEDIA_TYPE_KEY).or_insert_with(|| Json::from(JSON));
            metadata.entry(SCHEMA_KEY).or_insert_with(|| expected.json.clone());
        }
    }
}

/// The media types that the agent of a step is told to answer with; none where any will do.
#[must_use]
pub fn accepted_output_modes(step: &Step) -> Vec<String> {
    let has_json = step.asks.accept.iter().any(|own| holds(own, JSON));
    let json = step.asks.expect.iter().filter(|_| !has_json).map(|_| JSON.to_owned());
    step.asks.accept.iter().cloned().chain(json).collect()
}

/// Why what an attempt yielded is not what its step expects; none when it is.
#[must_use]
pub fn mismatch(step: &Step, result: &StepResult) -> Option<String> {
    let expected = step.asks.expect.as_ref()?;
    match result.data() {
        Some(data) => {
            let mismatches = expected.mismatches(data);
            (!mismatches.is_empty()).then(|| mismatches.join("; "))
        }
        None => Some("it has no data Part".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use document::Source;
    use protocol::v1::Message;
    use serde_json::json;

    use super::*;
    use crate::inputs::{data_part, text_part};
    use crate::result::StepState;

    fn step(fields: &str) -> Step {
        let text = format!("convoke: 1\nname: w\nsteps: {{a: {{agent: x, {fields}}}}}\n");
        crate::check(&Source::new("w.yaml", &text)).unwrap().steps.remove(0)
    }

    fn answered(parts: Vec<Part>) -> StepResult {
        let message = Some(Message { parts, ..Message::default() });
        StepResult { message, ..StepResult::new(StepState::Completed) }
    }

    #[test]
    fn text_parts_ask_for_the_data_and_keep_what_they_say_already() {
        let step = step("expect: {type: object}");
        let asks = json!({"mimeType": JSON, "schema": {"type": "object"}});
        let metadata = |part: &Part| part.metadata.as_ref().map(|it| json!(it.0));
        let mut own = text_part("second".to_owned());
        own.metadata.get_or_insert_default().0.insert("schema".to_owned(), json!("mine"));
        let mut parts = [data_part(json!(1)), text_part("first".to_owned()), own];
        ask_for_data(&step, &mut parts);
        let own = json!({"mimeType": JSON, "schema": "mine"});
        assert_eq!(parts.each_ref().map(metadata), [None, Some(asks.clone()), Some(own)]);
        let mut parts = [data_part(json!(1)), data_part(json!(2))];
        ask_for_data(&step, &mut parts);
        assert_eq!(parts.each_ref().map(metadata), [Some(asks), None], "nothing else is text");
    }

    #[test]
    fn what_is_expected_is_accepted_as_well() {
        let modes = |fields: &str| accepted_output_modes(&step(fields));
        assert_eq!(modes("timeout: 1s"), Vec::<String>::new());
        assert_eq!(modes("expect: true"), [JSON]);
        assert_eq!(modes("accept: [text/plain], expect: true"), ["text/plain", JSON]);
        assert_eq!(modes("accept: ['application/*'], expect: true"), ["application/*"]);
    }

    #[test]
    fn what_has_no_data_fits_nothing_not_even_what_takes_anything() {
        let step = step("expect: true");
        assert_eq!(mismatch(&step, &answered(vec![data_part(json!(null))])), None);
        let text = answered(vec![text_part("{\"a\": 1}".to_owned())]);
        assert_eq!(mismatch(&step, &text).as_deref(), Some("it has no data Part"));
    }
}
