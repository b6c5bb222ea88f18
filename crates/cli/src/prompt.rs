//! Asking the person at the terminal what a paused step asks.

use std::io::{IsTerminal, stdin};

use executor::{
    Recorded,
    run::{Pause, PauseKind, StepId},
};
use tokio::task::JoinHandle;

use crate::progress::{Progress, asked};

/// A question that was asked here.
#[derive(Clone, PartialEq)]
pub(crate) struct Question {
    pub(crate) step: StepId,
    pause: Pause,
}

impl Question {
    /// Whether it is among the pauses of its run and still waits for its answer: somebody else may have given one,
    /// and the step may ask something else by now.
    pub(crate) fn is_among<'a>(
        &self,
        mut pauses: impl Iterator<Item = (&'a StepId, &'a Pause)>,
    ) -> bool {
        pauses.any(|(step, pause)| *step == self.step && *pause == self.pause)
    }
}

/// At most one question at a time; none where nobody could answer.
pub(crate) struct Prompt {
    is_possible: bool,
    open: Option<(Question, JoinHandle<Option<String>>)>,
    /// What was shown last, so that it is not shown again.
    shown: Option<Question>,
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
        let first = pauses.find(|(_, pause)| pause.kind != PauseKind::Auth);
        let Some((step, pause)) = first else {
            return;
        };
        let question = Question { step: step.clone(), pause: pause.clone() };
        if self.shown.as_ref() == Some(&question) {
            return;
        }
        progress.say(&format!("{step} asks: {} (type the answer)", asked(pause)));
        self.shown = Some(question.clone());
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            let read = stdin().read_line(&mut line).ok()?;
            (read > 0).then(|| line.trim_end().to_owned())
        });
        self.open = Some((question, line));
    }

    /// Waits for the line that is typed. Cancel safe: the line stays with the question.
    pub(crate) async fn answered(&mut self) -> (Question, String) {
        let Some((question, line)) = &mut self.open else {
            return std::future::pending().await;
        };
        let (question, line) = (question.clone(), line.await);
        self.open = None;
        match line {
            Ok(Some(line)) => (question, line),
            // Nobody types any more.
            Ok(None) | Err(_) => {
                self.is_possible = false;
                std::future::pending().await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_the_question_that_was_shown_and_for_no_later_one() {
        let asked = |message: &str| Pause {
            kind: PauseKind::Input,
            message_id: Some(message.to_owned()),
            question: None,
            awaits_caller: false,
            within: None,
            why: None,
            mismatch: None,
        };
        let question = Question { step: StepId::new("a"), pause: asked("first") };
        let is_among = |step: &str, message: &str| {
            question.is_among([(&StepId::new(step), &asked(message))].into_iter())
        };
        assert!(is_among("a", "first"));
        assert!(!is_among("a", "second"));
        assert!(!is_among("b", "first"));
    }
}
