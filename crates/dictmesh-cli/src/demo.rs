//! `dictmesh demo`: what it shows, and (in [`run`]) how it comes about.

use dictmesh::Matrix;

/// Everything the demo's picture and text show.
#[derive(Clone, Debug)]
pub struct DemoResult {
    /// The planted atoms, one a column.
    pub planted: Matrix,
    /// The learned atoms, one a column.
    pub recovered: Matrix,
    /// The agent that keeps each learned atom.
    pub owner: Vec<usize>,
    /// The links of the mesh.
    pub edges: Vec<(usize, usize)>,
    /// For each agent whether it sees the samples; its length is the number of agents.
    pub informed: Vec<bool>,
    /// Samples in a mini-batch.
    pub batch: usize,
    /// Mean cost of a sample in each mini-batch, as the stream went by.
    pub costs: Vec<f64>,
    /// Mean cost of samples that were not learned from, with the first atoms.
    pub cost_before: f64,
    /// The same samples with the learned atoms.
    pub cost_after: f64,
    /// The accuracy every strategy was run to.
    pub target: f64,
    /// What the accuracy measures, in a few words.
    pub measure: String,
    /// After this many rounds a strategy was stopped.
    pub round_limit: usize,
    /// One row for each strategy.
    pub strategies: Vec<StrategyRow>,
}

/// What one inference strategy needed.
#[derive(Clone, Debug)]
pub struct StrategyRow {
    /// The strategy's name.
    pub name: String,
    /// Rounds until the target, or `None` if the round limit came first.
    pub rounds: Option<usize>,
    /// Bytes the agents sent each other in these rounds, all agents together.
    pub bytes: u64,
    /// The accuracy at the end.
    pub accuracy: f64,
}

/// A word on how far the demo is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is going on, for people ("learning", "comparing strategies").
    pub phase: &'static str,
    /// Steps of this phase that are done.
    pub done: usize,
    /// Steps this phase has.
    pub total: usize,
    /// The cost of the last mini-batch, while there is one.
    pub cost: Option<f64>,
}

/// Learns the planted dictionary of a seed and compares the strategies.
pub fn run(seed: u64, _progress: &mut dyn FnMut(Progress)) -> Result<DemoResult, dictmesh::Error> {
    Err(dictmesh::Error::Unsupported {
        what: "the demo".into(),
        with: format!("seed {seed}"),
        why: "the mesh is not wired to it yet".into(),
    })
}

/// A result as a good run would give it, to try the drawing on.
#[cfg(test)]
pub fn fake_result() -> DemoResult {
    use crate::planted::Planted;
    use dictmesh::random::{gaussian, stream};
    let planted = Planted::new(1).dictionary().clone();
    let atoms = planted.cols();
    let noise = gaussian(64, atoms, &mut stream(5, 1));
    // Another order, other signs; most atoms good, a few poor.
    let recovered = Matrix::from_fn(64, atoms, |i, k| {
        let p = (k * 5 + 3) % atoms;
        let sign = if k % 3 == 0 { -1.0 } else { 1.0 };
        let level = if k % 11 == 4 { 0.12 } else { 0.012 };
        sign * planted.get(i, p) + level * noise.get(i, k)
    });
    let agents = 16;
    let mut edges: Vec<_> = (0..agents).map(|k| (k, (k + 1) % agents)).collect();
    edges.extend([(0, 5), (2, 9), (3, 12), (7, 14), (1, 10), (4, 8), (6, 13)]);
    edges.extend([(0, 11), (5, 15), (8, 12)]);
    let jitter = gaussian(1, 250, &mut stream(5, 2));
    let costs = (0..250)
        .map(|t| 0.34 + 0.75 * (-(t as f64) / 45.0).exp() + 0.03 * jitter.get(0, t))
        .collect();
    let row = |name: &str, rounds: Option<usize>, accuracy| StrategyRow {
        name: name.into(),
        rounds,
        bytes: rounds.unwrap_or(3000) as u64 * 52 * 64 * 8,
        accuracy,
    };
    DemoResult {
        planted,
        recovered,
        owner: (0..atoms).map(|k| k * agents / atoms).collect(),
        edges,
        informed: (0..agents).map(|k| k % 4 == 0).collect(),
        batch: 16,
        costs,
        cost_before: 1.13,
        cost_after: 0.335,
        target: 1e-4,
        measure: "relative distance of the dual to the exact one".into(),
        round_limit: 3000,
        strategies: vec![
            row("diffusion", None, 3.1e-2),
            row("consensus", None, 5.7e-2),
            row("jacobi-admm", Some(812), 9.9e-5),
            row("exact-diffusion", Some(341), 9.8e-5),
            row("relaxed-admm", Some(96), 9.1e-5),
        ],
    }
}
