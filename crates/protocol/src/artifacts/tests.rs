use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::v1::Part;

fn event(id: &str, parts: &[Part], append: bool) -> TaskArtifactUpdateEvent {
    TaskArtifactUpdateEvent {
        artifact: Some(Artifact::new(id, "", parts.to_vec())),
        append,
        ..Default::default()
    }
}

fn texts(words: &[&str]) -> Vec<Part> {
    words.iter().map(|word| Part::text(*word)).collect()
}

#[test]
fn an_append_extends_and_everything_else_replaces() {
    let mut aggregator = Aggregator::default();
    assert_eq!(aggregator.apply(&event("a", &texts(&["1"]), false)), Ok(Change::Added));
    assert_eq!(aggregator.apply(&event("b", &texts(&["x"]), false)), Ok(Change::Added));
    assert_eq!(aggregator.apply(&event("a", &texts(&["2"]), true)), Ok(Change::Extended));
    assert_eq!(aggregator.apply(&event("b", &texts(&["y"]), false)), Ok(Change::Replaced));
    assert_eq!(aggregator.get("a").unwrap().parts, texts(&["1", "2"]));
    assert_eq!(aggregator.get("b").unwrap().parts, texts(&["y"]));
    assert_eq!(aggregator.get("c"), None);
    assert_eq!(["a", "b", "c"].map(|id| aggregator.position(id)), [Some(0), Some(1), None]);
    let ids: Vec<_> = aggregator.artifacts().iter().map(|a| a.artifact_id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn an_append_to_nothing_begins_the_artifact() {
    let mut aggregator = Aggregator::default();
    assert_eq!(aggregator.apply(&event("a", &texts(&["1"]), true)), Ok(Change::Added));
    assert_eq!(aggregator.apply(&event("a", &texts(&["2"]), true)), Ok(Change::Extended));
    assert_eq!(aggregator.into_artifacts()[0].text(), "12");
}

#[test]
fn a_snapshot_replaces_all_and_appends_go_on_from_it() {
    let mut aggregator = Aggregator::default();
    aggregator.apply(&event("lost", &texts(&["?"]), false)).unwrap();
    aggregator.apply(&event("a", &texts(&["1"]), false)).unwrap();
    // The stream is cut, chunk 2 is lost; the subscription begins with the Task.
    aggregator.replace_all(vec![Artifact::new("a", "", texts(&["1", "2"]))]);
    aggregator.apply(&event("a", &texts(&["3"]), true)).unwrap();
    assert_eq!(aggregator.artifacts(), [Artifact::new("a", "", texts(&["1", "2", "3"]))]);
    assert_eq!(aggregator.get("lost"), None);
}

#[test]
fn of_two_artifacts_of_one_id_in_a_snapshot_the_later_counts() {
    let mut aggregator = Aggregator::default();
    let twice = |word| Artifact::new("a", "", texts(&[word]));
    aggregator.replace_all(vec![twice("old"), Artifact::new("b", "", vec![]), twice("new")]);
    assert_eq!(aggregator.artifacts(), [twice("new"), Artifact::new("b", "", vec![])]);
}

#[test]
fn what_a_chunk_says_about_the_whole_counts_for_the_whole() {
    let mut aggregator = Aggregator::default();
    let mut first = event("a", &texts(&["1"]), false);
    let artifact = first.artifact.as_mut().unwrap();
    artifact.name = "draft".into();
    artifact.description = "kept".into();
    artifact.extensions = vec!["x".into()];
    first.artifact = first.artifact.map(|a| a.with_metadata("k", 1).with_metadata("l", 1));
    aggregator.apply(&first).unwrap();

    let mut chunk = event("a", &texts(&["2"]), true);
    let artifact = chunk.artifact.as_mut().unwrap();
    artifact.name = "final".into();
    artifact.extensions = vec!["x".into(), "y".into()];
    chunk.artifact = chunk.artifact.map(|a| a.with_metadata("l", 2));
    aggregator.apply(&chunk).unwrap();

    let whole = aggregator.get("a").unwrap();
    assert_eq!((whole.name.as_str(), whole.description.as_str()), ("final", "kept"));
    assert_eq!(whole.extensions, ["x", "y"]);
    assert_eq!(whole.metadata("k"), Some(&1.into()));
    assert_eq!(whole.metadata("l"), Some(&2.into()));
}

#[test]
fn an_event_that_names_no_artifact_changes_nothing() {
    let mut aggregator = Aggregator::default();
    let empty = TaskArtifactUpdateEvent::default();
    assert_eq!(aggregator.apply(&empty), Err(UnusableEvent::NoArtifact));
    assert_eq!(aggregator.apply(&event("", &texts(&["1"]), true)), Err(UnusableEvent::NoId));
    assert!(aggregator.artifacts().is_empty());
}

#[test]
fn an_append_copies_nothing_of_what_came_before() {
    let mut aggregator = Aggregator::default();
    aggregator.apply(&event("a", &texts(&["first"]), false)).unwrap();
    let first_text =
        |aggregator: &Aggregator| aggregator.artifacts()[0].parts[0].as_text().unwrap().as_ptr();
    let before = first_text(&aggregator);
    let mut moves = 0;
    let mut capacity = aggregator.artifacts()[0].parts.capacity();
    for _ in 0..10_000 {
        aggregator.apply(&event("a", &texts(&["more"]), true)).unwrap();
        let now = aggregator.artifacts()[0].parts.capacity();
        moves += usize::from(now != capacity);
        capacity = now;
    }
    assert_eq!(first_text(&aggregator), before);
    assert_eq!(aggregator.artifacts()[0].parts.len(), 10_001);
    // The list of Parts itself grows by doubling, so that all its moves together are linear.
    assert!(moves <= 20, "{moves} moves");
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[a-z]{0,3}".prop_map(Part::text),
        any::<i32>().prop_map(Part::data),
        vec(any::<u8>(), 0..4).prop_map(Part::raw),
    ]
}

/// Cuts the Parts into chunks; the first one replaces unless `appends_first`.
fn chunks(
    id: &str,
    parts: &[Part],
    sizes: &[usize],
    appends_first: bool,
) -> Vec<TaskArtifactUpdateEvent> {
    let mut rest = parts;
    let mut events = Vec::new();
    for size in sizes {
        let (chunk, left) = rest.split_at((*size).min(rest.len()));
        events.push(event(id, chunk, appends_first || !events.is_empty()));
        rest = left;
    }
    events.push(event(id, rest, appends_first || !events.is_empty()));
    events
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_in_any_interleaving_gives_the_same_parts(
        left in vec(part(), 0..12),
        right in vec(part(), 0..12),
        left_sizes in vec(0..4_usize, 0..6),
        right_sizes in vec(0..4_usize, 0..6),
        appends_first in any::<bool>(),
        turns in vec(any::<bool>(), 24),
        cut in 0..24_usize,
    ) {
        let mut left_events = chunks("l", &left, &left_sizes, appends_first).into_iter();
        let mut right_events = chunks("r", &right, &right_sizes, appends_first).into_iter();
        let mut events = Vec::new();
        for turn in turns {
            let next = if turn { left_events.next() } else { right_events.next() };
            events.extend(next);
        }
        events.extend(left_events.chain(right_events));

        let mut aggregator = Aggregator::default();
        let mut agent = Aggregator::default();
        for (index, event) in events.iter().enumerate() {
            agent.apply(event).unwrap();
            // At one moment the stream is cut, and the subscription begins with the
            // Task as the agent knows it: that event is in the snapshot.
            if index == cut {
                aggregator.replace_all(agent.artifacts().to_vec());
            } else {
                aggregator.apply(event).unwrap();
            }
        }
        prop_assert_eq!(&aggregator.get("l").unwrap().parts, &left);
        prop_assert_eq!(&aggregator.get("r").unwrap().parts, &right);
    }
}
