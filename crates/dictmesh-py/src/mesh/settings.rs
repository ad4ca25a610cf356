//! The settings of a mesh.

use dictmesh::accel::Accels;
use dictmesh::problem::TaskSpec;
use dictmesh::{strategy, AtomInit, Spec, Stopping, TopologySpec, Update, WeightRule};
use serde::Deserialize;

/// All that is chosen for a mesh, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub task: TaskSpec,
    pub agents: usize,
    pub atoms: usize,
    /// None: [`dictmesh::Topology::unspecified`].
    topology: Option<TopologySpec>,
    weights: WeightRule,
    strategy: Spec,
    /// "all", "none" or names separated by commas.
    accel: String,
    stopping: Stopping,
    update: Update,
    pub batch: usize,
    seed: u64,
    /// None: all agents.
    informed: Option<Vec<usize>>,
    /// Where no atoms are given: draw them at random, or take samples.
    pub random_start: bool,
}

impl Settings {
    fn topology(&self) -> dictmesh::Result<dictmesh::Topology> {
        match &self.topology {
            Some(spec) => spec.build(self.agents),
            None => dictmesh::Topology::unspecified(self.agents, self.seed).map(|(graph, _)| graph),
        }
    }

    pub fn build(&self, rows: usize, start: AtomInit<'_>) -> dictmesh::Result<dictmesh::Mesh> {
        let (n, k) = (self.agents, self.atoms);
        let topology = self.topology()?;
        let sizes: Vec<usize> = (0..n).map(|i| k / n + usize::from(i < k % n)).collect();
        let mut builder = dictmesh::Mesh::builder(self.task.build()?, topology)
            .weights(self.weights.clone())
            .strategy(strategy::build(&self.strategy)?)
            .accels(Accels::parse(&self.accel)?)
            .stopping(self.stopping)
            .update(self.update)
            .batch(self.batch)
            .seed(self.seed);
        if let Some(informed) = &self.informed {
            builder = builder.informed(informed);
        }
        builder.build(rows, &sizes, start)
    }
}
