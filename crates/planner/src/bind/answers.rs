//! Whether a bound agent may give what its step accepts and expects, by its card.

use document::Diagnostic;
use registry::Agent;

use super::{Asking, Binder, Problem};
use crate::criteria::{Criteria, holds};
use crate::expect::JSON;
use crate::plan::Binding;
use crate::step::Selector;

impl Binder<'_> {
    /// Refuses an agent that was not chosen by what it gives, and gives nothing of what is accepted; warns of one that
    /// gives no data where some is expected.
    pub(super) fn may_answer(
        &mut self,
        asking: &Asking<'_>,
        selector: &Selector,
        binding: &Binding,
    ) -> bool {
        let Some(agent) = self.bound(binding) else { return true };
        let card = agent.card.clone();
        let asked = Criteria { accept: asking.step.asks.accept.clone(), ..Criteria::default() };
        if let Some(why) = asked.gives_nothing_accepted(&card) {
            let message = format!("`{}` {why}", binding.agent);
            let help = "accept what it gives, or let another agent do the step".to_owned();
            self.no_agent(asking, &asked.to_string(), &Problem::new(message, help));
            return false;
        }
        let skill = match selector {
            Selector::Match(asked) => asked.skill.clone(),
            Selector::Url(_) | Selector::SameAs(_) => None,
        };
        let asked = Criteria { skill, ..Criteria::default() };
        let given = asked.gives(&card);
        let gives_data = given.is_empty() || given.iter().any(|own| holds(own, JSON));
        if asking.step.asks.expect.is_some() && !gives_data {
            let given: Vec<String> = given.iter().map(|own| format!("`{own}`")).collect();
            let agent = &binding.agent;
            let message = format!(
                "{asking} expects data, and `{agent}` does not say that it gives any, only {}",
                given.join(", ")
            );
            let warning = Diagnostic::warning("plan::no-data", message).at(asking.span, "");
            self.warnings.push(
                warning.help("select an agent by `output_modes: [application/json]`, or try it"),
            );
        }
        true
    }

    /// The agent of a binding.
    fn bound(&self, binding: &Binding) -> Option<&Agent> {
        let is_it = |agent: &&Agent| agent.digest == binding.digest;
        let inline = self.inline.iter().map(|agent| &**agent);
        let known = self.index.by_name(&binding.agent).into_iter().map(|agent| &**agent);
        inline.chain(known).chain(self.fetched.values()).find(is_it)
    }
}
