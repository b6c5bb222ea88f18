//! Files made from the table: what the decoder accepts, the schema accepts, and the other way
//! round.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

/// Problems that no schema sees, by code, and by their words where the code has others as well.
const SEMANTIC: [(&str, &str); 25] = [
    ("workflow::invalid-value", "there is a step `"),
    ("workflow::unknown-step", ""),
    ("workflow::unknown-input", ""),
    ("workflow::unknown-data", ""),
    ("workflow::cycle", ""),
    ("workflow::dynamic-step", ""),
    ("workflow::too-deep", ""),
    ("expression::", ""),
    // A schema of an input is held against that of JSON Schema, which nests further.
    ("workflow::invalid-schema", ""),
    ("workflow::early-key", ""),
    ("workflow::invalid-value", "the default is no value for it"),
    ("workflow::invalid-value", "the input `"),
    ("workflow::invalid-value", "a schedule gives no value for the input"),
    ("workflow::invalid-value", "is no cron expression"),
    ("workflow::invalid-value", "names no day that ever comes"),
    ("workflow::invalid-value", "there is no time zone"),
    ("workflow::invalid-value", "the step waits for no other"),
    ("workflow::invalid-value", "is served by no agent"),
    ("workflow::invalid-value", "can never be reached"),
    ("workflow::invalid-value", "the first delay is longer than the longest"),
    ("workflow::invalid-value", "it is longer than a year"),
    ("workflow::invalid-value", "is not a URL"),
    ("workflow::invalid-value", "is not the URL of an agent"),
    ("workflow::invalid-value", "holds credentials"),
    // JSON Schema takes 4.0 for a whole number.
    ("workflow::invalid-value", "a whole number from"),
];

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(validator);

/// Values that fit nothing, or little.
fn junk() -> BoxedStrategy<Json> {
    select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(2.5),
        json!(""),
        json!(" "),
        json!("x y"),
        json!("${{ run.id }}"),
        json!("a/b"),
        json!([]),
        json!([1]),
        json!({}),
        json!({"x": 1}),
        json!({"${{ run.id }}": 1}),
    ])
    .boxed()
}

fn one(of: &[&str]) -> BoxedStrategy<Json> {
    select(of.iter().map(|text| json!(text)).collect::<Vec<_>>()).boxed()
}

/// A value of a form that one field alone takes.
fn special(of: &Type) -> BoxedStrategy<Json> {
    match of {
        Type::Items => prop_oneof![
            one(&["inputs.q", "${{ [1, 2] }}", "a ="]),
            vec(one(&["x", "${{ inputs.q }}"]), 0..3).prop_map(Json::from)
        ]
        .boxed(),
        Type::Cron => {
            one(&["0 7 * * MON", "*/5 * * * *", "0 0 30 2 *", "0 7 * *", "0 25 * * *", "@daily"])
        }
        Type::TimeZone => one(&["UTC", "Europe/Helsinki", "europe/helsinki", "Europe/Helsinky"]),
        Type::Given => one(&["q", "doc", "nope", "Q"])
            .prop_map(|key| json!({key.as_str().unwrap_or_default(): "x"}))
            .boxed(),
        Type::Declared => vec(one(&["streaming", "push_notifications", "urn:x", "stream"]), 0..3)
            .prop_map(Json::from)
            .boxed(),
        Type::NamesOrMappings(place) => {
            vec(prop_oneof![one(&["x", "an agent"]), mapping(*place)], 0..3)
                .prop_map(Json::from)
                .boxed()
        }
        of => panic!("{of:?} has no values"),
    }
}

/// A value that most probably fits.
fn value(of: &Type) -> BoxedStrategy<Json> {
    let fitting = match of {
        Type::Version => Just(json!(1)).boxed(),
        Type::WorkflowName => one(&["w", "a-trip", "9"]),
        Type::Text | Type::Literal | Type::Name => one(&["x", "a name", "$5 {x} {{y}}"]),
        Type::Texts | Type::Names => vec(one(&["x", "a tag"]), 0..3).prop_map(Json::from).boxed(),
        Type::AgentUrl => {
            one(&["http://a.example", "HTTPS://[::1]:80/x", "http://u:p@a", "ftp://a"])
        }
        Type::Step => one(&["a", "b", "A"]),
        Type::Steps => vec(one(&["a", "b"]), 0..3).prop_map(Json::from).boxed(),
        Type::Input | Type::FileInput => one(&["q", "doc", "nope", "Q"]),
        Type::Artifacts => one(&["a", "b[\"x\"]", "b [ 'x' ] ", "a.b", "b[x]"]),
        Type::Integer(least, most) => {
            select(vec![*least, *most, least + 1, most + 1]).prop_map(Json::from).boxed()
        }
        Type::Number(least, most) => {
            select(vec![*least, *most, most + 1]).prop_map(Json::from).boxed()
        }
        Type::Duration => one(&["5m", "1h30m", " 500ms ", "0s", "5 m", "999d", "5min", "00s1ms"]),
        Type::Expression => {
            prop_oneof![one(&["inputs.q == 1", "${{ true }}", "a ="]), Just(json!(true))].boxed()
        }
        Type::Template => one(&["hi", "${{ inputs.q }} and ${{ run.id }}"]),
        Type::TemplateUrl => one(&["http://a", "${{ inputs.q }}", "mailto:x", "a.pdf"]),
        Type::TemplateMediaType | Type::MediaType => {
            one(&["text/plain", " a/b ; charset=x", "text", "a/b/c", "${{ inputs.q }}"])
        }
        Type::TemplateMapping => {
            prop_oneof![Just(json!({"k": "${{ inputs.q }}"})), one(&["${{ inputs.q }}", "x"])]
                .boxed()
        }
        Type::Values => {
            prop_oneof![junk(), Just(json!({})), Just(json!({"k": ["${{ inputs.q }}", 1]})),]
                .boxed()
        }
        Type::Value => prop_oneof![junk(), Just(json!({"k": ["${{ inputs.q }}", 1]}))].boxed(),
        Type::MediaTypes => {
            vec(one(&["text/plain", "text", "image/*"]), 0..3).prop_map(Json::from).boxed()
        }
        Type::Flag => any::<bool>().prop_map(Json::from).boxed(),
        Type::Join => prop_oneof![
            one(&["all", "any", "some"]),
            select(vec![0, 1, 2, 10_000, 10_001]).prop_map(Json::from)
        ]
        .boxed(),
        Type::List(place) => vec(mapping(*place), 0..3).prop_map(Json::from).boxed(),
        Type::OneOf(words) => one(&words()),
        Type::AnyOf(words) => vec(one(&words()), 0..3).prop_map(Json::from).boxed(),
        Type::Mapping(place) => mapping(*place),
        Type::Named(place, Names::Steps) => named(&["a", "b", "B"], *place),
        Type::Named(place, _) => named(&["q", "doc", "Q"], *place),
        Type::TextOrList(place) => prop_oneof![
            one(&["hi", "${{ inputs.q }}"]),
            vec(mapping(*place), 0..3).prop_map(Json::from)
        ]
        .boxed(),
        Type::NameOrMapping(place) => prop_oneof![one(&["x", "an agent"]), mapping(*place)].boxed(),
        Type::Question => one(&["How many?", "Is ${{ inputs.q }} right?", " "]),
        Type::With => prop_oneof![junk(), Just(json!({"k": ["${{ inputs.q }}", 1]}))].boxed(),
        Type::Keyword(of) => keyword(*of),
        of => special(of),
    };
    prop_oneof![30 => fitting, 1 => junk()].boxed()
}

fn keyword(of: Keyword) -> BoxedStrategy<Json> {
    let schema = || prop_oneof![Just(json!({"type": "string"})), Just(json!(true))];
    match of {
        Keyword::Types => {
            prop_oneof![one(&["string", "integer", "object"]), Just(json!(["string", "null"]))]
                .boxed()
        }
        Keyword::Any => prop_oneof![Just(json!("x")), junk()].boxed(),
        Keyword::Values => Just(json!(["x", 1])).boxed(),
        Keyword::Text => one(&["x", "date"]),
        Keyword::Flag => any::<bool>().prop_map(Json::from).boxed(),
        Keyword::Number => (-5..5).prop_map(Json::from).boxed(),
        Keyword::Positive => (0..5).prop_map(Json::from).boxed(),
        Keyword::Count => (-1..5).prop_map(Json::from).boxed(),
        Keyword::Regex => one(&["^a", "(", "[a-z]+$"]),
        Keyword::Schema => schema().boxed(),
        Keyword::Schemas => vec(schema(), 0..3).prop_map(Json::from).boxed(),
        Keyword::NamedSchemas => schema().prop_map(|it| json!({"k": it})).boxed(),
        Keyword::RegexSchemas => (one(&["^a", "("]), schema())
            .prop_map(|(key, it)| json!({key.as_str().unwrap_or_default(): it}))
            .boxed(),
        Keyword::Names => vec(one(&["k", "l"]), 0..3).prop_map(Json::from).boxed(),
        Keyword::NamedNames => vec(one(&["k", "l"]), 0..3).prop_map(|it| json!({"k": it})).boxed(),
        Keyword::Reference => one(&["#/$defs/k", "#", "http://a"]),
    }
}

fn named(names: &'static [&'static str], place: Place) -> BoxedStrategy<Json> {
    // The last name is one that does not fit.
    let names = prop_oneof![
        20 => subsequence(&names[..2], 0..=2),
        1 => subsequence(names, 0..=3),
    ];
    names
        .prop_flat_map(move |names| {
            let each = vec(mapping(place), names.len());
            each.prop_map(move |each| {
                names.iter().map(|name| (*name).to_owned()).zip(each).collect::<Json>()
            })
        })
        .boxed()
}

/// A mapping with some of its fields, most probably those that it needs, and sometimes another.
fn mapping(place: Place) -> BoxedStrategy<Json> {
    let fields = place.fields();
    let most = fields.len().min(5);
    let needed: Vec<usize> =
        (0..fields.len()).filter(|at| fields[*at].absent == Absent::Wrong).collect();
    let all: Vec<usize> = (0..fields.len()).collect();
    (subsequence(all, 1..=most), proptest::bool::weighted(0.97), proptest::bool::weighted(0.02))
        .prop_flat_map(move |(mut chosen, is_whole, is_strange)| {
            if is_whole {
                chosen.extend(&needed);
                chosen.extend((place == Place::Step).then(|| who(&chosen)).flatten());
                chosen.sort_unstable();
                chosen.dedup();
            }
            let values: Vec<BoxedStrategy<(String, Json)>> = chosen
                .iter()
                .map(|at| {
                    let key = fields[*at].key.to_owned();
                    value(&fields[*at].takes).prop_map(move |value| (key.clone(), value)).boxed()
                })
                .collect();
            values.prop_map(move |mut values| {
                values.extend(is_strange.then(|| ("strange".to_owned(), json!(1))));
                values.into_iter().collect::<Json>()
            })
        })
        .boxed()
}

/// A step needs an agent, unless it does something else; where it has both, both readers refuse it.
fn who(chosen: &[usize]) -> Option<usize> {
    let at = |key: &str| Place::Step.fields().iter().position(|field| field.key == key);
    let mut kinds = crate::workflow::KINDS.into_iter().filter_map(at);
    let is_said = kinds.any(|kind| chosen.contains(&kind));
    at("agent").filter(|_| !is_said)
}

/// What is wrong with a file and no schema could see; `Err` with what one should have seen.
fn semantic(problems: &[document::Diagnostic]) -> Result<(), String> {
    let is_known = |problem: &document::Diagnostic| {
        SEMANTIC
            .iter()
            .any(|(code, words)| problem.code.starts_with(code) && problem.message.contains(words))
    };
    match problems.iter().find(|problem| !is_known(problem)) {
        Some(problem) => Err(format!("{}: {}", problem.code, problem.message)),
        None => Ok(()),
    }
}

/// Holds both readers against each other.
fn compare(file: &Json) -> Result<bool, String> {
    let text = serde_json::to_string_pretty(file).expect("it is JSON");
    let checked = crate::check(&Source::new("generated.yaml", &text));
    let complaints = complaints(&VALIDATOR, file);
    match (&checked, complaints.is_empty()) {
        (Ok(_), true) => Ok(true),
        (Ok(_), false) => Err(format!("the schema alone refuses {text}\n{complaints:#?}")),
        (Err(problems), true) => semantic(problems)
            .map(|()| false)
            .map_err(|problem| format!("the schema should refuse {text}\n{problem}")),
        (Err(_), false) => Ok(false),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_schema_and_the_reader_of_the_files_agree(file in mapping(Place::Workflow)) {
        compare(&file).map_err(TestCaseError::fail)?;
    }
}

#[test]
fn each_field_by_itself_is_taken_and_refused_by_both() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    for place in Place::ALL {
        for field in place.fields() {
            let mut accepted = 0;
            for _ in 0..60 {
                let value = value(&field.takes).new_tree(&mut runner).expect("a value").current();
                let file = around(place, field.key, value);
                accepted += usize::from(compare(&file).unwrap_or_else(|why| panic!("{why}")));
            }
            assert!(accepted > 0, "no file with `{}` of {} was right", field.key, place.name());
        }
    }
}

/// A step that has what a field of it needs.
fn step(key: &str, value: Json) -> Json {
    let mut step = match key {
        "join" | "run_if" => json!({"needs": ["b"]}),
        "cancel_rest" => json!({"needs": ["b"], "join": "any"}),
        "concurrency" => json!({"for_each": ["x"]}),
        "schema" => json!({"ask": "Really?"}),
        "with" => json!({"workflow": "x"}),
        _ => json!({}),
    };
    let kinds = crate::workflow::KINDS;
    if !kinds.contains(&key) && kinds.iter().all(|kind| step.get(kind).is_none()) {
        step["agent"] = json!("x");
    }
    step[key] = value;
    step
}

fn repeat(key: &str, value: Json) -> Json {
    let mut repeat = json!({"until": "true", "max": 2});
    repeat[key] = value;
    repeat
}

fn of_workflow(mut file: Json, key: &str, value: Json) -> Json {
    if matches!(key, "on_failure" | "finally") {
        // Their steps need names of their own.
        file["steps"] = json!({"z": {"agent": "x"}});
    }
    file[key] = value;
    file
}

/// A file that is right but for, perhaps, one field.
fn around(place: Place, key: &str, value: Json) -> Json {
    let mut file = json!({
        "convoke": 1,
        "name": "w",
        "inputs": {"q": {}, "doc": {"from": "file"}},
        "steps": {"b": {"agent": "x"}, "z": {"agent": "x"}},
    });
    let mut of = json!({});
    match place {
        Place::Workflow => return of_workflow(file, key, value),
        Place::Agent => file["agents"] = json!({"l": {key: value}}),
        Place::Defaults => file["defaults"] = json!({key: value}),
        Place::Input => {
            if key == "$ref" {
                of["$defs"] = json!({"k": true});
            }
            of[key] = value;
            file["inputs"]["other"] = of;
        }
        Place::Concurrency => file["concurrency"] = json!({key: value}),
        Place::Budget => file["budget"] = json!({key: value}),
        Place::Schedule => {
            file["inputs"] = json!({"q": {"default": 1}, "doc": {"default": 1}});
            of["cron"] = json!("0 7 * * MON");
            of[key] = value;
            file["schedule"] = json!([of]);
        }
        Place::Step => file["steps"]["z"] = step(key, value),
        Place::Selector => {
            if !matches!(key, "url" | "same_as") {
                of["name"] = json!("x");
            }
            of[key] = value;
            file["steps"]["z"]["agent"] = of;
        }
        Place::Repeat => file["steps"]["z"]["repeat"] = repeat(key, value),
        Place::Retry => file["defaults"] = json!({"retry": {key: value}}),
        Place::Backoff => file["defaults"] = json!({"retry": {"backoff": {key: value}}}),
        Place::Cache => {
            of["ttl"] = json!("1h");
            of[key] = value;
            file["steps"]["z"]["cache"] = of;
        }
        Place::Part => {
            if matches!(key, "media_type" | "filename" | "metadata") {
                of["text"] = json!("hi");
            }
            of[key] = value;
            file["steps"]["z"]["message"] = json!([of]);
        }
        Place::Output => {
            of["value"] = json!("x");
            of[key] = value;
            file["outputs"] = json!({"o": of});
        }
    }
    file
}
