//! What is run: graphs of steps whose messages quote what the steps before answered.

use std::fmt::Write as _;

/// Steps in flight at once, in every workload.
const PARALLEL: usize = 200;

/// A graph of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// What the report calls it, such as `chain 50`.
    pub name: String,
    /// For every step the positions of those it waits for, all smaller than its own.
    pub dependencies: Vec<Vec<usize>>,
    /// Steps in flight at once.
    pub parallel: usize,
}

impl Workload {
    /// Makes a line of steps, each waiting for the one before.
    #[must_use]
    pub fn chain(steps: usize) -> Self {
        let dependencies = (0..steps).map(|at| at.checked_sub(1).into_iter().collect()).collect();
        Self { name: format!("chain {steps}"), dependencies, parallel: PARALLEL }
    }

    /// Makes steps that wait for nothing.
    #[must_use]
    pub fn fan_out(steps: usize) -> Self {
        let dependencies = vec![Vec::new(); steps];
        Self { name: format!("fan-out {steps}"), dependencies, parallel: PARALLEL }
    }

    /// Makes layers of steps, each waiting for two neighbours in the layer before.
    #[must_use]
    pub fn lattice(layers: usize, width: usize) -> Self {
        let before = |at: usize| {
            let (layer, column) = (at / width, at % width);
            let above = layer.checked_sub(1).map(|layer| layer * width);
            let mut both: Vec<usize> = above
                .into_iter()
                .flat_map(|above| [above + column, above + (column + 1) % width])
                .collect();
            both.dedup();
            both
        };
        let dependencies = (0..layers * width).map(before).collect();
        Self { name: format!("lattice {layers}×{width}"), dependencies, parallel: PARALLEL }
    }

    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.dependencies.len()
    }

    /// Writes it as a workflow file whose every step is served by the agent at `url`.
    #[must_use]
    pub fn yaml(&self, url: &str) -> String {
        let mut yaml = format!(
            "convoke: 1\nname: bench\nparallel: {}\nagents:\n  bench: {{url: \"{url}\"}}\nsteps:\n",
            self.parallel
        );
        for (at, dependencies) in self.dependencies.iter().enumerate() {
            let quotes: Vec<String> = dependencies
                .iter()
                .map(|before| format!("${{{{ steps.{}.text }}}}", step_id(*before)))
                .collect();
            let (id, message) = (step_id(at), message(&quotes));
            writeln!(yaml, "  {id}: {{agent: bench, message: \"{message}\"}}")
                .expect("a String takes everything");
        }
        yaml
    }
}

/// Names a step. All names have one length, so that bytes per step can be compared.
#[must_use]
pub fn step_id(at: usize) -> String {
    format!("s{at:05}")
}

/// What a step says to the agent, given what it quotes.
#[must_use]
pub fn message<T: AsRef<str>>(quotes: &[T]) -> String {
    let mut text = "Please do what comes next, given:".to_owned();
    for quote in quotes {
        text.push(' ');
        text.push_str(quote.as_ref());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_the_edges_their_names_promise() {
        assert_eq!(Workload::chain(3).dependencies, [vec![], vec![0], vec![1]]);
        assert_eq!(Workload::fan_out(2).dependencies, vec![Vec::<usize>::new(); 2]);
        let lattice = Workload::lattice(2, 3);
        assert_eq!(lattice.dependencies[..3], vec![Vec::<usize>::new(); 3]);
        assert_eq!(lattice.dependencies[3..], [vec![0, 1], vec![1, 2], vec![2, 0]]);
        assert_eq!(lattice.name, "lattice 2×3");
    }

    #[test]
    fn the_workflow_file_says_how_many_steps_may_be_in_flight() {
        let workload = Workload { parallel: 7, ..Workload::fan_out(1) };
        assert!(workload.yaml("http://127.0.0.1:1/").contains("\nparallel: 7\n"));
    }
}
