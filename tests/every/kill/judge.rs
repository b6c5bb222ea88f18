//! What must hold of a run that was killed, by its journal, its agents, and who followed it.

use std::collections::BTreeSet;

use examples::{CallOutcome, Kind};
use protocol::v1::TaskState;
use tests::journal::Journal;

use super::{
    Calls,
    scene::{Scene, Shape, Stage},
};

/// What was known right after a kill.
pub(super) struct Snapshot {
    pub(super) journal: Journal,
    pub(super) calls: Calls,
}

/// A run that has ended, and its past.
pub(super) struct Trial<'a> {
    pub(super) scene: Scene,
    pub(super) stage: &'a Stage,
    pub(super) kills: &'a [Snapshot],
    /// Named in every panic.
    pub(super) about: &'a str,
}

impl Trial<'_> {
    /// Panics unless the run has ended once, every Message was meant to be sent and none again that was known to
    /// be taken, and no agent is left with work.
    pub(super) async fn judge(&self) {
        let about = self.about;
        let Some(journal) = Journal::read(&self.stage.convoke.data()).await else {
            panic!("{about}: the run is gone");
        };
        assert_eq!(journal.count("run_finished"), 1, "{about}");
        let calls = self.stage.calls();
        self.judge_sendings(&journal, &calls);
        for kill in self.kills {
            self.judge_kill(kill, &journal, &calls);
        }
        self.judge_tasks(&calls).await;
        if self.scene.shape == Shape::Endless {
            self.judge_cancel(&journal);
        }
    }

    fn judge_sendings(&self, journal: &Journal, calls: &Calls) {
        let about = self.about;
        let sendings = journal.sendings();
        for (id, sent) in calls {
            assert!(sendings.contains_key(id), "{about}: sent without an intent: {sent:?}");
            let is_same = |call: &examples::ReceivedCall| {
                (&call.text, &call.task_id, &call.context_id)
                    == (&sent[0].text, &sent[0].task_id, &sent[0].context_id)
            };
            assert!(sent.iter().all(is_same), "{about}: one messageId, two Messages: {sent:?}");
            let refused = sent.iter().filter(|call| call.outcome == CallOutcome::Refused);
            assert_eq!(refused.count(), 0, "{about}: refused: {sent:?}");
        }
        let is_endless = self.scene.shape == Shape::Endless;
        for (id, sending) in &sendings {
            let sent = calls.get(id).map_or(0, Vec::len);
            assert!(sending.is_taken || is_endless, "{about}: {sending:?} was never taken");
            // Each kill may have cost the answer once; what is canceled may never have been sent.
            let may_be = usize::from(!is_endless)..=1 + self.kills.len();
            assert!(may_be.contains(&sent), "{about}: {sending:?} was sent {sent} times");
        }
    }

    fn judge_kill(&self, kill: &Snapshot, journal: &Journal, calls: &Calls) {
        let about = self.about;
        let sendings = journal.sendings();
        assert_eq!(kill.journal.run, journal.run, "{about}: another run");
        assert!(journal.events.starts_with(&kill.journal.events), "{about}: the past has changed");
        for (id, sending) in kill.journal.sendings() {
            assert_eq!(sendings[&id].step, sending.step, "{about}");
            if sending.is_taken {
                let before = kill.calls.get(&id).map_or(0, Vec::len);
                let after = calls.get(&id).map_or(0, Vec::len);
                assert_eq!(after, before, "{about}: {sending:?} was sent again");
            }
        }
    }

    /// As many Tasks as Messages that begin one, and none that goes on.
    async fn judge_tasks(&self, calls: &Calls) {
        let about = self.about;
        let tasks = self.stage.tasks().await;
        let begun = calls.values().filter(|sent| sent[0].task_id.is_empty()).count();
        assert_eq!(tasks.len(), begun, "{about}: {tasks:?}");
        for (kind, task) in &tasks {
            let wanted = match (self.scene.shape, kind) {
                (Shape::Endless, Kind::Slow | Kind::Asks) => vec![TaskState::Canceled],
                // It ends at once; a cancel may come before.
                (Shape::Endless, _) => vec![TaskState::Completed, TaskState::Canceled],
                _ => vec![TaskState::Completed],
            };
            assert!(wanted.contains(&task.state()), "{about}: {kind:?} is left with {task:?}");
        }
    }

    /// Nothing is begun, and nothing answered, once the end was asked for.
    fn judge_cancel(&self, journal: &Journal) {
        let about = self.about;
        let names: Vec<&str> = journal.events.iter().map(|(name, _)| name.as_str()).collect();
        let asked = names.iter().position(|name| *name == "cancel_requested");
        let asked = asked.unwrap_or_else(|| panic!("{about}: nobody asked for the end: {names:?}"));
        let begun = ["attempt_started", "attempt_answered"];
        let late = names[asked..].iter().find(|name| begun.contains(name));
        assert_eq!(late, None, "{about}: begun after the end was asked for");
        let tried: BTreeSet<_> = journal.sendings().into_values().map(|it| it.step).collect();
        assert!(!tried.contains("never"), "{about}: a step began before its dependency ended");
        assert_eq!(journal.count("cancel_requested"), 1, "{about}");
    }
}
