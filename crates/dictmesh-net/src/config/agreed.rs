//! What all agents of a run have in common.

use super::{ConfigError, Policy, Result};
use crate::codec::Limits;
use dictmesh::mesh::Stopping;
use dictmesh::problem::TaskSpec;
use dictmesh::strategy::RelaxedAdmm;
use dictmesh::AgentId;
use dictmesh::{strategy, Spec};
use dictmesh::{Topology, Update, WeightRule, Weights};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Settings that must be the same at all agents; the hand-shake compares them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Agreed {
    /// M, the dimension of a sample.
    pub rows: usize,
    /// Samples per update.
    pub batch: usize,
    /// Samples of a block, the paper's s, for the update that counts them; left out, all are one block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u64>,
    /// The rule of the combination weights.
    pub weights: WeightRule,
    /// Whether all agree on the cost of every sample: the novelty score.
    #[serde(default = "yes")]
    pub score: bool,
    /// Whether dual vectors travel in single precision: half the bytes, seven digits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub float32: bool,
    /// Whether masks hide each agent's part of a sum from the others.
    #[serde(default = "yes")]
    pub masks: bool,
    /// What is being solved.
    pub task: TaskSpec,
    /// The inference strategy, with all its constants.
    pub strategy: Spec,
    /// When the rounds of one batch end.
    pub stopping: Stopping,
    /// The dictionary update.
    pub update: Update,
}

/// Bytes of a frame, at most: gRPC counts them in 32 bits.
const LARGEST: usize = 2 << 30;

fn yes() -> bool {
    true
}

impl Agreed {
    /// Whether an agent can run with these.
    pub fn check(&self) -> Result<()> {
        let library = |e: dictmesh::Error| ConfigError::new(e.to_string());
        for (name, value) in [("rows", self.rows), ("batch", self.batch)] {
            if value == 0 {
                return Err(ConfigError::new(format!("{name} = 0: must be 1 or more")));
            }
        }
        if Limits::new(self.rows, 1).largest() > LARGEST {
            let most = (LARGEST - Limits::new(0, 1).largest()) / 8;
            return Err(ConfigError::new(format!(
                "rows = {}: a sample has at most {most} rows, as {LARGEST} bytes are sent at once; take shorter samples",
                self.rows
            )));
        }
        let largest = Limits::new(self.rows, self.batch).largest();
        if largest > LARGEST {
            return Err(ConfigError::new(format!(
                "rows = {} and batch = {}: a frame could have {largest} bytes, more than the {LARGEST} that are sent \
                 at once; take smaller batches",
                self.rows, self.batch
            )));
        }
        let task = self.task.build().map_err(library)?;
        self.update.check(task.residual()).map_err(library)?;
        let strategy = strategy::build(&self.strategy).map_err(library)?;
        strategy.check(task.residual(), true).map_err(library)?;
        // Constants must be there: an agent cannot compute them from what it knows.
        let own = dictmesh::random::stream(0, 0);
        strategy.agent(own).map(drop).map_err(|e| {
            ConfigError::new(format!(
                "strategy: {e}; dictmesh mesh init fills the constants in for a whole mesh"
            ))
        })?;
        match self.stopping {
            Stopping { rounds: 0, .. } => {
                Err(ConfigError::new("stopping: rounds = 0: must be 1 or more"))
            }
            Stopping {
                tolerance: Some(t), ..
            } if !(t > 0.0 && t.is_finite()) => Err(ConfigError::new(format!(
                "stopping: tolerance = {t}: must be above 0"
            ))),
            _ => self.check_precision(),
        }
    }

    /// Whether single precision can meet the tolerance, if there is one; the least was measured, see docs/benchmarks.md.
    fn check_precision(&self) -> Result<()> {
        let integers = self.strategy.parameters().contains_key("bits");
        if self.float32 && (integers || self.strategy.kind() == "tree") {
            return Err(ConfigError::new(format!(
                "float32: with the strategy {} no dual vectors are sent, but integers of few bits; \
                 leave it out",
                self.strategy
            )));
        }
        let Some(tolerance) = self.stopping.tolerance.filter(|_| self.float32) else {
            return Ok(());
        };
        let least = match self.strategy.kind() {
            // It adds up what its vectors are rounded by.
            "exact-diffusion" => 1e-2,
            _ => 1e-5,
        };
        if tolerance < least {
            return Err(ConfigError::new(format!(
                "tolerance {tolerance:e}: where dual vectors travel in single precision (float32), few graphs meet less than {least:e} \
                 with {}; take that or more, or double precision",
                self.strategy.kind()
            )));
        }
        Ok(())
    }

    /// The same with the strategy's constants filled in for this graph and these numbers of atoms, and under `go-on` for
    /// whatever is left of it. Nobody's atoms are looked at.
    pub fn resolved(
        mut self,
        topology: &Topology,
        atoms: &[usize],
        policy: Policy,
    ) -> dictmesh::Result<Self> {
        let task = self.task.build()?;
        let weights = Weights::new(topology, &self.weights)?;
        let mut strategy: Arc<dyn strategy::Strategy> = strategy::build(&self.strategy)?;
        if self.float32 && self.strategy.kind() == strategy::DEFAULT {
            // Single precision is a choice about the messages of gossip.
            strategy = Arc::new(RelaxedAdmm::default());
        }
        strategy.check(task.residual(), weights.is_symmetric())?;
        let agents: Vec<(AgentId, usize)> = atoms.iter().copied().enumerate().collect();
        let common = self.common(topology, &agents, policy)?;
        self.strategy = strategy.resolve(&common)?.spec();
        Ok(self)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use dictmesh::{AtomInit, Mesh};

    pub fn agreed() -> Agreed {
        Agreed {
            rows: 12,
            batch: 4,
            block: None,
            weights: WeightRule::Metropolis,
            score: true,
            float32: false,
            masks: true,
            task: TaskSpec::nmf(0.05, 0.1),
            strategy: Spec::new("relaxed-admm"),
            stopping: Stopping::tolerance(1e-4),
            update: Update::default(),
        }
    }

    #[test]
    fn what_single_precision_cannot_meet_is_refused() {
        let topology = Topology::ring(3).unwrap();
        let check = |name: &str, float32, stopping| {
            let strategy = Spec::new(name);
            let given = Agreed {
                strategy,
                float32,
                stopping,
                ..agreed()
            };
            let given = given.resolved(&topology, &[2, 2, 2], Policy::Wait);
            given.unwrap().check()
        };
        check("relaxed-admm", false, Stopping::tolerance(1e-6)).unwrap();
        check("relaxed-admm", true, Stopping::tolerance(1e-5)).unwrap();
        check("exact-diffusion", true, Stopping::rounds(50)).unwrap();
        let said = check("relaxed-admm", true, Stopping::tolerance(1e-6)).unwrap_err();
        assert!(said.to_string().contains("less than 1e-5"), "{said}");
        let said = check("exact-diffusion", true, Stopping::tolerance(1e-4)).unwrap_err();
        assert!(
            said.to_string().contains("1e-2 with exact-diffusion"),
            "{said}"
        );
    }

    /// What the mesh in one process, which sees all atoms, takes.
    #[test]
    fn constants_are_those_of_the_mesh_for_every_strategy() {
        let topology = Topology::grid(2, 3).unwrap();
        let sizes = [2, 1, 3, 0, 2, 1];
        for name in strategy::ALL {
            for task in [TaskSpec::nmf(0.05, 0.1), TaskSpec::sparse_svd(0.1, 0.2)] {
                let plain = Agreed {
                    strategy: Spec::new(name),
                    task: task.clone(),
                    ..agreed()
                };
                assert!(plain.check().is_err(), "{name} has no constants yet");
                let ours = plain.clone().resolved(&topology, &sizes, Policy::Wait);
                let ours = ours.unwrap();
                ours.check().unwrap();
                let mesh = Mesh::builder(task.build().unwrap(), topology.clone())
                    .batch(plain.batch)
                    .build(12, &sizes, AtomInit::Random)
                    .unwrap();
                assert_eq!(
                    ours.strategy,
                    strategy::build(&plain.strategy)
                        .unwrap()
                        .resolve(&mesh.shared_constants())
                        .unwrap()
                        .spec()
                );
            }
        }
    }
}
