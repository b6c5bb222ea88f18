//! The fuzz targets: built with coverage counters, and run for some minutes each.
//!
//! The compiler of the workspace can do it; what asks for a nightly one elsewhere are checks of memory, for
//! which there is no need where `unsafe` is forbidden.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
};

use anyhow::{Context as _, Result, bail};

use crate::process;

/// What makes the compiler count what is reached, and libFuzzer see it.
const FLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1";

/// How much memory a target may take.
const MOST_MB: u32 = 1024;

/// How long one input may take, in seconds.
const MOST_SECONDS: u32 = 10;

/// How much of the output of a target that failed is shown.
const LINES_SHOWN: usize = 40;

/// What libFuzzer counted of one target.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    executions: u64,
    per_second: u64,
    peak_mb: u64,
    new_inputs: u64,
}

impl Counts {
    fn parse(output: &str) -> Self {
        let stat = |name: &str| {
            let mut lines = output.lines().rev();
            let value = lines.find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
            value.and_then(|it| it.trim_start_matches(':').trim().parse().ok()).unwrap_or_default()
        };
        Self {
            executions: stat("number_of_executed_units"),
            per_second: stat("average_exec_per_sec"),
            peak_mb: stat("peak_rss_mb"),
            new_inputs: stat("new_units_added"),
        }
    }
}

/// Where one target is built, and what it finds.
struct Place {
    binary: PathBuf,
    /// The inputs it has found so far, which the next run begins with.
    found: PathBuf,
    /// What the name of an input that breaks it begins with.
    broken: PathBuf,
    log: PathBuf,
}

/// Runs every target for so many minutes, as many at once as there are cores, and prints what was counted.
///
/// # Errors
/// When a target finds an input that breaks it, takes too much memory or too long, or does not run at all.
pub(crate) fn run(minutes: u32) -> Result<()> {
    let host = host()?;
    build(&host)?;
    let waiting = Mutex::new(targets()?);
    let failed = Mutex::new(Vec::new());
    let next = || waiting.lock().expect("nobody panics while it is locked").pop();
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    println!("{:10} {:>12} {:>9} {:>8} {:>10}", "target", "executions", "per s", "peak MB", "new");
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(target) = next() {
                    if let Err(error) = run_target(&target, &host, minutes) {
                        eprintln!("error: {target}: {error:#}");
                        failed.lock().expect("nobody panics while it is locked").push(target);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics while it is locked");
    if !failed.is_empty() {
        bail!("these fuzz targets failed: {}", failed.join(", "));
    }
    Ok(())
}

/// The names of all targets, the last first.
fn targets() -> Result<Vec<String>> {
    let folder = process::root().join("fuzz/targets");
    let files =
        fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = Vec::new();
    for file in files {
        let path = file.with_context(|| format!("cannot list {}", folder.display()))?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort_by(|one, other| other.cmp(one));
    Ok(names)
}

/// The platform, which has to be said: flags are then for the targets alone, and not for build scripts.
fn host() -> Result<String> {
    let told = process::output(process::command("rustc").arg("-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it compiles for")?.to_owned())
}

fn folder() -> PathBuf {
    process::target().join("fuzz")
}

fn build(host: &str) -> Result<()> {
    let mut cargo =
        process::cargo(["build", "--release", "--bins", "--manifest-path=fuzz/Cargo.toml"]);
    cargo.args(["--target", host]).arg("--target-dir").arg(folder());
    process::run(cargo.env("RUSTFLAGS", FLAGS))
}

impl Place {
    fn of(target: &str, host: &str) -> Self {
        let folder = folder();
        Self {
            binary: folder.join(host).join("release").join(target),
            found: folder.join("found").join(target),
            broken: folder.join("broken").join(format!("{target}-")),
            log: folder.join(format!("{target}.log")),
        }
    }
}

fn run_target(target: &str, host: &str, minutes: u32) -> Result<()> {
    let place = Place::of(target, host);
    for folder in [Some(place.found.as_path()), place.broken.parent()].into_iter().flatten() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let log = fs::File::create(&place.log)
        .with_context(|| format!("cannot write {}", place.log.display()))?;
    let mut command = command(target, &place, minutes);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).status();
    let status = status.with_context(|| format!("cannot start {}", place.binary.display()))?;
    let output =
        fs::read(&place.log).with_context(|| format!("cannot read {}", place.log.display()))?;
    let output = String::from_utf8_lossy(&output);
    let counts = Counts::parse(&output);
    let Counts { executions, per_second, peak_mb, new_inputs } = &counts;
    println!("{target:10} {executions:>12} {per_second:>9} {peak_mb:>8} {new_inputs:>10}");
    if !status.success() {
        let broken = place.broken.display();
        bail!(
            "{status}; the input is in a file {broken}*, its end says how it broke; copy it to \
             fuzz/corpus/{target}/ under a name that begins with `taken-` or `refused-`, so that every \
             run of the tests has it\n{}",
            end(&output)
        );
    }
    if *executions == 0 {
        bail!("it ran nothing; its output is in {}", place.log.display());
    }
    Ok(())
}

fn command(target: &str, place: &Place, minutes: u32) -> Command {
    let mut command = process::command_at(&place.binary);
    let prefix = place.broken.display();
    command.args([
        format!("-max_total_time={}", u64::from(minutes) * 60),
        format!("-rss_limit_mb={MOST_MB}"),
        format!("-timeout={MOST_SECONDS}"),
        format!("-artifact_prefix={prefix}"),
        "-dict=fuzz/words.dict".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]);
    command.arg(&place.found).arg(Path::new("fuzz/corpus").join(target));
    command
}

fn end(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_read_from_the_end_of_the_output() {
        let output = "#4194304\tpulse  cov: 12 ft: 44\nDone 5000000 runs in 61 second(s)\n\
                      stat::number_of_executed_units: 5000000\nstat::average_exec_per_sec:     81967\n\
                      stat::new_units_added:          31\nstat::slowest_unit_time_sec:    0\n\
                      stat::peak_rss_mb:              77\n";
        let counts = Counts::parse(output);
        let expected =
            Counts { executions: 5_000_000, per_second: 81_967, peak_mb: 77, new_inputs: 31 };
        assert_eq!(counts, expected);
        assert_eq!(Counts::parse("thread panicked"), Counts::default());
    }

    #[test]
    fn a_target_runs_for_its_minutes_within_its_memory_from_the_examples_of_the_tree() {
        let command = command("sse", &Place::of("sse", "host"), 3);
        let words: Vec<String> =
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        for word in ["-max_total_time=180", "-rss_limit_mb=1024", "-timeout=10", "fuzz/corpus/sse"]
        {
            assert!(words.iter().any(|known| known == word), "{word}: {words:?}");
        }
    }

    #[test]
    fn every_target_of_the_tree_is_found() {
        let names = targets().expect("the folder can be listed");
        assert!(names.contains(&"sse".to_owned()) && names.len() >= 7, "{names:?}");
    }
}
