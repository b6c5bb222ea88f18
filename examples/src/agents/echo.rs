//! Answers with what it was sent.

use async_trait::async_trait;
use protocol::v1::{Message, Part};

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// Artifact `echo`: the texts as one text Part, then every other Part as it came.
pub(super) struct Echo {
    /// Answers with a Message instead of a Task.
    pub(super) direct: bool,
}

#[async_trait]
impl Agent for Echo {
    fn profile(&self) -> Profile {
        let skills = [
            ("echo", "Echo", "Says what it is told."),
            ("research", "Research", "Finds out what it is told."),
            ("writing", "Writing", "Writes down what it is told."),
        ];
        let skills = skills.map(|(id, name, description)| skill(id, name, description, &[id]));
        Profile {
            name: "echo",
            description: "Answers with the texts and data it is sent.",
            skills: skills.into(),
        }
    }

    fn direct_answer(&self, message: &Message) -> Option<Vec<Part>> {
        self.direct.then(|| echo(message))
    }

    async fn work(&self, work: &Work) -> Ending {
        work.artifact("echo", echo(&work.message));
        Ending::Completed
    }
}

/// The Parts without their metadata, all texts joined in front.
pub(super) fn echo(message: &Message) -> Vec<Part> {
    let (texts, others): (Vec<&Part>, Vec<&Part>) =
        message.parts.iter().partition(|part| part.as_text().is_some());
    let text = (!texts.is_empty()).then(|| Part::text(message.text()));
    let others = others.into_iter().cloned().map(|part| Part { metadata: None, ..part });
    text.into_iter().chain(others).collect()
}
