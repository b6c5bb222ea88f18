//! `convoke demo`

use tests::convoke::Convoke;

#[tokio::test]
async fn the_tour_shows_a_plan_a_crash_and_the_finished_trip() {
    let convoke = Convoke::default();
    let done = convoke.run(["demo"]).await.exits(0);
    for shown in ["flight", "kill -9", "resumed", "artifact came from", "What the agents saw"] {
        assert!(done.stderr.contains(shown), "`{shown}` is missing:\n{}", done.stderr);
    }
    assert!(done.stdout.contains("Spa: "), "{}", done.stdout);
    assert!(!done.stderr.contains("keep listening"), "{}", done.stderr);
    assert!(!convoke.data().exists(), "it has a data folder of its own");
}

#[tokio::test]
async fn the_agents_of_the_tour_stay_until_ctrl_c_when_asked_to() {
    let convoke = Convoke::default();
    let mut process = convoke.start(["demo", "--keep"]);
    let line = process.until("http://").await;
    let url = line.split_whitespace().last().expect("an address").to_owned();
    process.until("keep listening").await;
    let _card = convoke.run(["card", "show", &url]).await.exits(0);
    process.interrupt();
    let _done = process.end().await.exits(0);
    let _gone = convoke.run(["card", "show", &url]).await.exits(3);
}
