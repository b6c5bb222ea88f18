use std::collections::HashSet;
use std::path::PathBuf;

use document::{Limits, Source, parse};
use serde_json::{Value as Json, json};

use super::*;

mod generated;

fn path(of: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(of)
}

fn validator() -> jsonschema::Validator {
    jsonschema::options().should_validate_formats(true).build(&schema()).expect("it is a schema")
}

/// What the schema says against a file: where, and what.
fn complaints(validator: &jsonschema::Validator, file: &Json) -> Vec<String> {
    validator.iter_errors(file).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The YAML files of a folder, with their names.
fn files(folder: &str) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(path(folder))
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter_map(|path| {
            let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
            Some((name, std::fs::read_to_string(&path).ok()?))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_field_is_there_once_and_says_what_it_means() {
    for place in Place::ALL {
        let keys: HashSet<&str> = place.keys().collect();
        assert_eq!(keys.len(), place.fields().len(), "{}", place.name());
        for field in place.fields() {
            assert!(field.meaning.len() > 5, "{} {}", place.name(), field.key);
            assert!(!field.meaning.contains('\n'), "{} {}", place.name(), field.key);
        }
    }
}

#[test]
fn the_schema_has_a_title_and_a_description_for_every_field() {
    let schema = schema();
    for place in Place::ALL {
        let mapping = match place {
            Place::Workflow => &schema,
            place => &schema["$defs"][place.name()],
        };
        for key in place.keys() {
            let field = &mapping["properties"][key];
            for said in ["title", "description"] {
                assert!(field[said].is_string(), "{} {key} {said}", place.name());
            }
        }
        let described = mapping["properties"].as_object().expect("a mapping");
        assert_eq!(described.len(), place.fields().len());
    }
    assert_eq!(schema["$defs"]["retry"]["properties"]["attempts"]["default"], 3);
    assert_eq!(schema["$defs"]["backoff"]["properties"]["initial"]["default"], "500ms");
    let evidence = &schema["$defs"]["selector"]["properties"]["min_evidence"]["description"];
    let evidence = evidence.as_str().expect("a text");
    assert!(evidence.starts_with("how much must have been seen of it, at least"), "{evidence}");
    assert!(jsonschema::meta::is_valid(&schema));
}

#[test]
fn the_defaults_of_the_table_are_those_that_hold() {
    use crate::workflow::{DEFAULT_PARALLEL, DEFAULT_RUN_TIMEOUT, DEFAULT_STEP_TIMEOUT, duration};
    let default = |place: Place, key: &str| match place.field(key).expect("it is there").absent {
        Absent::Value(value) => value,
        other => panic!("{key} has no default: {other:?}"),
    };
    assert_eq!(default(Place::Workflow, "parallel"), DEFAULT_PARALLEL.to_string());
    let time = |place, key| duration::parse(default(place, key)).expect("a duration");
    assert_eq!(time(Place::Workflow, "timeout"), DEFAULT_RUN_TIMEOUT);
    assert_eq!(time(Place::Defaults, "timeout"), DEFAULT_STEP_TIMEOUT);
    let mut fields = String::new();
    for place in [Place::Retry, Place::Backoff] {
        for field in place.fields() {
            if let Absent::Value(value) = field.absent {
                fields.push_str(&format!("{}: {value}, ", field.key));
            }
        }
    }
    let (retry, backoff) = fields.split_once("initial").expect("it is there");
    let written = format!(
        "convoke: 1\nname: w\nsteps:\n  a: {{agent: x}}\n  b: {{agent: x, on_error: {}, retry: {{{retry} backoff: {{initial{backoff}}}}}}}\n",
        default(Place::Defaults, "on_error")
    );
    let workflow = crate::check(&Source::new("w.yaml", &written)).expect("these are values");
    assert_eq!(workflow.steps[0].retry, workflow.steps[1].retry);
    assert_eq!(workflow.steps[0].on_error, workflow.steps[1].on_error);
}

#[test]
fn a_default_that_is_written_out_changes_nothing() {
    let written = |place: Place| -> String {
        let fields = place.fields().iter();
        fields
            .filter_map(|field| match field.absent {
                Absent::Value(value) => Some(format!(", {}: {value}", field.key)),
                _ => None,
            })
            .collect()
    };
    let read = |written: &dyn Fn(Place) -> String| {
        let text = format!(
            "convoke: 1\nname: w\nconcurrency: {{key: run.id{}}}\nschedule: [{{cron: 0 7 * * *{}}}]\n\
             steps:\n  a: {{agent: x}}\n  b: {{needs: [a]{}, agent: {{name: x{}}}}}\n",
            written(Place::Concurrency),
            written(Place::Schedule),
            written(Place::Step),
            written(Place::Selector),
        );
        let workflow = crate::check(&Source::new("w.yaml", &text)).expect("these are values");
        let concurrency = workflow.concurrency.expect("it is written");
        let step = &workflow.steps[1];
        (
            (concurrency.limit, concurrency.on_conflict),
            workflow.schedule[0].timezone.clone(),
            (step.join, step.run_if, step.cancel_rest, step.effect, step.asks.push),
            step.selector.clone(),
        )
    };
    let of_step =
        ", push: auto, join: all, run_if: succeeded, cancel_rest: false, effect: at_least_once";
    assert_eq!(written(Place::Step), of_step);
    assert_eq!(read(&written), read(&|_| String::new()));
}

#[test]
fn the_reference_has_the_fields_as_they_are() {
    let written = std::fs::read_to_string(path("docs/workflow-reference.md")).expect("it is there");
    let filled = fill_reference(&written).expect("it has a place for each table");
    assert!(
        written == filled,
        "run `cargo xtask codegen`: docs/workflow-reference.md is out of date"
    );
}

#[test]
fn a_reference_that_cannot_be_filled_says_where_and_why() {
    let mark = |name: &str| format!("{}{name} -->\n", "<!-- fields: ");
    let all: String =
        Place::ALL.iter().map(|place| mark(place.name()) + "<!-- end of fields -->\n").collect();
    let filled = fill_reference(&all).expect("all are asked for");
    assert_eq!(fill_reference(&filled).as_deref(), Ok(filled.as_str()), "it can be filled again");
    assert!(filled.contains("| `cron` | five fields of cron | required |"));
    let told = |text: &str| fill_reference(text).expect_err("it is wrong").to_string();
    insta::assert_snapshot!(
        [
            told(&format!("a\n{}", mark("stepp"))),
            told(&mark("step")),
            told(&all.replace(&mark("part"), "")),
        ]
        .join("\n"),
        @r"
    line 2: there are no fields of `stepp`; write `<!-- fields: NAME -->`, NAME one of: workflow, input, agent, defaults, concurrency, budget, schedule, step, selector, repeat, retry, backoff, cache, part, output
    line 1: the table that begins here does not end; write `<!-- end of fields -->` after it
    no table has the fields of part; write `<!-- fields: part -->` and `<!-- end of fields -->` where it belongs
    "
    );
}

#[test]
fn the_schema_accepts_every_workflow_of_the_project() {
    let validator = validator();
    let workflows = files("workflows");
    assert!(workflows.len() >= 4);
    for (name, text) in workflows {
        let node = parse(&Source::new(&name, &text), &Limits::default()).expect("it is YAML");
        let complaints = complaints(&validator, &node.to_json());
        assert!(complaints.is_empty(), "{name}: {complaints:#?}");
    }
}

/// Files of `tests/bad` that the schema accepts although something is wrong with them, and why it
/// cannot see it.
const UNSEEN: [(&str, &str); 27] = [
    ("expression-block-not-closed", IN_EXPRESSIONS),
    ("expression-empty", IN_EXPRESSIONS),
    ("expression-in-when-with-text", IN_EXPRESSIONS),
    ("expression-includes", IN_EXPRESSIONS),
    ("expression-not-closed", IN_EXPRESSIONS),
    ("expression-operators", IN_EXPRESSIONS),
    ("expression-single-equals", IN_EXPRESSIONS),
    ("expression-unfinished", IN_EXPRESSIONS),
    ("expression-unknown-field-of-a-step", IN_EXPRESSIONS),
    ("expression-unknown-field-of-this", IN_EXPRESSIONS),
    ("expression-unknown-input", IN_EXPRESSIONS),
    ("expression-unknown-names", IN_EXPRESSIONS),
    ("input-default-does-not-fit", "a value is held against a schema of the same file"),
    ("message-nested-too-deep", "a schema counts no levels"),
    ("run-concurrency-of-steps", IN_EXPRESSIONS),
    ("run-schedule-that-never-comes", "a calendar is no matter of a schema"),
    ("step-chosen-at-run-time", IN_EXPRESSIONS),
    ("step-cycle", ELSEWHERE),
    ("step-data", ELSEWHERE),
    ("step-needs-itself", ELSEWHERE),
    ("step-parallel-with-a-point", "JSON Schema takes 4.0 for a whole number"),
    ("step-retry-longer-than-the-longest", "two durations are compared"),
    ("step-two-cycles", ELSEWHERE),
    ("step-unknown", ELSEWHERE),
    ("step-waits-for-nothing", ELSEWHERE),
    ("yaml-alias-repeats-a-problem", IN_EXPRESSIONS),
    ("yaml-crlf", IN_EXPRESSIONS),
];
const IN_EXPRESSIONS: &str = "what stands in expressions is text to a schema";
const ELSEWHERE: &str = "which steps there are stands elsewhere in the file";

#[test]
fn the_schema_refuses_whatever_it_can_see() {
    let validator = validator();
    let mut seen = Vec::new();
    for (name, text) in files("tests/bad") {
        let source = Source::new(&name, &text);
        // How YAML is written is no matter of a schema: there is nothing to hold against it.
        let Ok(node) = parse(&source, &Limits::default()) else { continue };
        if validator.is_valid(&node.to_json()) {
            seen.push(name);
        }
    }
    let unseen: Vec<&str> = UNSEEN.iter().map(|(name, _)| *name).collect();
    assert_eq!(seen, unseen, "what the schema accepts of tests/bad, beside {UNSEEN:#?}");
}

#[test]
fn the_schema_tells_an_editor_what_it_wants() {
    let validator = validator();
    let step = |step: Json| json!({"convoke": 1, "name": "w", "steps": {"a": step}});
    assert_eq!(complaints(&validator, &step(json!({"agent": "x"}))), Vec::<String>::new());
    let wrong = [
        step(json!({"agent": "x", "mesage": "hi"})),
        step(json!({"agent": "x", "timeout": "5 minutes"})),
        step(json!({"agent": "x", "message": [{"text": "a", "data": 1}]})),
        step(json!({"agent": {"url": "http://a", "name": "x"}})),
        step(json!({"message": "hi"})),
    ];
    for file in wrong {
        assert_eq!(complaints(&validator, &file).len(), 1, "{file}");
    }
}
