//! From a workflow to a plan: fetch the cards of the agents that it names itself, then bind.

use std::{collections::BTreeMap, sync::Arc};

use document::Diagnostic;
use planner::{Lock, Plan, Workflow};
use registry::{Agent, Registry};
use store::AccountId;

/// Why a workflow cannot be run now.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Agents that the file names by URL have no card to be read; they may have one later.
    #[error("{}", .0.join("\n"))]
    Unreachable(Vec<String>),
    /// No approved agent fits a step.
    #[error("{}", said(.0))]
    NoAgent(Vec<Diagnostic>),
}

impl BindError {
    /// What a caller is told of it. Why no agent fits speaks of agents that only the directory's own account sees.
    pub(crate) fn told(&self, directory: &Registry, caller: &AccountId) -> String {
        match self {
            Self::NoAgent(problems) if caller != directory.account() => {
                tracing::info!(account = %caller, why = said(problems), "no agent fits what a caller asked for");
                "no agent that this server may call for you fits; its operator finds in the log why"
                    .to_owned()
            }
            _ => self.to_string(),
        }
    }
}

/// Binds a workflow against the directory and the agents that the file itself names.
///
/// # Errors
/// A [`BindError`] with everything that stands in the way.
pub async fn bind(registry: &Registry, workflow: &Arc<Workflow>) -> Result<Plan, BindError> {
    let fetched = fetched(registry, workflow).await?;
    planner::bind(Arc::clone(workflow), &registry.index(), &fetched).map_err(BindError::NoAgent)
}

/// Binds a workflow anew, whatever lock it has, and makes the lock of what was chosen; `file` is what the lock's file
/// will be called.
///
/// # Errors
/// As [`bind`].
pub async fn bind_and_lock(
    registry: &Registry,
    workflow: Workflow,
    file: &str,
) -> Result<(Plan, Lock), BindError> {
    let workflow = Arc::new(Workflow { lock: None, ..workflow });
    let fetched = fetched(registry, &workflow).await?;
    let index = registry.index();
    let plan = planner::bind(workflow, &index, &fetched).map_err(BindError::NoAgent)?;
    let lock = planner::lock(&plan, &index, &fetched, file);
    Ok((plan, lock))
}

/// The agents that the file itself names by their URL.
async fn fetched(
    registry: &Registry,
    workflow: &Workflow,
) -> Result<BTreeMap<String, Agent>, BindError> {
    let mut fetched = BTreeMap::new();
    let mut problems = Vec::new();
    for url in workflow.urls() {
        match registry.cards().agent(url, name_of(workflow, url)).await {
            Ok(agent) => {
                fetched.insert(url.to_owned(), agent);
            }
            Err(error) => problems.push(error.to_string()),
        }
    }
    if problems.is_empty() { Ok(fetched) } else { Err(BindError::Unreachable(problems)) }
}

/// The name under which a workflow knows the agent at a URL; the URL itself when it gives none.
fn name_of<'a>(workflow: &'a Workflow, url: &'a str) -> &'a str {
    workflow.agents.iter().find(|agent| agent.url == url).map_or(url, |agent| &agent.name)
}

/// Problems of a file for somebody who does not have the file.
fn said(problems: &[Diagnostic]) -> String {
    let line = |problem: &Diagnostic| match &problem.help {
        Some(help) => format!("{}: {}", problem.message, help.replace('\n', "; ")),
        None => problem.message.clone(),
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}
