//! `undo`, `on_failure` and `finally`.

use examples::Kind;

use super::{ALL, Middle, referring};

const TRIP: &str = "
steps:
  hotel: {agent: notifier, message: Book a hotel, undo: \"Withdraw ${{ this.data.notice }}\"}
  seats:
    needs: [hotel]
    for_each: [one, two]
    concurrency: 1
    agent: notifier
    message: \"Seat ${{ item }}\"
    undo: \"Withdraw seat ${{ item }}\"
  pay: {needs: [seats], agent: specialist, message: Pay for all of it}
on_failure:
  tell: {agent: echo, message: \"${{ run.error.step }}: ${{ run.error.class }}\"}
finally:
  close: {agent: echo, message: \"closed after ${{ steps.seats.state }}\"}
";

/// The run fails, and its clean-up is killed while an agent holds back what comes after its first pieces of work.
async fn killed(notifier: usize, echo: usize, at: &str) {
    let cast = [
        ("notifier", Kind::Notifier, notifier),
        ("specialist", Kind::Specialist, ALL),
        ("echo", Kind::Echo, echo),
    ];
    let middle = Middle::of(&cast, TRIP).await;
    let killed = middle.killed_at(middle.start(), at).await;
    assert_eq!(killed.count("run_finished"), 1, "it has failed, and is cleaned up after");
    middle.convoke.run(["run", "--resume", &killed.run]).await.exits(1);
    let taken = middle.taken("notifier").await;
    let undone = |text: &str, of: &str| referring(text, &[of]);
    assert_eq!(
        taken[3..5],
        [undone("Withdraw seat two", "Seat two"), undone("Withdraw seat one", "Seat one")]
    );
    let [.., last] = &taken[..] else { panic!("nothing was sent") };
    assert!(taken.len() == 6 && last.text.starts_with("Withdraw NOTICE-"), "{taken:?}");
    assert_eq!(last.refers_to, ["Book a hotel"]);
    assert_eq!(middle.texts("specialist").await, ["Pay for all of it"]);
    assert_eq!(middle.texts("echo").await, ["pay: rejected", "closed after completed"]);
    let shown = middle.convoke.run(["--json", "runs", "show", &killed.run]).await.exits(0).json();
    assert_eq!(
        (&shown["state"], &shown["clean_up"]["state"]),
        (&"failed".into(), &"completed".into())
    );
}

#[tokio::test]
async fn a_clean_up_that_is_killed_between_two_undos_goes_on_with_the_second() {
    killed(4, ALL, "notifier").await;
}

#[tokio::test]
async fn a_clean_up_that_is_killed_in_a_step_of_on_failure_goes_on_with_it() {
    killed(ALL, 0, "echo").await;
}

#[tokio::test]
async fn a_clean_up_that_is_killed_in_its_last_step_goes_on_with_it() {
    killed(ALL, 1, "echo").await;
}

#[tokio::test]
async fn the_last_steps_of_a_run_that_completed_go_on_after_a_kill() {
    let file = "
steps: {hotel: {agent: notifier, message: Book, undo: Withdraw}}
on_failure: {never: {agent: echo, message: never}}
finally: {close: {agent: echo, message: \"closed ${{ steps.hotel.text }}\"}}
";
    let cast = [("notifier", Kind::Notifier, ALL), ("echo", Kind::Echo, 0)];
    let middle = Middle::of(&cast, file).await;
    middle.killed_and_resumed("echo", 0).await;
    assert_eq!(middle.texts("notifier").await, ["Book"]);
    assert_eq!(middle.texts("echo").await, ["closed Sent: Book"]);
}
