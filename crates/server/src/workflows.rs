//! The folder of workflows: every one of them is a skill of ours.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use document::{Diagnostic, Limits, Problems, Source, nearest};
use planner::Workflow;

/// The workflows of a folder, as they were when it was read.
#[derive(Debug, Default)]
pub struct Workflows {
    by_name: BTreeMap<String, Arc<Workflow>>,
    /// Files that were left out, with everything that is wrong with them.
    pub broken: Vec<Problems>,
}

impl Workflows {
    /// Reads every `*.yaml` of a folder, in the order of the names. A file that is no workflow is left out and
    /// stands in [`Workflows::broken`]; so does one whose workflow has the name of an earlier one.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        paths.retain(|path| path.extension().is_some_and(|it| it == "yaml") && path.is_file());
        paths.sort();
        let mut workflows = Self::default();
        for path in paths {
            let added = load(&path).and_then(|workflow| workflows.add(workflow));
            workflows.broken.extend(added.err());
        }
        Ok(workflows)
    }

    /// Adds a workflow.
    ///
    /// # Errors
    /// When there is one of that name.
    pub fn add(&mut self, workflow: Workflow) -> Result<(), Problems> {
        if let Some(other) = self.by_name.get(&workflow.name) {
            let message =
                format!("the name `{}` is taken by {}", workflow.name, other.source.name());
            let help = "give one of them another `name`";
            let problem = Diagnostic::error("workflow::name-taken", message).help(help);
            return Err(Problems::one(workflow.source, problem));
        }
        self.by_name.insert(workflow.name.clone(), Arc::new(workflow));
        Ok(())
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

fn load(path: &Path) -> Result<Workflow, Problems> {
    let source_file = Source::read(path, &Limits::default())?;
    planner::check(&source_file).map_err(|diagnostics| Problems { source_file, diagnostics })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &str = "agents: {x: {url: \"http://127.0.0.1:1\"}}\nsteps: {a: {agent: x}}\n";

    #[test]
    fn a_broken_file_is_left_out_and_the_rest_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("a.yaml", format!("convoke: 1\nname: one\n{STEPS}"));
        write("b.yaml", "convoke: 1\nname: two\n".to_owned());
        write("c.yaml", format!("convoke: 1\nname: one\n{STEPS}"));
        write("d.txt", "no workflow".to_owned());
        let workflows = Workflows::read(folder.path()).unwrap();
        assert_eq!(workflows.len(), 1);
        assert!(workflows.only().unwrap().source.name().ends_with("a.yaml"));
        let broken: Vec<&str> = workflows
            .broken
            .iter()
            .map(|it| it.source_file.name().rsplit('/').next().unwrap())
            .collect();
        assert_eq!(broken, ["b.yaml", "c.yaml"]);
        assert!(workflows.broken[1].to_string().contains("the name `one` is taken by"));
        assert_eq!(workflows.unknown("ones"), "there is no workflow `ones`; did you mean `one`?");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        assert!(Workflows::read(Path::new("/there/is/no/such/folder")).is_err());
    }
}
