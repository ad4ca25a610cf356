//! Steps for a mesh whose agents come and go. Constants stay through a run, as all agents must have the same; its graph
//! need not stay, and what is stable on one graph may run away on another.

use super::{Agreed, ConfigError, MeshConfig, Policy, Result};
use dictmesh::problem::LocalTask;
use dictmesh::strategy::SharedConstants;
use dictmesh::AgentId;
use dictmesh::{strategy, Topology, WeightRule, Weights};
use std::collections::BTreeSet;

impl Agreed {
    /// What steps follow from, for agents with these numbers of atoms. Under `go-on` the graph may lose any of them, so
    /// what only falls with it, or has a bound that does, takes its place:
    ///
    /// - lambda_min(D + B) is 0 where what is left is bipartite, as a ring of five is without one;
    /// - lambda_min(A) >= 2 min a_kk - 1 (Gershgorin), and a_kk >= 1 / (1 + the largest degree) by both rules.
    ///
    /// lambda_max(D - B), N, N_max and the largest degree never grow by a loss. Where weights are given nobody can be lost.
    pub(super) fn common(
        &self,
        topology: &Topology,
        agents: &[(AgentId, usize)],
        policy: Policy,
    ) -> dictmesh::Result<SharedConstants> {
        let task = self.task.build()?;
        let weights = Weights::new(topology, &self.weights)?;
        let locals = || agents.iter().map(|(k, _)| task.local(*k));
        let delta = |d: f64, k: &LocalTask| d.min(k.regularizer().strong_convexity());
        let mut common = SharedConstants {
            agents: agents.len(),
            rows: self.rows,
            atoms: agents.iter().map(|(_, atoms)| atoms).sum(),
            atoms_max: agents.iter().map(|(_, atoms)| *atoms).max().unwrap_or(0),
            delta: locals().fold(f64::INFINITY, delta),
            curvature: task.residual().conjugate_curvature(),
            non_negative: locals().all(|k| k.set().is_non_negative()),
            bounds_gap: strategy::tree::bounds_gap(task.residual()),
            batch: self.batch,
            mean_degree: topology.mean_degree(),
            shape: topology.shape(),
            weights_smallest: weights.mixing().smallest,
            spectrum: topology.spectrum(),
        };
        if policy == Policy::GoOn && !matches!(self.weights, WeightRule::Given(_)) {
            let least = 2.0 / (1 + topology.max_degree()) as f64 - 1.0;
            common.weights_smallest = common.weights_smallest.min(least);
            common.spectrum.signless_smallest = 0.0;
        }
        Ok(common)
    }
}

impl MeshConfig {
    /// Refuses to go from these agents to those, where the step is known to be stable among the former and not among the
    /// latter. One that never was is the choice of whoever gave it.
    pub fn check_step(&self, now: &BTreeSet<AgentId>, then: &BTreeSet<AgentId>) -> Result<()> {
        let (Some((mu, before)), Some((_, after))) = (self.step(now)?, self.step(then)?) else {
            return Ok(());
        };
        if mu > before || mu <= after {
            return Ok(());
        }
        Err(ConfigError::new(format!(
            "strategy: the step mu = {mu:.3e} of {} was chosen for the mesh as it is (stable up to {before:.3e}), and is known to be \
             stable up to {after:.3e} only in what it would become; constants stay through a run. Let another agent \
             come or go (a newcomer with fewer atoms, or other neighbours), or begin another run with --mu {:.1e}, or with relaxed-admm, \
             which is stable in every mesh",
            self.agreed.strategy.kind(),
            0.75 * after
        )))
    }

    /// What is said of a given step that may be too large for what a loss leaves.
    pub fn doubtful_step(&self) -> Option<String> {
        let all: BTreeSet<AgentId> = (0..self.agents.len()).collect();
        let (mu, largest) = self.step(&all).ok()??;
        (self.policy == Policy::GoOn && mu > largest).then(|| {
            format!(
                "mu = {mu:.3e}: known to be stable, whichever agent is lost, are steps up to {largest:.3e}; left out, it is chosen so"
            )
        })
    }

    /// The step and the largest that is known to be stable among these agents, where there are such.
    fn step(&self, agents: &BTreeSet<AgentId>) -> Result<Option<(f64, f64)>> {
        if matches!(self.agreed.weights, WeightRule::Given(_)) && agents.len() != self.agents.len()
        {
            return Ok(None); // nobody can come or go
        }
        let place = |k: &AgentId| agents.iter().position(|l| l == k);
        let edges = self
            .edges
            .iter()
            .filter_map(|(i, j)| place(i).zip(place(j)));
        let edges: Vec<(usize, usize)> = edges.collect();
        let Ok(topology) = Topology::from_edges(agents.len(), &edges) else {
            return Ok(None); // cut apart: others say so
        };
        let each = agents.iter().map(|k| (*k, self.agents[*k].atoms));
        let common = self
            .agreed
            .common(&topology, &each.collect::<Vec<_>>(), self.policy);
        let common = common.map_err(|e| ConfigError::new(e.to_string()))?;
        let strategy = strategy::build(&self.agreed.strategy);
        let strategy = strategy.map_err(|e| ConfigError::new(e.to_string()))?;
        Ok(strategy.step(&common))
    }
}

#[cfg(test)]
mod tests {
    use super::super::mesh::tests::mesh;
    use super::*;
    use dictmesh::Spec;

    fn ring(n: usize, strategy: &str, policy: Policy) -> MeshConfig {
        let mut mesh = mesh();
        let first = mesh.agents[0].clone();
        mesh.agents = vec![first; n];
        for (k, agent) in mesh.agents.iter_mut().enumerate() {
            (agent.name, agent.address) = (format!("a{k}"), format!("127.0.0.1:{}", 7000 + k));
        }
        mesh.edges = (0..n).map(|k| (k, (k + 1) % n)).collect();
        mesh.agreed.strategy = Spec::new(strategy);
        mesh.policy = policy;
        mesh.completed().unwrap()
    }

    /// A ring of five without one of them is a path, which is bipartite.
    #[test]
    fn a_leave_that_the_step_does_not_stand_is_refused() {
        let (all, rest): (BTreeSet<_>, BTreeSet<_>) = ((0..5).collect(), (0..4).collect());
        for strategy in strategy::NAMES {
            let wait = ring(5, strategy, Policy::Wait).check_step(&all, &rest);
            assert_eq!(wait.is_err(), strategy == "jacobi-admm", "{strategy}");
            let said = wait.map_or_else(|e| e.to_string(), |()| "relaxed-admm".into());
            assert!(said.contains("relaxed-admm"), "{said}");
            let goes_on = ring(5, strategy, Policy::GoOn);
            goes_on.check_step(&all, &rest).unwrap();
            assert_eq!(goes_on.doubtful_step(), None, "{strategy}");
        }
    }

    #[test]
    fn a_newcomer_with_too_many_atoms_for_the_step_is_refused() {
        let (now, then): (BTreeSet<_>, BTreeSet<_>) = ((0..3).collect(), (0..4).collect());
        for strategy in strategy::NAMES {
            let mut mesh = ring(3, strategy, Policy::Wait);
            let mut newcomer = mesh.agents[0].clone();
            newcomer.atoms = 12;
            mesh.agents.push(newcomer);
            mesh.edges.extend([(0, 3), (1, 3), (2, 3)]);
            let refused = ["diffusion", "consensus", "exact-diffusion"];
            let refused = refused.contains(&strategy);
            let found = mesh.check_step(&now, &then);
            assert_eq!(found.is_err(), refused, "{strategy} {found:?}");
            mesh.agents[3].atoms = 2;
            mesh.check_step(&now, &then).unwrap();
        }
    }

    #[test]
    fn a_given_step_is_whoever_gave_it_s_own_choice_but_doubted_where_agents_may_be_lost() {
        let mut mesh = ring(5, "diffusion", Policy::GoOn);
        mesh.agreed.strategy = Spec::new("diffusion").with("mu", 30.0);
        let said = mesh.doubtful_step().unwrap();
        assert!(said.contains("mu = 3.000e1"), "{said}");
        mesh.check_step(&(0..5).collect(), &(0..4).collect())
            .unwrap();
    }
}
