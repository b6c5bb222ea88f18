use std::collections::BTreeMap;
use std::sync::Arc;

use document::{Source, Style, render};
use registry::{Curation, Index};
use serde_json::{Value, json};

use super::*;
use crate::{Plan, bind, check, lock};

fn card() -> Value {
    json!({
        "name": "Flights", "description": "Books flights", "version": "1",
        "supportedInterfaces": [
            {"url": "https://flights.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": true},
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "book", "name": "Book", "description": "Books", "tags": ["flights"]},
            {"id": "look", "name": "Look", "description": "Looks", "tags": ["flights"]}
        ],
        "signatures": [{"protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6Im91cnMifQ", "signature": "AA"}]
    })
}

fn agent(name: &str, card: &Value) -> Agent {
    let read = serde_json::from_value(card.clone()).unwrap();
    Agent::new(name, "https://flights.example", read, CardDigest::of(card))
}

fn index(agents: impl IntoIterator<Item = Agent>) -> Index {
    Index::new(agents.into_iter().map(Arc::new))
}

fn source(steps: &str) -> Source {
    Source::new("trip.yaml", &format!("convoke: 1\nname: trip\nsteps:\n{steps}"))
}

const STEPS: &str = "  flight: {agent: {tags: [flights]}}\n";

/// The lock of a workflow as it reads once it was written to a file.
fn locked(steps: &str, index: &Index) -> Lock {
    let plan = bound(steps, None, index).unwrap();
    let lock = lock(&plan, index, &BTreeMap::new(), "trip.lock.yaml");
    let read = Lock::read(&Source::new("trip.lock.yaml", &lock.to_yaml())).unwrap();
    assert_eq!(read, lock, "it reads as it was written");
    read
}

fn bound(steps: &str, lock: Option<Lock>, index: &Index) -> Result<Plan, String> {
    let source = source(steps);
    let workflow = Workflow { lock: lock.map(Arc::new), ..check(&source).unwrap() };
    bind(Arc::new(workflow), index, &BTreeMap::new())
        .map_err(|problems| render(&source, &problems, Style { color: false, width: 160 }))
}

/// What is said of a step that is locked to a card which has changed so.
fn refused(change: impl FnOnce(&mut Value)) -> String {
    let lock = locked(STEPS, &index([agent("flights", &card())]));
    let mut changed = card();
    change(&mut changed);
    bound(STEPS, Some(lock), &index([agent("flights", &changed)])).unwrap_err()
}

#[test]
fn a_lock_holds_each_step_to_its_agent_when_a_better_one_comes() {
    let before = index([agent("flights", &card())]);
    let lock = locked(STEPS, &before);
    let better = Agent { priority: 9, ..agent("better", &card()) };
    let after = index([agent("flights", &card()), better]);
    let free = bound(STEPS, None, &after).unwrap();
    assert_eq!(free.bindings[0].as_ref().unwrap().agent, "better");
    let held = bound(STEPS, Some(lock), &after).unwrap();
    let binding = held.bindings[0].as_ref().unwrap();
    assert_eq!(binding.agent, "flights");
    assert_eq!(binding.lost[0].agent, "better");
    assert_eq!(binding.lost[0].why, "fits, but trip.lock.yaml has `flights`");
    let shown = crate::show::text(&held);
    assert!(shown.contains("\nlocked by trip.lock.yaml\n"), "{shown}");
    assert_eq!(crate::show::json(&held)["lock"], "trip.lock.yaml");
    assert_eq!(crate::show::json(&free).get("lock"), None);
}

#[test]
fn other_words_are_named() {
    let said = refused(|card| card["description"] = json!("Books flights and trains"));
    insta::assert_snapshot!(said, @r##"
    plan::locked-card

      × no agent for step `flight` (tags `flights`): the card of `flights` is another than in trip.lock.yaml (cosmetic change)
       ╭─[trip.yaml:4:20]
     3 │ steps:
     4 │   flight: {agent: {tags: [flights]}}
       ·                    ────
       ╰────
      help: ~ /description: "Books flights" → "Books flights and trains"
            when you agree with it: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
}

#[test]
fn a_skill_that_came_is_named() {
    let new = json!({"id": "rebook", "name": "Rebook", "description": "d", "tags": ["flights"]});
    let said = refused(|card| card["skills"].as_array_mut().unwrap().push(new));
    insta::assert_snapshot!(said, @r##"
    plan::locked-card

      × no agent for step `flight` (tags `flights`): the card of `flights` is another than in trip.lock.yaml (additive change)
       ╭─[trip.yaml:4:20]
     3 │ steps:
     4 │   flight: {agent: {tags: [flights]}}
       ·                    ────
       ╰────
      help: + /skills/rebook: {"description":"d","id":"rebook","name":"Rebook","tags":["flights"]}
            when you agree with it: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
}

#[test]
fn a_skill_that_went_is_named() {
    let said = refused(|card| drop(card["skills"].as_array_mut().unwrap().pop()));
    insta::assert_snapshot!(said, @r##"
    plan::locked-card

      × no agent for step `flight` (tags `flights`): the card of `flights` is another than in trip.lock.yaml (breaking change)
       ╭─[trip.yaml:4:20]
     3 │ steps:
     4 │   flight: {agent: {tags: [flights]}}
       ·                    ────
       ╰────
      help: skill `look` was removed
            - /skills/look: {"description":"Looks","id":"look","name":"Look","tags":["flights"]}
            when you agree with it: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
}

#[test]
fn an_interface_that_moved_to_another_origin_is_named() {
    let said = refused(|card| {
        card["supportedInterfaces"][0]["url"] = json!("https://elsewhere.example/a2a");
    });
    insta::assert_snapshot!(said, @r##"
    plan::locked-card

      × no agent for step `flight` (tags `flights`): the card of `flights` is another than in trip.lock.yaml (breaking change)
       ╭─[trip.yaml:4:20]
     3 │ steps:
     4 │   flight: {agent: {tags: [flights]}}
       ·                    ────
       ╰────
      help: an interface is now on `https://elsewhere.example`
            the JSONRPC interface `https://flights.example/a2a` was removed or changed
            + /supportedInterfaces/https:~1~1elsewhere.example~1a2a: {"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://elsewhere.example/a2a"}
            - /supportedInterfaces/https:~1~1flights.example~1a2a: {"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://flights.example/a2a"}
            when you agree with it: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
}

#[test]
fn security_that_became_weaker_is_named() {
    let said = refused(|card| {
        card["securityRequirements"] = json!([]);
        card["securitySchemes"] = json!({});
    });
    insta::assert_snapshot!(said, @r##"
    plan::locked-card

      × no agent for step `flight` (tags `flights`): the card of `flights` is another than in trip.lock.yaml (breaking change)
       ╭─[trip.yaml:4:20]
     3 │ steps:
     4 │   flight: {agent: {tags: [flights]}}
       ·                    ────
       ╰────
      help: the security requirements changed
            the security scheme `key` was removed or changed
            - /securityRequirements: [{"schemes":{"key":{}}}]
            - /securitySchemes: {"key":{"apiKeySecurityScheme":{"location":"header","name":"X-Key"}}}
            when you agree with it: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
}

#[test]
fn another_signer_is_named() {
    let said = refused(|card| {
        card["signatures"][0]["protected"] = json!("eyJhbGciOiJFUzI1NiIsImtpZCI6InRoZWlycyJ9");
    });
    insta::assert_snapshot!(said, @r##"
    plan::locked-card

      × no agent for step `flight` (tags `flights`): the card of `flights` is another than in trip.lock.yaml (breaking change)
       ╭─[trip.yaml:4:20]
     3 │ steps:
     4 │   flight: {agent: {tags: [flights]}}
       ·                    ────
       ╰────
      help: it was signed by ours, and is by theirs
            when you agree with it: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
}

#[test]
fn no_more_differences_are_named_than_a_person_reads() {
    let said = refused(|card| {
        let skills = (0..50).map(|n| json!({"id": format!("s{n}"), "name": "x".repeat(5000), "description": "d", "tags": []}));
        card["skills"].as_array_mut().unwrap().extend(skills);
    });
    assert!(said.contains("42 more differences"), "{said}");
    assert!(said.len() < 4000, "{}", said.len());
}

#[test]
fn a_card_that_differs_only_in_what_is_not_read_is_refused_too() {
    let said = refused(|card| card["unknownField"] = json!(1));
    assert!(said.contains("only in what is not read here"), "{said}");
}

#[test]
fn an_agent_that_is_gone_or_may_not_be_called_is_not_replaced() {
    let lock = || locked(STEPS, &index([agent("flights", &card())]));
    let gone = bound(STEPS, Some(lock()), &index([agent("better", &card())])).unwrap_err();
    insta::assert_snapshot!(gone, @r##"
    plan::locked-agent

      × no agent for step `flight` (tags `flights`): trip.lock.yaml has `flights` for it, which is not among those that come into question
       ╭─[trip.yaml:4:20]
     3 │ steps:
     4 │   flight: {agent: {tags: [flights]}}
       ·                    ────
       ╰────
      help: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
    let suspended = Agent { curation: Curation::Suspended, ..agent("flights", &card()) };
    let both = index([suspended, agent("better", &card())]);
    let said = bound(STEPS, Some(lock()), &both).unwrap_err();
    insta::assert_snapshot!(said, @r##"
    plan::locked-agent

      × no agent for step `flight` (tags `flights`): trip.lock.yaml has `flights` for it, which is suspended, not approved
       ╭─[trip.yaml:4:20]
     3 │ steps:
     4 │   flight: {agent: {tags: [flights]}}
       ·                    ────
       ╰────
      help: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
}

#[test]
fn a_step_that_the_lock_does_not_know_is_refused() {
    let index = index([agent("flights", &card())]);
    let lock = locked(STEPS, &index);
    let more = format!("{STEPS}  back: {{agent: flights, needs: [flight]}}\n");
    let said = bound(&more, Some(lock), &index).unwrap_err();
    insta::assert_snapshot!(said, @r##"
    plan::not-locked

      × no agent for step `back` (name `flights`): trip.lock.yaml does not know the step
       ╭─[trip.yaml:5:17]
     4 │   flight: {agent: {tags: [flights]}}
     5 │   back: {agent: flights, needs: [flight]}
       ·                 ───────
       ╰────
      help: `convoke plan --lock trip.yaml` writes the lock anew
    "##);
}

#[test]
fn a_step_that_follows_another_needs_no_lock_of_its_own() {
    let index = index([agent("flights", &card())]);
    let steps = format!(
        "{STEPS}  back: {{agent: {{same_as: flight}}, needs: [flight]}}\n  sum: {{set: {{a: 1}}}}\n"
    );
    let lock = locked(&steps, &index);
    assert_eq!(lock.size(), (1, 1));
    bound(&steps, Some(lock), &index).unwrap();
}

#[test]
fn agents_of_the_file_and_at_urls_are_locked_under_their_names() {
    let file = "convoke: 1\nname: trip\nagents: {mine: {url: \"https://a.example\"}}\nsteps:\n  \
                a: {agent: mine}\n  b: {agent: {url: \"https://b.example\"}}\n";
    let fetched = |card: &Value| {
        let at = |name: &str, url: &str| (url.to_owned(), agent(name, card));
        BTreeMap::from([
            at("mine", "https://a.example"),
            at("https://b.example", "https://b.example"),
        ])
    };
    let none = index([]);
    let workflow = || check(&Source::new("trip.yaml", file)).unwrap();
    let before = fetched(&card());
    let plan = bind(Arc::new(workflow()), &none, &before).unwrap();
    let lock = Arc::new(lock(&plan, &none, &before, "trip.lock.yaml"));
    let again = || Arc::new(Workflow { lock: Some(Arc::clone(&lock)), ..workflow() });
    bind(again(), &none, &before).expect("nothing has changed");
    let mut changed = card();
    changed["version"] = json!("2");
    let problems = bind(again(), &none, &fetched(&changed)).unwrap_err();
    let codes: Vec<_> = problems.iter().map(|it| it.code).collect();
    assert_eq!(codes, ["plan::locked-card", "plan::locked-card"]);
}

#[test]
fn what_is_no_lock_is_refused_with_a_place() {
    let said = |text: &str| {
        let source = Source::new("trip.lock.yaml", text);
        render(&source, &Lock::read(&source).unwrap_err(), Style { color: false, width: 160 })
    };
    insta::assert_snapshot!(said("<<<<<<< ours\nconvoke_lock: 1\n"), @r##"
    yaml::syntax

      × this is not valid YAML: a `:` stands where no mapping can begin
       ╭─[trip.lock.yaml:2:13]
     1 │ <<<<<<< ours
     2 │ convoke_lock: 1
       ·             ┬
       ·             ╰── here
       ╰────
      help: quote the text if the `:` belongs to it; otherwise check the indentation, and that a blank follows each `:` above
    "##);
    insta::assert_snapshot!(said("convoke_lock: 2\nworkflow: trip\nsteps: {}\nagents: {}\n"), @r##"
    lock::invalid

      × version 2 of locks is not known here
       ╭─[trip.lock.yaml:1:1]
     1 │ convoke_lock: 2
       · ────────────
     2 │ workflow: trip
       ╰────
      help: `convoke plan --lock` with the workflow's file writes it anew
    "##);
    insta::assert_snapshot!(said("convoke_lock: 1\nworkflow: trip\nsteps: {a: [b]}\nagents: {}\n"), @r##"
    lock::invalid

      × the card of the agent `b` is missing
       ╭─[trip.lock.yaml:1:1]
     1 │ convoke_lock: 1
       · ────────────
     2 │ workflow: trip
       ╰────
      help: `convoke plan --lock` with the workflow's file writes it anew
    "##);
    insta::assert_snapshot!(said("convoke: 1\nname: trip\n"), @r##"
    lock::invalid

      × this is not a lock: unknown field `convoke`, expected one of `convoke_lock`, `workflow`, `steps`, `agents`
       ╭─[trip.lock.yaml:1:1]
     1 │ convoke: 1
       · ───────
     2 │ name: trip
       ╰────
      help: `convoke plan --lock` with the workflow's file writes it anew
    "##);
}

#[test]
fn a_lock_of_another_workflow_says_so() {
    let index = index([agent("flights", &card())]);
    let lock = locked(STEPS, &index);
    let own = check(&source(STEPS)).unwrap();
    assert_eq!(lock.mismatch(&own), None);
    let other = Workflow { name: "other".to_owned(), ..own };
    let said = lock.mismatch(&other).unwrap().message;
    assert_eq!(said, "this is the lock of the workflow `trip`, not of `other`");
}

#[test]
fn fallbacks_are_locked_with_their_step() {
    let other = |url: &str| {
        let mut card = card();
        card["supportedInterfaces"][0]["url"] = json!(url);
        card
    };
    let steps = "  flight: {agent: {tags: [flights]}, fallback: [{tags: [flights]}]}\n  same: {agent: {same_as: flight}, fallback: [third]}\n";
    let agents = |third: &Value| {
        index([
            agent("first", &card()),
            agent("second", &other("https://second.example")),
            agent("third", third),
        ])
    };
    let third = other("https://third.example");
    let before = agents(&third);
    let lock = locked(steps, &before);
    assert_eq!(lock.agents_of("flight").unwrap(), ["first", "second"]);
    assert_eq!(lock.agents_of("same").unwrap(), ["third"]);
    assert!(bound(steps, Some(lock.clone()), &before).is_ok());
    let mut changed_card = third.clone();
    changed_card["description"] = json!("Else");
    let said = bound(steps, Some(lock.clone()), &agents(&changed_card)).unwrap_err();
    assert!(said.contains("no agent for fallback 1 of step `same`"), "{said}");
    assert!(said.contains("the card of `third` is another than in trip.lock.yaml"), "{said}");
    let more = steps.replace("[third]", "[third, nobody]");
    let said = bound(&more, Some(lock), &before).unwrap_err();
    assert!(
        said.contains("fallback 2 of step `same`") && said.contains("does not know it"),
        "{said}"
    );
}
