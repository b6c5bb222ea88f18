//! `cache`, alone and with `fallback`.

use examples::Kind;

use super::{ALL, Middle, output};

#[tokio::test]
async fn a_run_that_has_the_result_of_a_killed_one_keeps_it_over_its_own_kill() {
    let cast = [("extractor", Kind::Extractor, ALL), ("writer", Kind::Writer, 0)];
    let file = "
steps:
  facts: {agent: extractor, message: \"Total: 12\", cache: {ttl: 1h}}
  said: {agent: writer, message: \"Draft ${{ steps.facts.data.total }}\"}
outputs: {o: {value: \"${{ steps.said.text }}\"}}
";
    let middle = Middle::of(&cast, file).await;
    let first = middle.start();
    middle.until_held("writer").await;
    first.kill().await;
    let first = middle.journal().await;
    let second = middle.start();
    middle.until_asked("writer", 2).await;
    let second = middle.killed_at(second, "writer").await;
    assert_ne!(first.run, second.run);
    assert_eq!((first.count("step_reused"), second.count("step_reused")), (0, 1));
    for run in [&second.run, &first.run] {
        assert_eq!(output(&middle.resumed(run, 0).await), "Draft 1: 12.0");
    }
    assert_eq!(middle.texts("extractor").await, ["Total: 12"], "it is asked once for both");
    assert_eq!(middle.texts("writer").await, ["Draft 12.0", "Draft 12.0"]);
}

/// What an agent made that was tried after the first is found at its own card; whoever follows follows that agent.
#[tokio::test]
async fn what_another_agent_made_is_reused_and_the_first_is_not_asked_again() {
    let cast = [("specialist", Kind::Specialist, ALL), ("generalist", Kind::Generalist, 2)];
    let file = "
steps:
  diagnosis: {agent: specialist, message: The door is stuck, fallback: [generalist], cache: {ttl: 1h}}
  more: {agent: {same_as: diagnosis}, message: \"And ${{ steps.diagnosis.data.component }}\"}
outputs: {o: {value: \"${{ steps.more.text }}\"}}
";
    let middle = Middle::of(&cast, file).await;
    middle.convoke.run(["run", "w"]).await.exits(0);
    // The second run is killed in the step after the one whose result it has.
    let second = middle.killed_at(middle.start(), "generalist").await;
    assert_eq!(second.count("step_reused"), 1);
    let done = middle.resumed(&second.run, 0).await;
    assert_eq!(middle.texts("specialist").await, ["The door is stuck"]);
    let asked = ["The door is stuck", "And unknown", "And unknown"];
    assert_eq!(middle.texts("generalist").await, asked);
    assert_eq!(
        middle.taken("generalist").await[2].refers_to,
        Vec::<String>::new(),
        "that Task is of another run"
    );
    let step = &done["steps"][0];
    assert_eq!((&step["agent"], &step["attempts"]), (&"generalist".into(), &0.into()));
    assert_eq!(done["steps"][1]["agent"], "generalist");
}
