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

    /// Fails with the names of the parts that failed and, last of all, their errors: the end is what is left of a log
    /// that was cut.
    pub(crate) fn verdict(&self) -> Result<()> {
        let failed: Vec<(&str, &str)> = self.parts.iter().filter_map(Part::failed).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = failed.iter().map(|(name, _)| *name).collect();
        let mut verdict =
            format!("{} of {} parts failed: {}", failed.len(), self.parts.len(), names.join(", "));
        for (name, why) in failed {
            verdict += &format!("\n\u{2500}\u{2500} {name}\n{}", why.trim_end());
        }
        bail!(verdict)
    }

    fn push(&mut self, name: &str, took: Duration, outcome: Outcome) {
        self.parts.push(Part { name: name.to_owned(), took, outcome });
    }
}

impl Part {
    /// Its name, and why it failed, if it did.
    fn failed(&self) -> Option<(&str, &str)> {
        match &self.outcome {
            Outcome::Failed(why) => Some((&self.name, why)),
            Outcome::Passed | Outcome::Skipped(_) => None,
        }
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
    fn the_errors_of_failed_parts_come_last_and_the_later_parts_still_run() {
        let mut parts = Parts::default();
        assert!(!parts.run("first", || bail!("broken\nbecause of this\n")));
        assert!(parts.run("second", || Ok(())));
        assert!(!parts.run("third", || bail!("torn")));
        let error = parts.verdict().expect_err("two parts failed");
        let expected = "\
2 of 3 parts failed: first, third
── first
broken
because of this
── third
torn";
        assert_eq!(error.to_string(), expected);
    }
}
