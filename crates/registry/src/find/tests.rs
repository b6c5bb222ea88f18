use std::sync::Arc;

use protocol::v1::AgentCard;
use serde_json::{Value, json};

use super::{Facet, Field, Filter, Found, Kind, Query};
use crate::{Agent, CardDigest, Curation, Index, Signed, Synonyms, Tier};

/// An agent whose card is the common one with some members replaced.
fn agent(name: &str, members: Value) -> Agent {
    let mut card = json!({ "name": name, "description": "", "skills": [] });
    let Value::Object(members) = members else { panic!("members of an object") };
    card.as_object_mut().unwrap().extend(members);
    let digest = CardDigest::of(&card);
    let card: AgentCard = serde_json::from_value(card).unwrap();
    Agent::new(name, "", card, digest)
}

fn skilled(name: &str, id: &str, tags: &[&str]) -> Agent {
    agent(name, json!({ "skills": [{ "id": id, "name": "", "description": "", "tags": tags }] }))
}

fn index(agents: impl IntoIterator<Item = Agent>) -> Index {
    Index::new(agents.into_iter().map(Arc::new))
}

fn text(words: &str) -> Query {
    Query { text: words.to_owned(), ..Query::default() }
}

fn having(facet: Facet, value: &str) -> Query {
    Query { filters: vec![Filter::one(facet, value)], ..Query::default() }
}

fn names(found: &Found) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.agent.name.as_str()).collect()
}

fn travel() -> Vec<Agent> {
    vec![
        skilled("flights", "book_flight", &["Flights", "booking"]),
        skilled("hotels", "book_hotel", &["rooms", "booking"]),
        skilled("planes", "fly", &["air-travel"]),
    ]
}

#[test]
fn every_facet_filters_and_is_counted() {
    let mut odd = agent(
        "odd",
        json!({
            "provider": { "organization": "Acme", "url": "https://acme.example" },
            "supportedInterfaces": [
                { "url": "odd.example:443", "protocolBinding": "GRPC", "protocolVersion": "0.3" }
            ],
            "capabilities": { "streaming": true },
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["image/png"],
            "skills": [{ "id": "Odd_One", "name": "", "description": "", "tags": ["Rare"] }]
        }),
    );
    odd.category = Some("Curious".into());
    odd.curation = Curation::Suspended;
    odd.signed = Signed::Trusted;
    odd.tier = Some(Tier::Conformant);
    let index = index([skilled("even", "even_one", &["common"]), odd]);
    let cases = [
        (Facet::Tag, "RARE", "rare"),
        (Facet::Category, "curious", "curious"),
        (Facet::Skill, "Odd_One", "Odd_One"),
        (Facet::Provider, "acme", "acme"),
        (Facet::InputMode, "text/plain", "text/plain"),
        (Facet::OutputMode, "Image/PNG", "image/png"),
        (Facet::Binding, "grpc", "grpc"),
        (Facet::Version, "0.3", "0.3"),
        (Facet::Capability, "streaming", "streaming"),
        (Facet::State, "suspended", "suspended"),
        (Facet::Signed, "trusted", "trusted"),
        (Facet::Evidence, "valid", "conformant"),
    ];
    assert_eq!(cases.map(|case| case.0), Facet::ALL, "every facet has its case");
    for (facet, value, counted) in cases {
        let found = index.find(&Query { count: true, ..having(facet, value) });
        assert_eq!(names(&found), ["odd"], "{facet}={value}");
        assert!(found.counts.contains(&(facet, vec![(counted.to_owned(), 1)])), "{found:?}");
        assert_eq!(names(&index.find(&having(facet, "nothing"))), [""; 0], "{facet}");
    }
    assert_eq!(
        names(&index.find(&having(Facet::Evidence, "proven"))),
        [""; 0],
        "more was asked for"
    );
    assert_eq!(names(&index.find(&having(Facet::Skill, "odd_one"))), [""; 0], "skills are exact");
}

#[test]
fn all_filters_have_to_hold_and_one_value_of_each_is_enough() {
    let index = index(travel());
    let both = |values: [&[&str]; 2]| {
        let filters = values.map(|any| Filter {
            facet: Facet::Tag,
            any: any.iter().map(|value| (*value).to_owned()).collect(),
        });
        index.find(&Query { filters: filters.into(), ..Query::default() })
    };
    assert_eq!(names(&both([&["booking"], &["rooms", "air-travel"]])), ["hotels"]);
    assert_eq!(
        names(&both([&["booking", "air-travel"], &["flights", "air-travel"]])),
        ["flights", "planes"]
    );
    assert_eq!(names(&both([&["booking"], &[]])), [""; 0]);
}

#[test]
fn filters_narrow_what_words_find() {
    let index = index(travel());
    let query = Query { text: "book fly".into(), ..having(Facet::Tag, "rooms") };
    let found = index.find(&query);
    assert_eq!((names(&found), found.total), (vec!["hotels"], 1));
    let query = Query { text: "book fly".into(), ..having(Facet::State, "approved") };
    assert_eq!(index.find(&query).total, 3);
}

#[test]
fn synonyms_of_tags_find_each_other_as_filters_and_as_words() {
    let groups = [vec!["flights".to_owned(), "Air-Travel".to_owned()]];
    let synonyms = Synonyms::new(groups.iter().map(Vec::as_slice));
    let index = Index::with_synonyms(travel().into_iter().map(Arc::new), synonyms);
    assert_eq!(names(&index.find(&having(Facet::Tag, "FLIGHTS"))), ["flights", "planes"]);
    assert_eq!(names(&index.find(&having(Facet::Tag, "air-travel"))), ["flights", "planes"]);
    assert_eq!(index.with(Facet::Tag, &["flights"]).len(), 2);
    let found = index.find(&text("flights, please"));
    assert_eq!(names(&found), ["flights", "planes"]);
    let why = &found.hits[1].matches[0];
    assert_eq!(
        (why.kind, why.term.as_str(), &*why.fields),
        (Kind::Synonym, "air", &[Field::Tag][..])
    );
    assert_eq!(why.to_string(), "`air` as a synonym of `flight` in tag");
}

#[test]
fn the_beginning_of_a_word_finds_it() {
    let index = index(travel());
    let found = index.find(&text("hot"));
    assert_eq!((names(&found), found.hits[0].matches[0].kind), (vec!["hotels"], Kind::Prefix));
    assert_eq!(names(&index.find(&text("hot book"))), ["hotels", "flights"]);
    let found = index.find(&text("fl"));
    assert_eq!(
        found.hits[0].matches[0].to_string(),
        "`flight`, which begins with `fl`, in name, skill, tag"
    );
}

#[test]
fn a_word_that_many_agents_have_is_whole() {
    let flying = || skilled("z", "flying", &[]);
    let with = |count: usize| {
        let agents = (0..count).map(|n| skilled(&format!("a{n}"), "fly", &[]));
        index(agents.chain([flying()])).find(&text("fly")).total
    };
    assert_eq!((with(99), with(100)), (100, 100), "one that is rarer may still be being typed");
}

#[test]
fn what_one_search_scored_is_nothing_to_the_next() {
    let index = index(travel());
    let first = index.find(&text("booking"));
    assert_eq!(names(&index.find(&text("fly"))), ["planes"]);
    let again = index.find(&text("booking"));
    let scores = |found: &Found| found.hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
    assert_eq!((scores(&first), first.total), (scores(&again), again.total));
}

#[test]
fn a_slip_of_one_letter_is_forgiven_when_there_is_nothing_else() {
    let index = index(travel());
    for slip in ["flihgt", "fligt", "flightt", "fkight"] {
        let found = index.find(&text(slip));
        assert_eq!(
            (names(&found), found.hits[0].matches[0].kind),
            (vec!["flights"], Kind::Typo),
            "{slip}"
        );
    }
    assert_eq!(index.find(&text("flgiht booking")).total, 2, "two letters are another word");
    assert_eq!(index.find(&text("fla")).total, 0, "short words are meant as they are");
}

#[test]
fn an_exact_word_is_worth_more_than_what_it_begins() {
    let index = index([skilled("b", "fly", &[]), skilled("a", "flying", &[])]);
    let found = index.find(&text("fly"));
    assert_eq!(names(&found), ["b", "a"]);
    assert!(found.hits[0].score > found.hits[1].score);
}

#[test]
fn other_scripts_are_found() {
    let index = index([
        agent("tokyo", json!({ "description": "東京の旅行を計画します" })),
        agent("moscow", json!({ "description": "Бронирование рейсов" })),
        agent("paris", json!({ "description": "Réservations à la crème" })),
        agent("seoul", json!({ "description": "항공권을 예약합니다" })),
        agent("bangkok", json!({ "description": "จองเที่ยวบินและโรงแรม" })),
    ]);
    for (word, name) in [
        ("旅行", "tokyo"),
        ("京", "tokyo"),
        ("РЕЙСОВ", "moscow"),
        ("creme", "paris"),
        ("CRÈME", "paris"),
        ("ｒeservation", "paris"),
        ("항공권", "seoul"),
        ("โรงแรม", "bangkok"),
    ] {
        assert_eq!(names(&index.find(&text(word)))[..1], [name], "{word}");
    }
}

#[test]
fn pages_follow_each_other_without_gap_or_repetition() {
    let index = index(
        (0..57).map(|n| skilled(&format!("agent-{n:02}"), "same", &[["odd", "even"][n % 2]])),
    );
    for query in [text("same odd"), having(Facet::Skill, "same"), Query::default()] {
        let all = index.find(&query);
        let mut pages: Vec<String> = Vec::new();
        let mut after = None;
        loop {
            let page = index.find(&Query { limit: Some(10), after, ..query.clone() });
            assert_eq!(page.total, 57);
            pages.extend(page.hits.iter().map(|hit| hit.agent.name.clone()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(pages, names(&all));
    }
}

#[test]
fn a_page_that_holds_the_rest_has_no_next() {
    let index = index(travel());
    let found = index.find(&Query { limit: Some(3), ..Query::default() });
    assert_eq!((found.hits.len(), found.next), (3, None));
    let found = index.find(&Query { limit: Some(2), ..Query::default() });
    assert_eq!(
        (names(&found), found.next.as_ref().unwrap().name.clone()),
        (vec!["flights", "hotels"], "hotels".to_owned())
    );
}

#[test]
fn counts_are_of_all_that_was_found_and_the_most_frequent_come_first() {
    let index = index(
        (0..50)
            .map(|n| skilled(&format!("agent-{n:02}"), "same", &["all", &format!("tag-{n:02}")])),
    );
    let found = index.find(&Query { count: true, limit: Some(1), ..text("same") });
    let (facet, tags) = &found.counts[0];
    assert_eq!((*facet, tags.len()), (Facet::Tag, Found::VALUES));
    assert_eq!(tags[..2], [("all".to_owned(), 50), ("tag-00".to_owned(), 1)]);
    assert!(found.counts.contains(&(Facet::State, vec![("approved".to_owned(), 50)])));
    assert!(index.find(&text("same")).counts.is_empty());
}

#[test]
fn a_long_text_is_ranked_by_its_rarest_words() {
    let mut agents = vec![skilled("rare", "rarest", &[])];
    agents
        .extend((0..300).map(|n| skilled(&format!("other-{n:03}"), &format!("w{n}"), &["common"])));
    let index = index(agents);
    let words: String = (0..150).map(|n| format!("w{n} ")).collect();
    let found = index.find(&text(&format!("{words} common rarest")));
    assert_eq!(
        found.total, 32,
        "as many words are ranked by, and the common one is not among them"
    );
    assert!(index.find(&text(&"w1 ".repeat(400_000))).total >= 1);
}

#[test]
fn a_change_of_standing_keeps_what_is_known_of_words() {
    let before = index(travel());
    let mut agent = (**before.by_name("hotels").unwrap()).clone();
    agent.curation = Curation::Rejected;
    let after =
        before.replacing([Arc::new(agent.clone())]).expect("only its standing is different");
    assert_eq!(names(&after.find(&having(Facet::State, "rejected"))), ["hotels"]);
    assert_eq!(names(&before.find(&having(Facet::State, "rejected"))), [""; 0]);
    assert_eq!(names(&after.find(&text("hotel"))), ["hotels"]);
    assert_eq!(after.by_name("hotels").unwrap().curation, Curation::Rejected);
    agent.notes = Some("another word".into());
    assert!(before.replacing([Arc::new(agent.clone())]).is_none());
    agent.name = "unheard of".into();
    assert!(before.replacing([Arc::new(agent)]).is_none());
}
