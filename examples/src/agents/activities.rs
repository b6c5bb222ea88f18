//! Books something to do.

use async_trait::async_trait;
use protocol::v1::Part;
use serde_json::json;

use super::booking;
use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// Words of a text and what they stand for.
const OFFERS: [(&str, &str); 4] = [
    ("snowmobile", "Snowmobile safari"),
    ("husky", "Husky ride"),
    ("sauna", "Smoke sauna evening"),
    ("museum", "Guided museum visit"),
];

/// Books for the day the text names, and answers with data only.
pub(super) struct Activities;

#[async_trait]
impl Agent for Activities {
    fn profile(&self) -> Profile {
        Profile {
            name: "activities",
            description: "Books tours, rides and visits for a day.",
            skills: vec![skill(
                "book_activity",
                "Book an activity",
                "Books something to do; the text names the day as YYYY-MM-DD.",
                &["travel", "activities", "tours"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text();
        let Some(date) = booking::date(&text) else {
            let text = "Name the day as YYYY-MM-DD in the text, for example 2027-03-06.";
            return Ending::Rejected(text.to_owned());
        };
        let lower = text.to_lowercase();
        let offer = OFFERS.iter().find(|(word, _)| lower.contains(word));
        let title = offer.map_or("Guided city walk", |(_, title)| title);
        work.show(&["Asking guides", "Checking the weather", "Booking places"]).await;
        let activity = json!({
            "title": title,
            "date": date,
            "meeting_point": "Senate Square, 09:00",
            "booking": booking::reference("TOUR", &text),
        });
        work.artifact("activity", vec![Part::data(activity)]);
        Ending::Completed
    }
}
