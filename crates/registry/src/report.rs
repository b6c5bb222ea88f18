use std::fmt;

use document::Severity;

use crate::{Curation, Finding};

/// Says what became of every agent of a file or an address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Whether nothing was written because only the outcome was asked for.
    pub is_dry_run: bool,
    /// The agents, in the order of their names.
    pub agents: Vec<Applied>,
}

/// Says what became of one agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// Its name; of one that failed before it had one, where its card should have been.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// How it stands now; none for one that failed or is gone.
    pub standing: Option<Curation>,
    /// What its card should be better at.
    pub findings: Vec<Finding>,
}

/// Says what became of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was not known before.
    Added,
    /// It was known; these things are different now.
    Changed(Vec<String>),
    /// It was known exactly so.
    Unchanged,
    /// Its catalog no longer lists it.
    Removed,
    /// It was left as it was, for this reason.
    Failed(String),
}

impl Outcome {
    /// The outcome in one word, the same for every program that reads it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed(_) => "changed",
            Self::Unchanged => "unchanged",
            Self::Removed => "removed",
            Self::Failed(_) => "failed",
        }
    }
}

impl Report {
    /// How many agents had an outcome of this word: added, changed, unchanged, removed or failed.
    #[must_use]
    pub fn count(&self, word: &str) -> usize {
        self.agents.iter().filter(|agent| agent.outcome.word() == word).count()
    }

    /// Whether every agent could be taken in.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.count("failed") == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for agent in &self.agents {
            writeln!(f, "{agent}")?;
        }
        let counted: Vec<String> = ["added", "changed", "unchanged", "removed", "failed"]
            .iter()
            .map(|word| (word, self.count(word)))
            .filter(|(word, count)| *count > 0 || **word != "failed")
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let dry = if self.is_dry_run { " (nothing was written)" } else { "" };
        write!(f, "{}{dry}", counted.join(", "))
    }
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<9} {}", self.outcome.word(), self.name)?;
        match (&self.outcome, self.standing) {
            (Outcome::Changed(what), Some(standing)) => {
                write!(f, " ({}; {standing})", what.join(", "))
            }
            (Outcome::Failed(why), _) => write!(f, ": {}", why.replace('\n', "\n          ")),
            (_, Some(standing)) => write!(f, " ({standing})"),
            (_, None) => Ok(()),
        }?;
        let errors = self.findings.iter().filter(|finding| finding.severity == Severity::Error);
        for finding in
            errors.chain(self.findings.iter().filter(|it| it.severity != Severity::Error))
        {
            write!(f, "\n          {finding}")?;
        }
        Ok(())
    }
}
