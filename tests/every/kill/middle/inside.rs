//! Steps that are runs of other workflows.

use examples::Kind;

use super::{ALL, Middle, output, referring};

#[tokio::test]
async fn a_sub_run_goes_on_with_its_second_step() {
    let cast = [("writer", Kind::Writer, 1), ("echo", Kind::Echo, ALL)];
    let file = "
steps:
  before: {agent: echo, message: summer}
  sub: {workflow: child, with: {topic: \"${{ steps.before.text }}\"}}
  after: {agent: echo, message: \"${{ steps.sub.outputs.text }}!\"}
outputs: {o: {value: \"${{ steps.after.text }}\"}}
";
    let middle = Middle::of(&cast, file).await;
    let child = "
inputs: {topic: {type: string}}
steps:
  draft: {agent: writer, message: \"Draft ${{ inputs.topic }}\"}
  better: {agent: writer, needs: [draft], message: \"Improve ${{ inputs.topic }}\"}
  said: {agent: echo, message: \"${{ steps.better.text }}\"}
outputs: {text: {value: \"${{ steps.said.text }}\"}}
";
    middle.write("child", child);
    let killed = middle.killed_at(middle.start(), "writer").await;
    assert_eq!((killed.count("attempt_started"), killed.count("step_completed")), (2, 1));
    // What goes on is what was planned.
    middle.write("child", "steps: {x: {ask: Never?}}\n");
    let done = middle.resumed(&killed.run, 0).await;
    let wanted = [referring("Draft summer", &[]), referring("Improve summer", &["Draft summer"])];
    assert_eq!(middle.taken("writer").await, wanted);
    assert_eq!(middle.texts("echo").await, ["summer", "Draft 2: summer", "Draft 2: summer!"]);
    assert_eq!(output(&done), "Draft 2: summer!");
    let sub = &done["steps"][1];
    assert_eq!((&sub["attempts"], &sub["sub_run"]["context_id"]), (&1.into(), &done["context_id"]));
    assert_eq!(middle.journal().await.count("attempt_started"), 3, "no run of it was begun again");
}
