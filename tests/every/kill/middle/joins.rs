//! `join` with `cancel_rest`, and `set`.

use examples::Kind;
use protocol::v1::TaskState;

use super::{ALL, Middle, output};

/// The process is killed when enough has completed, and the step that waited for it is at work.
async fn joined(join: &str) {
    let cast = [("slow", Kind::Slow, ALL), ("echo", Kind::Echo, ALL), ("writer", Kind::Writer, 0)];
    let file = format!(
        "
steps:
  late: {{agent: slow, message: For 60m}}
  one: {{agent: echo, message: one}}
  two: {{agent: echo, message: two, needs: [one]}}
  first: {{agent: writer, needs: [late, one, two], join: {join}, cancel_rest: true, message: Draft it}}
outputs: {{o: {{value: \"${{{{ steps.first.text }}}}\"}}}}
"
    );
    let middle = Middle::of(&cast, &file).await;
    let done = middle.killed_and_resumed("writer", 0).await;
    assert_eq!(output(&done), "Draft 1: it");
    assert_eq!(middle.texts("writer").await, ["Draft it"]);
    assert_eq!(done["steps"][0]["state"], "canceled");
    // It may have been called off before it was sent.
    let late = middle.tasks("slow").await;
    assert!(late.iter().all(|task| task.state() == TaskState::Canceled), "{late:?}");
    assert_eq!(middle.texts("slow").await.len(), late.len());
    let journal = middle.journal().await;
    let canceled = if join == "any" { 2 } else { 1 };
    assert_eq!(journal.count("step_canceled"), canceled, "all that was not needed, once each");
}

#[tokio::test]
async fn the_first_of_several_is_enough_after_a_kill_and_the_rest_is_canceled_once() {
    joined("any").await;
}

#[tokio::test]
async fn two_of_three_are_enough_after_a_kill_and_the_rest_is_canceled_once() {
    joined("2").await;
}

#[tokio::test]
async fn what_was_computed_before_a_kill_is_not_computed_again() {
    let cast = [("extractor", Kind::Extractor, ALL), ("writer", Kind::Writer, 0)];
    let file = "
steps:
  facts: {agent: extractor, message: \"Total: 12\"}
  sums: {set: {twice: \"${{ steps.facts.data.total * 2 }}\", at: \"${{ run.started_at }}\"}}
  said: {agent: writer, message: \"Draft ${{ steps.sums.data.twice }} at ${{ steps.sums.data.at }}\"}
outputs: {o: {value: \"${{ steps.said.text }} = ${{ steps.sums.data.at }}\"}}
";
    let middle = Middle::of(&cast, file).await;
    let killed = middle.killed_at(middle.start(), "writer").await;
    assert_eq!(killed.count("step_computed"), 1);
    let done = middle.resumed(&killed.run, 0).await;
    assert_eq!(middle.journal().await.count("step_computed"), 1);
    assert_eq!(middle.texts("extractor").await, ["Total: 12"]);
    let (said, computed) = output(&done).split_once(" = ").expect("both");
    assert_eq!(said, format!("Draft 1: 24.0 at {computed}"));
    assert_eq!(middle.texts("writer").await.len(), 1);
}
