//! What every example agent is built on: Tasks in memory, their event logs, and the A2A service.

pub(crate) mod calls;
pub(crate) mod holds;
mod listing;
pub(crate) mod record;
pub(crate) mod service;
pub(crate) mod tasks;
pub(crate) mod work;

use async_trait::async_trait;
use protocol::v1::{AgentCard, AgentSkill, Message, Part};

use self::work::{Ending, Work};

/// What an agent says of itself on its card.
pub(crate) struct Profile {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) skills: Vec<AgentSkill>,
}

/// What an agent does with a Message. The harness does all the rest of A2A.
#[async_trait]
pub(crate) trait Agent: Send + Sync + 'static {
    fn profile(&self) -> Profile;

    /// The Parts of a direct answer, for an agent that makes no Task of this Message.
    fn direct_answer(&self, _message: &Message) -> Option<Vec<Part>> {
        None
    }

    /// Whether a Message that came before is not work once more.
    fn deduplicates(&self) -> bool {
        true
    }

    /// Signs the card, for an agent that does.
    fn sign(&self, _card: &mut AgentCard) {}

    /// Works on a Task until its end. Dropped when the Task is canceled or the agent shuts down.
    async fn work(&self, work: &Work) -> Ending;
}

/// A skill of an agent's card.
pub(crate) fn skill(id: &str, name: &str, description: &str, tags: &[&str]) -> AgentSkill {
    AgentSkill {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..AgentSkill::default()
    }
}
