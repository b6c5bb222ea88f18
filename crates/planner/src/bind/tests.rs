use document::{Source, Style, render};
use registry::CardDigest;
use serde_json::json;

use super::*;
use crate::check;

/// An approved agent with one skill and its tags, on JSON-RPC.
fn agent(name: &str, skill: &str, tags: &[&str]) -> Agent {
    let url = format!("http://{name}.example");
    let card = json!({
        "name": name, "description": "d", "version": "1",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": true, "pushNotifications": name == "flights"},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": skill, "name": skill, "description": "d", "tags": tags}]
    });
    let read = serde_json::from_value(card.clone()).unwrap();
    Agent::new(name, &url, read, CardDigest::of(&card))
}

fn index(agents: impl IntoIterator<Item = Agent>) -> Index {
    Index::new(agents.into_iter().map(Arc::new))
}

fn source(steps: &str) -> Source {
    Source::new("w.yaml", &format!("convoke: 1\nname: w\nsteps:\n{steps}"))
}

fn bound(steps: &str, agents: impl IntoIterator<Item = Agent>) -> Result<Plan, String> {
    let source = source(steps);
    let workflow = check(&source).unwrap();
    bind(Arc::new(workflow), &index(agents), &BTreeMap::new())
        .map_err(|problems| render(&source, &problems, Style { color: false, width: 100 }))
}

fn travel() -> Vec<Agent> {
    vec![
        agent("hotels-b", "book_hotel", &["hotels", "booking"]),
        agent("hotels-a", "book_hotel", &["hotels", "booking"]),
        agent("flights", "book_flight", &["flights", "booking"]),
    ]
}

#[test]
fn filters_come_first_then_priority_then_the_name() {
    let agent_of = |plan: &Plan| first(plan).agent.clone();
    let by_name = bound("  a: {agent: {tags: [hotels]}}\n", travel()).unwrap();
    assert_eq!(agent_of(&by_name), "hotels-a");
    let mut agents = travel();
    agents[0].priority = 1;
    let by_priority =
        bound("  a: {agent: {tags: [Hotels, booking], skill: book_hotel}}\n", agents.clone())
            .unwrap();
    assert_eq!(agent_of(&by_priority), "hotels-b");
    agents[0].curation = Curation::Deprecated;
    let approved_first = bound("  a: {agent: {tags: [hotels]}}\n", agents.clone()).unwrap();
    assert_eq!(agent_of(&approved_first), "hotels-a");
    let by_alias = {
        agents[2].aliases.push("air".to_owned());
        bound("  a: {agent: air}\n", agents)
    }
    .unwrap();
    assert_eq!(agent_of(&by_alias), "flights");
}

#[test]
fn every_other_candidate_is_told_why_it_lost() {
    let mut agents = travel();
    agents.push(agent("hotels-c", "book_hotel", &["hotels", "booking"]));
    agents[3].curation = Curation::Proposed;
    agents.push(Agent { priority: 5, ..agent("best", "book_hotel", &["hotels", "booking"]) });
    let mut mute = agent("mute", "book_hotel", &["hotels", "booking"]);
    let mut card = (*mute.card).clone();
    card.supported_interfaces[0].protocol_binding = "PIGEON".to_owned();
    mute.card = Arc::new(card);
    agents.push(mute);
    let plan = bound("  a: {agent: {tags: [hotels, booking]}}\n", agents).unwrap();
    let lost: Vec<String> =
        first(&plan).lost.iter().map(|lost| format!("{}: {}", lost.agent, lost.why)).collect();
    insta::assert_snapshot!(lost.join("\n"), @r#"
    hotels-a: fits, but `best` has the higher priority (5 over 0)
    hotels-b: fits, but `best` has the higher priority (5 over 0)
    mute: offers no interface spoken here (JSONRPC, HTTP+JSON or GRPC 1.0), only PIGEON 1.0
    hotels-c: is proposed, not approved; approve it with `convoke agents approve hotels-c`
    flights: has no tag `hotels`
    "#);
}

#[test]
fn a_step_without_agent_says_why_each_candidate_does_not_do() {
    let mut agents = travel();
    agents[1].curation = Curation::Proposed;
    let shown = bound("  a: {agent: {tags: [hotels, luxury]}}\n  b:\n    agent:\n      tags: [hotel]\n      skill: book_hotl\n  c: {agent: flight}\n", agents).unwrap_err();
    insta::assert_snapshot!(shown, @r#"
    plan::no-agent

      × no agent for step `a` (tags `hotels`, `luxury`): none of the 2 candidates can be used
       ╭─[w.yaml:4:15]
     3 │ steps:
     4 │   a: {agent: {tags: [hotels, luxury]}}
       ·               ────
     5 │   b:
       ╰────
      help: `hotels-b` has no tag `luxury`
            `hotels-a` has no tag `luxury`

    plan::no-agent

      × no agent for step `b` (skill `book_hotl`, tags `hotel`): there are no candidates
       ╭─[w.yaml:7:7]
     6 │     agent:
     7 │       tags: [hotel]
       ·       ────
     8 │       skill: book_hotl
       ╰────
      help: the registry knows no skill `book_hotl`; did you mean `book_hotel`?
            the registry knows no tag `hotel`; did you mean `hotels`?

    plan::no-agent

      × no agent for step `c` (name `flight`): there are no candidates
       ╭─[w.yaml:9:14]
     8 │       skill: book_hotl
     9 │   c: {agent: flight}
       ·              ──────
       ╰────
      help: the registry knows no agent `flight`; did you mean `flights`?
    "#);
}

#[test]
fn a_proposed_agent_is_not_bound_and_the_message_says_how_to_approve_it() {
    let mut agents = travel();
    agents[2].curation = Curation::Proposed;
    insta::assert_snapshot!(bound("  a: {agent: {tags: [flights]}}\n", agents).unwrap_err(), @r#"
    plan::no-agent

      × no agent for step `a` (tags `flights`): the only candidate cannot be used
       ╭─[w.yaml:4:15]
     3 │ steps:
     4 │   a: {agent: {tags: [flights]}}
       ·               ────
       ╰────
      help: `flights` is proposed, not approved; approve it with `convoke agents approve flights`
    "#);
}

#[test]
fn an_empty_registry_says_how_to_fill_it() {
    insta::assert_snapshot!(bound("  a: {agent: {tags: [flights]}}\n", []).unwrap_err(), @r#"
    plan::no-agent

      × no agent for step `a` (tags `flights`): there are no candidates
       ╭─[w.yaml:4:15]
     3 │ steps:
     4 │   a: {agent: {tags: [flights]}}
       ·               ────
       ╰────
      help: the registry is empty: add an agent with `convoke agents add URL --approve`, or name one
            under `agents`
    "#);
}

#[test]
fn a_deprecated_agent_is_bound_with_a_warning() {
    let mut agents = travel();
    agents[2].curation = Curation::Deprecated;
    let plan = bound("  a: {agent: flights}\n", agents).unwrap();
    assert_eq!(plan.warnings[0].message, "step `a` is served by `flights`, which is deprecated");
}

#[test]
fn same_as_takes_the_agent_of_the_other_step_wherever_it_stands() {
    let plan = bound(
        "  b: {agent: {same_as: a}}\n  a: {agent: {tags: [flights]}}\n  c: {agent: {same_as: b}}\n",
        travel(),
    )
    .unwrap();
    assert_eq!(
        plan.bindings.iter().flatten().map(|binding| binding.agent.as_str()).collect::<Vec<_>>(),
        ["flights"; 3]
    );
    assert_eq!(plan.references, [vec![1], vec![], vec![0]]);
    assert_eq!((plan.dependencies[2].clone(), plan.dependents[1].clone()), (vec![0], vec![0]));
}

#[test]
fn agents_of_the_file_go_before_those_of_the_registry() {
    let text = "convoke: 1\nname: w\nagents: {flights: {url: 'http://own.example'}}\nsteps:\n  a: {agent: flights}\n  b: {agent: {url: 'http://other.example'}}\n  c: {agent: {skill: own}}\n";
    let workflow = Arc::new(check(&Source::new("w.yaml", text)).unwrap());
    let fetched = BTreeMap::from([
        ("http://own.example".to_owned(), agent("own", "own", &[])),
        ("http://other.example".to_owned(), agent("other", "x", &[])),
    ]);
    let plan = bind(workflow.clone(), &index(travel()), &fetched).unwrap();
    let served: Vec<String> = plan
        .bindings
        .iter()
        .flatten()
        .map(|it| format!("{} {}", it.agent, it.interface.url))
        .collect();
    assert_eq!(
        served,
        ["flights http://own.example", "other http://other.example", "flights http://own.example"]
    );
    let problems = bind(workflow, &index(travel()), &BTreeMap::new()).unwrap_err();
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["plan::no-card", "plan::no-card", "plan::no-agent"]);
}

#[test]
fn the_same_snapshot_gives_the_same_plan_in_whatever_order_it_was_filled() {
    let steps = "  a: {agent: {tags: [booking]}}\n  b: {agent: {skill: book_hotel}}\n";
    let mut reversed = travel();
    reversed.reverse();
    let plans = [bound(steps, travel()), bound(steps, reversed)]
        .map(|plan| serde_json::to_value(plan.unwrap()).unwrap());
    assert_eq!(plans[0], plans[1]);
}

#[test]
fn a_plan_is_read_back_from_a_journal() {
    let plan = bound("  a: {agent: flights}\n", travel()).unwrap();
    let stored = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&stored).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), stored);
    assert!(first(&read).streaming);
    assert!(first(&read).push);
}

#[test]
fn an_agent_that_says_nothing_of_push_notifications_sends_none() {
    let plan = bound("  a: {agent: hotels-a}\n", travel()).unwrap();
    assert!(!first(&plan).push);
    let stored = serde_json::to_value(first(&plan)).unwrap();
    assert_eq!(stored.get("push"), None, "and stands in journals as before");
}

#[test]
fn the_interfaces_that_are_spoken_here_are_bound_in_the_cards_order() {
    let mut agent = agent("flights", "book_flight", &[]);
    let template = agent.card.supported_interfaces[0].clone();
    let others = [("GRPC", "1.0"), ("PIGEON", "1.0"), ("GRPC", "0.3"), ("HTTP+JSON", "1.0.1")];
    Arc::make_mut(&mut agent.card).supported_interfaces.extend(others.map(|(binding, version)| {
        let (protocol_binding, protocol_version) = (binding.to_owned(), version.to_owned());
        protocol::v1::AgentInterface { protocol_binding, protocol_version, ..template.clone() }
    }));
    let plan = bound("  a: {agent: flights}\n", [agent]).unwrap();
    let binding = first(&plan);
    let all = [&binding.interface].into_iter().chain(&binding.fallbacks);
    let shown: Vec<String> = all.map(|it| format!("{} {}", it.binding, it.version)).collect();
    assert_eq!(shown, ["JSONRPC 1.0", "GRPC 1.0", "HTTP+JSON 1.0.1"]);
    assert!(crate::show::json(&plan).to_string().contains("HTTP+JSON"), "a program sees them");
}

#[test]
fn a_plan_of_one_interface_is_read_and_written_as_it_always_was() {
    let plan = bound("  a: {agent: flights}\n", travel()).unwrap();
    let stored = serde_json::to_value(&plan).unwrap();
    assert!(stored["bindings"][0].get("fallbacks").is_none(), "{stored}");
    let read: Plan = serde_json::from_value(stored).unwrap();
    assert!(first(&read).fallbacks.is_empty());
}

#[test]
fn the_cost_of_binding_grows_with_the_number_of_steps() {
    let run = |steps: usize| {
        let mut text = "convoke: 1\nname: w\nsteps:\n  s0: {agent: {tags: [booking]}}\n".to_owned();
        for step in 1..steps {
            let tag = if step % 2 == 0 { "booking" } else { "flights" };
            let before = step - 1;
            text.push_str(&format!(
                "  s{step}: {{agent: {{tags: [{tag}]}}, needs: [s{before}]}}\n"
            ));
        }
        let workflow = Arc::new(check(&Source::new("w.yaml", &text)).unwrap());
        let plan = bind(workflow, &index(travel()), &BTreeMap::new()).unwrap();
        assert_eq!(plan.references[steps - 1].len(), 1);
    };
    crate::cost::assert_linear("check and bind a chain", run, 400);
}

#[test]
fn evidence_that_is_wanted_and_was_not_seen_excludes_an_agent_whatever_its_priority() {
    let steps = "  a: {agent: {tags: [hotels], min_evidence: conformant}}\n";
    let mut agents = travel();
    agents[1].priority = 9;
    agents[1].tier = Some(Tier::Valid);
    let none = bound(steps, agents.clone()).unwrap_err();
    assert!(none.contains("`hotels-b` is not conformant: it was not looked at yet"), "{none}");
    for tier in [Tier::Conformant, Tier::Proven] {
        agents[0].tier = Some(tier);
        let plan = bound(steps, agents.clone()).unwrap();
        assert_eq!(first(&plan).agent, "hotels-b");
        assert_eq!(first(&plan).lost[0].agent, "hotels-a");
        assert!(first(&plan).lost[0].why.starts_with("is not conformant"), "{plan:?}");
    }
    let plan = bound("  a: {agent: {tags: [hotels]}}\n", agents).unwrap();
    assert_eq!(first(&plan).agent, "hotels-a", "nothing was wanted");
}

#[test]
fn what_the_directory_saw_counts_for_a_workflow_s_own_agent_with_the_same_card() {
    let yaml = "convoke: 1\nname: w\nagents: {mine: {url: 'http://hotels-a.example'}}\n\
                steps:\n  a: {agent: {name: mine, min_evidence: proven}}\n";
    let workflow = Arc::new(check(&Source::new("w.yaml", yaml)).unwrap());
    let mut known = agent("hotels-a", "book_hotel", &["hotels"]);
    let fetched = BTreeMap::from([("http://hotels-a.example".to_owned(), known.clone())]);
    assert!(bind(Arc::clone(&workflow), &index([known.clone()]), &fetched).is_err());
    known.tier = Some(Tier::Proven);
    let plan = bind(Arc::clone(&workflow), &index([known.clone()]), &fetched).unwrap();
    assert_eq!(first(&plan).agent, "mine");
    // A card that the directory has not looked at yet may be about anything.
    let digest = CardDigest::of(&json!("another"));
    let other = Agent { digest, ..agent("hotels-a", "book_hotel", &["hotels"]) };
    let fetched = BTreeMap::from([("http://hotels-a.example".to_owned(), other)]);
    assert!(bind(workflow, &index([known]), &fetched).is_err());
}

fn at(tier: Tier, services: &[(Option<&str>, usize, u64)]) -> registry::Seen {
    let time = "2026-01-01T00:00:00Z";
    let mut seen: registry::Seen = serde_json::from_value(json!({
        "tier": tier, "last": tier, "was": null, "since": time, "why": "", "at": time,
        "fresh_until": time, "is_stale": false,
    }))
    .unwrap();
    let service = |(skill, completed, millis): &(Option<&str>, usize, u64)| registry::Service {
        skill: skill.map(str::to_owned),
        completed: *completed,
        failed: 0,
        median: Some(Duration::from_millis(*millis)),
    };
    seen.services = services.iter().map(service).collect();
    seen
}

/// Who is chosen, and why nobody else.
fn chosen(selector: &str, agents: &[Agent]) -> String {
    let bind = || bound(&format!("  a: {{agent: {{{selector}}}}}\n"), agents.to_vec()).unwrap();
    let plan = bind();
    let stored = |plan: &Plan| serde_json::to_value(plan).unwrap();
    assert_eq!(stored(&plan), stored(&bind()), "the same snapshot makes the same plan");
    let lost = first(&plan).lost.iter().map(|lost| format!("\n{}: {}", lost.agent, lost.why));
    format!("{}{}", first(&plan).agent, lost.collect::<String>())
}

#[test]
fn a_step_says_what_decides_between_agents_that_fit() {
    let hotel = |name: &str| agent(name, "book_hotel", &["hotels"]);
    let seen = |tier, services: &[_]| Some(Arc::new(at(tier, services)));
    let agents = [
        Agent {
            priority: 9,
            tier: Some(Tier::Valid),
            seen: seen(Tier::Valid, &[(Some("book_hotel"), 3, 300), (None, 1, 10)]),
            ..hotel("dear")
        },
        Agent {
            tier: Some(Tier::Proven),
            seen: seen(Tier::Proven, &[(Some("book_hotel"), 1, 200), (Some("other"), 5, 900)]),
            ..hotel("proven")
        },
        Agent { priority: 1, tier: Some(Tier::Proven), ..hotel("proven-too") },
    ];
    insta::assert_snapshot!(chosen("tags: [hotels]", &agents), @"
    dear
    proven-too: fits, but `dear` has the higher priority (9 over 1)
    proven: fits, but `dear` has the higher priority (9 over 0)
    ");
    assert_eq!(
        chosen("tags: [hotels], prefer: priority", &agents),
        chosen("tags: [hotels]", &agents)
    );
    insta::assert_snapshot!(chosen("tags: [hotels], prefer: evidence", &agents), @"
    proven-too
    proven: fits, but `proven-too` has the higher priority (1 over 0)
    dear: fits, but `proven-too` is proven, and it is valid
    ");
    insta::assert_snapshot!(chosen("skill: book_hotel, prefer: latency", &agents), @"
    proven
    dear: fits, but `proven` needs 200 ms in the middle, and it needs 300 ms
    proven-too: fits, but `proven` needs 200 ms in the middle, and of it nothing is known
    ");
    // Without a skill: what was asked for none, else what was asked for most.
    assert!(chosen("tags: [hotels], prefer: latency", &agents).starts_with("dear\nproven: "));
    // What may be bound at all comes first.
    let mut retired = agents.clone();
    retired[1].curation = Curation::Deprecated;
    assert!(chosen("skill: book_hotel, prefer: latency", &retired).starts_with("dear\n"));
}

#[test]
fn each_condition_of_a_selector_leaves_out_who_does_not_meet_it() {
    let mut best = agent("a-best", "book", &["hotels", "spa"]);
    best.signed = registry::Signed::Trusted;
    let mut card = (*best.card).clone();
    card.provider = Some(protocol::v1::AgentProvider {
        organization: "Acme Travel".to_owned(),
        ..Default::default()
    });
    let capabilities = card.capabilities.get_or_insert_default();
    capabilities.push_notifications = Some(true);
    capabilities
        .extensions
        .push(protocol::v1::AgentExtension { uri: "urn:x:v1".to_owned(), ..Default::default() });
    card.skills[0].input_modes = vec!["text/csv".to_owned(), "image/*".to_owned()];
    card.skills[0].output_modes = vec!["application/pdf".to_owned()];
    best.card = Arc::new(card);
    let mut other = agent("other", "book", &["hotels"]);
    other.priority = 9;
    let mut card = (*other.card).clone();
    card.capabilities.get_or_insert_default().streaming = Some(false);
    other.card = Arc::new(card);
    let agents = [best, other];
    let one = |condition: &str| {
        let told = chosen(&format!("tags: [hotels], {condition}"), &agents);
        assert!(told.starts_with("a-best\nother: "), "{condition}: {told}");
        told.replace("a-best\nother: ", "")
    };
    let told = [
        one("any_tags: [Spa, pool]"),
        one("provider: acme travel"),
        one("input_modes: [text/csv, 'image/png; q=1']"),
        one("output_modes: [Application/PDF]"),
        one("requires: [streaming, push_notifications, 'urn:x:v1']"),
        one("signed: true"),
    ];
    insta::assert_snapshot!(told.join("\n"), @"
    has none of the tags `Spa`, `pool`
    is not of `acme travel`
    does not take `text/csv` and does not take `image/png; q=1`
    does not give `Application/PDF`
    does not declare `streaming` and does not declare `push_notifications` and does not declare `urn:x:v1`
    has no trusted signature (unsigned)
    ");
    // Where a skill is asked for, its modes count.
    assert!(chosen("tags: [hotels], input_modes: [text/plain]", &agents).starts_with("other\n"));
    let narrow = bound(
        "  a: {agent: {skill: book, name: a-best, input_modes: [text/plain]}}\n",
        agents.clone(),
    );
    assert!(narrow.unwrap_err().contains("does not take `text/plain`"));
    // Agents are found by a provider and by one of several tags alone, too.
    for alone in ["provider: ACME travel", "any_tags: [spa]"] {
        assert_eq!(chosen(alone, &agents), "a-best");
    }
    let none = bound("  a: {agent: {provider: Nobody}}\n", agents).unwrap_err();
    assert!(none.contains("the registry knows no provider `Nobody`"), "{none}");
}

fn first(plan: &Plan) -> &Binding {
    plan.bindings[0].as_ref().expect("the first step has an agent")
}

#[test]
fn a_tag_is_also_met_by_one_that_means_the_same() {
    let same = ["hotels", "lodging"].map(str::to_owned);
    let agents = [agent("inn", "sleep", &["Lodging"]), agent("spa", "rest", &["spa"])];
    let synonyms = registry::Synonyms::new([&same[..]]);
    let index = Index::with_synonyms(agents.map(Arc::new), synonyms);
    let steps = "  a: {agent: {tags: [hotels]}}\n  b: {agent: {any_tags: [hotels, none]}}\n";
    let plan = bind(Arc::new(check(&source(steps)).unwrap()), &index, &BTreeMap::new()).unwrap();
    let names: Vec<&str> = plan.bindings.iter().flatten().map(|it| it.agent.as_str()).collect();
    assert_eq!(names, ["inn", "inn"]);
}

#[test]
fn of_very_many_candidates_those_that_fit_best_are_explained_and_the_rest_counted() {
    let crowd = (0..3_000).map(|n| agent(&format!("half-{n:04}"), "s", &["common"]));
    let right = ["right-a", "right-b"].map(|name| agent(name, "s", &["common", "rare"]));
    let plan = bound("  a: {agent: {tags: [common, rare]}}\n", crowd.clone().chain(right)).unwrap();
    let binding = first(&plan);
    assert_eq!(binding.agent, "right-a");
    let lost: Vec<(&str, &str)> =
        binding.lost.iter().map(|it| (it.agent.as_str(), it.why.as_str())).collect();
    assert_eq!(lost[0], ("right-b", "fits, but `right-a` comes first by name"));
    assert_eq!(lost[1], ("half-0000", "has no tag `rare`"));
    assert_eq!(lost.len(), 21);
    assert_eq!(lost[20], ("at least 2981 more", "fit no better"));
    let none = bound("  a: {agent: {tags: [common, rare]}}\n", crowd).unwrap_err();
    assert!(none.contains("none of at least 3000 candidates can be used"), "{none}");
}

#[test]
fn a_fallback_is_another_agent_and_says_why_not_the_others() {
    let plan = bound(
        "  a: {agent: {tags: [hotels]}, fallback: [{tags: [hotels]}, flights]}\n  b: {agent: {same_as: a}, fallback: [{tags: [booking]}]}\n  c: {agent: flights}\n",
        [travel(), vec![agent("hotels-c", "book_hotel", &["hotels", "booking"])]].concat(),
    )
    .unwrap();
    assert!(plan.has_fallbacks());
    let agents = |step| -> Vec<&str> {
        let further = plan.fallbacks(step).iter();
        plan.bindings[step].iter().chain(further).map(|it| it.agent.as_str()).collect()
    };
    assert_eq!(agents(0), ["hotels-a", "hotels-b", "flights"]);
    assert_eq!(agents(1), ["hotels-a", "hotels-c"], "none that may have served the other step");
    assert_eq!(agents(2), ["flights"]);
    let lost: Vec<String> =
        plan.fallbacks(0)[0].lost.iter().map(|it| format!("{}: {}", it.agent, it.why)).collect();
    insta::assert_snapshot!(lost.join("\n"), @r"
    hotels-a: is tried before
    hotels-c: fits, but `hotels-b` comes first by name
    ");
    let kept = serde_json::to_value(&plan).unwrap();
    let again: Plan = serde_json::from_value(kept).unwrap();
    assert_eq!(again.fallbacks(0)[1].agent, "flights");
}

#[test]
fn a_fallback_for_which_nobody_is_left_is_a_problem() {
    let shown =
        bound("  a: {agent: flights, fallback: [{tags: [flights]}, nobody, flights]}\n", travel());
    insta::assert_snapshot!(shown.unwrap_err(), @r"
    plan::no-agent

      × no agent for fallback 1 of step `a` (tags `flights`): the only candidate cannot be used
       ╭─[w.yaml:4:35]
     3 │ steps:
     4 │   a: {agent: flights, fallback: [{tags: [flights]}, nobody, flights]}
       ·                                   ────
       ╰────
      help: `flights` is tried before

    plan::no-agent

      × no agent for fallback 2 of step `a` (name `nobody`): there are no candidates
       ╭─[w.yaml:4:53]
     3 │ steps:
     4 │   a: {agent: flights, fallback: [{tags: [flights]}, nobody, flights]}
       ·                                                     ──────
       ╰────
      help: the registry knows no agent `nobody`

    plan::no-agent

      × no agent for fallback 3 of step `a` (name `flights`): the only candidate cannot be used
       ╭─[w.yaml:4:61]
     3 │ steps:
     4 │   a: {agent: flights, fallback: [{tags: [flights]}, nobody, flights]}
       ·                                                             ───────
       ╰────
      help: `flights` is tried before
    ");
}

#[test]
fn a_plan_without_fallbacks_keeps_nothing_of_them() {
    let plan = bound("  a: {agent: flights}\n", travel()).unwrap();
    assert!(!plan.has_fallbacks());
    assert!(serde_json::to_value(&plan).unwrap().get("fallbacks").is_none());
}

/// The travel agents, of which one says that it gives pictures and data.
fn giving() -> Vec<Agent> {
    let mut agents = travel();
    let mut card = (*agents[0].card).clone();
    card.default_output_modes = vec!["image/*".to_owned(), "application/json".to_owned()];
    agents[0].card = Arc::new(card);
    agents
}

#[test]
fn an_agent_gives_something_of_what_is_accepted_and_the_others_are_told_why_not() {
    let plan = bound("  a: {agent: {tags: [hotels]}, accept: [text/html, image/png]}\n", giving());
    let plan = plan.unwrap();
    assert_eq!(first(&plan).agent, "hotels-b");
    let lost = &first(&plan).lost[0];
    assert_eq!(
        format!("{} {}", lost.agent, lost.why),
        "hotels-a gives none of `text/html`, `image/png`, only `text/plain`"
    );
    let range = "  a: {agent: {tags: [hotels]}, accept: ['text/*']}\n";
    assert_eq!(first(&bound(range, giving()).unwrap()).agent, "hotels-a");
    let told = bound(
        "  a: {agent: hotels-a}\n  b: {agent: {same_as: a}, accept: [image/png]}\n",
        giving(),
    );
    let told = told.unwrap_err();
    assert!(
        told.contains("`hotels-a` gives none of `image/png`, only"),
        "the agent of another step is not exempt: {told}"
    );
}

#[test]
fn an_agent_that_says_nothing_of_what_it_gives_may_give_anything() {
    let mut agents = travel();
    for agent in &mut agents {
        let mut card = (*agent.card).clone();
        card.default_output_modes.clear();
        agent.card = Arc::new(card);
    }
    let plan = bound("  a: {agent: flights, accept: [image/png], expect: true}\n", agents).unwrap();
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
}

#[test]
fn data_that_an_agent_does_not_promise_and_tasks_that_it_does_not_know_are_warned_of() {
    let steps = "  a: {agent: hotels-a, expect: true}\n  b: {agent: hotels-b, expect: true}\n  \
                 c: {agent: {same_as: a}, references: [a, b]}\n  d: {agent: hotels-a, needs: [c], references: []}\n";
    let plan = bound(steps, giving()).unwrap();
    let warnings: Vec<&str> = plan.warnings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(
        warnings,
        [
            "step `a` expects data, and `hotels-a` does not say that it gives any, only `text/plain`",
            "step `c` does not refer to the Task of `b`, which another agent serves",
        ]
    );
    assert_eq!(plan.references, [vec![], vec![], vec![0], vec![]]);
    assert_eq!(plan.dependencies[2], [0, 1], "both are waited for all the same");
}
