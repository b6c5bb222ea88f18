//! `fallback`.

use examples::Kind;

use super::{ALL, Middle, output, referring};

const CAST: [super::Cast; 2] =
    [("specialist", Kind::Specialist, ALL), ("generalist", Kind::Generalist, 0)];

#[tokio::test]
async fn the_agent_that_was_tried_instead_goes_on_and_the_first_is_not_asked_again() {
    let file = "
steps:
  diagnosis: {agent: specialist, message: The door is stuck, fallback: [generalist]}
  more: {agent: {same_as: diagnosis}, needs: [diagnosis], message: And now}
outputs: {o: {value: \"${{ steps.more.text }}\"}}
";
    let middle = Middle::of(&CAST, file).await;
    let done = middle.killed_and_resumed("generalist", 0).await;
    assert_eq!(middle.texts("specialist").await, ["The door is stuck"]);
    let wanted =
        [referring("The door is stuck", &[]), referring("And now", &["The door is stuck"])];
    assert_eq!(middle.taken("generalist").await, wanted);
    assert_eq!(output(&done), "Severity 3, component unknown: And now");
    let step = &done["steps"][0];
    assert_eq!((&step["agent"], &step["attempts"]), (&"generalist".into(), &2.into()));
}

/// Whoever did it undoes it, whatever agent the file names first.
#[tokio::test]
async fn what_another_agent_did_it_undoes_after_a_kill_as_well() {
    let file = "
steps:
  diagnosis:
    agent: specialist
    message: The door is stuck
    fallback: [generalist]
    undo: Forget the door
  fails: {needs: [diagnosis], agent: specialist, message: The window as well}
on_failure:
  tell: {agent: {same_as: diagnosis}, message: Look at the door once more}
  ask: {agent: specialist, needs: [tell], message: The roof, fallback: [generalist]}
";
    let cast = [CAST[0], ("generalist", Kind::Generalist, 1)];
    let middle = Middle::of(&cast, file).await;
    let killed = middle.killed_at(middle.start(), "generalist").await;
    middle.convoke.run(["run", "--resume", &killed.run]).await.exits(1);
    let asked = ["The door is stuck", "The window as well", "The roof"];
    assert_eq!(middle.texts("specialist").await, asked);
    let wanted = [
        referring("The door is stuck", &[]),
        referring("Forget the door", &["The door is stuck"]),
        referring("Look at the door once more", &["The door is stuck"]),
        referring("The roof", &["Look at the door once more"]),
    ];
    assert_eq!(middle.taken("generalist").await, wanted);
}
