//! What the agents of both SDKs answer, and where it stands in what Convoke prints.

use anyhow::{Result, bail};
use serde_json::{Value, json};

/// Compares an answer of an agent with what it must say of these texts and so many data Parts.
///
/// # Errors
/// When an artifact is missing, changed, doubled, or in pieces out of order.
pub(super) fn check(agent: &str, artifacts: &Value, texts: &[&str], data: usize) -> Result<()> {
    let reader = if agent.starts_with("python") { "Python read: " } else { "JavaScript read: " };
    let counts = json!({"texts": texts.len(), "data": data});
    let wanted = vec![
        ("summary", vec![json!(reader), json!(texts.join(" | "))]),
        ("counts", vec![rounded(counts)]),
    ];
    let found: Vec<(&str, Vec<Value>)> = list(artifacts)
        .map(|artifact| {
            let contents = list(&artifact["parts"]).map(content).collect();
            (artifact["name"].as_str().unwrap_or_default(), contents)
        })
        .collect();
    if found != wanted {
        bail!("{agent} should have answered\n  {wanted:?}\nbut what came is\n  {found:?}");
    }
    Ok(())
}

/// A step of a run that was printed as JSON.
///
/// # Errors
/// When there is none of this name, or it is in another state.
pub(super) fn step<'a>(run: &'a Value, name: &str, state: &str) -> Result<&'a Value> {
    let Some(step) = list(&run["steps"]).find(|step| step["step"] == name) else {
        bail!("the run has no step `{name}`: {run:#}");
    };
    if step["state"] != state {
        bail!("step `{name}` should be {state}: {step:#}");
    }
    Ok(step)
}

/// The content of an output that has one Part.
///
/// # Errors
/// When there is no such output, or it has several Parts.
pub(super) fn output(run: &Value, name: &str) -> Result<Value> {
    let named = list(&run["outputs"]).find(|output| output["name"] == name);
    match named.map(|output| list(&output["parts"]).collect::<Vec<_>>()).as_deref() {
        Some([part]) => Ok(content(part)),
        _ => bail!("the run has no output `{name}` of one Part: {:#}", run["outputs"]),
    }
}

/// The step at which a workflow calls an agent.
pub(super) fn step_of(agent: &str) -> String {
    agent.replace('-', "_")
}

/// The members of an array; none of anything else.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn content(part: &Value) -> Value {
    match &part["text"] {
        Value::Null => rounded(part["data"].clone()),
        text => text.clone(),
    }
}

/// All numbers as the one kind that ProtoJSON has: an SDK may write 2 or 2.0.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(values) => values.into_iter().map(rounded).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, rounded(value))).collect()
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(pieces: &[&str], texts: impl Into<Value>) -> Value {
        let parts: Vec<Value> = pieces.iter().map(|piece| json!({"text": piece})).collect();
        json!([
            {"name": "summary", "parts": parts},
            {"name": "counts", "parts": [{"data": {"texts": texts.into(), "data": 0}}]},
        ])
    }

    #[test]
    fn an_answer_is_whole_or_what_is_wrong_with_it_is_told() {
        let whole = answer(&["Python read: ", "a | b"], 2.0);
        check("python-grpc-plain", &whole, &["a", "b"], 0).expect("all is there");
        let broken = [
            answer(&["a | b", "Python read: "], 2),
            answer(&["Python read: "], 2),
            answer(&["Python read: ", "a | b"], 3),
            answer(&["JavaScript read: ", "a | b"], 2),
            json!([]),
            Value::Null,
        ];
        for answer in broken {
            let error = check("python-grpc-plain", &answer, &["a", "b"], 0);
            let error = error.expect_err("something is wrong").to_string();
            assert!(error.starts_with("python-grpc-plain should have answered"), "{error}");
        }
        let doubled = json!([whole[0], whole[0], whole[1]]);
        assert!(check("python-grpc-plain", &doubled, &["a", "b"], 0).is_err());
        assert!(check("python-grpc-plain", &whole, &["a", "b"], 1).is_err());
        assert!(check("javascript-grpc-plain", &whole, &["a", "b"], 0).is_err());
    }

    #[test]
    fn a_step_is_found_by_its_name_and_state() {
        let run = json!({"steps": [{"step": "a", "state": "completed"}]});
        assert!(step(&run, "a", "completed").is_ok());
        assert!(step(&run, "a", "failed").is_err());
        assert!(step(&run, "b", "completed").is_err());
    }

    #[test]
    fn an_output_is_the_content_of_its_only_part() {
        let run = json!({"outputs": [{"name": "a", "parts": [{"text": "x"}]},
                                     {"name": "b", "parts": [{"data": {"n": [1]}}]},
                                     {"name": "c", "parts": []}]});
        assert_eq!(output(&run, "a").expect("it is there"), "x");
        assert_eq!(output(&run, "b").expect("it is there"), json!({"n": [1.0]}));
        assert!(output(&run, "c").is_err());
        assert!(output(&run, "d").is_err());
    }
}
