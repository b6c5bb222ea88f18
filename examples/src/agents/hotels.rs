//! Books hotels, and a spa for a reservation made earlier.

use async_trait::async_trait;
use protocol::v1::{Artifact, Part, Task};
use serde_json::json;

use super::booking;
use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

const RESERVATION: &str = "reservation";

/// Books a room; a Message that asks for a spa must refer to the Task that booked the room.
pub(super) struct Hotels;

#[async_trait]
impl Agent for Hotels {
    fn profile(&self) -> Profile {
        let hotel = skill(
            "book_hotel",
            "Book a hotel",
            "Books a room for the nights between the dates of a flight.",
            &["travel", "hotels", "booking"],
        );
        let spa = skill(
            "book_spa",
            "Book a spa",
            "Adds a spa visit to a reservation made here; the Message refers to its Task.",
            &["travel", "spa", "wellness"],
        );
        Profile {
            name: "hotels",
            description: "Books hotel rooms and what belongs to them.",
            skills: vec![hotel, spa],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let asks_for_spa = work.text().to_lowercase();
        let mut words = asks_for_spa.split(|letter: char| !letter.is_alphabetic());
        if words.any(|word| word == "spa") { book_spa(work).await } else { book_hotel(work).await }
    }
}

async fn book_hotel(work: &Work) -> Ending {
    let text = work.text();
    let day = |key: &str, other: &str| {
        let mut named = work.message.parts.iter().filter_map(|part| part.as_data()?[key].as_str());
        named.next().unwrap_or(other).to_owned()
    };
    let check_in = day("arrival_date", booking::ARRIVAL);
    let check_out = day("departure_date", booking::DEPARTURE);
    let reservation = booking::reference("HOTEL", &text);
    work.show(&["Looking for rooms", "Comparing prices", "Reserving a room"]).await;
    let confirmation = format!(
        "Room at the Hotel Kämp from {check_in} to {check_out}, reservation {reservation}."
    );
    let details = json!({
        "reservation": reservation,
        "hotel": "Hotel Kämp",
        "check_in": check_in,
        "check_out": check_out,
    });
    work.artifact("confirmation", vec![Part::text(confirmation)]);
    work.artifact(RESERVATION, vec![Part::data(details)]);
    Ending::Completed
}

async fn book_spa(work: &Work) -> Ending {
    let referenced = work.referenced();
    let Some(reservation) = referenced.iter().find_map(reservation) else {
        let text =
            "A spa belongs to a room: refer to the task that reserved one here (referenceTaskIds).";
        return Ending::Rejected(text.to_owned());
    };
    work.show(&["Finding the reservation", "Looking for a free hour", "Booking the spa"]).await;
    let text = format!("Spa visit at 17:00 added to reservation {reservation}.");
    let details = json!({"reservation": reservation, "spa": "Kämp Spa", "time": "17:00"});
    work.artifact("spa", vec![Part::text(text), Part::data(details)]);
    Ending::Completed
}

/// The reservation that an earlier Task made.
fn reservation(task: &Task) -> Option<String> {
    let mut artifacts = task.artifacts.iter();
    let artifact = artifacts.find(|artifact| artifact.name == RESERVATION);
    let details = artifact.and_then(Artifact::data)?;
    Some(details["reservation"].as_str()?.to_owned())
}
