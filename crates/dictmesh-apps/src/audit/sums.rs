//! The attack on sums: what agents learn from the parts that travel up a spanning tree.
//!
//! An agent of the strategy `tree` receives from each child the sum of the parts below it, as
//! integer differences in units that the root broadcasts. All agents follow nu. The root has the
//! total, and this audit gives it to every attacker. So a coalition has, after every round,
//!
//! ```text
//! S_C = sum over l in C of W_l y_l(nu) - [x, if C has the first informed agent]
//! ```
//!
//! for each connected component C of the tree without the coalition. Masks between all neighbours
//! leave it S_C for each component of the *graph* without the coalition, and nothing else.
//!
//! The atoms of all agents in C are unknowns of S_C with equal coefficients. The attack finds
//! directions, and not which agent of C holds them; it attributes an atom only if C is one agent.
//! Slopes, local costs and flags are summed alike; this attack does not use them.

mod record;

use super::evidence::{Fit, Owner};
use super::isolate::{self, Sought};
use super::penalty::scalar_penalty;
use super::trace::{kept, Observation, Trace};
use super::{mean_cosine, nearest, Atom, Attack, Audit, Recovered};
use dictmesh::graph::Topology;
use dictmesh::mesh::Mesh;
use dictmesh::problem::samples::Samples;
use dictmesh::{AgentId, Result};
use dictmesh_kernels::matrix::{axpy, Matrix};
use rayon::prelude::*;
use record::{record, Round};

/// Runs `tree` and attacks the sums, with masks or without.
pub fn audit(
    mesh: &Mesh,
    x: &Samples,
    rounds: usize,
    colluding: usize,
    is_masked: bool,
) -> Result<Audit> {
    let strategy = mesh.strategy().resolve(&mesh.shared_constants())?;
    let x = x.to_dense();
    let recorded = record(mesh, &x, &strategy, rounds)?;
    let graph = match is_masked {
        true => mesh.topology().clone(),
        false => tree_of(mesh.topology())?,
    };
    let targets = (0..mesh.agents()).filter(|k| !mesh.block(*k).is_empty());
    let views: Vec<(AgentId, Vec<AgentId>)> = targets
        .map(|k| (k, attackers(mesh.topology(), &graph, k, colluding)))
        .filter(|(_, attackers)| !attackers.is_empty())
        .collect();
    // Each group once, whichever of its agents is the target.
    let mut groups: Vec<(Vec<AgentId>, Vec<AgentId>)> = Vec::new();
    for (_, attackers) in &views {
        if !groups.iter().any(|(others, _)| others == attackers) {
            let each = components(&graph, attackers).into_iter();
            groups.extend(each.map(|members| (attackers.clone(), members)));
        }
    }
    let sums: Vec<Sum> = (groups.into_par_iter().with_max_len(1))
        .map(|(attackers, members)| Sum::attacked(mesh, &recorded, &x, attackers, members))
        .collect::<Result<_>>()?;
    let [last, first] = [recorded.last(), recorded.first()];
    let nu_and_x = last.map_or(0.0, |last| mean_cosine(&last.nu, &x));
    // At nu = 0 no atom fires, and the total is -x.
    let total_and_x = first.map_or(0.0, |first| mean_cosine(&total(&first.parts), &x));
    let each = |knows_x: bool| {
        let recovered = views.iter().filter_map(|(target, attackers)| {
            let sum = |sum: &&Sum| sum.attackers == *attackers && sum.members.contains(target);
            let sum = sums.iter().find(sum)?;
            let x = (!knows_x).then(|| nu_and_x.max(total_and_x));
            Some(sum.recovered(mesh, *target, knows_x, x))
        });
        recovered.collect::<Vec<_>>()
    };
    Ok(Audit {
        strategy,
        rounds,
        knowing: each(true),
        not_knowing: each(false),
        beyond: beyond(mesh, &sums),
        nu_and_x,
    })
}

/// The spanning tree as a graph.
fn tree_of(topology: &Topology) -> Result<Topology> {
    let parents = topology.spanning_tree().parent.iter().enumerate();
    let edges: Vec<(AgentId, AgentId)> = parents
        .filter_map(|(k, parent)| Some(((*parent)?, k)))
        .collect();
    Topology::from_edges(topology.agents(), &edges)
}

/// The connected components without `removed`.
fn components(graph: &Topology, removed: &[AgentId]) -> Vec<Vec<AgentId>> {
    let mut is_left: Vec<bool> = (0..graph.agents()).map(|k| !removed.contains(&k)).collect();
    let mut all = Vec::new();
    for first in 0..graph.agents() {
        let mut waiting = vec![first];
        let mut members = Vec::new();
        while let Some(k) = waiting.pop() {
            if std::mem::replace(&mut is_left[k], false) {
                members.push(k);
                waiting.extend(graph.neighbours(k));
            }
        }
        members.sort_unstable();
        if !members.is_empty() {
            all.push(members);
        }
    }
    all
}

/// `colluding` neighbours of `target`, chosen greedily to leave the fewest agents in its component.
fn attackers(
    topology: &Topology,
    graph: &Topology,
    target: AgentId,
    colluding: usize,
) -> Vec<AgentId> {
    let near = topology.neighbours(target);
    let mut chosen: Vec<AgentId> = Vec::new();
    for _ in 0..colluding.min(near.len()) {
        let with = |a: &AgentId| chosen.iter().chain([a]).copied().collect::<Vec<_>>();
        let left = |attackers: &Vec<AgentId>| {
            let all = components(graph, attackers).into_iter();
            let own = all.filter(|members| members.contains(&target));
            own.map(|members| members.len()).sum::<usize>()
        };
        let more = near.iter().filter(|a| !chosen.contains(a)).map(with);
        chosen = more.min_by_key(left).unwrap_or_default();
    }
    chosen
}

/// The sum over one component, and the atoms found in it.
struct Sum {
    attackers: Vec<AgentId>,
    members: Vec<AgentId>,
    trace: Trace,
    /// With x and without.
    fits: [Option<Fit>; 2],
}

impl Sum {
    fn attacked(
        mesh: &Mesh,
        recorded: &[Round],
        x: &Matrix,
        attackers: Vec<AgentId>,
        members: Vec<AgentId>,
    ) -> Result<Sum> {
        let mut nus = Matrix::zeros(mesh.rows(), 0);
        let mut observations = Vec::new();
        for round in kept(recorded.len()) {
            let recorded = &recorded[round];
            let h = total(members.iter().map(|k| &recorded.parts[*k]));
            observations.push(Observation { round, h });
            nus.append_columns(&recorded.nu)?;
        }
        let trace = Trace {
            observations,
            nus,
            fading: None,
        };
        let has_atoms = members.iter().filter(|k| !mesh.block(**k).is_empty());
        let owners = has_atoms.map(|agent| Owner {
            agent: *agent,
            atoms: mesh.block(*agent).len(),
            penalty: scalar_penalty(mesh, *agent),
        });
        let (count, last) = (trace.observations.len(), recorded.len() - 1);
        let is_late = |i: &usize| trace.observations[*i].round >= last / 2;
        let sought = Sought {
            owners: owners.collect(),
            others: 0,
            // Rounding errors fall from round to round, and nu = 0 says nothing of the atoms.
            sets: vec![
                vec![count - 1],
                (1..count).filter(is_late).collect(),
                (1..count).collect(),
            ],
            exact: vec![true; 3],
            is_seen: true,
        };
        let informed = (0..mesh.agents()).find(|k| mesh.is_informed(*k));
        let has_x = informed.is_some_and(|k| members.contains(&k));
        let knowing = sought.solve(&trace, has_x.then_some(x), false, None)?;
        let not_knowing = match has_x {
            true => {
                let guess = isolate::guessed_share(mesh, &trace);
                sought.solve(&trace, None, true, guess.as_ref())?
            }
            false => knowing.clone(),
        };
        Ok(Sum {
            attackers,
            members,
            trace,
            fits: [knowing, not_knowing],
        })
    }

    /// The fit for attackers with or without x that is closest to these atoms. Attackers with x may
    /// use both fits.
    fn fit(&self, knows_x: bool, atoms: &Matrix) -> Option<&Fit> {
        let near = |fit: &Fit| atoms.columns().map(|w| nearest(&fit.atoms, w)).sum::<f64>();
        let [_, not_knowing] = &self.fits;
        match knows_x {
            true => (self.fits.iter().flatten()).max_by(|a, b| near(a).total_cmp(&near(b))),
            false => not_knowing.as_ref(),
        }
    }

    fn recovered(&self, mesh: &Mesh, target: AgentId, knows_x: bool, x: Option<f64>) -> Recovered {
        let (own, penalty) = (mesh.block(target).atoms(), scalar_penalty(mesh, target));
        let fit = self.fit(knows_x, own);
        let atoms = own.columns().map(|w| Atom {
            cosine: fit.map_or(0.0, |fit| nearest(&fit.atoms, w)),
            fired: self.trace.codes(penalty, w).iter().any(|y| *y != 0.0),
        });
        Recovered {
            attackers: self.attackers.clone(),
            target,
            unseen: self.members.len() - 1,
            atoms: atoms.collect(),
            by: fit.map_or(Attack::None, |_| Attack::Sums),
            unexplained: fit.map_or(f64::INFINITY, |fit| fit.unexplained),
            x,
        }
    }
}

/// |cosine| for the atoms of agents that are no neighbours of the attackers, without x.
fn beyond(mesh: &Mesh, sums: &[Sum]) -> Vec<f64> {
    let mut cosines = Vec::new();
    for sum in sums {
        let is_near = |l: &AgentId| {
            let near = |a: &AgentId| mesh.topology().neighbours(*a).contains(l);
            sum.attackers.iter().any(near)
        };
        for agent in sum.members.iter().filter(|l| !is_near(l)) {
            let atoms = mesh.block(*agent).atoms();
            let fit = sum.fit(false, atoms);
            cosines.extend(
                atoms
                    .columns()
                    .map(|w| fit.map_or(0.0, |fit| nearest(&fit.atoms, w))),
            );
        }
    }
    cosines
}

fn total<'a>(parts: impl IntoIterator<Item = &'a Matrix>) -> Matrix {
    let sum = |sum: Option<Matrix>, part: &Matrix| match sum {
        Some(mut sum) => {
            axpy(1.0, part.as_slice(), sum.as_mut_slice());
            Some(sum)
        }
        None => Some(part.clone()),
    };
    parts.into_iter().fold(None, sum).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_what_is_left_connected() {
        let path = Topology::path(5).unwrap();
        assert_eq!(components(&path, &[1]), [vec![0], vec![2, 3, 4]]);
        assert_eq!(components(&path, &[0, 4]), [vec![1, 2, 3]]);
        let ring = Topology::ring(6).unwrap();
        assert_eq!(components(&ring, &[2]), [vec![0, 1, 3, 4, 5]]);
        assert_eq!(components(&ring, &[2, 4]), [vec![0, 1, 5], vec![3]]);
        // Both neighbours together isolate an agent of a ring.
        assert_eq!(attackers(&ring, &ring, 3, 2), [2, 4]);
        assert_eq!(attackers(&path, &path, 0, 1), [1]);
    }
}
