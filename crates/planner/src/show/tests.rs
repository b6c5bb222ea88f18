use std::collections::BTreeMap;
use std::sync::Arc;

use document::Source;
use registry::{Agent, CardDigest, Index};
use serde_json::json;

use super::*;
use crate::{bind, check};

fn agent(name: &str, skill: &str, tags: &[&str]) -> Agent {
    let card = json!({
        "name": name, "description": "d", "version": "1",
        "supportedInterfaces": [{"url": format!("http://{name}.example"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": name == "flights"},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": skill, "name": skill, "description": "d", "tags": tags}]
    });
    Agent::new(name, "", serde_json::from_value(card.clone()).unwrap(), CardDigest::of(&card))
}

/// The plan of the trip this project ships.
fn trip() -> Plan {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workflows/helsinki-trip.yaml");
    let source = Source::new("helsinki-trip.yaml", &std::fs::read_to_string(path).unwrap());
    let agents = [
        agent("flights", "book_flight", &["flights", "booking"]),
        agent("hotels", "book_hotel", &["hotels", "booking"]),
        agent("activities", "book_activity", &["activities", "booking"]),
    ];
    let index = Index::new(agents.map(Arc::new));
    bind(Arc::new(check(&source).unwrap()), &index, &BTreeMap::new()).unwrap()
}

#[test]
fn a_plan_as_text_shows_agents_edges_and_their_reasons() {
    insta::assert_snapshot!(text(&trip()), @r#"
    helsinki-trip: A trip to Helsinki
    4 steps, at most 16 at once and 30m in all

    flight
      agent      flights (tags flights, booking), streaming
      interface  JSONRPC 1.0 at http://flights.example
      card       sha256:1f164d1b5f620b8aa5983f30bb0f1bb18f6e7b51d13c3a983297aca8c1e90e8b
      not        activities: has no tag `flights`
      not        hotels: has no tag `flights`

    hotel
      agent      hotels (skill book_hotel, tags hotels), not streaming
      interface  JSONRPC 1.0 at http://hotels.example
      card       sha256:c4d9fcb16d5b2a71989908f3bbe1cb8b6441530fc1706909272ec072d2dbfecc
      after      flight: artifacts of flight (line 39)

    snowmobile
      agent      activities (skill book_activity, tags activities), not streaming
      interface  JSONRPC 1.0 at http://activities.example
      card       sha256:12cab9f10e636dd85085820fb6284fd89c2787eea8af8c9d696e17278248f2cc
      after      flight: steps.flight in message (line 43)

    spa
      agent      hotels (same as hotel), not streaming
      interface  JSONRPC 1.0 at http://hotels.example
      card       sha256:c4d9fcb16d5b2a71989908f3bbe1cb8b6441530fc1706909272ec072d2dbfecc
      after      hotel: needs (line 46), same_as (line 47)
      refers to  hotel
    "#);
}

#[test]
fn a_plan_as_json_shows_the_same() {
    let json = json(&trip());
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["steps"][1]).unwrap(), @r#"
    {
      "after": [
        {
          "reasons": [
            {
              "line": 39,
              "why": "artifacts of flight"
            }
          ],
          "step": "flight"
        }
      ],
      "agent": "hotels",
      "card": "sha256:c4d9fcb16d5b2a71989908f3bbe1cb8b6441530fc1706909272ec072d2dbfecc",
      "fallbacks": [],
      "id": "hotel",
      "interface": {
        "binding": "JSONRPC",
        "tenant": "",
        "url": "http://hotels.example",
        "version": "1.0"
      },
      "not": [],
      "pause_timeout_seconds": 604800.0,
      "refers_to": [],
      "selected_by": "skill book_hotel, tags hotels",
      "streaming": false
    }
    "#);
    assert_eq!(json["outputs"], json!(["itinerary", "bookings"]));
}

#[test]
fn a_plan_as_mermaid_is_a_flow_chart() {
    insta::assert_snapshot!(mermaid(&trip()), @r#"
    ---
    title: "A trip to Helsinki"
    ---
    flowchart TD
        step_flight["flight<br/>flights<br/><i>tags flights, booking</i>"]
        step_hotel["hotel<br/>hotels<br/><i>skill book_hotel, tags hotels</i>"]
        step_snowmobile["snowmobile<br/>activities<br/><i>skill book_activity, tags activities</i>"]
        step_spa["spa<br/>hotels<br/><i>same as hotel</i>"]
        step_flight -->|"artifacts of flight (line 39)"| step_hotel
        step_flight -->|"steps.flight in message (line 43)"| step_snowmobile
        step_hotel -->|"needs (line 46), same_as (line 47)"| step_spa
    "#);
}

#[test]
fn a_plan_as_a_graph_has_the_same_boxes_and_arrows() {
    insta::assert_snapshot!(dot(&trip()), @r#"
    digraph {
        label = "A trip to Helsinki"
        labelloc = "t"
        node [ shape = "box" ]
        0 [ label = "flight\lflights\ltags flights, booking\l" ]
        1 [ label = "hotel\lhotels\lskill book_hotel, tags hotels\l" ]
        2 [ label = "snowmobile\lactivities\lskill book_activity, tags activities\l" ]
        3 [ label = "spa\lhotels\lsame as hotel\l" ]
        0 -> 1 [ label = "artifacts of flight (line 39)\l" ]
        0 -> 2 [ label = "steps.flight in message (line 43)\l" ]
        1 -> 3 [ label = "needs (line 46), same_as (line 47)\l" ]
    }
    "#);
}

/// A plan whose agents and texts are as hostile as a card can be.
fn hostile() -> Plan {
    const NAME: &str =
        "a\"]--></text><script>alert('1')</script>&amp;\\`#\n\u{202e}\u{1b}[31m\u{ffff}";
    let mut plan = trip();
    let workflow = Arc::make_mut(&mut plan.workflow);
    workflow.title = Some(NAME.to_owned());
    for step in &mut workflow.steps {
        if let Some(Selector::Match(asked)) = &mut step.selector {
            asked.skill = Some(NAME.to_owned());
        }
    }
    let bindings = plan.bindings.iter_mut().flatten();
    bindings.for_each(|binding| NAME.clone_into(&mut binding.agent));
    plan
}

#[test]
fn names_of_strangers_stay_texts_in_every_diagram() {
    let plan = hostile();
    let mermaid = mermaid(&plan);
    assert_eq!(mermaid.lines().count(), trip_lines(super::mermaid), "{mermaid}");
    for line in mermaid.lines().skip(4) {
        let between = line.split('"').collect::<Vec<_>>();
        assert_eq!(between.len(), 3, "{line}");
        let plain = between[1].replace("<br/>", "").replace("<i>", "").replace("</i>", "");
        assert!(!plain.contains(['<', '>', '`', '\\', '&']), "{line}");
    }
    let title = mermaid.lines().nth(1).expect("it has a title");
    let title = title.strip_prefix("title: ").expect("it is the title");
    assert!(serde_json::from_str::<String>(title).is_ok(), "{title}");

    let dot = dot(&plan);
    assert_eq!(dot.lines().count(), trip_lines(super::dot), "{dot}");
    for line in dot.lines() {
        let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert!(quotes <= 2 && quotes % 2 == 0, "{line}");
    }

    let svg = svg(&plan).expect("it is small");
    assert!(!svg.contains("<script"), "{svg}");
    assert_eq!(
        svg.matches('<').count(),
        super::svg(&trip()).expect("it is small").matches('<').count()
    );
    for text in [&mermaid, &dot, &svg] {
        let is_obeyed = |c: char| c == '\u{202e}' || c.is_control() && c != '\n';
        assert!(!text.contains(is_obeyed), "{text:?}");
    }
}

fn trip_lines(show: fn(&Plan) -> String) -> usize {
    show(&trip()).lines().count()
}

#[test]
fn a_picture_has_a_box_for_each_step_and_an_arrow_for_each_dependency() {
    let plan = trip();
    let svg = svg(&plan).expect("it is small");
    assert_eq!(svg.matches("class=\"box\"").count(), 4);
    assert_eq!(svg.matches("class=\"edge\"").count(), 3);
    for text in [
        "<title>A trip to Helsinki</title>",
        "<desc>helsinki-trip: 4 steps, 3 dependencies between them</desc>",
        ">hotel</text>",
        ">skill book_hotel, tags hotels</text>",
        ">same as hotel</text>",
        "<title>spa waits for hotel: needs (line 46), same_as (line 47)</title>",
        "<title>hotel: hotels (skill book_hotel, tags hotels)</title>",
    ] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
}

/// A plan of steps that each wait for some that come before.
fn plan_of(steps: usize, needs: impl Fn(usize) -> Vec<usize>) -> Plan {
    let mut text = "convoke: 1\nname: large\nsteps:\n".to_owned();
    for step in 0..steps {
        let needs: Vec<String> = needs(step).iter().map(|it| format!("step_{it}")).collect();
        text.push_str(&format!(
            "  step_{step}: {{agent: flights, needs: [{}]}}\n",
            needs.join(", ")
        ));
    }
    let index = Index::new([agent("flights", "book_flight", &["flights"])].map(Arc::new));
    let workflow = check(&Source::new("large.yaml", &text)).expect("it is right");
    bind(Arc::new(workflow), &index, &BTreeMap::new()).expect("the agent is there")
}

/// No two boxes meet, and none stands outside.
fn assert_apart(plan: &Plan) {
    let layout = layout::layout(plan.workflow.steps.len(), plan.edges()).expect("it fits");
    let (width, height) = layout::STEP;
    let mut steps = layout.steps.clone();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (at, (x, y)) in steps.iter().enumerate() {
        assert!(
            x - width / 2.0 > -0.1 && x + width / 2.0 < layout.size.0 + 0.1,
            "{x} {:?}",
            layout.size
        );
        assert!(
            y - height / 2.0 > -0.1 && y + height / 2.0 < layout.size.1 + 0.1,
            "{y} {:?}",
            layout.size
        );
        for (other_x, other_y) in steps[at + 1..].iter().take_while(|other| other.0 < x + width) {
            let is_apart = (other_y - y).abs() >= height;
            assert!(is_apart, "({x}, {y}) and ({other_x}, {other_y}) meet");
        }
    }
}

#[test]
fn the_boxes_of_large_pictures_stand_apart() {
    assert_apart(&plan_of(200, |step| if step == 0 { Vec::new() } else { vec![(step - 1) / 3] }));
    assert_apart(&plan_of(200, |step| if step == 0 { Vec::new() } else { vec![step - 1] }));
    assert_apart(&plan_of(200, |_| Vec::new()));
    assert_apart(&plan_of(60, |step| {
        (0..step).filter(|before| (before * 7 + step) % 11 == 0).collect()
    }));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 40, ..Default::default() })]

    #[test]
    fn the_boxes_of_any_picture_stand_apart(drawn in proptest::collection::vec(proptest::collection::vec(0_usize..100, 0..4), 1..40)) {
        let plan = plan_of(drawn.len(), |step| {
            if step == 0 { Vec::new() } else { drawn[step].iter().map(|it| it % step).collect() }
        });
        assert_apart(&plan);
        proptest::prop_assert_eq!(svg(&plan), svg(&plan), "the same plan, the same picture");
    }
}

#[test]
fn a_plan_too_large_for_a_picture_says_what_to_take_instead() {
    let plan = plan_of(3_001, |_| Vec::new());
    insta::assert_snapshot!(svg(&plan).expect_err("nobody could read it").to_string(), @"a picture of 3001 steps and 0 dependencies could not be read: take `--format dot` or `json`, and draw a part");
}

#[test]
fn a_plan_shows_for_which_items_a_step_runs() {
    let source = Source::new(
        "w.yaml",
        "convoke: 1\nname: w\ninputs: {topics: {}}\nsteps:\n  a: {agent: x, for_each: inputs.topics, concurrency: 2}\n  b: {agent: x, for_each: [1, 2]}\n",
    );
    let index = Index::new([Arc::new(agent("x", "x", &[]))]);
    let plan = bind(Arc::new(check(&source).unwrap()), &index, &BTreeMap::new()).unwrap();
    let shown = text(&plan);
    assert!(shown.contains("\n  for each   inputs.topics, 2 at once\n"), "{shown}");
    assert!(shown.contains("\n  for each   [1, 2]\n"), "{shown}");
    let json = json(&plan);
    assert_eq!(
        (&json["steps"][0]["for_each"], &json["steps"][0]["concurrency"]),
        (&json!("inputs.topics"), &json!(2))
    );
    for diagram in [mermaid(&plan), dot(&plan), svg(&plan).expect("it is small")] {
        assert!(diagram.contains("a for each item"), "{diagram}");
    }
}

#[test]
fn a_plan_shows_what_a_step_waits_for() {
    let source = Source::new(
        "w.yaml",
        "convoke: 1\nname: w\nsteps:\n  a: {agent: x}\n  b: {agent: x}\n  c: {agent: x, needs: [a, b], join: any, cancel_rest: true}\n  d: {agent: x, needs: [c], run_if: settled}\n",
    );
    let index = Index::new([Arc::new(agent("x", "x", &[]))]);
    let plan = bind(Arc::new(check(&source).unwrap()), &index, &BTreeMap::new()).unwrap();
    let shown = text(&plan);
    assert!(
        shown.contains("\n  runs       once 1 of 2 completed, which cancels the others\n"),
        "{shown}"
    );
    assert!(shown.contains("\n  runs       however these end\n"), "{shown}");
    let json = json(&plan);
    let (c, d) = (&json["steps"][2], &json["steps"][3]);
    assert_eq!((&c["join"], &c["cancel_rest"]), (&json!(1), &json!(true)));
    assert_eq!((&d["run_if"], &d["join"]), (&json!("settled"), &Json::Null));
}

#[test]
fn a_plan_shows_what_holds_for_all_runs_of_its_workflow() {
    let shown = |fields: &str| {
        let file = format!(
            "convoke: 1\nname: w\ninputs: {{q: {{}}}}\n{fields}\nsteps: {{a: {{agent: x}}}}\n"
        );
        let index = Index::new([Arc::new(agent("x", "x", &[]))]);
        let workflow = check(&Source::new("w.yaml", &file)).unwrap();
        let plan = bind(Arc::new(workflow), &index, &BTreeMap::new()).unwrap();
        let whole = text(&plan);
        let lines: Vec<&str> = whole.lines().skip(2).take_while(|line| !line.is_empty()).collect();
        let mut json = json(&plan);
        let rest = ["concurrency", "budget", "schedule"].map(|key| json[key].take());
        format!("{}\n{}", lines.join("\n"), Json::from_iter(rest))
    };
    insta::assert_snapshot!(
        [
            shown(""),
            shown(
                "concurrency: {key: inputs.q, limit: 2, on_conflict: cancel_oldest}\nbudget: {calls: 20}\nschedule:\n  - {cron: 0 7 * * MON, timezone: Europe/Helsinki, inputs: {q: 1}}\n  - {cron: 5 7 * * *, inputs: {q: 2}}"
            ),
            shown("concurrency: {}"),
            shown("concurrency: {on_conflict: reject}"),
            shown("concurrency: {on_conflict: cancel_newest}"),
        ]
        .join("\n"),
        @r#"

    [null,null,null]
    at most 2 runs at once for each inputs.q; one more cancels the oldest
    at most 20 calls in one run
    starts at 0 7 * * MON in Europe/Helsinki
    starts at 5 7 * * * in UTC
    [{"key":"inputs.q","limit":2,"on_conflict":"cancel_oldest"},{"calls":20},[{"cron":"0 7 * * MON","inputs":{"q":1},"timezone":"Europe/Helsinki"},{"cron":"5 7 * * *","inputs":{"q":2},"timezone":"UTC"}]]
    at most 1 run at once; one more waits
    [{"key":null,"limit":1,"on_conflict":"queue"},null,null]
    at most 1 run at once; one more is rejected
    [{"key":null,"limit":1,"on_conflict":"reject"},null,null]
    at most 1 run at once; one more is canceled
    [{"key":null,"limit":1,"on_conflict":"cancel_newest"},null,null]
    "#
    );
}

#[test]
fn a_plan_shows_what_a_step_computes_and_yields() {
    let source = Source::new(
        "w.yaml",
        "convoke: 1\nname: w\nsteps:\n  a: {agent: x, outputs: {n: '${{ this.text }}'}}\n  b: {set: {m: '${{ steps.a.outputs.n }}', k: 1}}\n",
    );
    let index = Index::new([Arc::new(agent("x", "x", &[]))]);
    let plan = bind(Arc::new(check(&source).unwrap()), &index, &BTreeMap::new()).unwrap();
    let shown = text(&plan);
    assert!(shown.contains("\n  yields     n\n"), "{shown}");
    assert!(shown.contains("\nb\n  computes   m, k\n  after      a:"), "{shown}");
    let json = json(&plan);
    assert_eq!(json["steps"][0]["outputs"], json!(["n"]));
    assert_eq!(
        (&json["steps"][1]["set"], &json["steps"][1]["agent"]),
        (&json!(["m", "k"]), &Json::Null)
    );
    assert!(mermaid(&plan).contains("step_b[\"b<br/>computed here"), "{}", mermaid(&plan));
}

#[test]
fn further_agents_and_what_holds_for_all_of_them_are_shown() {
    let steps = "convoke: 1\nname: w\nsteps:\n  a: {agent: {tags: [booking]}, fallback: [{skill: book_hotel}], deadline: 1h, effect: at_most_once, repeat: {until: this.text == 'ok', max: 3}}\n";
    let agents = [
        agent("flights", "book_flight", &["flights", "booking"]),
        agent("hotels", "book_hotel", &["hotels", "booking"]),
    ];
    let workflow = check(&Source::new("w.yaml", steps)).unwrap();
    let index = Index::new(agents.map(Arc::new));
    let plan = bind(Arc::new(workflow), &index, &BTreeMap::new()).unwrap();
    insta::assert_snapshot!(text(&plan), @r"
    w
    1 step, at most 16 at once and 1d in all

    a
      agent      flights (tags booking), streaming
      interface  JSONRPC 1.0 at http://flights.example
      card       sha256:1f164d1b5f620b8aa5983f30bb0f1bb18f6e7b51d13c3a983297aca8c1e90e8b
      not        hotels: fits, but `flights` comes first by name
      else       hotels (skill book_hotel), not streaming
      interface  JSONRPC 1.0 at http://hotels.example
      card       sha256:c4d9fcb16d5b2a71989908f3bbe1cb8b6441530fc1706909272ec072d2dbfecc
      repeats    until this.text == 'ok', 3 times at most
      deadline   1h
      effect     at most once
    ");
    let step = &json(&plan)["steps"][0];
    assert_eq!(step["fallback"][0]["agent"], "hotels");
    assert_eq!(step["fallback"][0]["selected_by"], "skill book_hotel");
    assert_eq!(
        (&step["deadline_seconds"], &step["effect"], &step["repeat"]["max"]),
        (&json!(3600.0), &json!("at_most_once"), &json!(3))
    );
}

#[test]
fn further_agents_of_the_last_steps_are_shown_as_well() {
    let steps = "convoke: 1\nname: w\nsteps: {a: {agent: hotels}}\non_failure: {b: {agent: flights, fallback: [hotels]}}\n";
    let agents = [
        agent("flights", "book_flight", &["flights", "booking"]),
        agent("hotels", "book_hotel", &["hotels", "booking"]),
    ];
    let workflow = check(&Source::new("w.yaml", steps)).unwrap();
    let plan = bind(Arc::new(workflow), &Index::new(agents.map(Arc::new)), &BTreeMap::new());
    let shown = text(&plan.unwrap());
    let (_, last) = shown.split_once("\nb\n").expect("the step is shown");
    assert!(last.contains("agent      flights") && last.contains("else       hotels"), "{shown}");
}
