use document::Source;

use super::*;

const STEPS: &str = "agents: {x: {url: \"http://127.0.0.1:1\"}}\nsteps: {a: {agent: x}}\n";
const TRIP: &str = "title: A trip\ninputs:\n  wish: {type: string, from: text}\n  \
                    people: {type: integer, minimum: 1}\n  note: {type: string, default: none}\n";

fn workflows(heads: &[&str]) -> Workflows {
    let mut workflows = Workflows::default();
    for head in heads {
        let text = format!("convoke: 1\nname: {head}{STEPS}");
        let workflow = planner::check(&Source::new("test.yaml", &text)).unwrap();
        workflows.add(workflow).unwrap();
    }
    workflows
}

fn trip() -> String {
    format!("trip\n{TRIP}")
}

fn text(text: &str) -> Message {
    Message::user(vec![Part::text(text)])
}

fn data(value: Value) -> Message {
    Message::user(vec![Part::data(value)])
}

fn started(decision: Decision) -> (String, Value, Vec<Part>) {
    match decision {
        Decision::Start { workflow, inputs, start } => {
            (workflow.name.clone(), Value::Object(inputs), start)
        }
        Decision::Ask { question, .. } => panic!("asks {question:?}"),
        Decision::Reject { why } => panic!("rejects: {why}"),
    }
}

fn asked(decision: Decision) -> (Option<String>, String, Value) {
    match decision {
        Decision::Ask { workflow, question } => {
            let text = question[0].as_text().unwrap().to_owned();
            (workflow, text, question[1].as_data().unwrap().clone())
        }
        _ => panic!("asks nothing"),
    }
}

#[test]
fn the_only_workflow_is_meant_by_whatever_is_said() {
    let workflows = workflows(&["greeting\n"]);
    let (name, inputs, start) = started(decide(&workflows, None, &[text("greeting")]));
    assert_eq!((name.as_str(), inputs), ("greeting", json!({})));
    assert_eq!(start, text("greeting").parts, "what is said is content, not a choice");
}

#[test]
fn of_several_workflows_one_is_chosen_by_its_name_or_title() {
    let workflows = workflows(&["greeting\n", &trip()]);
    let (workflow, question, list) = asked(decide(&workflows, None, &[text("Hello")]));
    assert_eq!(workflow, None);
    assert_eq!(
        question,
        "Which workflow is meant? Answer with its name:\n- greeting\n- trip: A trip"
    );
    assert_eq!(list["workflows"][1]["name"], "trip");
    let said = [text("Hello"), text(" Greeting ")];
    let (name, _, start) = started(decide(&workflows, None, &said));
    assert_eq!(name, "greeting");
    assert_eq!(start, text("Hello").parts, "the choice is no content");
    let (workflow, ..) = asked(decide(&workflows, None, &[text("a trip")]));
    assert_eq!(workflow.as_deref(), Some("trip"));
}

#[test]
fn what_is_missing_is_named_and_the_next_messages_fill_it_in() {
    let workflows = workflows(&[&trip()]);
    let first = data(json!({"people": "many", "note": "quiet"}));
    let (workflow, question, list) = asked(decide(&workflows, None, std::slice::from_ref(&first)));
    assert_eq!(workflow.as_deref(), Some("trip"));
    assert_eq!(
        question,
        "The workflow trip needs more before it can run:\n\
         - the input `wish` is required and has no value: give a string\n\
         - the input `people` must be an integer, not the string \"many\""
    );
    assert_eq!(list["inputs"][0]["is_missing"], true);
    assert_eq!(list["inputs"][1]["is_missing"], false);
    let second = text("To the sea");
    let (_, question, _) = asked(decide(&workflows, None, &[first.clone(), second.clone()]));
    assert!(!question.contains("wish"), "{question}");
    // One value is missing and the Message is plain text: that is the value.
    let said = [first, second, text("4")];
    let (_, inputs, start) = started(decide(&workflows, None, &said));
    assert_eq!(inputs, json!({"wish": "To the sea", "people": 4, "note": "quiet"}));
    assert_eq!(start.len(), 3);
}

#[test]
fn a_later_message_leaves_what_is_right() {
    let workflows = workflows(&[&trip()]);
    let mut second = data(json!({"people": 2}));
    second.parts.push(Part::text("Here you are"));
    let (_, inputs, _) = started(decide(&workflows, None, &[text("To the sea"), second]));
    assert_eq!(inputs, json!({"wish": "To the sea", "people": 2, "note": "none"}));
}

#[test]
fn without_workflows_everything_is_rejected() {
    let decision = decide(&Workflows::default(), None, &[text("Hello")]);
    assert!(matches!(decision, Decision::Reject { .. }));
}
