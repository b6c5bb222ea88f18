use std::sync::Arc;
use std::time::{Duration, Instant};

use protocol::v1::{AgentCard, AgentSkill};
use serde_json::json;

use super::Index;
use crate::{Agent, CardDigest, Field};

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
    assert_eq!(names(index.by_tag("BOOKING")), ["flights", "hotels", "spa"]);
    assert_eq!(names(index.by_tag("hotels")), ["hotels", "spa"]);
    assert_eq!(names(index.by_tags(["booking", "Hotels"])), ["hotels", "spa"]);
    assert_eq!(names(index.by_tags(["booking", "none"])), [""; 0]);
    assert_eq!(names(index.by_tags([])), ["flights", "hotels", "spa"]);
}

#[test]
fn agents_are_found_by_skill_and_by_url() {
    let index = travel();
    assert_eq!(names(index.by_skill("book_spa")), ["spa"]);
    assert_eq!(names(index.by_skill("Book_Spa")), [""; 0]);
    assert_eq!(index.by_url("https://spa.example/card").unwrap().name, "spa");
}

#[test]
fn of_two_agents_with_one_name_the_later_counts() {
    let mut later = agent("hotels", "other", &[]);
    later.priority = 7;
    let index = Index::new([agent("hotels", "first", &[]), later].map(Arc::new));
    assert_eq!((index.len(), index.by_name("hotels").unwrap().priority), (1, 7));
    assert_eq!(index.by_skill("first").len(), 0);
}

#[test]
fn the_order_in_which_agents_come_changes_nothing() {
    let forward = travel();
    let mut agents: Vec<_> = forward.iter().cloned().collect();
    agents.reverse();
    let backward = Index::new(agents);
    assert_eq!(names(forward.iter()), names(backward.iter()));
    assert_eq!(names(forward.by_tag("booking")), names(backward.by_tag("booking")));
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
        let found = index.by_tags([format!("tag-{}", n % 1000).as_str(), "common"]);
        assert_eq!(found.len(), 20);
        assert_eq!(index.by_skill(&format!("skill_{n}")).len(), 1);
    }
    // A scan of 20,000 agents for each of the 4,000 questions would take minutes here.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}
