use std::fmt;

use document::{Severity, brief};
use serde::{Deserialize, Serialize};

use crate::{Curation, Finding};

/// How much of a name is shown, and of what changed, in characters: both may be a card's words.
const MAX_NAME: usize = 200;
const MAX_WHAT: usize = 1000;

/// Says what became of every agent of a file or an address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Whether nothing was written because only the outcome was asked for.
    #[serde(rename = "dry_run")]
    pub is_dry_run: bool,
    /// The agents, in the order of their names.
    pub agents: Vec<Applied>,
}

/// Says what became of one agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Applied {
    /// Its name; of one that failed before it had one, where its card should have been, or what
    /// the catalog of others calls it.
    pub name: String,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// How it stands now; none for one that failed or is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Curation>,
    /// What its card should be better at.
    pub findings: Vec<Finding>,
}

/// Says what became of an agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "what", rename_all = "snake_case")]
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
    /// It is nothing that the directory holds, for this reason.
    Ignored(String),
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
            Self::Ignored(_) => "ignored",
        }
    }

    /// Why nothing came of it.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Failed(why) | Self::Ignored(why) => Some(why),
            Self::Added | Self::Changed(_) | Self::Unchanged | Self::Removed => None,
        }
    }
}

impl Report {
    /// How many agents had an outcome of this word: added, changed, unchanged, removed,
    /// failed or ignored.
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
        let counted: Vec<String> =
            ["added", "changed", "unchanged", "removed", "failed", "ignored"]
                .iter()
                .map(|word| (word, self.count(word)))
                .filter(|(word, count)| *count > 0 || !matches!(**word, "failed" | "ignored"))
                .map(|(word, count)| format!("{count} {word}"))
                .collect();
        let dry = if self.is_dry_run { " (nothing was written)" } else { "" };
        write!(f, "{}{dry}", counted.join(", "))
    }
}

impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<9} {}", self.outcome.word(), brief(&self.name, MAX_NAME))?;
        match (&self.outcome, self.standing) {
            (Outcome::Changed(what), Some(standing)) => {
                write!(f, " ({}; {standing})", brief(&what.join(", "), MAX_WHAT))
            }
            (Outcome::Failed(why) | Outcome::Ignored(why), _) => {
                write!(f, ": {}", why.replace('\n', "\n          "))
            }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Applied, Outcome, Report};
    use crate::{Curation, Finding};

    #[test]
    fn a_report_is_read_as_it_is_written() {
        let agent = |outcome, standing| Applied {
            name: "it".into(),
            outcome,
            standing,
            findings: vec![Finding::unreadable("no".into())],
        };
        let outcomes = [
            Outcome::Added,
            Outcome::Changed(vec!["tags".into()]),
            Outcome::Unchanged,
            Outcome::Removed,
            Outcome::Failed("why".into()),
        ];
        let agents = outcomes.into_iter().zip([Some(Curation::Approved), None].into_iter().cycle());
        let agents = agents.map(|(outcome, standing)| agent(outcome, standing)).collect();
        let report = Report { is_dry_run: true, agents };
        let written = serde_json::to_value(&report).unwrap();
        assert_eq!(written["dry_run"], true);
        assert_eq!(
            (&written["agents"][1]["outcome"], &written["agents"][1]["what"]),
            (&json!("changed"), &json!(["tags"]))
        );
        assert_eq!(serde_json::from_value::<Report>(written).unwrap(), report);
    }
}
