//! The limit attack: what the limit of a run reveals about all atoms jointly, on any connected
//! graph.
//!
//! Every strategy reaches consensus by accumulating or balancing the differences between
//! neighbours. Let L be the graph's matrix (its Laplacian, or I - A' for combination weights A).
//! Let Phi_k be the sum of all messages of k; for diffusion and consensus, its last message. Then
//!
//! ```text
//! L Phi = -kappa G,        G_l = W_l y_l(nu) - b_l + f*'(nu)/N       at the consensus nu,
//! Phi_k - Phi_a = -kappa sum over l of (L^+_kl - L^+_al) (W_l y_l(nu) - b_l),
//! ```
//!
//! because L^+ maps constants to 0: f*', and x too if all agents are informed. Otherwise x =
//! f*'(nu) + sum of W_l y_l is substituted. So the coefficients and nu are known, and a decaying
//! random start does not enter. The equations are exact if all agents end with the same nu. Under
//! diffusion and consensus they differ by the bias.

use super::evidence::{known_norm, Column, Evidence, Owner};
use super::penalty::scalar_penalty;
use super::trace::View;
use super::Traffic;
use dictmesh::mesh::Mesh;
use dictmesh::strategy::Strategy;
use dictmesh::AgentId;
use dictmesh_kernels::matrix::{axpy, dot, norm, Matrix};

/// What the attackers of a view observe in the limit.
pub struct Limit {
    /// The consensus nu, M x B.
    nu: Matrix,
    /// f*'(nu); NaN where nu does not determine it.
    slope: Matrix,
    /// W_a y_a of the attackers, which hold their own atoms.
    own: Vec<(AgentId, Matrix)>,
    /// Phi_k - Phi_a for every other visible agent k, and the coefficients of all agents in it.
    rows: Vec<(Matrix, Vec<f64>)>,
}

impl Limit {
    pub fn read(mesh: &Mesh, traffic: &Traffic, view: &View, nu: &Matrix) -> Option<Limit> {
        let inverse = pseudo_inverse(&balance(mesh, &*traffic.strategy))?;
        let kappa = kappa(&*traffic.strategy)?;
        let reference = *view.attackers.first()?;
        let base = potential(traffic, reference);
        let rows = view.visible.iter().filter(|k| **k != reference).map(|k| {
            let mut difference = potential(traffic, *k);
            axpy(-1.0, base.as_slice(), difference.as_mut_slice());
            let factor = |l: AgentId| -kappa * (inverse.get(*k, l) - inverse.get(reference, l));
            (difference, (0..mesh.agents()).map(factor).collect())
        });
        let mut slope = Matrix::zeros(nu.rows(), nu.cols());
        for j in 0..nu.cols() {
            let residual = mesh.task().residual();
            residual.recover(nu.column(j), slope.column_mut(j));
        }
        let own = view.attackers.iter().map(|a| {
            let atoms = mesh.block(*a).atoms();
            (*a, coded(mesh, *a, atoms, nu))
        });
        Some(Limit {
            rows: rows.collect(),
            own: own.collect(),
            slope,
            nu: nu.clone(),
        })
    }

    /// Equations for the atoms of all other agents, with one more per sample if `x` is known.
    pub fn evidence<'a>(&'a self, mesh: &'a Mesh, x: Option<&Matrix>) -> Option<Evidence<'a>> {
        let is_own = |l: &AgentId| self.own.iter().any(|(a, _)| a == l);
        let others = (0..mesh.agents()).filter(|l| !is_own(l) && !mesh.block(*l).is_empty());
        let owners: Vec<Owner> = (others.map(|agent| Owner {
            agent,
            atoms: mesh.block(agent).len(),
            penalty: scalar_penalty(mesh, agent),
        }))
        .collect();
        let informed: Vec<AgentId> = (0..mesh.agents())
            .filter(|l| mesh.is_informed(*l))
            .collect();
        let mut columns = Vec::new();
        let mut add = |mut e: Matrix, factors: Vec<f64>| {
            for (a, coded) in &self.own {
                axpy(-factors[*a], coded.as_slice(), e.as_mut_slice());
            }
            let size = known_norm(e.as_slice());
            if size > 0.0 {
                for j in 0..e.cols() {
                    columns.push(Column {
                        values: e.column(j).iter().map(|v| v / size).collect(),
                        terms: vec![(j, 1.0)],
                        factors: owners.iter().map(|o| factors[o.agent] / size).collect(),
                        sample: j,
                    });
                }
            }
        };
        for (difference, factors) in &self.rows {
            // Coefficient of x, which is f*'(nu) + sum of W_l y_l.
            let of_x = informed.iter().map(|l| factors[*l]).sum::<f64>() / informed.len() as f64;
            let mut e = difference.clone();
            for (e, slope) in e.as_mut_slice().iter_mut().zip(self.slope.as_slice()) {
                // An undetermined f*' may differ between agents, so it does not cancel.
                *e = if slope.is_nan() {
                    f64::NAN
                } else {
                    *e + of_x * slope
                };
            }
            add(e, factors.iter().map(|g| g - of_x).collect());
        }
        if let Some(x) = x {
            let mut e = x.clone();
            axpy(-1.0, self.slope.as_slice(), e.as_mut_slice());
            add(e, vec![1.0; mesh.agents()]);
        }
        let sizes = columns.iter().map(|c| known_norm(&c.values));
        let largest = sizes.fold(0.0, f64::max);
        Evidence::new(owners, &self.nu, columns, largest)
    }

    /// x = f*'(nu) + sum of W_l y_l for these atoms, with 0 for an undetermined f*'.
    pub fn x(&self, mesh: &Mesh, owners: &[(AgentId, Matrix)]) -> Matrix {
        let mut x = self.slope.clone();
        for v in x.as_mut_slice().iter_mut().filter(|v| v.is_nan()) {
            *v = 0.0;
        }
        for (_, coded) in &self.own {
            axpy(1.0, coded.as_slice(), x.as_mut_slice());
        }
        for (agent, atoms) in owners {
            let coded = coded(mesh, *agent, atoms, &self.nu);
            axpy(1.0, coded.as_slice(), x.as_mut_slice());
        }
        x
    }
}

/// W y(nu) for these atoms and the agent's regularizer.
fn coded(mesh: &Mesh, agent: AgentId, atoms: &Matrix, nu: &Matrix) -> Matrix {
    let h = scalar_penalty(mesh, agent);
    let mut coded = Matrix::zeros(nu.rows(), nu.cols());
    for j in 0..nu.cols() {
        for w in atoms.columns() {
            let y = h.coordinate_argmax(dot(w, nu.column(j)), 0.0);
            axpy(y, w, coded.column_mut(j));
        }
    }
    coded
}

/// Phi_k.
fn potential(traffic: &Traffic, k: AgentId) -> Matrix {
    let rounds = traffic.sent.len();
    let from = match traffic.strategy.is_biased() {
        true => rounds - 1,
        false => 0,
    };
    let mut sum = Matrix::zeros(traffic.sent[0][k].rows(), traffic.sent[0][k].cols());
    for sent in &traffic.sent[from..] {
        axpy(1.0, sent[k].as_slice(), sum.as_mut_slice());
    }
    sum
}

/// L, such that L Phi = -kappa G.
fn balance(mesh: &Mesh, strategy: &dyn Strategy) -> Matrix {
    let (topology, weights) = (mesh.topology(), mesh.weights());
    let apart = |k: AgentId, l: AgentId| f64::from(u8::from(k == l)) - weights.get(l, k);
    let spec = strategy.spec();
    Matrix::from_fn(mesh.agents(), mesh.agents(), |k, l| match spec.kind() {
        "relaxed-admm" | "jacobi-admm" => match k == l {
            true => topology.degree(k) as f64,
            false => -f64::from(u8::from(topology.neighbours(k).contains(&l))),
        },
        "exact-diffusion" => 0.5 * apart(k, l),
        _ => apart(k, l),
    })
}

/// kappa; `None` for a strategy that this attack does not cover.
fn kappa(strategy: &dyn Strategy) -> Option<f64> {
    let spec = strategy.spec();
    let constant = |name| spec.number(name).ok().flatten();
    match spec.kind() {
        "relaxed-admm" => Some(1.0 / (constant("alpha")? * constant("rho")?)),
        "jacobi-admm" => Some(1.0 / constant("mu")?),
        "diffusion" | "consensus" | "exact-diffusion" => constant("mu"),
        _ => None,
    }
}

fn pseudo_inverse(a: &Matrix) -> Option<Matrix> {
    let svd = a.view().thin_svd().ok()?;
    let (u, v, values) = (svd.U(), svd.V(), svd.S().column_vector());
    let mut inverse = Matrix::zeros(a.rows(), a.rows());
    for (c, value) in values.iter().enumerate() {
        if *value > 1e-10 * values[0] {
            let left: Vec<f64> = (0..a.rows()).map(|i| v[(i, c)] / value).collect();
            for j in 0..a.rows() {
                axpy(u[(j, c)], &left, inverse.column_mut(j));
            }
        }
    }
    Some(inverse).filter(|inverse| norm(inverse.as_slice()).is_finite())
}
