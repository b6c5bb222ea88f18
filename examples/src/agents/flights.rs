//! Books flights.

use async_trait::async_trait;
use protocol::v1::Part;
use serde_json::json;

use super::booking;
use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// Books one flight a Message: there on the day the text names, and back.
pub(super) struct Flights;

#[async_trait]
impl Agent for Flights {
    fn profile(&self) -> Profile {
        Profile {
            name: "flights",
            description: "Books flights to anywhere and back.",
            skills: vec![skill(
                "book_flight",
                "Book a flight",
                "Finds a connection for a trip and books it; names flight number and dates.",
                &["travel", "flights", "booking"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text();
        let flight_number = format!("AY{}", 1000 + booking::number(&text, 1000));
        let arrival = booking::date(&text).unwrap_or_else(|| booking::ARRIVAL.to_owned());
        let departure = departure(&arrival);
        let booked = format!("Booking {flight_number}");
        work.show(&["Searching connections", "Comparing fares", &booked]).await;
        let ticket =
            format!("Flight {flight_number}, arriving {arrival}, flying back {departure}.");
        let flight = json!({
            "flight_number": flight_number,
            "arrival_date": arrival,
            "departure_date": departure,
        });
        work.artifact("ticket", vec![Part::text(ticket)]);
        work.artifact("flight", vec![Part::data(flight)]);
        Ending::Completed
    }
}

/// A week later.
fn departure(arrival: &str) -> String {
    let week = jiff::Span::new().days(7);
    let date: Result<jiff::civil::Date, _> = arrival.parse();
    date.and_then(|date| date.checked_add(week))
        .map_or_else(|_| booking::DEPARTURE.to_owned(), |date| date.to_string())
}
