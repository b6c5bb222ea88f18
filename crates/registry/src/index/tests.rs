use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::v1::{AgentCard, AgentSkill};
use serde_json::json;

use super::Index;
use crate::{Agent, CardDigest, Curation, Facet, Field, Filter, Query};

fn agent(name: &str, skill: &str, tags: &[&str]) -> Agent {
    let skill = AgentSkill {
        id: skill.into(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..AgentSkill::default()
    };
    let card = AgentCard { name: name.into(), skills: vec![skill], ..AgentCard::default() };
    Agent::new(name, &format!("https://{name}.example/card"), card, CardDigest::of(&json!(name)))
}

fn names<A: AsRef<Agent>>(agents: impl IntoIterator<Item = A>) -> Vec<String> {
    agents.into_iter().map(|agent| agent.as_ref().name.clone()).collect()
}

fn travel() -> Index {
    let mut spa = agent("spa", "book_spa", &["Booking"]);
    spa.tags = vec![" Hotels ".into(), "booking".into()];
    spa.aliases = vec!["Wellness".into(), "flights".into()];
    let agents = [
        spa,
        agent("hotels", "book_hotel", &["hotels", "booking"]),
        agent("flights", "book_flight", &["flights", "booking"]),
    ];
    Index::new(agents.map(Arc::new))
}

#[test]
fn agents_are_found_by_name_and_alias_without_case() {
    let index = travel();
    assert_eq!(index.by_name("hotels").unwrap().name, "hotels");
    assert_eq!(index.by_name("HOTELS").unwrap().name, "hotels");
    assert_eq!(index.by_name("wellness").unwrap().name, "spa");
    assert!(index.by_name("hotel").is_none());
}

#[test]
fn an_alias_never_hides_an_agent_of_that_name() {
    assert_eq!(travel().by_name("flights").unwrap().name, "flights");
}

#[test]
fn agents_are_found_by_tags_of_card_and_curator_in_the_order_of_names() {
    let index = travel();
    assert_eq!(names(index.with(Facet::Tag, &["BOOKING"])), ["flights", "hotels", "spa"]);
    assert_eq!(names(index.with(Facet::Tag, &["hotels"])), ["hotels", "spa"]);
    assert_eq!(names(index.with(Facet::Tag, &["booking", "Hotels"])), ["hotels", "spa"]);
    assert_eq!(names(index.with(Facet::Tag, &["booking", "none"])), [""; 0]);
    assert_eq!(names(index.with(Facet::Tag, &[])), ["flights", "hotels", "spa"]);
}

#[test]
fn agents_are_found_by_skill_and_by_url() {
    let index = travel();
    assert_eq!(names(index.with(Facet::Skill, &["book_spa"])), ["spa"]);
    assert_eq!(names(index.with(Facet::Skill, &["Book_Spa"])), [""; 0]);
    assert_eq!(index.by_url("https://spa.example/card").unwrap().name, "spa");
}

#[test]
fn of_two_agents_with_one_name_the_later_counts() {
    let mut later = agent("hotels", "other", &[]);
    later.priority = 7;
    let index = Index::new([agent("hotels", "first", &[]), later].map(Arc::new));
    assert_eq!((index.len(), index.by_name("hotels").unwrap().priority), (1, 7));
    assert_eq!(index.with(Facet::Skill, &["first"]).len(), 0);
}

#[test]
fn the_order_in_which_agents_come_changes_nothing() {
    let forward = travel();
    let mut agents: Vec<_> = forward.iter().cloned().collect();
    agents.reverse();
    let backward = Index::new(agents);
    assert_eq!(names(forward.iter()), names(backward.iter()));
    assert_eq!(
        names(forward.with(Facet::Tag, &["booking"])),
        names(backward.with(Facet::Tag, &["booking"]))
    );
}

#[test]
fn a_search_ranks_the_best_first_and_says_why() {
    let mut index_agents: Vec<Agent> = travel().iter().map(|agent| (**agent).clone()).collect();
    index_agents[0].notes = Some("Also knows a hotel or two".into());
    let index = Index::new(index_agents.into_iter().map(Arc::new));
    let hits = index.search("Hotel, please");
    let found: Vec<_> = hits.iter().map(|hit| hit.agent.name.as_str()).collect();
    assert_eq!(found, ["hotels", "spa", "flights"]);
    assert!(hits[0].score > hits[1].score && hits[1].score > hits[2].score);
    assert_eq!(hits[0].matches[0].word, "hotel");
    assert_eq!(hits[0].matches[0].fields, [Field::Name, Field::Skill, Field::Tag]);
    assert_eq!(hits[2].matches[0].fields, [Field::Notes]);
    assert!(index.search("nothing-like-it").is_empty());
    assert_eq!(index.search(" ").len(), 3);
}

#[test]
fn every_field_is_searched() {
    let card: AgentCard = serde_json::from_value(json!({
        "name": "one", "description": "two", "provider": {"organization": "three", "url": ""},
        "skills": [{"id": "four", "name": "five", "description": "six", "tags": ["seven"], "examples": ["eight"]}]
    }))
    .unwrap();
    let mut agent = Agent::new("nine", "", card, CardDigest::of(&json!(1)));
    agent.aliases = vec!["ten".into()];
    agent.tags = vec!["eleven".into()];
    agent.owner = Some("twelve".into());
    agent.notes = Some("thirteen".into());
    agent.category = Some("fourteen".into());
    let index = Index::new([Arc::new(agent)]);
    let fields = [
        ("one", Field::Name),
        ("two", Field::Description),
        ("three", Field::Description),
        ("four", Field::Skill),
        ("five", Field::Skill),
        ("six", Field::Description),
        ("seven", Field::Tag),
        ("eight", Field::Example),
        ("nine", Field::Name),
        ("ten", Field::Name),
        ("eleven", Field::Tag),
        ("twelve", Field::Notes),
        ("thirteen", Field::Notes),
        ("fourteen", Field::Tag),
    ];
    for (word, field) in fields {
        let hits = index.search(word);
        assert_eq!(
            hits.first().map(|hit| hit.matches[0].fields.clone()),
            Some(vec![field]),
            "{word}"
        );
    }
}

#[test]
fn a_large_directory_is_not_searched_through_for_a_selector() {
    let agents = (0..20_000).map(|n| {
        Arc::new(agent(
            &format!("agent-{n:05}"),
            &format!("skill_{n}"),
            &["common", &format!("tag-{}", n % 1000)],
        ))
    });
    let index = Index::new(agents);
    let started = Instant::now();
    for n in 0..2_000 {
        let found = index.with(Facet::Tag, &[format!("tag-{}", n % 1000).as_str(), "common"]);
        assert_eq!(found.len(), 20);
        assert_eq!(index.with(Facet::Skill, &[&format!("skill_{n}")]).len(), 1);
    }
    // A scan of 20,000 agents for each of the 4,000 questions would take minutes here.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

/// The same agent, approved or not, and with another priority so that it is another version.
fn standing(agent: &Agent, curation: Curation) -> Arc<Agent> {
    Arc::new(Agent { curation, decided: curation, ..agent.clone() })
}

fn shown(index: &Index) -> Vec<(String, Curation)> {
    index.iter().map(|agent| (agent.name.clone(), agent.curation)).collect()
}

#[test]
fn what_is_derived_of_an_index_follows_a_change_without_being_made_anew() {
    let named = |n: usize, is_public| {
        let agent = agent(&format!("a{n:04}"), "work", &["work"]);
        Arc::new(Agent { is_public, ..agent })
    };
    let home = Index::new((0..1200).map(|n| named(n, n % 2 == 0)));
    let own = Index::new([named(4, false), named(5, false)]);
    let (public, merged) = (home.public(), own.over(&home.public()));
    let suspended = |name: &str| standing(home.by_name(name).unwrap(), Curation::Suspended);
    // A public one, one that is not, and a public one that is hidden by the account's own.
    let changed = ["a0600", "a0601", "a0004"].map(suspended);
    let after = home.replacing(changed).unwrap();
    assert_eq!(after.changed_since(&home).unwrap().len(), 3);
    let public_after = after.public_since(&home, &public);
    assert_eq!(shown(&public_after), shown(&after.public()));
    assert_eq!(public_after.changed_since(&public).map(|it| it.len()), Some(2), "not made anew");
    let own_after = own.replacing([standing(own.by_name("a0005").unwrap(), Curation::Rejected)]);
    let own_after = own_after.unwrap();
    let merged_after = own_after.over_since(&public_after, [&own, &public, &merged]);
    assert_eq!(shown(&merged_after), shown(&own_after.over(&public_after)));
    assert_eq!(merged_after.changed_since(&merged).map(|it| it.len()), Some(2), "not made anew");

    let more = Index::new((0..1201).map(|n| named(n, n % 2 == 0)));
    assert!(more.changed_since(&home).is_none());
    assert_eq!(shown(&more.public_since(&home, &public)), shown(&more.public()));
    let under = [&own, &public, &merged];
    assert_eq!(shown(&own.over_since(&more.public(), under)), shown(&own.over(&more.public())));
}

#[test]
fn another_version_of_an_agent_costs_its_way_in_the_tree() {
    for (size, limbs) in [(1, 1), (32, 1), (33, 2), (1024, 2), (1025, 3), (40_000, 4)] {
        let template = agent("x", "work", &[]);
        let named = |n: usize| Arc::new(Agent { name: format!("a{n:06}"), ..template.clone() });
        let index = Index::new((0..size).map(named));
        assert_eq!(index.len(), size);
        assert!(index.iter().map(|it| &it.name).is_sorted());
        for at in [0, size / 2, size - 1] {
            let name = format!("a{at:06}");
            let before = index.fitting(&name, &[]).expect("it is there");
            let after = index.replacing([standing(before, Curation::Rejected)]).unwrap();
            assert_eq!(after.own_limbs(&index), limbs, "{at} of {size}");
            assert_eq!(after.fitting(&name, &[]).unwrap().curation, Curation::Rejected);
            let rejected = Filter::one(Facet::State, "rejected");
            let found = after.find(&Query { filters: vec![rejected], ..Query::default() });
            assert_eq!(found.hits.len(), 1);
            assert_eq!(found.hits[0].agent.name, name);
        }
        assert!(index.fitting("b", &[]).is_none() && index.fitting("a", &[]).is_none());
    }
}

#[test]
fn an_index_knows_how_long_it_holds_and_which_agents_do_no_more() {
    let at = |second: i64| jiff::Timestamp::from_second(second).unwrap();
    let named = |n: i64| {
        let agent = agent(&format!("a{n:04}"), "work", &[]);
        Arc::new(Agent { review_by: Some(at(n + 10)), ..agent })
    };
    let index = Index::new((0..2000).map(named));
    assert_eq!(index.holds_until(), at(10));
    let over: Vec<&str> = index.over_at(at(12)).iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(over, ["a0000", "a0001", "a0002"]);
    let aged = index.over_at(at(12)).into_iter();
    let aged = aged.map(|agent| Arc::new(Agent::clone(agent).at(at(12), None)));
    let after = index.replacing(aged).unwrap();
    assert_eq!(after.holds_until(), at(13));
    assert_eq!(after.by_name("a0002").unwrap().curation, Curation::Proposed);
    assert_eq!(after.by_name("a0003").unwrap().curation, Curation::Approved);
    assert_eq!(Index::default().holds_until(), jiff::Timestamp::MAX);
}

#[test]
fn agents_that_meet_all_conditions_stand_apart_from_those_that_meet_some() {
    let index = travel();
    let tag = |tag: &str| Filter::one(Facet::Tag, tag);
    let met = index.meeting(&[tag("Booking"), tag("hotels")], 10);
    assert_eq!(
        (names(met.all), names(met.some), met.more),
        (texts(&["hotels", "spa"]), texts(&["flights"]), 0)
    );
    let met = index.meeting(&[tag("booking"), Filter::one(Facet::Skill, "book_spa")], 1);
    assert_eq!(
        (names(met.all), names(met.some), met.more),
        (texts(&["spa"]), texts(&["flights"]), 1)
    );
    let met = index.meeting(&[tag("booking"), tag("none")], 10);
    assert_eq!((names(met.all), names(met.some).len(), met.more), (texts(&[]), 3, 0));
    let met = index.meeting(&[], 10);
    assert_eq!((met.all.len(), met.some.len(), met.more), (0, 0, 0), "nothing is asked for");
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}

#[test]
fn tags_that_mean_the_same_meet_the_same_condition() {
    let same = ["Flights", "air-travel"].map(str::to_owned);
    let agents = [agent("one", "a", &["flights"]), agent("two", "b", &["Air-Travel"])];
    let synonyms = crate::Synonyms::new([&same[..]]);
    let index = Index::with_synonyms(agents.map(Arc::new), synonyms);
    assert_eq!(index.meanings("FLIGHTS"), ["flights", "air-travel"]);
    assert_eq!(index.meanings("other"), ["other"]);
    let met = index.meeting(&[Filter::one(Facet::Tag, "air-travel")], 10);
    assert_eq!(names(met.all), ["one", "two"]);
}
