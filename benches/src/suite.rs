//! Runs the workloads on both sides, turn and turn about, and keeps the medians.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde::Serialize;
use tokio::{runtime, task::LocalSet};

use crate::{
    agent::AgentProcess,
    convoke::Convoke,
    floor::Floor,
    measure::{PerStep, Sample},
    workload::Workload,
};

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Runs of every workload on each side, after one to warm up
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    pub repetitions: u32,
    /// Also runs a fan-out of 10,000 steps
    #[arg(long)]
    pub long: bool,
    /// Runs only workloads whose name contains this
    #[arg(long, default_value = "")]
    pub only: String,
    /// Runs only one side, as a profiler wants it
    #[arg(long)]
    pub side: Option<Side>,
}

/// One of the two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// What is measured.
    Convoke,
    /// What it is measured against.
    Floor,
}

/// One workload on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: usize,
    /// Convoke's cost.
    pub convoke: Option<PerStep>,
    /// The floor's cost; none against a streaming agent, which the floor does not follow.
    pub floor: Option<PerStep>,
}

impl Measured {
    /// Processor time over the floor's.
    #[must_use]
    pub fn cpu_ratio(&self) -> Option<f64> {
        Some(self.convoke?.cpu_us / self.floor?.cpu_us)
    }

    /// Wall time over the floor's.
    #[must_use]
    pub fn wall_ratio(&self) -> Option<f64> {
        Some(self.convoke?.wall_us / self.floor?.wall_us)
    }
}

/// All that was measured, in the order it was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Results {
    /// By workload.
    pub measured: Vec<Measured>,
}

impl Results {
    /// Finds a workload by its name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Measured> {
        self.measured.iter().find(|measured| measured.name == name)
    }
}

/// A workload and the agent it goes to.
struct Case {
    workload: Workload,
    url: String,
    has_floor: bool,
}

/// Runs what the options ask for, with data in `folder` and a word to `progress` before each.
///
/// # Errors
/// When a run fails on either side.
pub fn run(options: &Options, folder: &Path, mut progress: impl FnMut(&str)) -> Result<Results> {
    let agent = AgentProcess::start()?;
    let mut results = Results::default();
    for case in cases(options, &agent.plain(), &agent.streaming()) {
        progress(&case.workload.name);
        let folder = tempfile::tempdir_in(folder)
            .with_context(|| format!("making a data folder in {}", folder.display()))?;
        results.measured.push(measure(&case, options, folder.path())?);
    }
    Ok(results)
}

fn cases(options: &Options, plain: &str, streaming: &str) -> Vec<Case> {
    let mut workloads = vec![
        Workload::chain(50),
        Workload::chain(400),
        Workload::fan_out(200),
        Workload::fan_out(1_500),
        Workload::lattice(10, 20),
    ];
    if options.long {
        workloads.push(Workload::fan_out(10_000));
    }
    let plain = workloads.into_iter().map(|workload| Case {
        workload,
        url: plain.to_owned(),
        has_floor: true,
    });
    let streaming =
        [Workload::chain(50), Workload::fan_out(200)].into_iter().map(|workload| Case {
            workload: Workload { name: format!("{}, streaming", workload.name), ..workload },
            url: streaming.to_owned(),
            has_floor: false,
        });
    plain.chain(streaming).filter(|case| case.workload.name.contains(&options.only)).collect()
}

fn measure(case: &Case, options: &Options, folder: &Path) -> Result<Measured> {
    let wants = |side| options.side.is_none_or(|only| only == side);
    let mut convoke = wants(Side::Convoke).then(|| ConvokeSide::open(case, folder)).transpose()?;
    let mut floor = (case.has_floor && wants(Side::Floor))
        .then(|| FloorSide::open(case, folder))
        .transpose()?;
    let (mut by_convoke, mut by_floor) = (Vec::new(), Vec::new());
    for repetition in 0..=options.repetitions {
        // The first one makes connections, fills caches and is not counted.
        let is_counted = repetition > 0;
        if let Some(side) = &mut floor {
            by_floor.extend(Some(side.run(&case.workload)?).filter(|_| is_counted));
        }
        if let Some(side) = &mut convoke {
            by_convoke.extend(Some(side.run()?).filter(|_| is_counted));
        }
    }
    if let Some(side) = convoke {
        side.close()?;
    }
    let steps = case.workload.steps();
    let per_step = |samples: &[Sample]| (!samples.is_empty()).then(|| PerStep::of(samples, steps));
    Ok(Measured {
        name: case.workload.name.clone(),
        steps,
        convoke: per_step(&by_convoke),
        floor: per_step(&by_floor),
    })
}

/// The executor on the kind of runtime that the program gives it.
struct ConvokeSide {
    runtime: runtime::Runtime,
    convoke: Convoke,
    plan: Arc<planner::Plan>,
}

impl ConvokeSide {
    fn open(case: &Case, folder: &Path) -> Result<Self> {
        let runtime = runtime::Builder::new_multi_thread().enable_all().build()?;
        let convoke = runtime.block_on(Convoke::open(&folder.join("convoke")))?;
        let plan = runtime.block_on(convoke.plan(&case.workload, &case.url))?;
        Ok(Self { runtime, convoke, plan })
    }

    fn run(&mut self) -> Result<Sample> {
        Ok(self.runtime.block_on(self.convoke.run(&self.plan))?.1)
    }

    fn close(self) -> Result<()> {
        self.runtime.block_on(self.convoke.close())
    }
}

/// The floor on the cheapest runtime there is.
struct FloorSide {
    runtime: runtime::Runtime,
    tasks: LocalSet,
    floor: Floor,
}

impl FloorSide {
    fn open(case: &Case, folder: &Path) -> Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let floor = Floor::open(folder, &case.url)?;
        Ok(Self { runtime, tasks: LocalSet::new(), floor })
    }

    fn run(&mut self, workload: &Workload) -> Result<Sample> {
        self.tasks.block_on(&self.runtime, self.floor.run(workload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(options: &Options) -> Vec<String> {
        cases(options, "plain", "streaming").into_iter().map(|case| case.workload.name).collect()
    }

    #[test]
    fn options_choose_the_workloads() {
        let all = Options { repetitions: 1, long: false, only: String::new(), side: None };
        let usual = [
            "chain 50",
            "chain 400",
            "fan-out 200",
            "fan-out 1500",
            "lattice 10×20",
            "chain 50, streaming",
            "fan-out 200, streaming",
        ];
        assert_eq!(names(&all), usual);
        let some = Options { only: "chain 50".to_owned(), ..all.clone() };
        assert_eq!(names(&some), ["chain 50", "chain 50, streaming"]);
        let long = Options { long: true, only: "10000".to_owned(), ..all };
        assert_eq!(names(&long), ["fan-out 10000"]);
    }
}
