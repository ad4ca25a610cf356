//! Growing and shrinking a mesh between batches; the weights are recomputed by their rule.

use super::builder::check_agents;
use super::{Agent, Mesh};
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::graph::{Topology, WeightRule, Weights};
use crate::mesh::{AtomInit, AtomStats};
use crate::problem::block::Block;
use crate::problem::task::LocalTask;
use crate::random;
use crate::strategy::PenaltyRule;

impl Mesh {
    /// Adds `count` atoms to agent `k`.
    pub fn add_atoms(&mut self, k: AgentId, count: usize, start: AtomInit<'_>) -> Result<()> {
        self.check_agent(k)?;
        let mut rng = random::stream(self.seed, self.progress.draws + 1);
        let task = &self.agents[k].task;
        let total = self.agents[k].block.len().saturating_add(count);
        task.regularizer().check_atoms(total)?;
        self.check_grams(Some((k, total)), 0)?;
        let set = task.set();
        let new = start.draw(self.rows, count, set, &mut rng)?;
        let agent = &mut self.agents[k];
        let mut atoms = agent.block.atoms().clone();
        atoms.append_columns(&new)?;
        agent.block = Block::without_gram(atoms)?;
        agent.stats.grow(count);
        self.progress.draws += 1;
        self.share_gram_budget()
    }

    /// Adds an agent with `count` atoms beside `neighbours` and returns its number. `own` is its
    /// part of the task, if it differs from the common one.
    ///
    /// # Errors
    ///
    /// Among others, above the number of agents that
    /// [`MeshBuilder::build`](super::MeshBuilder::build) accepts.
    pub fn add_agent(
        &mut self,
        neighbours: &[AgentId],
        count: usize,
        start: AtomInit<'_>,
        informed: bool,
        own: Option<LocalTask>,
    ) -> Result<AgentId> {
        check_agents(self.agents.len() + 1)?;
        let topology = self.topology.with_agent(neighbours)?;
        let weights = self.renewed_weights(&topology)?;
        let has_own = own.is_some();
        // By default the task's entry for this number, if any, else the common part.
        let task = own.unwrap_or_else(|| self.task.local(self.agents.len()).clone());
        task.regularizer().check_atoms(count)?;
        self.check_grams(None, count)?;
        let mut rng = random::stream(self.seed, self.progress.draws + 1);
        let atoms = start.draw(self.rows, count, task.set(), &mut rng)?;
        let block = Block::without_gram(atoms)?;
        let k = self.agents.len();
        if has_own {
            self.task.set_local(k, task.clone());
        }
        self.agents.push(Agent {
            task,
            block,
            informed,
            stats: AtomStats::fresh(count),
        });
        self.adopt(topology, weights);
        // As on a network, where the new agent has no state of the rule.
        self.progress.penalty = PenaltyRule::default();
        self.progress.draws += 1;
        self.share_gram_budget()?;
        Ok(k)
    }

    /// Removes agent `k` with its atoms; later agents move down by one.
    ///
    /// # Errors
    ///
    /// If the other agents would be disconnected, or if none of them is informed or has atoms.
    pub fn remove_agent(&mut self, k: AgentId) -> Result<()> {
        self.check_agent(k)?;
        let topology = self.topology.without_agent(k)?;
        let others = || (self.agents.iter().enumerate()).filter(|(j, _)| *j != k);
        if !others().any(|(_, agent)| agent.informed) {
            return Err(Error::Empty {
                what: "the set of informed agents",
                need: "the last informed agent cannot be removed",
            });
        }
        if others().all(|(_, agent)| agent.block.is_empty()) {
            return Err(Error::parameter(
                "K",
                0,
                "the last agent that has atoms cannot be removed",
            ));
        }
        let weights = self.renewed_weights(&topology)?;
        self.agents.remove(k);
        self.task.remove_local(k);
        self.adopt(topology, weights);
        self.share_gram_budget()
    }

    /// The atoms with zero coefficients in all samples since their initialisation, as (agent,
    /// atom).
    pub fn unused_atoms(&self) -> Vec<(AgentId, usize)> {
        let mut unused = Vec::new();
        for (k, agent) in self.agents.iter().enumerate() {
            for (q, samples) in agent.stats.samples.iter().enumerate() {
                if *samples == 0 {
                    unused.push((k, q));
                }
            }
        }
        unused
    }

    /// Reinitialises these atoms, given as (agent, atom).
    pub fn restart_atoms(&mut self, which: &[(AgentId, usize)], start: AtomInit<'_>) -> Result<()> {
        for &(k, q) in which {
            self.check_agent(k)?;
            if q >= self.agents[k].block.len() {
                return Err(Error::parameter(
                    "atom",
                    q,
                    format!("agent {k} has {} atoms", self.agents[k].block.len()),
                ));
            }
        }
        let mut rng = random::stream(self.seed, self.progress.draws + 1);
        let set = self.task.common().set();
        let mut fresh = start.draw(self.rows, which.len(), set, &mut rng)?;
        for (i, (k, _)) in which.iter().enumerate() {
            start.fit(self.agents[*k].task.set(), fresh.column_mut(i));
        }
        Error::check_finite("atoms", &fresh)?;
        for (w, &(k, q)) in fresh.columns().zip(which) {
            let agent = &mut self.agents[k];
            (agent.block).renew_in_place(&[q], |atoms| atoms.column_mut(q).copy_from_slice(w));
            agent.stats.energy[q] = 0.0;
            agent.stats.samples[q] = 0;
        }
        self.progress.draws += 1;
        Ok(())
    }

    fn check_agent(&self, k: AgentId) -> Result<()> {
        if k < self.agents.len() {
            return Ok(());
        }
        Err(Error::parameter(
            "agent",
            k,
            format!("agents are numbered from 0 to {}", self.agents.len() - 1),
        ))
    }

    fn renewed_weights(&self, topology: &Topology) -> Result<Weights> {
        if let WeightRule::Given(_) = self.rule {
            return Err(Error::Unsupported {
                what: "a given combination matrix".to_string(),
                with: "a mesh that grows or shrinks".to_string(),
                why: "it has no weights for the new graph; use the Metropolis or uniform rule"
                    .to_string(),
            });
        }
        Weights::new(topology, &self.rule)
    }

    fn adopt(&mut self, topology: Topology, weights: Weights) {
        self.spectrum = topology.spectrum();
        self.mixing = weights.mixing();
        self.averaging = Default::default();
        self.weights = weights;
        self.topology = topology;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::MOST_AGENTS;
    use super::*;
    use crate::problem::Task;

    /// The random stream of (batch, agent) is batch * MOST_AGENTS + agent, so agent MOST_AGENTS
    /// would share that of agent 0 in the next batch.
    #[test]
    fn a_mesh_does_not_grow_beyond_the_most_agents() {
        let task = Task::sparse_svd(0.1, 0.1).unwrap();
        let mut mesh = Mesh::builder(task, Topology::ring(3).unwrap())
            .build(2, &[1, 1, 1], AtomInit::Random)
            .unwrap();
        // Set directly: the spectrum of a graph of this size takes minutes.
        let agent = mesh.agents[0].clone();
        mesh.agents.resize(MOST_AGENTS, agent);
        mesh.topology = Topology::ring(MOST_AGENTS).unwrap();
        let added = mesh.add_agent(&[0], 1, AtomInit::Random, true, None);
        let message = added.unwrap_err().to_string();
        assert!(message.contains("5001"), "{message}");
        assert_eq!(mesh.agents(), MOST_AGENTS);
    }
}
