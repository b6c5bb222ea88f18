//! Workflows by name: every one of them is a skill of ours.

use std::{collections::BTreeMap, sync::Arc};

use document::{Diagnostic, Problems, nearest};
use planner::Workflow;

/// Workflows, as they were when their files were read.
#[derive(Debug, Default)]
pub struct Workflows {
    by_name: BTreeMap<String, Arc<Workflow>>,
    /// Files that are not used as they are now, with everything that is wrong with them.
    pub broken: Vec<Problems>,
    /// Why the folder they come from could not be read again.
    pub unreadable: Option<String>,
}

impl Workflows {
    /// Adds a workflow.
    ///
    /// # Errors
    /// When there is one of that name.
    pub fn add(&mut self, workflow: Workflow) -> Result<(), Problems> {
        self.share(Arc::new(workflow))
    }

    /// As [`Workflows::add`], for a workflow that others hold as well.
    pub(crate) fn share(&mut self, workflow: Arc<Workflow>) -> Result<(), Problems> {
        if let Some(other) = self.by_name.get(&workflow.name) {
            let message =
                format!("the name `{}` is taken by {}", workflow.name, other.source.name());
            let help = "give one of them another `name`";
            let problem = Diagnostic::error("workflow::name-taken", message).help(help);
            return Err(Problems::one(workflow.source.clone(), problem));
        }
        self.by_name.insert(workflow.name.clone(), workflow);
        Ok(())
    }

    /// Has each carry along the workflows that its steps are. One of which that is not there, or does not take what it is
    /// given, is left out, and said to be broken.
    pub(crate) fn link(&mut self, max_depth: usize) {
        let all = self.by_name.clone();
        for (name, workflow) in &all {
            match planner::link(workflow, &all, max_depth) {
                Ok(linked) => _ = self.by_name.insert(name.clone(), linked),
                Err(diagnostics) => {
                    self.by_name.remove(name);
                    let source_file = workflow.source.clone();
                    self.broken.push(Problems { source_file, diagnostics });
                }
            }
        }
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Workflow>> {
        self.by_name.values()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The workflow of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Workflow>> {
        self.by_name.get(name)
    }

    /// The workflow, if there is just one.
    pub(crate) fn only(&self) -> Option<&Arc<Workflow>> {
        self.iter().next().filter(|_| self.len() == 1)
    }

    /// Those whose names are wanted.
    pub(crate) fn of_names(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let all = self.by_name.iter().filter(|(name, _)| is_wanted(name));
        let by_name = all.map(|(name, workflow)| (name.clone(), Arc::clone(workflow))).collect();
        Self { by_name, ..Self::default() }
    }

    /// What to say to somebody who named one that is not there.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let names = || self.by_name.keys().map(String::as_str);
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.is_empty() => "this server has none".to_owned(),
            None => format!("there are: {}", names().collect::<Vec<_>>().join(", ")),
        };
        format!("there is no workflow `{name}`; {hint}")
    }
}
