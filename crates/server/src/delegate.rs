//! Messages that are for an agent of the directory rather than for a workflow: they become a relay, a run of one step
//! whose agent gets the Message and whose Task is shown as the agent's is.

use std::sync::Arc;

use document::Source;
use planner::Workflow;
use protocol::{
    error::Error,
    model::metadata,
    v1::{AgentSkill, Message, SendMessageRequest},
};
use registry::{Curation, Facet, Filter, Index, Query};
use serde_json::{Value, json};

use crate::skills::{named, stated};

/// The id of the skill, and the name of the workflow that a relay runs.
pub(crate) const NAME: &str = "delegate";

/// How long an agent may work on what is passed on to it: as long as a run may take.
const TIMEOUT: &str = "24h";

/// Whether Messages are passed on to agents of the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Delegation {
    /// Never.
    #[default]
    Off,
    /// Those that name the skill or an agent.
    Offered,
    /// Those, and to this agent every Message that names no workflow.
    To(String),
}

impl Delegation {
    /// The skill, if there is one.
    pub(crate) fn skill(&self) -> Option<AgentSkill> {
        (*self != Self::Off).then(|| AgentSkill {
            id: NAME.to_owned(),
            name: "Delegate".to_owned(),
            description: "Passes a Message on to the agent of the directory that suits it best, or that the Message \
                          names, and shows that agent's Task as its own."
                .to_owned(),
            tags: vec!["delegation".to_owned()],
            ..AgentSkill::default()
        })
    }

    /// The relay that a Message starts, if it is meant for an agent.
    ///
    /// # Errors
    /// When it is, and no agent can be told from it.
    pub(crate) fn meant(
        &self,
        index: &Index,
        tenant: &str,
        request: &SendMessageRequest,
    ) -> Result<Option<Arc<Workflow>>, Error> {
        let default = match self {
            Self::Off => return Ok(None),
            Self::Offered => None,
            Self::To(agent) => Some(agent),
        };
        if let Some((field, selector)) = stated(request, metadata::AGENT) {
            return relay(selector).map(Some).map_err(|why| Error::invalid_field(field, why));
        }
        let workflow = named(request, tenant).and_then(|(_, name)| name);
        let agent = match (workflow, default) {
            (Some(NAME), _) => {
                let text = request.message.as_ref().map(Message::text).unwrap_or_default();
                best(index, &text)?
            }
            (None, Some(agent)) => agent.clone(),
            _ => return Ok(None),
        };
        relay(&json!(agent)).map(Some).map_err(Error::internal)
    }
}

/// The agent that fits a text best, of those that may be called.
fn best(index: &Index, text: &str) -> Result<String, Error> {
    let may_be_called = Curation::ALL.into_iter().filter(|standing| standing.is_bindable());
    let any = may_be_called.map(|standing| standing.as_str().to_owned()).collect();
    let filters = vec![Filter { facet: Facet::State, any }];
    let query = Query { text: text.to_owned(), filters, limit: Some(1), ..Query::default() };
    let found = index.find(&query).hits.into_iter().next();
    found.map(|hit| hit.agent.name.clone()).ok_or_else(|| {
        let why = format!(
            "no approved agent of the directory has anything to do with this text; name one in metadata[{}]",
            metadata::AGENT
        );
        Error::invalid_field("message.parts", why)
    })
}

/// A workflow of one step that passes on what it is sent. Agents are those of the directory: a stranger's URL is not
/// called.
fn relay(selector: &Value) -> Result<Arc<Workflow>, String> {
    if selector.get("url").is_some() {
        return Err("names a URL; agents are named as the directory knows them".to_owned());
    }
    // Whether to try again is up to the client, who is told what the agent answers.
    let step = json!({ "agent": selector, "timeout": TIMEOUT, "retry": { "attempts": 1 } });
    let steps = json!({ NAME: step });
    // JSON is YAML.
    let file = json!({ "convoke": 1, "name": NAME, "timeout": TIMEOUT, "steps": steps });
    let checked = planner::check(&Source::new(NAME, &file.to_string()));
    checked.map(Arc::new).map_err(|problems| {
        let said: Vec<_> = problems.iter().map(|problem| problem.message.clone()).collect();
        format!("selects no agent: {}", said.join("; "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(metadata: &Value) -> SendMessageRequest {
        let stated = metadata.as_object().into_iter().flatten();
        let message = Message::user(Vec::new());
        stated.fold(message, |it, (key, value)| it.with_metadata(key, value.clone())).into()
    }

    fn selects(delegation: &Delegation, tenant: &str, metadata: &Value) -> String {
        let meant = delegation.meant(&Index::new([]), tenant, &request(metadata));
        match meant {
            Ok(Some(workflow)) => format!("{:?}", workflow.steps[0].selector),
            Ok(None) => "no agent".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_message_is_for_an_agent_when_it_says_so_or_names_no_workflow_where_one_gets_the_rest() {
        let to = Delegation::To("echo".to_owned());
        let named = json!({ metadata::WORKFLOW: "trip" });
        let tags = json!({ metadata::AGENT: { "tags": ["flights"] } });
        assert_eq!(selects(&Delegation::Off, "", &tags), "no agent");
        assert_eq!(selects(&Delegation::Offered, "", &json!({})), "no agent");
        assert_eq!(selects(&to, "", &named), "no agent");
        assert_eq!(selects(&to, "trip", &json!({})), "no agent");
        assert!(selects(&to, "", &json!({})).contains("echo"));
        for delegation in [&to, &Delegation::Offered] {
            assert!(selects(delegation, "", &tags).contains("flights"));
        }
    }

    #[test]
    fn what_selects_no_agent_is_refused_and_so_is_a_url() {
        let offered = Delegation::Offered;
        let url = json!({ metadata::AGENT: { "url": "http://10.0.0.1" } });
        assert!(selects(&offered, "", &url).contains("names a URL"));
        let unknown = json!({ metadata::AGENT: { "colour": "red" } });
        assert!(selects(&offered, "", &unknown).contains("selects no agent: "));
        assert!(selects(&offered, NAME, &json!({})).contains("no approved agent"));
    }
}
