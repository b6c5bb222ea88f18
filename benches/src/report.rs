//! What a person reads, and what a program does.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    goals::{Goal, Standing, goals},
    measure::PerStep,
    suite::Results,
};

/// Writes two tables: what was measured, and how the goals stand.
#[must_use]
pub fn text(results: &Results, command: &str) -> String {
    let mut text = format!(
        "{:<24} {:>8} {:>10} {:>19} {:>10} {:>19} {:>9} {:>8} {:>9}\n",
        "workload",
        "side",
        "wall µs",
        "(min–max)",
        "CPU µs",
        "(min–max)",
        "steps/s",
        "flushes",
        "queued µs"
    );
    for measured in &results.measured {
        let sides = [("convoke", measured.convoke), ("floor", measured.floor)];
        for (side, per_step) in sides {
            if let Some(per_step) = per_step {
                text.push_str(&row(&measured.name, side, &per_step));
            }
        }
        if let (Some(wall), Some(cpu)) = (measured.wall_ratio(), measured.cpu_ratio()) {
            line(
                &mut text,
                &format!(
                    "{:<24} {:>8} {wall:>9.2}× {:>19} {cpu:>9.2}×",
                    measured.name, "ratio", ""
                ),
            );
        }
    }
    line(
        &mut text,
        "\nAll per step, medians; flushes are SQLite transactions on disk, queued is waiting for a processor.\n",
    );
    end(&mut text, &goals(results), command);
    text
}

/// Writes how the goals stand, and how to measure again.
pub(crate) fn end(text: &mut String, goals: &[Goal], command: &str) {
    line(text, &format!("{:<36} {:>6} {:>6} {:>9}", "goal", "must", "aim", "measured"));
    for goal in goals {
        line(text, &goal_row(goal));
    }
    line(text, &format!("\nAgain with: {command}"));
}

fn row(name: &str, side: &str, per_step: &PerStep) -> String {
    let range = |[low, high]: [f64; 2]| format!("({low:.0}–{high:.0})");
    format!(
        "{name:<24} {side:>8} {:>10.1} {:>19} {:>10.1} {:>19} {:>9.0} {:>8.3} {:>9.0}\n",
        per_step.wall_us,
        range(per_step.wall_range_us),
        per_step.cpu_us,
        range(per_step.cpu_range_us),
        per_step.steps_per_second,
        per_step.flushes,
        per_step.queued_us
    )
}

fn goal_row(goal: &Goal) -> String {
    let measured = goal.measured.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
    let standing = match goal.standing() {
        Standing::AimReached => "aim reached",
        Standing::Met => "met",
        Standing::Missed => "missed",
        Standing::Disturbed => "no verdict: the machine was busy with other work",
        Standing::Unknown => "not run",
    };
    format!("{:<36} {:>6} {:>6} {measured:>9}  {standing}", goal.what, goal.must, goal.aim)
}

pub(crate) fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a String takes everything");
}

/// The same as JSON: `{command, measured: [...], goals: [...]}`.
#[must_use]
pub fn json(results: &Results, command: &str) -> Value {
    json!({
        "command": command,
        "measured": results.measured,
        "goals": goals(results),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Measured;

    fn per_step(micros: f64, flushes: f64) -> PerStep {
        PerStep {
            runs: 7,
            wall_us: micros,
            cpu_us: micros / 2.0,
            queued_us: 0.0,
            flushes,
            steps_per_second: 1e6 / micros,
            wall_range_us: [micros - 1.0, micros + 1.0],
            cpu_range_us: [micros / 2.0, micros],
        }
    }

    fn results() -> Results {
        let measured = |name: &str, convoke, floor| Measured {
            name: name.to_owned(),
            steps: 50,
            convoke: Some(convoke),
            floor,
        };
        Results {
            measured: vec![
                measured("chain 50", per_step(900.0, 1.04), Some(per_step(600.0, 1.0))),
                measured("chain 400", per_step(1_200.0, 1.0), None),
            ],
        }
    }

    #[test]
    fn a_person_reads_ratios_beside_goals() {
        let text = text(&results(), "cargo run");
        for line in [
            "chain 50                    ratio      1.50×                          1.50×",
            "chain 50: wall ÷ floor                  1.6      1     1.500  met",
            "chain 50: flushes per step              1.1   1.02     1.040  met",
            "fan-out 200: flushes per step           0.1   0.03         –  not run",
            "CPU per step, chain 400 ÷ 50            1.2   1.05     1.333  missed",
            "Again with: cargo run",
        ] {
            assert!(text.contains(line), "{line}\nis not in\n{text}");
        }
    }

    #[test]
    fn a_wall_time_of_a_busy_machine_meets_no_goal() {
        let mut results = results();
        if let Some(floor) = &mut results.measured[0].floor {
            floor.queued_us = floor.wall_us * 0.6;
        }
        let text = text(&results, "cargo run");
        assert!(text.contains("1.500  no verdict: the machine was busy"), "{text}");
    }

    #[test]
    fn a_program_reads_the_same_numbers() {
        let json = json(&results(), "cargo run");
        assert_eq!(json["command"], "cargo run");
        assert_eq!(json["measured"][0]["convoke"]["wall_us"], 900.0);
        assert_eq!(json["measured"][1]["floor"], Value::Null);
        assert_eq!(json["goals"][1]["measured"], 1.5);
    }
}
