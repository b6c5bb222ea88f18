//! Which of an agent's interfaces is called first.

use dashmap::DashMap;
use planner::Binding;
use protocol::{
    client::{Interface, NoInterface, Peer},
    limits::ClientLimits,
    outbound::Outbound,
};

use crate::run::{Intent, RemoteTask};

/// What worked, by the name of the agent. Holds those alone that were called otherwise than their card prefers.
/// In memory: after a restart the card's order counts again.
#[derive(Debug, Default)]
pub(crate) struct Interfaces {
    worked: DashMap<String, Interface>,
}

impl Interfaces {
    /// The interface to be called first and those behind it: what worked last, then the card's order.
    pub(crate) fn order(&self, binding: &Binding) -> (Interface, Vec<Interface>) {
        let worked = self.worked.get(&binding.agent);
        // A card may have changed since, and another agent may have taken the name over.
        let all = || [&binding.interface].into_iter().chain(&binding.fallbacks);
        let first = match worked.filter(|it| all().any(|listed| listed.is_at(it))) {
            Some(worked) => worked.clone(),
            None => binding.interface.clone(),
        };
        let others = all().filter(|other| **other != first).cloned().collect();
        (first, others)
    }

    /// Remembers the interface that took a Message.
    pub(crate) fn note(&self, intent: &Intent, worked: &Interface) {
        let is_known = self.worked.get(&intent.agent).is_some_and(|known| *known == *worked);
        let is_news = *worked != intent.interface || self.worked.contains_key(&intent.agent);
        if is_news && !is_known {
            self.worked.insert(intent.agent.clone(), worked.clone());
        }
    }
}

/// An agent by its interfaces: for a Task the one that made it comes first, and only those where it can be found
/// follow, since a tenant knows its own Tasks alone (A2A §4.4.6).
///
/// # Errors
/// Says why each of them cannot be called.
pub(crate) fn peer(
    outbound: &Outbound,
    intent: &Intent,
    task: Option<&RemoteTask>,
    limits: ClientLimits,
) -> Result<Peer, NoInterface> {
    let first = task.and_then(|task| task.interface.as_deref()).unwrap_or(&intent.interface);
    let all = [&intent.interface].into_iter().chain(&intent.fallbacks);
    let others =
        all.filter(|other| *other != first && (task.is_none() || other.tenant == first.tenant));
    let interfaces = [first].into_iter().chain(others).cloned().collect();
    Peer::new(outbound, interfaces, limits)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::{card::Binding as Kind, outbound::Policy};
    use registry::CardDigest;
    use serde_json::json;

    use super::*;
    use crate::body::{Body, Json};

    fn at(url: &str, tenant: &str) -> Interface {
        let (tenant, version) = (tenant.to_owned(), "1.0".to_owned());
        Interface { url: url.to_owned(), binding: Kind::JsonRpc, tenant, version }
    }

    fn binding(agent: &str, urls: [&str; 3]) -> Binding {
        let [first, others @ ..] = urls.map(|url| at(url, ""));
        Binding {
            agent: agent.to_owned(),
            digest: CardDigest::of(&json!({})),
            interface: first,
            fallbacks: others.into(),
            streaming: true,
            push: false,
            lost: Arc::from([]),
        }
    }

    fn intent(interface: Interface, fallbacks: Vec<Interface>) -> Intent {
        Intent {
            message_id: "m".to_owned(),
            agent: "x".to_owned(),
            interface,
            fallbacks,
            streaming: true,
            message: Body::Inline(Json::of(&"m").unwrap()),
            callback: None,
            is_sub_run: false,
        }
    }

    fn shown((first, others): (Interface, Vec<Interface>)) -> Vec<String> {
        [first].into_iter().chain(others).map(|it| it.url).collect()
    }

    #[test]
    fn one_agent_is_known_by_an_interface_and_not_by_its_name() {
        let one = binding("x", ["a", "b", "c"]);
        assert!(one.is_same_agent(&binding("y", ["d", "c", "e"])));
        assert!(!one.is_same_agent(&binding("x", ["d", "e", "f"])));
        let tenant = Binding { interface: at("a", "t"), ..binding("x", ["a", "d", "e"]) };
        assert!(!one.is_same_agent(&tenant), "a tenant is an agent of its own");
    }

    #[test]
    fn what_worked_goes_first_and_the_cards_order_behind_it() {
        let known = Interfaces::default();
        let three = binding("x", ["a", "b", "c"]);
        assert_eq!(shown(known.order(&three)), ["a", "b", "c"]);
        let (first, others) = known.order(&three);
        let sent = intent(first.clone(), others);
        known.note(&sent, &first);
        assert!(known.worked.is_empty(), "the card's choice needs no memory");
        known.note(&sent, &at("c", ""));
        assert_eq!(shown(known.order(&three)), ["c", "a", "b"]);
        known.note(&sent, &first);
        assert_eq!(shown(known.order(&three)), ["a", "b", "c"]);
    }

    #[test]
    fn what_worked_for_another_agent_or_an_older_card_is_not_called() {
        let known = Interfaces::default();
        known.note(&intent(at("a", ""), vec![at("b", "")]), &at("b", ""));
        assert_eq!(shown(known.order(&binding("y", ["a", "b", "c"]))), ["a", "b", "c"]);
        assert_eq!(shown(known.order(&binding("x", ["k", "l", "m"]))), ["k", "l", "m"]);
    }

    #[test]
    fn a_version_that_worked_goes_before_the_one_on_the_card() {
        let known = Interfaces::default();
        let three = binding("x", ["a", "b", "c"]);
        let older = Interface { version: "0.3".to_owned(), ..at("b", "") };
        let (first, others) = known.order(&three);
        known.note(&intent(first, others), &older);
        let (first, others) = known.order(&three);
        assert_eq!(first, older);
        assert_eq!(shown((first, others)), ["b", "a", "b", "c"]);
        let elsewhere = Interface { tenant: "t".to_owned(), ..older };
        known.note(&intent(at("a", ""), Vec::new()), &elsewhere);
        assert_eq!(shown(known.order(&three)), ["a", "b", "c"], "another tenant is another agent");
    }

    fn called(intent: &Intent, task: Option<&RemoteTask>) -> Vec<String> {
        let outbound = Outbound::new(Policy::loopback()).unwrap();
        let peer = peer(&outbound, intent, task, ClientLimits::default()).unwrap();
        peer.interfaces().map(|it| format!("{}{}", it.url, it.tenant)).collect()
    }

    #[test]
    fn a_task_is_looked_for_where_it_was_made_and_never_under_another_tenant() {
        let [a, b, c] = [("http://a.test/", ""), ("http://b.test/", "t"), ("http://c.test/", "")]
            .map(|(url, tenant)| at(url, tenant));
        let sent = intent(a, vec![b, c.clone()]);
        assert_eq!(called(&sent, None), ["http://a.test/", "http://b.test/t", "http://c.test/"]);
        let task = |interface| RemoteTask {
            task_id: "t".to_owned(),
            context_id: String::new(),
            interface,
        };
        assert_eq!(called(&sent, Some(&task(None))), ["http://a.test/", "http://c.test/"]);
        let elsewhere = task(Some(Box::new(c)));
        assert_eq!(called(&sent, Some(&elsewhere)), ["http://c.test/", "http://a.test/"]);
    }

    #[test]
    fn an_agent_none_of_whose_interfaces_can_be_called_says_why_of_each() {
        let outbound = Outbound::new(Policy::loopback()).unwrap();
        let old = Interface { version: "0.9".to_owned(), ..at("http://a.test/", "") };
        let sent = intent(old, vec![at("ftp://b.test/", "")]);
        let why = peer(&outbound, &sent, None, ClientLimits::default()).unwrap_err();
        insta::assert_snapshot!(why, @r#"none of the agent's interfaces can be called: http://a.test/ speaks version "0.9" of A2A by JSONRPC, which is not spoken here; choose another interface of the agent, such as one of 1.0; ftp://b.test/ is not a URL that can be called: its scheme is ftp, not http or https"#);
    }

    #[test]
    fn what_older_journals_hold_is_read_and_an_agent_of_one_interface_is_written_so() {
        let sent = intent(at("http://a.test/", ""), Vec::new());
        let written = serde_json::to_value(&sent).unwrap();
        let names: Vec<&String> = written.as_object().unwrap().keys().collect();
        assert_eq!(names, ["agent", "interface", "message", "message_id", "streaming"]);
        assert_eq!(serde_json::from_value::<Intent>(written).unwrap(), sent);
        let old = json!({"task_id": "t", "context_id": "c"});
        let task: RemoteTask = serde_json::from_value(old.clone()).unwrap();
        assert_eq!(task.interface, None);
        assert_eq!(serde_json::to_value(&task).unwrap(), old);
    }
}
