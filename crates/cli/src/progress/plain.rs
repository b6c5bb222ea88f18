//! One line per event.

use anstream::eprintln;
use executor::{Recorded, run::RunEvent};
use jiff::Timestamp;

use super::{clock, news, run_news};

/// Prints lines as events come.
pub(crate) struct Plain {
    width: usize,
}

impl Plain {
    pub(crate) fn new(recorded: &Recorded) -> Self {
        let steps = recorded.run.steps().map(|(id, _)| id.as_str().len());
        let plain = Self { width: steps.max().unwrap_or(0).clamp(4, 24) };
        plain.line("run", &format!("{} of {}", recorded.id, recorded.plan.workflow.name));
        plain
    }

    pub(crate) fn tell(&self, recorded: &Recorded, event: &RunEvent) {
        if let Some((step, text)) = news(recorded, event) {
            self.line(step, &text);
        }
        if let Some(text) = run_news(event) {
            self.line("run", &text);
        }
    }

    pub(crate) fn say(&self, text: &str) {
        self.line("run", text);
    }

    fn line(&self, subject: &str, text: &str) {
        let width = self.width;
        eprintln!("{} {subject:width$}  {text}", clock(Timestamp::now()));
    }
}
