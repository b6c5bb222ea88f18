//! What came of it: a table, and the goals.

use serde_json::{Value, json};

use super::{
    BURSTS, CONVOKE, DURABLE, DURABLE_ECHO, ECHO, INDEPENDENT, Measured, OFFICIAL, PYTHON, Results,
    STREAMS,
};
use crate::{
    goals::Goal,
    report::{end, line},
};

/// How the goals stand. Rates are compared with the best of those that are named.
#[must_use]
pub fn goals(results: &Results) -> Vec<Goal> {
    let rust = [OFFICIAL, INDEPENDENT];
    let mut goals = vec![
        goal(results, "16 connections ÷ Rust SDK", (ECHO[0].0, &[OFFICIAL]), (1.0, 1.8)),
        goal(results, "64 connections ÷ Rust SDK", (ECHO[1].0, &[OFFICIAL]), (1.0, 1.8)),
        durable(results, "durable echo ÷ Python SDK", DURABLE_ECHO),
        durable(results, "convoke serve ÷ Python SDK", CONVOKE),
        goal(results, "streams ÷ best Rust server", (STREAMS, &rust), (1.5, 3.0)),
    ];
    goals.push(Goal {
        what: "chunks lost in streams and bursts".to_owned(),
        larger_is_better: false,
        must: 0.0,
        aim: 0.0,
        measured: lost(results),
        disturbed: false,
    });
    goals
}

/// One of our two sides of the durable case, over the SDK for Python.
fn durable(results: &Results, what: &str, ours: &str) -> Goal {
    let rate = |server| results.find(DURABLE, server).map(|one| one.per_second);
    at_least(what, rate(ours).zip(rate(PYTHON)), (25.0, 60.0))
}

/// Ours over the best of others.
fn goal(
    results: &Results,
    what: &str,
    (case, others): (&str, &[&str]),
    bounds: (f64, f64),
) -> Goal {
    let others = others.iter().filter_map(|other| results.find(case, other));
    let best = others.map(|other| other.per_second).max_by(f64::total_cmp);
    let ours = results.find(case, CONVOKE).map(|ours| ours.per_second);
    at_least(what, ours.zip(best), bounds)
}

fn at_least(what: &str, rates: Option<(f64, f64)>, (must, aim): (f64, f64)) -> Goal {
    Goal {
        what: what.to_owned(),
        larger_is_better: true,
        must,
        aim,
        measured: rates.map(|(ours, theirs)| ours / theirs),
        disturbed: false,
    }
}

/// What our side lost; none when no chunks were asked for.
fn lost(results: &Results) -> Option<f64> {
    let ours: Vec<&Measured> =
        [STREAMS, BURSTS].iter().filter_map(|case| results.find(case, CONVOKE)).collect();
    (!ours.is_empty()).then(|| ours.iter().map(|one| (one.lost + one.broken) as f64).sum())
}

/// Writes two tables: what was measured, and how the goals stand.
#[must_use]
pub fn text(results: &Results, command: &str) -> String {
    let mut text = String::new();
    if let Some(load) = results.load_before {
        line(&mut text, &format!("Load of the machine before: {load:.2}\n"));
    }
    line(
        &mut text,
        &format!(
            "{:<28} {:<20} {:>10} {:>17} {:>8} {:>9} {:>7} {:>7} {:>7}",
            "case",
            "server",
            "answers/s",
            "(min–max)",
            "ours ÷",
            "CPU µs",
            "÷ ours",
            "broken",
            "lost"
        ),
    );
    for one in &results.measured {
        line(&mut text, &row(one, results.find(one.case, CONVOKE)));
    }
    line(
        &mut text,
        "\nMedians of the rounds; CPU is the server's for one answer. Broken answers end without a \
         completed Task, lost are chunks that did not come.\n",
    );
    end(&mut text, &goals(results), command);
    text
}

fn row(one: &Measured, ours: Option<&Measured>) -> String {
    let ratio = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}×"));
    let others = ours.filter(|ours| ours.server != one.server);
    let [least, most] = one.range;
    format!(
        "{:<28} {:<20} {:>10.0} {:>17} {:>8} {:>9.1} {:>7} {:>7} {:>7}",
        one.case,
        one.server,
        one.per_second,
        format!("({least:.0}–{most:.0})"),
        ratio(others.map(|ours| ours.per_second / one.per_second)),
        one.cpu_us,
        ratio(others.map(|ours| one.cpu_us / ours.cpu_us)),
        one.broken,
        one.lost
    )
}

/// The same as JSON: `{command, load_before, measured: [...], goals: [...]}`.
#[must_use]
pub fn json(results: &Results, command: &str) -> Value {
    json!({
        "command": command,
        "load_before": results.load_before,
        "measured": results.measured,
        "goals": goals(results),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(case: &'static str, server: &'static str, per_second: f64) -> Measured {
        Measured {
            case,
            server,
            per_second,
            range: [per_second - 1.0, per_second + 1.0],
            cpu_us: 1e6 / per_second,
            answers: 10,
            broken: 0,
            lost: 0,
        }
    }

    fn results() -> Results {
        Results {
            load_before: Some(0.25),
            measured: vec![
                measured(ECHO[0].0, CONVOKE, 9_000.0),
                measured(ECHO[0].0, OFFICIAL, 6_000.0),
                measured(STREAMS, CONVOKE, 400.0),
                measured(STREAMS, OFFICIAL, 50.0),
                measured(STREAMS, INDEPENDENT, 200.0),
                measured(DURABLE, DURABLE_ECHO, 4_000.0),
                measured(DURABLE, CONVOKE, 1_000.0),
                measured(DURABLE, PYTHON, 50.0),
            ],
        }
    }

    #[test]
    fn a_person_reads_ratios_beside_goals() {
        let text = text(&results(), "cargo run");
        for line in [
            "Load of the machine before: 0.25",
            "16 connections ÷ Rust SDK                 1    1.8     1.500  met",
            "64 connections ÷ Rust SDK                 1    1.8         –  not run",
            "durable echo ÷ Python SDK                25     60    80.000  aim reached",
            "convoke serve ÷ Python SDK               25     60    20.000  missed",
            "streams ÷ best Rust server              1.5      3     2.000  met",
            "chunks lost in streams and bursts         0      0     0.000  aim reached",
            "Again with: cargo run",
        ] {
            assert!(text.contains(line), "{line}\nis not in\n{text}");
        }
        assert!(text.contains("6000       (5999–6001)    1.50×     166.7   1.50×"), "{text}");
    }

    #[test]
    fn a_chunk_that_was_lost_and_a_stream_that_broke_both_miss_the_goal() {
        for (lost, broken) in [(1, 0), (0, 1)] {
            let burst = Measured { lost, broken, ..measured(BURSTS, CONVOKE, 1.0) };
            let results = Results { measured: vec![burst], ..Results::default() };
            assert_eq!(goals(&results)[5].measured, Some(1.0));
        }
    }

    #[test]
    fn a_program_reads_the_same_numbers() {
        let json = json(&results(), "cargo run");
        assert_eq!(json["measured"][1]["server"], OFFICIAL);
        assert_eq!(json["goals"][4]["measured"], 2.0);
        assert_eq!((&json["command"], &json["load_before"]), (&"cargo run".into(), &0.25.into()));
    }
}
