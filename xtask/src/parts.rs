//! The parts of a long chore, with the time each one took.

use std::{
    fmt,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

/// The parts run so far; prints as a table.
#[derive(Default)]
pub(crate) struct Parts {
    parts: Vec<Part>,
}

struct Part {
    name: String,
    took: Duration,
    outcome: Outcome,
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

impl Parts {
    /// Runs one part under a heading; a failure is kept and told by [`Parts::verdict`].
    pub(crate) fn run(&mut self, name: &str, part: impl FnOnce() -> Result<()>) -> bool {
        eprintln!("── {name}");
        let started = Instant::now();
        let result = part();
        let outcome = match result {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                eprintln!("error: {error:#}");
                Outcome::Failed(format!("{error:#}"))
            }
        };
        let passed = matches!(outcome, Outcome::Passed);
        self.push(name, started.elapsed(), outcome);
        passed
    }

    /// Notes a part that was left out, and why.
    pub(crate) fn skip(&mut self, name: &str, why: &str) {
        self.push(name, Duration::ZERO, Outcome::Skipped(why.to_owned()));
    }

    /// Fails with the names of the parts that failed.
    pub(crate) fn verdict(&self) -> Result<()> {
        let failed: Vec<&str> = self
            .parts
            .iter()
            .filter(|part| matches!(part.outcome, Outcome::Failed(_)))
            .map(|part| part.name.as_str())
            .collect();
        if !failed.is_empty() {
            bail!("{} of {} parts failed: {}", failed.len(), self.parts.len(), failed.join(", "));
        }
        Ok(())
    }

    fn push(&mut self, name: &str, took: Duration, outcome: Outcome) {
        self.parts.push(Part { name: name.to_owned(), took, outcome });
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self.parts.iter().map(|part| part.name.chars().count());
        let width = widest.chain(["total".len()]).max().unwrap_or_default();
        for part in &self.parts {
            let seconds = part.took.as_secs_f64();
            write!(f, "{:width$}  {seconds:8.1} s  ", part.name)?;
            match &part.outcome {
                Outcome::Passed => writeln!(f, "ok")?,
                Outcome::Failed(why) => {
                    let first = why.lines().next().unwrap_or_default();
                    writeln!(f, "FAILED: {first}")?;
                }
                Outcome::Skipped(why) => writeln!(f, "skipped: {why}")?,
            }
        }
        let total: Duration = self.parts.iter().map(|part| part.took).sum();
        writeln!(f, "{:width$}  {:8.1} s", "total", total.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_each_part_with_its_time_and_outcome() {
        let mut parts = Parts::default();
        parts.push("clippy", Duration::from_millis(1_500), Outcome::Passed);
        let why = "`cargo fmt` failed\nmore".to_owned();
        parts.push("fmt", Duration::from_millis(250), Outcome::Failed(why));
        parts.skip("deny", "cargo-deny is not installed");
        let expected = "\
clippy       1.5 s  ok
fmt          0.2 s  FAILED: `cargo fmt` failed
deny         0.0 s  skipped: cargo-deny is not installed
total        1.8 s
";
        assert_eq!(parts.to_string(), expected);
    }

    #[test]
    fn one_failed_part_fails_the_whole_and_the_later_parts_still_run() {
        let mut parts = Parts::default();
        assert!(!parts.run("first", || bail!("broken")));
        assert!(parts.run("second", || Ok(())));
        let error = parts.verdict().expect_err("the first part failed");
        assert_eq!(error.to_string(), "1 of 2 parts failed: first");
    }
}
