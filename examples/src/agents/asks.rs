//! Asks before it works.

use async_trait::async_trait;
use protocol::v1::Part;
use serde_json::json;

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// What it asks, one question a turn.
const QUESTIONS: [&str; 3] = ["What should it say?", "To whom?", "Shall it be sent? (yes or no)"];

/// Asks so many of its questions, each in a turn of its own, and answers with all answers.
pub(super) struct Asks {
    pub(super) turns: u32,
}

#[async_trait]
impl Agent for Asks {
    fn profile(&self) -> Profile {
        Profile {
            name: "asks",
            description: "Prepares a notice, and asks for what it needs to know.",
            skills: vec![skill(
                "notice",
                "Prepare a notice",
                "Asks what to say, to whom, and whether to send it; then gives back the notice.",
                &["notice", "approval", "questions"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let mut answers = Vec::new();
        for turn in 0..self.turns {
            let question = QUESTIONS[turn as usize % QUESTIONS.len()];
            answers.push(work.ask(question).await.text());
        }
        if answers.last().is_some_and(|answer| answer.trim().eq_ignore_ascii_case("no")) {
            return Ending::Rejected("The notice was not approved.".to_owned());
        }
        let notice = format!("{} [{}]", work.text(), answers.join(" | "));
        work.artifact("notice", vec![Part::text(notice), Part::data(json!({"answers": answers}))]);
        Ending::Completed
    }
}
