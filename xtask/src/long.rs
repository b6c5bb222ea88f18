//! Suites that take too long for every change: the same tests as always, with more cases, and the fuzz
//! targets.

use anyhow::{Result, bail};

use crate::{fuzz, parts::Parts, suites::Built};

/// One long suite.
struct Suite {
    name: &'static str,
    what: &'static str,
    runs: Runs,
    /// How much of it, before `--times`.
    amount: u32,
}

/// What a suite consists of.
enum Runs {
    /// Tests of a package, with a setting that says how much of them.
    Tests {
        package: &'static str,
        /// Which of the package's tests.
        filter: &'static str,
        /// The environment variable that the tests read.
        setting: &'static str,
    },
    /// The fuzz targets, each for so many minutes.
    Fuzz,
}

const fn tests(
    name: &'static str,
    what: &'static str,
    (package, filter): (&'static str, &'static str),
    (setting, amount): (&'static str, u32),
) -> Suite {
    Suite { name, what, runs: Runs::Tests { package, filter, setting }, amount }
}

const SUITES: [Suite; 9] = [
    tests(
        "core-proof",
        "random graphs and schedules, the journal cut after every event",
        ("executor", "proof"),
        ("PROPTEST_CASES", 20_000),
    ),
    tests(
        "kill",
        "kill -9 of `run` at random instants over chain, diamond, fan-out, pauses and cancel",
        ("tests", "kill::run::"),
        ("CONVOKE_KILLS", 300),
    ),
    tests(
        "kill-serve",
        "the same of `serve`, while a client sends, follows, answers and cancels",
        ("tests", "kill::serve::"),
        ("CONVOKE_KILLS", 300),
    ),
    tests(
        "documents",
        "random and broken YAML through the reader",
        ("document", ""),
        ("PROPTEST_CASES", 50_000),
    ),
    tests(
        "cost",
        "times of checking and binding at ten times the size, compared",
        ("planner", ""),
        ("CONVOKE_COST", 1),
    ),
    tests(
        "wire",
        "random messages through ProtoJSON beside the reference implementation",
        ("protocol", ""),
        ("PROPTEST_CASES", 20_000),
    ),
    tests(
        "streams",
        "64 streams of so many chunks at once, over each binding",
        ("protocol", "load::"),
        ("CONVOKE_CHUNKS", 1_000),
    ),
    tests(
        "streams-serve",
        "64 followers of so many chunks through the orchestrator",
        ("server", "load::"),
        ("CONVOKE_CHUNKS", 1_000),
    ),
    Suite {
        name: "fuzz",
        what: "whatever bytes may come, through every reader of them",
        runs: Runs::Fuzz,
        amount: 10,
    },
];

/// Prints the suites, one a line.
#[expect(clippy::unnecessary_wraps, reason = "one of the chores, all of which may fail")]
pub(crate) fn list() -> Result<()> {
    for Suite { name, what, runs, amount } in &SUITES {
        match runs {
            Runs::Tests { setting, .. } => println!("{name:14} {what} ({setting}={amount})"),
            Runs::Fuzz => println!("{name:14} {what} ({amount} minutes each)"),
        }
    }
    Ok(())
}

/// Runs the named suites, or all, each with `times` its amount, and prints their times. A number after a name
/// stands for the usual amount of that suite.
pub(crate) fn run(words: &[String], times: u32) -> Result<()> {
    let suites = chosen(words)?;
    let mut parts = Parts::default();
    let mut built = None;
    if suites.iter().any(|(suite, _)| matches!(suite.runs, Runs::Tests { .. })) {
        parts.run("build", || {
            built = Some(Built::workspace()?);
            Ok(())
        });
    }
    for (suite, amount) in suites {
        let amount = amount.saturating_mul(times);
        match (&suite.runs, &built) {
            (Runs::Fuzz, _) => _ = parts.run(suite.name, || fuzz::run(amount)),
            (Runs::Tests { package, filter, setting }, Some(built)) => {
                parts.run(suite.name, || built.run_filtered(package, filter, (setting, amount)));
            }
            (Runs::Tests { .. }, None) => parts.skip(suite.name, "the tree was not built"),
        }
    }
    println!("\n{parts}");
    parts.verdict()
}

/// The suites that are named, and how much of each.
fn chosen(words: &[String]) -> Result<Vec<(&'static Suite, u32)>> {
    if words.is_empty() {
        return Ok(SUITES.iter().map(|suite| (suite, suite.amount)).collect());
    }
    let mut suites: Vec<(&Suite, u32)> = Vec::new();
    for word in words {
        match (word.parse(), suites.last_mut()) {
            (Ok(amount), Some((_, usual))) => *usual = amount,
            _ => {
                let suite = named(word)?;
                suites.push((suite, suite.amount));
            }
        }
    }
    Ok(suites)
}

fn named(name: &str) -> Result<&'static Suite> {
    let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
        let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        bail!("no long suite is called `{name}`; there are {}", known.join(", "));
    };
    Ok(suite)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let chosen = chosen(&words).expect("these are suites");
        chosen.iter().map(|(suite, amount)| format!("{} {amount}", suite.name)).collect()
    }

    #[test]
    fn a_suite_is_chosen_by_name_and_no_name_means_all() {
        assert_eq!(shown(&["kill"]), ["kill 300"]);
        assert_eq!(shown(&[]).len(), SUITES.len());
    }

    #[test]
    fn a_number_after_a_name_stands_for_the_usual_amount() {
        assert_eq!(shown(&["fuzz", "3", "kill"]), ["fuzz 3", "kill 300"]);
        assert!(chosen(&["3".to_owned()]).is_err());
    }

    #[test]
    fn an_unknown_suite_is_answered_with_the_known_ones() {
        let error = chosen(&["kil".to_owned()]).err().expect("it is unknown");
        assert_eq!(
            error.to_string(),
            "no long suite is called `kil`; there are core-proof, kill, kill-serve, documents, cost, wire, \
             streams, streams-serve, fuzz"
        );
    }
}
