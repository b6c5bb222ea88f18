//! Asking the person at the terminal what a paused step asks.

use std::io::{IsTerminal, stdin};

use executor::{
    Recorded,
    run::{Pause, PauseKind, StepId},
};
use tokio::task::JoinHandle;

use crate::progress::{Progress, asked};

/// At most one question at a time; none where nobody could answer.
pub(crate) struct Prompt {
    is_possible: bool,
    open: Option<(StepId, Pause, JoinHandle<Option<String>>)>,
    /// The pause that was shown last, so that it is not shown again.
    shown: Option<(StepId, Pause)>,
}

impl Prompt {
    pub(crate) fn new() -> Self {
        let is_possible = stdin().is_terminal() && std::io::stderr().is_terminal();
        Self { is_possible, open: None, shown: None }
    }

    /// Whether there is somebody to ask.
    pub(crate) fn is_possible(&self) -> bool {
        self.is_possible
    }

    /// Asks for the first open question, unless one is being asked.
    pub(crate) fn ask(&mut self, recorded: &Recorded, progress: &Progress) {
        if !self.is_possible || self.open.is_some() {
            return;
        }
        let mut pauses = recorded.run.pauses();
        let question = pauses.find(|(_, pause)| pause.kind == PauseKind::Input);
        let Some((step, pause)) = question else {
            return;
        };
        if self.shown.as_ref() == Some(&(step.clone(), pause.clone())) {
            return;
        }
        progress.say(&format!("{step} asks: {} (type the answer)", asked(pause)));
        self.shown = Some((step.clone(), pause.clone()));
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            let read = stdin().read_line(&mut line).ok()?;
            (read > 0).then(|| line.trim_end().to_owned())
        });
        self.open = Some((step.clone(), pause.clone(), line));
    }

    /// Waits for the line that is typed. Cancel safe: the line stays with the question.
    pub(crate) async fn answered(&mut self) -> (StepId, String) {
        let Some((step, _, line)) = &mut self.open else {
            return std::future::pending().await;
        };
        let (step, line) = (step.clone(), line.await);
        self.open = None;
        match line {
            Ok(Some(line)) => (step, line),
            // Nobody types any more.
            Ok(None) | Err(_) => {
                self.is_possible = false;
                std::future::pending().await
            }
        }
    }
}
