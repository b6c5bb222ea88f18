//! Messages.

use uuid::Uuid;

use crate::v1::{Message, Part, Role};

impl Message {
    fn of(role: Role, parts: Vec<Part>) -> Self {
        Self { message_id: Uuid::new_v4().to_string(), role: role.into(), parts, ..Self::default() }
    }

    /// Creates a client's Message under a random id.
    pub fn user(parts: Vec<Part>) -> Self {
        Self::of(Role::User, parts)
    }

    /// Creates an agent's Message under a random id.
    pub fn agent(parts: Vec<Part>) -> Self {
        Self::of(Role::Agent, parts)
    }

    /// Replaces the random id: a Message that is sent again has to keep its own.
    #[must_use]
    pub fn with_id(mut self, message_id: impl Into<String>) -> Self {
        self.message_id = message_id.into();
        self
    }

    /// Sets the conversation.
    #[must_use]
    pub fn with_context(mut self, context_id: impl Into<String>) -> Self {
        self.context_id = context_id.into();
        self
    }

    /// Sets the Task that the Message continues.
    #[must_use]
    pub fn with_task(mut self, task_id: impl Into<String>) -> Self {
        self.task_id = task_id.into();
        self
    }

    /// Returns its text Parts, each from a new line on. Empty when there are none.
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }
}
