//! `a2a-proof`, which holds deployed agents to a contract: before the agent `conformance`, and before `convoke serve`
//! that delegates to it.

use std::{fs, path::Path, thread};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;

use super::{
    files,
    fronted::{Fronted, Setup},
};
use crate::{process, venv::Venv};

/// The contracts, in their folder.
const CONTRACTS: [&str; 3] = ["proof.yaml", "proof-open.yaml", LARGE];
/// Only over the binding that it names.
const LARGE: &str = "proof-large.yaml";
const LARGE_BINDING: &str = "HTTP+JSON";
const FOLDER: &str = "tests/interop";
/// What of it is expected to fail, and why.
const EXCEPTIONS: &str = "tests/interop/proof-exceptions.json";
const BINDINGS: [&str; 3] = ["JSONRPC", "HTTP+JSON", "GRPC"];

/// A part of the contract that one of the two does not keep.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    setup: String,
    /// Every one when absent.
    binding: Option<String>,
    scenario: String,
    /// Said to whoever reads the summary.
    why: String,
}

/// The part of a report that is read here.
#[derive(Debug, Deserialize)]
struct Report {
    card: Option<Check>,
    scenarios: Vec<Scenario>,
}

#[derive(Debug, Deserialize)]
struct Check {
    failures: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Scenario {
    name: String,
    passed: bool,
    trials: Vec<Trial>,
}

#[derive(Debug, Deserialize)]
struct Trial {
    error: Option<String>,
    turns: Vec<Check>,
}

/// Holds one of the two to the contract, over all bindings at once: it mostly waits.
///
/// # Errors
/// When something of the contract is broken that no exception names, or an exception names what is kept.
pub(super) fn run(venv: &Venv, fronted: &Fronted, setup: Setup) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    for contract in CONTRACTS {
        let ours = process::root().join(FOLDER).join(contract);
        fs::copy(ours, folder.path().join(contract)).context("cannot copy a contract")?;
    }
    files::write(folder.path())?;
    let exceptions = exceptions()?;
    let url = fronted.url(setup);
    let judged = thread::scope(|scope| {
        let running: Vec<_> = BINDINGS
            .iter()
            .map(|binding| {
                let folder = folder.path();
                scope.spawn(move || report(venv, folder, url, binding))
            })
            .collect();
        running
            .into_iter()
            .map(|it| it.join().map_err(|_| anyhow!("a thread panicked"))?)
            .collect::<Result<Vec<_>>>()
    })?;
    let mut broken = Vec::new();
    for (binding, report) in BINDINGS.iter().zip(judged) {
        let verdict = judge(&report, &exceptions, setup.name(), binding);
        println!("  a2a-proof over {binding}: {}", verdict.summary());
        broken.extend(verdict.broken.into_iter().map(|what| format!("over {binding}, {what}")));
    }
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    Ok(())
}

/// What came of all contracts over a binding, as one report.
fn report(venv: &Venv, folder: &Path, url: &str, binding: &str) -> Result<Report> {
    let mut all = Report { card: None, scenarios: Vec::new() };
    for contract in CONTRACTS {
        if contract == LARGE && binding != LARGE_BINDING {
            continue;
        }
        let contract = folder.join(contract);
        let written = contract.with_extension(binding.replace('+', "-"));
        let mut command = venv.tool("a2a-proof");
        command.arg("run").arg(&contract).args(["--transport", binding, "--format", "json"]);
        command.arg("--output").arg(&written).env("PROOF_AGENT", url);
        let output = command.output().context("cannot start a2a-proof")?;
        // It ends with 1 when a contract is broken, and has written its report then.
        let text = fs::read_to_string(&written).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            anyhow!("a2a-proof over {binding} wrote no report ({}); it said\n{said}", output.status)
        })?;
        let report: Report =
            serde_json::from_str(&text).context("a2a-proof wrote a report of another shape")?;
        all.card = all.card.or(report.card);
        all.scenarios.extend(report.scenarios);
    }
    Ok(all)
}

fn exceptions() -> Result<Vec<Exception>> {
    let text = fs::read_to_string(process::root().join(EXCEPTIONS));
    let text = text.with_context(|| format!("cannot read {EXCEPTIONS}"))?;
    serde_json::from_str(&text).with_context(|| format!("cannot read {EXCEPTIONS}"))
}

/// What a report comes to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    passed: usize,
    /// Named by an exception, each with its reason.
    excepted: Vec<String>,
    broken: Vec<String>,
}

impl Verdict {
    fn summary(&self) -> String {
        let Self { passed, excepted, broken } = self;
        let mut summary = format!(
            "{passed} passed, {} failed, {} excepted, 0 skipped",
            broken.len(),
            excepted.len()
        );
        for one in excepted {
            summary += &format!("\n    excepted: {one}");
        }
        summary
    }
}

fn judge(report: &Report, exceptions: &[Exception], setup: &str, binding: &str) -> Verdict {
    let mut verdict = Verdict::default();
    for failure in report.card.iter().flat_map(|card| &card.failures) {
        verdict.broken.push(format!("the card: {failure}"));
    }
    if report.scenarios.is_empty() {
        verdict.broken.push("nothing was run".to_owned());
    }
    let is_here = |it: &&Exception| {
        it.setup == setup && it.binding.as_deref().is_none_or(|one| one == binding)
    };
    for scenario in &report.scenarios {
        let exception = exceptions.iter().filter(is_here).find(|it| it.scenario == scenario.name);
        match (scenario.passed, exception) {
            (true, None) => verdict.passed += 1,
            (false, None) => {
                verdict.broken.push(format!("{}: {}", scenario.name, scenario.failures()));
            }
            (false, Some(known)) => {
                verdict.excepted.push(format!("{}: {}", scenario.name, known.why));
            }
            (true, Some(_)) => verdict
                .broken
                .push(format!("{} passed, and {EXCEPTIONS} says that it does not", scenario.name)),
        }
    }
    for stale in exceptions.iter().filter(is_here) {
        if !report.scenarios.iter().any(|scenario| scenario.name == stale.scenario) {
            let name = &stale.scenario;
            verdict.broken.push(format!("{EXCEPTIONS} names {name:?}, which no contract has"));
        }
    }
    verdict
}

impl Scenario {
    fn failures(&self) -> String {
        let each = self.trials.iter().flat_map(|trial| {
            let turns = trial.turns.iter().flat_map(|turn| &turn.failures);
            turns.chain(&trial.error).cloned()
        });
        each.collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(passed: bool) -> Report {
        let turns = json!([{"failures": if passed { vec![] } else { vec!["no text"] }}]);
        let report = json!({
            "card": {"passed": true, "failures": []},
            "scenarios": [{"name": "a", "passed": passed, "trials": [{"error": null, "turns": turns}]}],
        });
        serde_json::from_value(report).expect("it is one of a2a-proof's shape")
    }

    fn except(scenario: &str, binding: Option<&str>) -> [Exception; 1] {
        let (setup, why) = ("serve".to_owned(), "it is known".to_owned());
        let (scenario, binding) = (scenario.to_owned(), binding.map(str::to_owned));
        [Exception { setup, binding, scenario, why }]
    }

    #[test]
    fn what_is_broken_is_told_unless_an_exception_names_it() {
        let judged = |passed, exceptions: &[Exception]| {
            let verdict = judge(&report(passed), exceptions, "serve", "GRPC");
            (verdict.passed, verdict.excepted, verdict.broken)
        };
        let none: [String; 0] = [];
        assert_eq!(judged(true, &[]), (1, none.to_vec(), none.to_vec()));
        assert_eq!(judged(false, &[]), (0, none.to_vec(), vec!["a: no text".to_owned()]));
        let excepted = (0, vec!["a: it is known".to_owned()], none.to_vec());
        assert_eq!(judged(false, &except("a", None)), excepted);
        assert_eq!(judged(false, &except("a", Some("GRPC"))), excepted);
        assert_eq!(judged(false, &except("a", Some("JSONRPC"))).2, ["a: no text"]);
        let elsewhere = judge(&report(false), &except("a", None), "conformance", "GRPC");
        assert_eq!(elsewhere.broken, ["a: no text"]);
    }

    #[test]
    fn an_exception_that_is_none_any_more_is_told() {
        let kept = judge(&report(true), &except("a", None), "serve", "GRPC");
        assert!(kept.broken[0].starts_with("a passed, and "), "{kept:?}");
        let gone = judge(&report(true), &except("b", None), "serve", "GRPC");
        assert!(gone.broken[0].contains("names \"b\", which no contract has"), "{gone:?}");
    }

    #[test]
    fn a_card_that_breaks_the_contract_and_a_run_of_nothing_are_failures() {
        let report = json!({"card": {"failures": ["no skill"]}, "scenarios": []});
        let report = serde_json::from_value(report).expect("it is one of a2a-proof's shape");
        let verdict = judge(&report, &[], "serve", "GRPC");
        assert_eq!(verdict.broken, ["the card: no skill", "nothing was run"]);
        assert_eq!(verdict.summary(), "0 passed, 2 failed, 0 excepted, 0 skipped");
    }

    #[test]
    fn every_exception_names_a_setup_a_binding_and_a_reason() {
        for exception in exceptions().expect("the file is ours") {
            assert!(["conformance", "serve"].contains(&exception.setup.as_str()), "{exception:?}");
            assert!(exception.binding.as_deref().is_none_or(|it| BINDINGS.contains(&it)));
            assert!(exception.why.len() > 10, "{exception:?}");
        }
    }
}
