//! Answers on their way to sub-runs, and what has to wait for them.
//!
//! A sub-run may end because of an answer, and is followed by another task than the one that hands the answer down: what
//! that task tells meanwhile is taken after the answer, so that the answer stands in the journal before what came of it.

use std::collections::HashMap;

use super::Driver;
use crate::{
    flights::Slot,
    report::Report,
    run::{Input, StepIndex},
};

/// The answers that are on their way.
#[derive(Default)]
pub(super) struct Passages {
    /// Per step how many there are.
    under_way: HashMap<StepIndex, usize>,
    /// What was told of those steps since.
    held: Vec<(StepIndex, Report)>,
    /// How many there have been.
    count: u64,
}

impl Passages {
    /// Begins one, and says in which slot it is.
    pub(super) fn begin(&mut self, at: StepIndex) -> Slot {
        *self.under_way.entry(at).or_default() += 1;
        self.count += 1;
        Slot::Pass(at, self.count)
    }

    /// Gives a report back unless it has to wait.
    fn hold(&mut self, at: StepIndex, report: Report) -> Option<Report> {
        if !self.under_way.contains_key(&at) {
            return Some(report);
        }
        self.held.push((at, report));
        None
    }

    /// Ends one, and gives what has to wait no more, in its order.
    fn end(&mut self, at: StepIndex) -> Vec<Report> {
        match self.under_way.get_mut(&at) {
            Some(left) if *left > 1 => {
                *left -= 1;
                return Vec::new();
            }
            _ => self.under_way.remove(&at),
        };
        let (free, held) = std::mem::take(&mut self.held).into_iter().partition(|it| it.0 == at);
        self.held = held;
        free.into_iter().map(|(_, report): (StepIndex, Report)| report).collect()
    }
}

impl Driver {
    /// Takes what the tasks of the run tell, in the order that has to be.
    pub(super) fn take_in_turn(&mut self, report: Report) {
        let subject = report.input.step().and_then(|step| self.run.find(step));
        let Some(at) = subject else { return self.take(report) };
        if matches!(report.input, Input::PassedDown { .. }) {
            self.take(report);
            self.end_passage(at);
        } else if let Some(report) = self.passages.hold(at, report) {
            self.take(report);
        }
    }

    /// Takes what had to wait for an answer. What the sub-run asked meanwhile may be what was answered: whoever follows it
    /// looks again.
    pub(super) fn end_passage(&mut self, at: StepIndex) {
        for report in self.passages.end(at) {
            if !matches!(report.input, Input::Paused { .. } | Input::Unpaused { .. }) {
                self.take(report);
            }
        }
        self.flights.stop(Slot::Flight(at, self.run.at(at).attempts));
        self.run.look_again(at);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn told(at: i64) -> Report {
        Report::of(Input::TimedOut { at: Timestamp::from_second(at).expect("a time") })
    }

    fn times(reports: &[Report]) -> Vec<i64> {
        let time = |report: &Report| match report.input {
            Input::TimedOut { at } => at.as_second(),
            _ => panic!("not what was told"),
        };
        reports.iter().map(time).collect()
    }

    #[test]
    fn what_is_told_of_a_step_waits_for_all_answers_to_it_and_nothing_else_does() {
        let (one, other) = (StepIndex(1), StepIndex(2));
        let mut passages = Passages::default();
        assert!(passages.hold(one, told(0)).is_some());
        assert_ne!(passages.begin(one), passages.begin(one));
        passages.begin(other);
        for (at, time) in [(one, 1), (other, 2), (one, 3)] {
            assert!(passages.hold(at, told(time)).is_none());
        }
        assert!(passages.hold(StepIndex(3), told(4)).is_some());
        assert!(passages.end(one).is_empty());
        assert_eq!(times(&passages.end(one)), [1, 3]);
        assert_eq!(times(&passages.end(other)), [2]);
        assert!(passages.hold(one, told(5)).is_some());
    }
}
