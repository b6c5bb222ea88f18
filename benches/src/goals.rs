//! What the measurements have to reach: the table of goals, as data.

use serde::Serialize;

use crate::suite::{Measured, Results};

/// One goal: a ratio or a count that must not pass a bound, and a better one to aim at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// What is compared.
    pub what: String,
    /// Whether larger is better, as with rates over those of others; costs are better smaller.
    pub larger_is_better: bool,
    /// Worse is a failure.
    pub must: f64,
    /// What is aimed at.
    pub aim: f64,
    /// What was measured; none when the workload was not run.
    pub measured: Option<f64>,
    /// Whether the machine was too busy for the measurement to say anything.
    pub disturbed: bool,
}

/// How a goal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As good as the aim, or better.
    AimReached,
    /// As good as the bound, or better.
    Met,
    /// Worse than the bound.
    Missed,
    /// Measured while other programs held the processors: no verdict.
    Disturbed,
    /// Not measured.
    Unknown,
}

impl Goal {
    /// Compares what was measured with what was wanted.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let reaches = |measured: f64, bound: f64| match self.larger_is_better {
            true => measured >= bound,
            false => measured <= bound,
        };
        match self.measured {
            None => Standing::Unknown,
            Some(_) if self.disturbed => Standing::Disturbed,
            Some(measured) if reaches(measured, self.aim) => Standing::AimReached,
            Some(measured) if reaches(measured, self.must) => Standing::Met,
            Some(_) => Standing::Missed,
        }
    }
}

/// Fills the table in from results.
#[must_use]
pub fn goals(results: &Results) -> Vec<Goal> {
    let ratio =
        |name: &str, value: fn(&Measured) -> Option<f64>| results.find(name).and_then(value);
    let cpu_growth = |large: &str, small: &str| {
        let cpu = |name: &str| Some(results.find(name)?.convoke?.cpu_us);
        Some(cpu(large)? / cpu(small)?)
    };
    let flushes = |name: &str| Some(results.find(name)?.convoke?.flushes);
    let goal = |what: &str, must, aim, measured| Goal {
        what: what.to_owned(),
        larger_is_better: false,
        must,
        aim,
        measured,
        disturbed: false,
    };
    let wall_disturbed = |name: &str| {
        let sides = results.find(name).map(|found| [found.convoke, found.floor]);
        sides.into_iter().flatten().flatten().any(|side| side.is_disturbed())
    };
    vec![
        goal("fan-out 200: CPU ÷ floor", 4.0, 2.5, ratio("fan-out 200", Measured::cpu_ratio)),
        Goal {
            disturbed: wall_disturbed("chain 50"),
            ..goal("chain 50: wall ÷ floor", 1.6, 1.0, ratio("chain 50", Measured::wall_ratio))
        },
        goal("chain 50: flushes per step", 1.1, 1.02, flushes("chain 50")),
        goal("fan-out 200: flushes per step", 0.10, 0.03, flushes("fan-out 200")),
        goal("lattice 10×20: flushes per step", 0.20, 0.11, flushes("lattice 10×20")),
        goal("CPU per step, chain 400 ÷ 50", 1.2, 1.05, cpu_growth("chain 400", "chain 50")),
        goal(
            "CPU per step, fan-out 1500 ÷ 200",
            1.2,
            1.05,
            cpu_growth("fan-out 1500", "fan-out 200"),
        ),
        goal(
            "CPU per step, fan-out 10000 ÷ 200",
            1.2,
            1.05,
            cpu_growth("fan-out 10000", "fan-out 200"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_up_to_its_bound() {
        let goal = |measured| Goal {
            what: String::new(),
            larger_is_better: false,
            must: 4.0,
            aim: 2.5,
            measured,
            disturbed: false,
        };
        assert_eq!(goal(Some(2.5)).standing(), Standing::AimReached);
        assert_eq!(goal(Some(4.0)).standing(), Standing::Met);
        assert_eq!(goal(Some(4.1)).standing(), Standing::Missed);
        assert_eq!(goal(None).standing(), Standing::Unknown);
        let disturbed = Goal { disturbed: true, ..goal(Some(0.3)) };
        assert_eq!(disturbed.standing(), Standing::Disturbed);
        let rate =
            |measured| Goal { larger_is_better: true, must: 2.5, aim: 4.0, ..goal(Some(measured)) };
        assert_eq!(rate(4.0).standing(), Standing::AimReached);
        assert_eq!(rate(2.5).standing(), Standing::Met);
        assert_eq!(rate(2.4).standing(), Standing::Missed);
    }
}
