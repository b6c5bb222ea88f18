//! Time on the wall, time on the processor, and what they come to over several runs.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What one run cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From its start to the knowledge of its end.
    pub wall: Duration,
    /// On all processors, by all threads of this process, in user space and in the kernel.
    pub cpu: Duration,
    /// Time this process's threads were ready to run and waited for a processor; zero where the
    /// system does not tell.
    pub queued: Duration,
    /// Transactions flushed to disk.
    pub flushes: u64,
}

/// A running clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Instant,
    cpu: Duration,
    queued: Duration,
}

impl Clock {
    /// Starts counting.
    #[must_use]
    pub fn start() -> Self {
        Self { queued: process_queued(), cpu: process_cpu(), wall: Instant::now() }
    }

    /// Reads what has passed since the start.
    #[must_use]
    pub fn stop(self, flushes: u64) -> Sample {
        let wall = self.wall.elapsed();
        let cpu = process_cpu().saturating_sub(self.cpu);
        Sample { wall, cpu, queued: process_queued().saturating_sub(self.queued), flushes }
    }
}

/// Processor time of this process so far, threads that have ended included.
fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("a process has used no negative time")
}

/// Time in the run queue of all threads that live now.
fn process_queued() -> Duration {
    scheduled("self", Scheduled::Waiting)
}

/// What Linux counts of a thread in its `schedstat`, by the place of the number there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scheduled {
    /// Time on a processor.
    Running = 0,
    /// Time in the run queue.
    Waiting = 1,
}

/// Sums what is counted of all threads of a process that live now, in nanoseconds; nothing where the
/// system does not tell.
pub(crate) fn scheduled(process: &str, what: Scheduled) -> Duration {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let counted = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().nth(what as usize)?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.into_iter().flatten().flatten().filter_map(counted).sum())
}

/// The middle of some runs, per step, in microseconds where it is time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PerStep {
    /// Runs that were counted.
    pub runs: usize,
    /// Median time on the wall.
    pub wall_us: f64,
    /// Median time on processors.
    pub cpu_us: f64,
    /// Median time in the run queue.
    pub queued_us: f64,
    /// Median number of flushes.
    pub flushes: f64,
    /// Steps in a second, by the median wall time.
    pub steps_per_second: f64,
    /// Smallest and largest wall time.
    pub wall_range_us: [f64; 2],
    /// Smallest and largest processor time.
    pub cpu_range_us: [f64; 2],
}

impl PerStep {
    /// The share of the wall time beyond which other programs on the machine decide it, not this one.
    const QUEUED_SHARE: f64 = 0.1;

    /// Whether wall time says more about the machine's other work than about this one's. Fit for
    /// workloads with one step in flight: others queue behind themselves.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.queued_us > self.wall_us * Self::QUEUED_SHARE
    }

    /// Takes the medians of runs of `steps` steps.
    ///
    /// # Panics
    /// Without a sample.
    #[must_use]
    pub fn of(samples: &[Sample], steps: usize) -> Self {
        let steps = steps as f64;
        let sorted = |value: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = samples.iter().map(|one| value(one) / steps).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let wall = sorted(|one| one.wall.as_secs_f64() * 1e6);
        let cpu = sorted(|one| one.cpu.as_secs_f64() * 1e6);
        let queued = sorted(|one| one.queued.as_secs_f64() * 1e6);
        let flushes = sorted(|one| one.flushes as f64);
        Self {
            runs: samples.len(),
            wall_us: median(&wall),
            cpu_us: median(&cpu),
            queued_us: median(&queued),
            flushes: median(&flushes),
            steps_per_second: 1e6 / median(&wall),
            wall_range_us: [wall[0], wall[wall.len() - 1]],
            cpu_range_us: [cpu[0], cpu[cpu.len() - 1]],
        }
    }
}

/// The middle of sorted values; between the two middle ones when their number is even.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(micros: u64) -> Sample {
        let time = Duration::from_micros(micros);
        Sample { wall: time, cpu: time / 2, queued: time / 4, flushes: micros / 10 }
    }

    #[test]
    fn a_run_out_of_line_does_not_move_the_median() {
        let per_step = PerStep::of(&[sample(90), sample(100), sample(9_000)], 10);
        assert_eq!(per_step.runs, 3);
        assert!((per_step.wall_us - 10.0).abs() < 1e-9);
        assert!((per_step.cpu_us - 5.0).abs() < 1e-9);
        assert!((per_step.queued_us - 2.5).abs() < 1e-9);
        assert!(per_step.is_disturbed());
        assert!(!PerStep { queued_us: 1.0, ..per_step }.is_disturbed());
        assert!((per_step.flushes - 1.0).abs() < 1e-9);
        assert!((per_step.steps_per_second - 1e5).abs() < 1e-3);
        assert!((per_step.wall_range_us[1] - 900.0).abs() < 1e-9);
    }

    #[test]
    fn two_runs_meet_in_the_middle() {
        assert!((PerStep::of(&[sample(100), sample(200)], 1).wall_us - 150.0).abs() < 1e-9);
    }

    #[test]
    fn work_takes_processor_time() {
        let clock = Clock::start();
        let mut sum = 0u64;
        while clock.stop(0).cpu < Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(clock.stop(3).wall >= Duration::from_millis(1));
        assert_eq!(clock.stop(3).flushes, 3);
        // This thread alone has worked that long; others may have ended.
        assert!(scheduled("self", Scheduled::Running) >= Duration::from_millis(2));
    }
}
