//! Runs both attacks on an agent and compares their results.

use super::evidence::{Fit, SOLVED};
use super::limit::Limit;
use super::penalty::scalar_penalty;
use super::trace::{Trace, View};
use super::{isolate, mean_cosine, nearest, share, Atom, Attack, Recovered, Traffic};
use dictmesh::mesh::Mesh;
use dictmesh::AgentId;
use dictmesh::Result;
use dictmesh_kernels::matrix::Matrix;

/// The atoms of all other agents, found by the limit attack.
pub struct Joint {
    atoms: Vec<(AgentId, Matrix)>,
    unexplained: f64,
    /// The resulting estimate of x.
    x: Matrix,
}

impl Joint {
    /// All directions, whichever agent owns them. Agents with equal coefficients, such as those
    /// behind one link, cannot be distinguished; the directions of their atoms can.
    fn all(&self, mesh: &Mesh) -> Matrix {
        let atoms = self.atoms.iter().flat_map(|(_, atoms)| atoms.columns());
        let atoms: Vec<&[f64]> = atoms.collect();
        Matrix::from_columns(mesh.rows(), &atoms).unwrap_or_else(|_| Matrix::zeros(mesh.rows(), 0))
    }
}

/// The limit attack by the attackers of a view, with x and without.
pub fn all_at_once(
    mesh: &Mesh,
    traffic: &Traffic,
    view: &View,
    x: &Matrix,
) -> Result<[Option<Joint>; 2]> {
    let nu = Trace::follow(mesh, traffic, view).last_nu();
    let Some(limit) = Limit::read(mesh, traffic, view, &nu) else {
        return Ok([None, None]);
    };
    let solve = |x: Option<&Matrix>| -> Result<Option<Joint>> {
        let Some(evidence) = limit.evidence(mesh, x) else {
            return Ok(None);
        };
        let fit = evidence.solve(0)?;
        Ok(fit.map(|fit| {
            let owners = evidence.owners.iter().enumerate();
            let atoms: Vec<_> = owners.map(|(i, o)| (o.agent, fit.of(i))).collect();
            Joint {
                x: limit.x(mesh, &atoms),
                atoms,
                unexplained: fit.unexplained,
            }
        }))
    };
    let not_knowing = solve(None)?;
    // Knowing x adds nothing if the attack already succeeds without it.
    let solved = |joint: &Joint| joint.unexplained < SOLVED;
    let knowing = match not_knowing.as_ref().is_some_and(solved) {
        true => None,
        false => solve(Some(x))?,
    };
    Ok([knowing, not_knowing])
}

/// |cosine| for the atoms of agents whose messages no attacker receives.
pub fn beyond(mesh: &Mesh, joint: &[(View, [Option<Joint>; 2])]) -> Vec<f64> {
    let mut cosines = Vec::new();
    for (view, [_, found]) in joint {
        let found = found.as_ref().map(|joint| joint.all(mesh));
        let found = found.unwrap_or_else(|| Matrix::zeros(mesh.rows(), 0));
        for agent in (0..mesh.agents()).filter(|l| !view.visible.contains(l)) {
            let atoms = mesh.block(agent).atoms();
            cosines.extend(atoms.columns().map(|w| nearest(&found, w)));
        }
    }
    cosines
}

/// Both attacks on the view's target, with x and without.
pub fn attack(
    mesh: &Mesh,
    traffic: &Traffic,
    view: &View,
    x: &Matrix,
    joint: Option<&[Option<Joint>; 2]>,
) -> Result<[Recovered; 2]> {
    let trace = Trace::follow(mesh, traffic, view);
    let atoms = mesh.block(view.target).atoms();
    let penalty = scalar_penalty(mesh, view.target);
    let fired: Vec<bool> = (atoms.columns())
        .map(|w| trace.codes(penalty, w).iter().any(|y| *y != 0.0))
        .collect();
    let informed = mesh.is_informed(view.target);
    let both = [true, false].map(|knows_x| -> Result<Recovered> {
        let share = (knows_x && informed).then(|| share(mesh, x));
        let single = isolate::atoms(mesh, view, &trace, share.as_ref(), !knows_x && informed)?;
        let joint: Vec<&Joint> = match (joint, knows_x) {
            (Some(joint), true) => joint.iter().flatten().collect(),
            (Some([_, joint]), false) => joint.iter().collect(),
            (None, _) => Vec::new(),
        };
        let (found, unexplained, by) = better(mesh, atoms, single, &joint);
        let x = (!knows_x).then(|| {
            let mut estimates = vec![trace.last_nu()];
            if informed {
                estimates.push(trace.share(penalty, &found));
            }
            estimates.extend(joint.iter().map(|joint| joint.x.clone()));
            let cosines = estimates.iter().map(|estimate| mean_cosine(estimate, x));
            cosines.fold(0.0, f64::max)
        });
        let atoms = atoms.columns().zip(&fired).map(|(w, fired)| Atom {
            cosine: nearest(&found, w),
            fired: *fired,
        });
        Ok(Recovered {
            attackers: view.attackers.clone(),
            target: view.target,
            unseen: view.unseen.len(),
            atoms: atoms.collect(),
            by,
            unexplained,
            x,
        })
    });
    let [knowing, not_knowing] = both;
    Ok([knowing?, not_knowing?])
}

/// The result closest to the target's true atoms, so that an attacker's poor choice cannot hide
/// leakage.
fn better(
    mesh: &Mesh,
    target: &Matrix,
    single: Option<Fit>,
    joint: &[&Joint],
) -> (Matrix, f64, Attack) {
    let nothing = (Matrix::zeros(mesh.rows(), 0), f64::INFINITY, Attack::None);
    let single = single.map(|fit| (fit.of(0), fit.unexplained, Attack::RoundByRound));
    let joint = (joint.iter()).map(|joint| (joint.all(mesh), joint.unexplained, Attack::Limit));
    let near = |found: &Matrix| target.columns().map(|w| nearest(found, w)).sum::<f64>();
    single.into_iter().chain(joint).fold(nothing, |best, next| {
        let ahead = near(&next.0) - near(&best.0);
        // On a tie, take the fit with the lower held-out error.
        match ahead > 1e-6 || (ahead > -1e-6 && next.1 < best.1) {
            true => next,
            false => best,
        }
    })
}
