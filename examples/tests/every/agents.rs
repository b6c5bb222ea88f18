//! What each agent answers.

use std::time::{Duration, Instant};

use examples::{Kind, Options};
use protocol::v1::{CancelTaskRequest, Message, Part, TaskState, send_message_response::Payload};
use serde_json::json;

use crate::asking::{PATIENCE, all, artifact_data, artifact_text, start, text};

#[tokio::test]
async fn a_flight_is_booked_for_the_day_the_text_names() {
    let flights = start(Kind::Flights, Options::default()).await;
    let task = flights.task(text("Fly me to Helsinki on 2027-05-28.")).await;
    let data = artifact_data(&task, "flight");
    assert_eq!(data["arrival_date"], "2027-05-28");
    assert_eq!(data["departure_date"], "2027-06-04");
    let number = data["flight_number"].as_str().expect("a number");
    let ticket = format!("Flight {number}, arriving 2027-05-28, flying back 2027-06-04.");
    assert_eq!(artifact_text(&task, "ticket"), ticket);
}

#[tokio::test]
async fn the_same_text_books_the_same_flight_and_another_text_another_one() {
    let flights = start(Kind::Flights, Options::default()).await;
    let mut numbers = Vec::new();
    for words in ["To Helsinki.", "To Helsinki.", "To Turku."] {
        let task = flights.task(text(words)).await;
        numbers.push(artifact_data(&task, "flight")["flight_number"].clone());
    }
    assert_eq!(numbers[0], numbers[1]);
    assert_ne!(numbers[0], numbers[2]);
}

#[tokio::test]
async fn a_room_is_booked_for_the_days_of_the_flight_in_the_message() {
    let hotels = start(Kind::Hotels, Options::default()).await;
    let flight = json!({"arrival_date": "2027-05-28", "departure_date": "2027-06-04"});
    let parts = vec![Part::text("Book a hotel."), Part::data(flight)];
    let task = hotels.task(Message::user(parts)).await;
    let reservation = artifact_data(&task, "reservation");
    assert_eq!(reservation["check_in"], "2027-05-28");
    assert_eq!(reservation["check_out"], "2027-06-04");
    let number = reservation["reservation"].as_str().expect("a number");
    assert!(artifact_text(&task, "confirmation").contains(number));
}

#[tokio::test]
async fn a_spa_is_added_to_the_reservation_of_the_task_the_message_refers_to() {
    let hotels = start(Kind::Hotels, Options::default()).await;
    let room = hotels.task(text("Book a hotel.")).await;
    let number = artifact_data(&room, "reservation")["reservation"].clone();
    let mut message = Message::user(vec![Part::text("Add a spa reservation.")]);
    message.reference_task_ids = vec!["elsewhere".to_owned(), room.id];
    let spa = hotels.task(message).await;
    assert_eq!(artifact_data(&spa, "spa")["reservation"], number);
    let number = number.as_str().expect("a number");
    assert!(artifact_text(&spa, "spa").contains(number));
}

#[tokio::test]
async fn a_spa_without_an_earlier_reservation_is_rejected() {
    let hotels = start(Kind::Hotels, Options::default()).await;
    let task = hotels.task(text("Add a spa reservation.")).await;
    assert_eq!(task.state(), TaskState::Rejected);
    let said = task.status_text().expect("it says why");
    assert!(said.contains("referenceTaskIds"), "{said}");
}

#[tokio::test]
async fn an_activity_is_booked_for_the_day_in_the_text_and_answered_as_data_alone() {
    let activities = start(Kind::Activities, Options::default()).await;
    let task = activities.task(text("A snowmobile tour on 2027-03-06")).await;
    let activity = artifact_data(&task, "activity");
    assert_eq!(activity["title"], "Snowmobile safari");
    assert_eq!(activity["date"], "2027-03-06");
    assert_eq!(artifact_text(&task, "activity"), "");
}

#[tokio::test]
async fn an_activity_without_a_day_is_rejected() {
    let activities = start(Kind::Activities, Options::default()).await;
    let task = activities.task(text("A snowmobile tour")).await;
    assert_eq!(task.state(), TaskState::Rejected);
    assert!(task.status_text().expect("it says why").contains("YYYY-MM-DD"));
}

#[tokio::test]
async fn travel_agents_show_their_progress_over_the_pace() {
    let pace = Duration::from_millis(90);
    for (kind, words) in [
        (Kind::Flights, "To Helsinki."),
        (Kind::Hotels, "A room."),
        (Kind::Activities, "A walk on 2027-03-06."),
    ] {
        let options = Options { pace: Some(pace), ..Options::default() };
        let agent = start(kind, options).await;
        let started = Instant::now();
        let events = all(agent.stream(text(words)).await).await;
        assert!(started.elapsed() >= pace, "{kind:?}");
        let working = events.iter();
        let working = working.filter(|event| event.state() == Some(TaskState::Working));
        assert_eq!(working.count(), 3, "{kind:?}");
    }
}

#[tokio::test]
async fn echo_answers_with_texts_and_data() {
    let echo = start(Kind::Echo, Options::default()).await;
    let parts = vec![Part::text("one"), Part::data(json!({"n": 1})), Part::text("two")];
    let task = echo.task(Message::user(parts)).await;
    assert_eq!(artifact_text(&task, "echo"), "one\ntwo");
    assert_eq!(artifact_data(&task, "echo"), json!({"n": 1}));
}

#[tokio::test]
async fn echo_answers_with_a_message_when_told_to() {
    let options = Options { direct: true, ..Options::default() };
    let echo = start(Kind::Echo, options).await;
    let answer = echo.client.send_message(text("hello"), PATIENCE).await;
    let Some(Payload::Message(message)) = answer.expect("an answer").payload else {
        panic!("a Message was expected");
    };
    assert_eq!(message.text(), "hello");
    let events = all(echo.stream(text("hello")).await).await;
    assert_eq!(events.len(), 1);
    assert!(events[0].ends_stream());
}

#[tokio::test]
async fn slow_works_as_long_as_the_text_or_else_its_setting_says() {
    let options = Options { delay: Duration::from_millis(120), ..Options::default() };
    let slow = start(Kind::Slow, options).await;
    for (words, delay) in [("for 60ms", 60), ("a while", 120)] {
        let started = Instant::now();
        let task = slow.task(text(words)).await;
        assert!(started.elapsed() >= Duration::from_millis(delay), "{words}");
        assert_eq!(artifact_text(&task, "result"), words);
    }
}

#[tokio::test]
async fn slow_can_be_canceled_once() {
    let slow = start(Kind::Slow, Options::default()).await;
    let task = slow.begun(text("for 600s")).await;
    let stream = slow.subscribe(&task.id).await.expect("a stream");
    let cancel = CancelTaskRequest { id: task.id, ..CancelTaskRequest::default() };
    let canceled = slow.client.cancel_task(cancel.clone(), PATIENCE).await;
    assert_eq!(canceled.expect("a Task").state(), TaskState::Canceled);
    let last = all(stream).await.pop().expect("an event");
    assert_eq!(last.state(), Some(TaskState::Canceled));
    let again = slow.client.cancel_task(cancel, PATIENCE).await;
    let kind = again.expect_err("it is canceled already").kind;
    assert_eq!(kind, Some(protocol::error::ErrorKind::TaskNotCancelable));
}

#[tokio::test]
async fn chunks_streams_as_many_pieces_as_asked_and_keeps_one_artifact() {
    let options = Options { chunks: 4, ..Options::default() };
    let chunks = start(Kind::Chunks, options).await;
    for (words, expected) in [("count to 3", "1 2 3 "), ("count", "1 2 3 4 ")] {
        let events = all(chunks.stream(text(words)).await).await;
        let pieces = events.iter().filter(|event| event.state().is_none());
        assert_eq!(pieces.count(), expected.len() / 2, "{words}");
        let task = chunks.get(events[0].task_id()).await;
        assert_eq!(task.artifacts.len(), 1);
        assert_eq!(artifact_text(&task, "pieces"), expected);
    }
    let too_many = chunks.task(text("count to 100001")).await;
    assert_eq!(too_many.state(), TaskState::Rejected);
}

#[tokio::test]
async fn a_draft_becomes_better_with_each_turn() {
    let writer = start(Kind::Writer, Options::default()).await;
    let mut words = "Draft a notice";
    let mut before = Vec::new();
    let mut scores = Vec::new();
    for turn in 1..=4 {
        let mut message = Message::user(vec![Part::text(words)]);
        message.reference_task_ids = before;
        let task = writer.task(message).await;
        let data = artifact_data(&task, "draft");
        assert_eq!(data["version"], turn);
        scores.push(data["score"].clone());
        (words, before) = ("Improve a notice: name a source", vec![task.id]);
    }
    assert_eq!(scores, [5, 7, 9, 10].map(serde_json::Value::from));
}

#[tokio::test]
async fn a_writer_reviews_translates_and_sums_up() {
    let writer = start(Kind::Writer, Options::default()).await;
    let parts = ["Review this.", "All is well. TODO: dates."].map(Part::text);
    let review = writer.task(Message::user(parts.into())).await;
    assert_eq!(artifact_text(&review, "review"), "unfinished: TODO: dates");
    let translated = writer.task(text("Translate into German: Closed.")).await;
    assert_eq!(artifact_text(&translated, "translation"), "[German] Closed.");
    let refused = writer.task(text("Translate this")).await;
    assert_eq!(refused.state(), TaskState::Rejected);
    let parts = ["Report", "one\nfinding", "another"].map(Part::text);
    let summary = writer.task(Message::user(parts.into())).await;
    assert_eq!(artifact_text(&summary, "summary"), "Report\n- one finding\n- another");
}

#[tokio::test]
async fn an_extractor_is_complete_once_it_was_asked_often_enough() {
    let extractor = start(Kind::Extractor, Options { failures: 1, ..Options::default() }).await;
    let invoice = "Vendor: Acme\nTotal: 12.5";
    let first = extractor.task(text(invoice)).await;
    assert_eq!(artifact_data(&first, "facts"), json!({"vendor": "Acme"}));
    let second = extractor.task(text(invoice)).await;
    assert_eq!(artifact_data(&second, "facts"), json!({"vendor": "Acme", "total": 12.5}));
}

#[tokio::test]
async fn a_specialist_refuses_what_a_generalist_takes() {
    let specialist = start(Kind::Specialist, Options::default()).await;
    let generalist = start(Kind::Generalist, Options::default()).await;
    let known = specialist.task(text("The database is slow")).await;
    let details = json!({"component": "database", "severity": 2});
    assert_eq!(artifact_data(&known, "diagnosis"), details);
    let unknown = "The website is down";
    assert_eq!(specialist.task(text(unknown)).await.state(), TaskState::Rejected);
    let taken = generalist.task(text(unknown)).await;
    let details = json!({"component": "unknown", "severity": 1});
    assert_eq!(artifact_data(&taken, "diagnosis"), details);
}

#[tokio::test]
async fn a_notifier_says_what_it_sent() {
    let notifier = start(Kind::Notifier, Options::default()).await;
    let task = notifier.task(text("Hello")).await;
    assert_eq!(artifact_text(&task, "notice"), "Sent: Hello");
}
