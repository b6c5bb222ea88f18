//! Suites that take too long for every change: the same tests as always, with more cases.

use anyhow::{Result, bail};

use crate::{parts::Parts, suites::Built};

/// One long suite: tests of a package, with a setting that says how much of them.
struct Suite {
    name: &'static str,
    what: &'static str,
    package: &'static str,
    /// Which of the package's tests.
    filter: &'static str,
    /// The environment variable that the tests read.
    setting: &'static str,
    /// Its value, before `--times`.
    amount: u32,
}

const SUITES: [Suite; 6] = [
    Suite {
        name: "core-proof",
        what: "random graphs and schedules, the journal cut after every event",
        package: "executor",
        filter: "proof",
        setting: "PROPTEST_CASES",
        amount: 20_000,
    },
    Suite {
        name: "kill",
        what: "kill -9 of `run` at random instants over chain, diamond, fan-out, pauses and cancel",
        package: "tests",
        filter: "kill::run::",
        setting: "CONVOKE_KILLS",
        amount: 300,
    },
    Suite {
        name: "kill-serve",
        what: "the same of `serve`, while a client sends, follows, answers and cancels",
        package: "tests",
        filter: "kill::serve::",
        setting: "CONVOKE_KILLS",
        amount: 300,
    },
    Suite {
        name: "documents",
        what: "random and broken YAML through the reader",
        package: "document",
        filter: "",
        setting: "PROPTEST_CASES",
        amount: 50_000,
    },
    Suite {
        name: "cost",
        what: "times of checking and binding at ten times the size, compared",
        package: "planner",
        filter: "",
        setting: "CONVOKE_COST",
        amount: 1,
    },
    Suite {
        name: "wire",
        what: "random messages through ProtoJSON beside the reference implementation",
        package: "protocol",
        filter: "",
        setting: "PROPTEST_CASES",
        amount: 20_000,
    },
];

/// Prints the suites, one a line.
#[expect(clippy::unnecessary_wraps, reason = "one of the chores, all of which may fail")]
pub(crate) fn list() -> Result<()> {
    for suite in &SUITES {
        println!("{:12} {} ({}={})", suite.name, suite.what, suite.setting, suite.amount);
    }
    Ok(())
}

/// Runs the named suites, or all, each with `times` its usual amount, and prints their times.
pub(crate) fn run(names: &[String], times: u32) -> Result<()> {
    let suites = chosen(names)?;
    let mut parts = Parts::default();
    let mut built = None;
    parts.run("build", || {
        built = Some(Built::workspace()?);
        Ok(())
    });
    if let Some(built) = built {
        for suite in suites {
            parts.run(suite.name, || run_suite(suite, times, &built));
        }
    }
    println!("\n{parts}");
    parts.verdict()
}

fn chosen(names: &[String]) -> Result<Vec<&'static Suite>> {
    if names.is_empty() {
        return Ok(SUITES.iter().collect());
    }
    let mut suites = Vec::new();
    for name in names {
        let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
            let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
            bail!("no long suite is called `{name}`; there are {}", known.join(", "));
        };
        suites.push(suite);
    }
    Ok(suites)
}

fn run_suite(suite: &Suite, times: u32, built: &Built) -> Result<()> {
    let amount = suite.amount.saturating_mul(times);
    built.run_filtered(suite.package, suite.filter, (suite.setting, amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_is_chosen_by_name_and_no_name_means_all() {
        let names =
            |suites: Vec<&Suite>| -> Vec<&str> { suites.iter().map(|suite| suite.name).collect() };
        let one = chosen(&["kill".to_owned()]).expect("there is such a suite");
        assert_eq!(names(one), ["kill"]);
        assert_eq!(chosen(&[]).expect("all").len(), SUITES.len());
    }

    #[test]
    fn an_unknown_suite_is_answered_with_the_known_ones() {
        let error = chosen(&["kil".to_owned()]).err().expect("it is unknown");
        assert_eq!(
            error.to_string(),
            "no long suite is called `kil`; there are core-proof, kill, kill-serve, documents, cost, wire"
        );
    }
}
