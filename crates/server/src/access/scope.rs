//! What credentials are good for.

use std::{collections::BTreeSet, fmt, str::FromStr};

use protocol::operation::Operation;
use serde::{Deserialize, Serialize};

const START: &str = "runs:start:";
const ANY: &str = "*";

/// One thing that credentials may be good for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Scope {
    /// `runs:start:WORKFLOW`, or `runs:start:*`: starting, answering and canceling runs of a workflow, or of any.
    StartRuns(String),
    /// `runs:read`: reading the Tasks of the account, and being told of them.
    ReadRuns,
    /// `agents:read`: reading the agent directory.
    ReadAgents,
    /// `agents:curate`: changing the agent directory.
    CurateAgents,
    /// `admin`: everything.
    Admin,
}

/// A text that is no scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no scope; there are runs:start:WORKFLOW (or runs:start:* for all of them), runs:read, agents:read, \
     agents:curate and admin"
)]
pub struct NotAScope(String);

/// All that credentials are good for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scopes(BTreeSet<Scope>);

/// What an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// What a Message is for: [`Scope::StartRuns`] of a workflow, or [`Scope::ReadAgents`]; that turns out later.
    Say,
    /// [`Scope::StartRuns`] of some workflow; of which, turns out later.
    Start,
    /// [`Scope::ReadRuns`].
    Read,
    /// Credentials are enough.
    Nothing,
}

/// The table of operations.
pub(super) fn need(operation: Operation) -> Need {
    use Operation as O;
    match operation {
        O::SendMessage | O::SendStreamingMessage => Need::Say,
        O::CancelTask => Need::Start,
        O::GetTask
        | O::ListTasks
        | O::SubscribeToTask
        | O::CreateTaskPushNotificationConfig
        | O::GetTaskPushNotificationConfig
        | O::ListTaskPushNotificationConfigs
        | O::DeleteTaskPushNotificationConfig => Need::Read,
        O::GetExtendedAgentCard => Need::Nothing,
    }
}

impl Scope {
    /// `runs:start:` of a workflow.
    pub(crate) fn start(workflow: &str) -> Self {
        Self::StartRuns(workflow.to_owned())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartRuns(workflow) => write!(f, "{START}{workflow}"),
            Self::ReadRuns => f.write_str("runs:read"),
            Self::ReadAgents => f.write_str("agents:read"),
            Self::CurateAgents => f.write_str("agents:curate"),
            Self::Admin => f.write_str("admin"),
        }
    }
}

impl FromStr for Scope {
    type Err = NotAScope;

    fn from_str(text: &str) -> Result<Self, NotAScope> {
        match (text, text.strip_prefix(START)) {
            (_, Some(workflow)) if !workflow.is_empty() => Ok(Self::start(workflow)),
            ("runs:read", _) => Ok(Self::ReadRuns),
            ("agents:read", _) => Ok(Self::ReadAgents),
            ("agents:curate", _) => Ok(Self::CurateAgents),
            ("admin", _) => Ok(Self::Admin),
            _ => Err(NotAScope(text.to_owned())),
        }
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

impl TryFrom<String> for Scope {
    type Error = NotAScope;

    fn try_from(text: String) -> Result<Self, NotAScope> {
        text.parse()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl Scopes {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Self::from_iter([Scope::Admin])
    }

    /// The scopes as they are written.
    pub fn iter(&self) -> impl Iterator<Item = &Scope> {
        self.0.iter()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this is among them.
    pub(crate) fn hold(&self, scope: &Scope) -> bool {
        self.0.contains(&Scope::Admin) || self.0.contains(scope)
    }

    /// Whether the agent directory may be read: who may change it may.
    pub(crate) fn read_agents(&self) -> bool {
        self.hold(&Scope::ReadAgents) || self.hold(&Scope::CurateAgents)
    }

    /// Whether runs of a workflow may be started.
    pub(crate) fn start(&self, workflow: &str) -> bool {
        self.hold(&Scope::start(workflow)) || self.0.contains(&Scope::start(ANY))
    }

    /// Whether runs of some workflow may be started.
    pub(crate) fn start_something(&self) -> bool {
        self.0.iter().any(|scope| matches!(scope, Scope::StartRuns(_) | Scope::Admin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(texts: &[&str]) -> Scopes {
        texts.iter().map(|text| text.parse::<Scope>().unwrap()).collect()
    }

    #[test]
    fn scopes_read_as_they_are_written() {
        for text in [
            "runs:start:trip",
            "runs:start:*",
            "runs:read",
            "agents:read",
            "agents:curate",
            "admin",
        ] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        for text in ["", "runs", "runs:start", "runs:start:", "runs:write", "ADMIN", "admin "] {
            assert_eq!(text.parse::<Scope>(), Err(NotAScope(text.to_owned())));
        }
    }

    #[test]
    fn a_scope_for_one_workflow_starts_that_one() {
        let (one, any, admin) =
            (scopes(&["runs:start:trip"]), scopes(&["runs:start:*"]), Scopes::all());
        let none = scopes(&["runs:read", "agents:read", "agents:curate"]);
        let may = |scopes: &Scopes| {
            (scopes.start("trip"), scopes.start("other"), scopes.start_something())
        };
        assert_eq!(may(&one), (true, false, true));
        assert_eq!(may(&any), (true, true, true));
        assert_eq!(may(&admin), (true, true, true));
        assert_eq!(may(&none), (false, false, false));
        assert!(none.read_agents() && admin.read_agents() && !any.read_agents());
        assert!(scopes(&["agents:read"]).read_agents());
        assert!(scopes(&["agents:curate"]).read_agents());
        assert!(
            !one.hold(&Scope::ReadRuns)
                && none.hold(&Scope::ReadRuns)
                && admin.hold(&Scope::ReadRuns)
        );
    }

    #[test]
    fn the_table_of_operations() {
        let rows = Operation::table().iter();
        let rows = rows.map(|row| format!("{:?} {}", need(row.operation), row.method));
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [
                "Say SendMessage",
                "Say SendStreamingMessage",
                "Read GetTask",
                "Read ListTasks",
                "Start CancelTask",
                "Read SubscribeToTask",
                "Read CreateTaskPushNotificationConfig",
                "Read GetTaskPushNotificationConfig",
                "Read ListTaskPushNotificationConfigs",
                "Read DeleteTaskPushNotificationConfig",
                "Nothing GetExtendedAgentCard",
            ]
        );
    }
}
