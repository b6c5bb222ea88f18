//! Measures what tests of linear cost compare. Time is no gate of every change: it is compared where
//! `CONVOKE_COST` is set, by `cargo xtask long cost`; elsewhere the small size only has to work.

use std::time::{Duration, Instant};

/// The least CPU time of three runs on as many steps as given: time on the wall would measure what
/// else the machine does. Where the system does not tell it, time on the wall.
pub(crate) fn least(run: impl Fn(usize), steps: usize) -> Duration {
    let measure = || {
        let (wall, cpu) = (Instant::now(), thread_time());
        run(steps);
        match (cpu, thread_time()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => wall.elapsed(),
        }
    };
    (0..3).map(|_| measure()).min().unwrap_or_default()
}

/// Whether times are compared.
pub(crate) fn is_measured() -> bool {
    std::env::var_os("CONVOKE_COST").is_some()
}

/// Ten times the steps may cost twenty-five times as much, caches considered; a quadratic cost
/// would be a hundred.
pub(crate) fn assert_linear(what: &str, run: impl Fn(usize), steps: usize) {
    if !is_measured() {
        return run(steps);
    }
    let (small, large) = (least(&run, steps), least(&run, steps * 10));
    println!("{what}: {steps} steps {small:?}, {} steps {large:?}", steps * 10);
    assert!(large < small * 25, "{what}: ten times the steps took {large:?} against {small:?}");
}

fn thread_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
