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
    flowchart TD
        step_flight["flight<br/>flights"]
        step_hotel["hotel<br/>hotels"]
        step_snowmobile["snowmobile<br/>activities"]
        step_spa["spa<br/>hotels"]
        step_flight --> step_hotel
        step_flight --> step_snowmobile
        step_hotel --> step_spa
    "#);
}

#[test]
fn the_name_of_an_agent_cannot_break_the_diagram() {
    assert_eq!(label("a\"]<b>#\n"), "a#quot;]#lt;b#gt;#35; ");
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
    assert!(mermaid(&plan).contains("step_a[\"a for each item<br/>x\"]"));
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
    assert!(mermaid(&plan).contains("step_b[\"b\"]"), "{}", mermaid(&plan));
}
