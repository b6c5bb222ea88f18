//! Lines that change in place: one per step that is under way or done, a bar for the whole.

use std::{collections::HashMap, time::Duration};

use executor::{
    Recorded,
    run::{RunEvent, StepIndex},
};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use planner::StepState;

use super::{news, run_news};

/// Steps shown at once; the others are in the bar only.
const LINES: usize = 16;
const TICK: Duration = Duration::from_millis(120);

/// Draws a run on the terminal.
pub(crate) struct Live {
    bars: MultiProgress,
    whole: ProgressBar,
    lines: HashMap<StepIndex, ProgressBar>,
    width: usize,
}

impl Live {
    pub(crate) fn new(recorded: &Recorded) -> Self {
        let bars = MultiProgress::new();
        let steps = recorded.run.steps().map(|(id, _)| id.as_str().len());
        let width = steps.max().unwrap_or(0).clamp(4, 24);
        let whole = bars.add(ProgressBar::new(recorded.run.count() as u64));
        whole.set_style(style("  {bar:32.cyan/dim} {pos}/{len} steps  {elapsed}  {msg:.dim}"));
        let _ = bars.println(format!("run {} of {}", recorded.id, recorded.plan.workflow.name));
        Self { bars, whole, lines: HashMap::new(), width }
    }

    pub(crate) fn tell(&mut self, recorded: &Recorded, event: &RunEvent) {
        if let Some(text) = run_news(event) {
            self.whole.set_message(text);
        }
        let Some((step, text)) = news(recorded, event) else {
            return;
        };
        let Some(at) = event.step().and_then(|step| recorded.run.find(step)) else {
            return;
        };
        let state = recorded.run.step_state(at);
        let step = step.to_owned();
        if let Some(line) = self.line(at, &step) {
            show(line, state, text);
        }
        let settled = recorded.run.settled();
        self.whole.set_length(recorded.run.count() as u64);
        self.whole.set_position(settled as u64);
    }

    pub(crate) fn say(&self, text: &str) {
        let _ = self.bars.println(text);
    }

    pub(crate) fn finish(&mut self, recorded: &Recorded) {
        for at in recorded.run.indices() {
            let state = recorded.run.step_state(at);
            if state == StepState::Canceled
                && let Some(line) = self.lines.get(&at)
            {
                show(line, state, "canceled".to_owned());
            }
        }
        for line in self.lines.values() {
            line.disable_steady_tick();
            line.abandon();
        }
        self.whole.abandon();
        // What comes next on the terminal stands apart.
        anstream::eprintln!();
    }

    fn line(&mut self, at: StepIndex, step: &str) -> Option<&ProgressBar> {
        if !self.lines.contains_key(&at) {
            if self.lines.len() >= LINES {
                let over = self.lines.iter().find(|(_, line)| line.is_finished());
                let over = over.map(|(at, _)| *at)?;
                let line = self.lines.remove(&over)?;
                self.bars.remove(&line);
            }
            let line = self.bars.insert_before(&self.whole, ProgressBar::new_spinner());
            line.set_prefix(format!("{step:width$}", width = self.width));
            line.enable_steady_tick(TICK);
            self.lines.insert(at, line);
        }
        self.lines.get(&at)
    }
}

fn show(line: &ProgressBar, state: StepState, text: String) {
    let template = match state {
        StepState::Completed => "  {prefix:.bold}  \u{2713} {msg:.green}",
        StepState::Failed => "  {prefix:.bold}  \u{2717} {msg:.red}",
        StepState::Skipped | StepState::Canceled => "  {prefix:.bold}  \u{2013} {msg:.yellow}",
        StepState::Waiting | StepState::Running | StepState::Paused => {
            "  {prefix:.bold}  {spinner:.cyan} {wide_msg} {elapsed:.dim}"
        }
    };
    line.set_style(style(template));
    if state.is_settled() {
        line.disable_steady_tick();
        line.finish_with_message(text);
    } else {
        line.set_message(text);
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("templates are written in this file")
}
