use document::Source;
use serde_json::json;

use super::*;
use crate::check;

fn artifact(name: &str, parts: Vec<Part>) -> Artifact {
    Artifact { artifact_id: name.to_owned(), parts, ..Artifact::default() }
}

fn of_type(part: Part, media_type: &str) -> Part {
    Part { media_type: media_type.to_owned(), ..part }
}

fn image() -> Part {
    let content = Some(Content::Raw(vec![1, 2, 3]));
    Part { content, media_type: "image/png".to_owned(), ..Part::default() }
}

fn modes(modes: &[&str]) -> Vec<String> {
    modes.iter().map(ToString::to_string).collect()
}

/// The media types of the Parts that are chosen, by artifact.
fn choose(artifacts: &[Artifact], accepts: &[&str]) -> Vec<(String, Vec<String>)> {
    let chosen = accepted(artifacts.to_vec(), &modes(accepts));
    let types = |it: &Artifact| it.parts.iter().map(|part| media_type(part).to_owned()).collect();
    chosen.iter().map(|it| (it.artifact_id.clone(), types(it))).collect()
}

#[test]
fn of_the_outputs_a_client_gets_what_it_accepts() {
    let outputs = [artifact("words", vec![Part::text("Hi")]), artifact("picture", vec![image()])];
    let words = ("words".to_owned(), modes(&["text/plain"]));
    let picture = ("picture".to_owned(), modes(&["image/png"]));
    let both = [words.clone(), picture.clone()];
    assert_eq!(choose(&outputs, &[]), both);
    for anything in ["*/*", "*"] {
        assert_eq!(choose(&outputs, &[anything]), both);
    }
    for text in ["text/plain", "TEXT/Plain; charset=utf-8", "text/*", "text"] {
        assert_eq!(choose(&outputs, &[text]), std::slice::from_ref(&words), "{text}");
    }
    for image in ["image/png", "image/*", "image"] {
        assert_eq!(choose(&outputs, &[image]), std::slice::from_ref(&picture), "{image}");
    }
    assert_eq!(choose(&outputs, &["audio/wav"]), both, "better a surprise than nothing");
}

#[test]
fn text_and_data_become_each_other() {
    let adapt = |part: Part, accepts: &str| {
        let chosen = accepted(vec![artifact("a", vec![part])], &modes(&[accepts]));
        (chosen[0].parts[0].content.clone().unwrap(), chosen[0].parts[0].media_type.clone())
    };
    let data = |value: Json| Content::Data(wkt::Value(value));
    let text = |text: &str| Content::Text(text.to_owned());
    let of = |content, media_type: &str| (content, media_type.to_owned());
    let price = || Part::data(json!({"price": 7}));
    assert_eq!(adapt(price(), TEXT), of(text("{\"price\":7}"), TEXT));
    assert_eq!(
        adapt(of_type(price(), "application/x+json"), JSON),
        of(data(json!({"price": 7})), JSON)
    );
    assert_eq!(adapt(Part::text("{\"price\":7}"), JSON), of(data(json!({"price": 7})), JSON));
    assert_eq!(adapt(Part::text("cheap"), JSON), of(data(json!("cheap")), JSON));
    assert_eq!(adapt(of_type(Part::text("# Hi"), "text/markdown"), TEXT), of(text("# Hi"), TEXT));
    assert_eq!(adapt(Part::text("Hi"), "text/*"), of(text("Hi"), ""), "what fits stays as it is");
}

fn workflow(rest: &str) -> Workflow {
    let text = format!(
        "convoke: 1\nname: w\nagents: {{x: {{url: \"http://127.0.0.1:1\"}}}}\nsteps: {{a: {{agent: x, message: hi}}}}\n{rest}"
    );
    check(&Source::new("w.yaml", &text)).unwrap()
}

#[test]
fn what_a_workflow_can_never_yield_is_known_before_it_runs() {
    let image = workflow("outputs: {p: {value: \"${{ steps.a.text }}\", media_type: image/png}}");
    assert!(image.may_yield(&[]) && image.may_yield(&modes(&["audio/wav", "image/*"])));
    assert!(!image.may_yield(&modes(&["text/plain"])));
    let markdown =
        workflow("outputs: {p: {value: \"${{ steps.a.text }}\", media_type: text/markdown}}");
    assert!(markdown.may_yield(&modes(&[TEXT])) && markdown.may_yield(&modes(&[JSON])));
    assert!(!markdown.may_yield(&modes(&["image/png"])));
    assert!(workflow("").may_yield(&modes(&["image/png"])), "who knows");
}

#[test]
fn what_fills_no_input_and_is_sent_on_by_no_step_is_not_taken() {
    let takes = |rest: &str| {
        let workflow = workflow(rest);
        [Part::text("x"), Part::data(json!({})), image()].map(|part| workflow.takes(&part))
    };
    assert_eq!(takes(""), [true, false, false]);
    assert_eq!(takes("inputs: {t: {type: string, from: text}}"), [true, false, false]);
    assert_eq!(takes("inputs: {n: {type: integer}}"), [true, true, false]);
    assert_eq!(takes("inputs: {d: {from: data}}"), [true, true, false]);
    assert_eq!(takes("inputs: {f: {from: file}}"), [true, false, true]);
    let mut sends_on = workflow("inputs: {t: {type: string, from: text}}");
    sends_on.steps[0].message = None;
    assert!(sends_on.takes(&image()) && sends_on.takes(&Part::data(json!({}))));
}

#[test]
fn the_modes_of_a_workflow_are_those_of_its_inputs_and_outputs() {
    assert_eq!(workflow("").input_modes(), [TEXT]);
    assert_eq!(
        workflow("inputs: {f: {from: file}, n: {type: integer}}").input_modes(),
        [JSON, FILE]
    );
    let mut sends_on = workflow("");
    sends_on.steps[0].message = None;
    assert!(sends_on.input_modes().is_empty());
    assert!(workflow("").output_modes().is_empty());
}
