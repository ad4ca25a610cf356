//! What the messages of an agent and its neighbours say of its gradient.

use super::Traffic;
use crate::agent::AgentId;
use crate::inference::StrategySpec;
use crate::matrix::{axpy, dot, Matrix};
use crate::mesh::Mesh;
use crate::regularizer::Regularizer;
use crate::topology::Topology;

/// Rounds that are looked at, at most.
const LOOKS: usize = 24;

/// Who watches whom.
#[derive(Clone, Debug)]
pub struct View {
    pub attacker: AgentId,
    pub target: AgentId,
    /// The target's neighbours whose messages the attacker has: itself, and those that are its own neighbours.
    pub seen: Vec<AgentId>,
    /// The others.
    pub unseen: Vec<AgentId>,
}

impl View {
    /// The neighbour of `target` that sees most of what it gets; none if it has no neighbours.
    pub fn widest(topology: &Topology, target: AgentId) -> Option<View> {
        let views = topology.neighbours(target).iter().map(|attacker| {
            let near = topology.neighbours(*attacker);
            let sees = |l: &AgentId| l == attacker || near.contains(l);
            let (seen, unseen) = topology.neighbours(target).iter().partition(|l| sees(l));
            View {
                attacker: *attacker,
                target,
                seen,
                unseen,
            }
        });
        views.min_by_key(|view| view.unseen.len())
    }
}

/// What is known of one round.
#[derive(Clone, Debug)]
pub struct Look {
    /// From 0.
    pub round: usize,
    /// Where the gradient is taken, M x B.
    pub nu: Matrix,
    /// W_k y_k(nu) - b_k, and what an unseen neighbour or a random start adds. 0 in rows that nu does not determine.
    pub h: Matrix,
    /// Whether all rows are determined.
    whole: bool,
}

/// What is known of an agent.
#[derive(Clone, Debug)]
pub struct Trace {
    pub looks: Vec<Look>,
    /// The factor of r_k in h from round to round, if there is a random start.
    pub fading: Option<f64>,
}

impl Trace {
    /// Reads the messages as the agent itself did, its own secrets left out. An unseen neighbour is taken to have said
    /// what the agent said itself.
    pub fn follow(mesh: &Mesh, traffic: &Traffic, view: &View) -> Trace {
        let kept = kept(traffic.sent.len());
        match traffic.strategy {
            StrategySpec::RelaxedAdmm {
                rho: Some(rho),
                alpha: Some(alpha),
                random_start,
            } => Trace {
                looks: relaxed_admm(mesh, traffic, view, &kept, rho, alpha),
                fading: random_start.map(|_| 1.0 - 2.0 * alpha),
            },
            StrategySpec::Diffusion { mu: Some(mu) } => Trace {
                looks: diffusion(mesh, traffic, view, &kept, mu),
                fading: None,
            },
            // No other was let in.
            _ => Trace {
                looks: Vec::new(),
                fading: None,
            },
        }
    }

    /// The coefficients that an atom would have had, look by look and sample by sample.
    pub fn codes(&self, regularizer: &dyn Regularizer, w: &[f64]) -> Vec<f64> {
        let columns = self.looks.iter().flat_map(|look| look.nu.columns());
        columns
            .map(|nu| regularizer.recover_damped(dot(w, nu), 0.0))
            .collect()
    }

    /// b_k, or something along it, for every sample: W_k y_k - h if these are the atoms, from the look in which h is known
    /// best: the first, or, with a random start, the last. Where h is not known well enough, the last nu.
    pub fn share(&self, regularizer: &dyn Regularizer, atoms: &Matrix, view: &View) -> Matrix {
        let [Some(first), Some(last)] = [self.looks.first(), self.looks.last()] else {
            return Matrix::zeros(atoms.rows(), 0);
        };
        let (look, known) = match self.fading {
            None => (first, true),
            Some(_) => (last, view.unseen.is_empty()),
        };
        if !(known && look.whole) {
            return last.nu.clone();
        }
        let mut share = Matrix::zeros(look.h.rows(), look.h.cols());
        for j in 0..share.cols() {
            axpy(-1.0, look.h.column(j), share.column_mut(j));
            for w in atoms.columns() {
                let y = regularizer.recover_damped(dot(w, look.nu.column(j)), 0.0);
                axpy(y, w, share.column_mut(j));
            }
        }
        share
    }
}

/// The rounds to look at: the first ones, then fewer and fewer, and the last.
fn kept(rounds: usize) -> Vec<usize> {
    let factor = (rounds as f64).powf(1.0 / LOOKS as f64);
    let mut kept: Vec<usize> = Vec::new();
    for i in 0..=LOOKS {
        let round = (factor.powi(i as i32).round() as usize).clamp(1, rounds) - 1;
        let next = kept.last().map_or(0, |last| last + 1);
        if next < rounds {
            kept.push(round.max(next));
        }
    }
    kept
}

/// psi_k = nu_k - mu grad J_k(nu_k), where nu_k is the combination of the last round's messages.
fn diffusion(mesh: &Mesh, traffic: &Traffic, view: &View, kept: &[usize], mu: f64) -> Vec<Look> {
    let (k, residual) = (view.target, mesh.task().residual());
    let weights = mesh.weights();
    let hidden: f64 = view.unseen.iter().map(|l| weights.get(*l, k)).sum();
    let mut looks = Vec::new();
    for round in kept {
        let own = &traffic.sent[*round][k];
        let mut nu = Matrix::zeros(own.rows(), own.cols());
        if let Some(before) = round.checked_sub(1).map(|before| &traffic.sent[before]) {
            let mut add = |a: f64, l: AgentId| axpy(a, before[l].as_slice(), nu.as_mut_slice());
            add(weights.get(k, k) + hidden, k);
            view.seen.iter().for_each(|l| add(weights.get(*l, k), *l));
            (0..nu.cols()).for_each(|j| residual.project_dual(nu.column_mut(j)));
        }
        let mut gradient = nu.clone();
        axpy(-1.0, own.as_slice(), gradient.as_mut_slice());
        gradient.as_mut_slice().iter_mut().for_each(|g| *g /= mu);
        // At the start from 0 the box is not reached; elsewhere diffusion takes the gradient inside of it as well.
        let slope = |nu: &[f64], out: &mut [f64]| residual.conjugate_gradient(nu, out);
        looks.push(look(*round, nu, gradient, mesh.agents(), slope));
    }
    looks
}

/// nu_k = argmin J_k + rho d_k/2 |nu|^2 - s_k'nu, so that the gradient of J_k is s_k - rho d_k nu_k; s_k and t_k follow
/// from the messages alone, but for their start.
fn relaxed_admm(
    mesh: &Mesh,
    traffic: &Traffic,
    view: &View,
    kept: &[usize],
    rho: f64,
    alpha: f64,
) -> Vec<Look> {
    let (k, residual) = (view.target, mesh.task().residual());
    let degree = mesh.topology().degree(k) as f64;
    let (rows, cols) = (mesh.rows(), traffic.sent[0][k].cols());
    let (mut s, mut t) = (vec![0.0; rows * cols], vec![0.0; rows * cols]);
    let mut sum = vec![0.0; rows * cols];
    let mut looks = Vec::new();
    for (round, sent) in traffic.sent.iter().enumerate() {
        let own = &sent[k];
        if kept.contains(&round) {
            let mut gradient = Matrix::zeros(rows, cols);
            gradient.as_mut_slice().copy_from_slice(&s);
            axpy(-rho * degree, own.as_slice(), gradient.as_mut_slice());
            let slope = |nu: &[f64], out: &mut [f64]| residual.recover(nu, out);
            looks.push(look(round, own.clone(), gradient, mesh.agents(), slope));
        }
        sum.fill(0.0);
        axpy(view.unseen.len() as f64, own.as_slice(), &mut sum);
        for l in &view.seen {
            axpy(1.0, sent[*l].as_slice(), &mut sum);
        }
        for i in 0..sum.len() {
            let (old_s, old_t) = (s[i], t[i]);
            s[i] = (1.0 - alpha) * old_s + alpha * (2.0 * rho * sum[i] - old_t);
            t[i] = (1.0 - alpha) * old_t + alpha * (2.0 * rho * degree * own.as_slice()[i] - old_s);
        }
    }
    looks
}

/// Takes f*'(nu)/N out of the gradient; rows where it is not determined say nothing.
fn look(
    round: usize,
    nu: Matrix,
    gradient: Matrix,
    agents: usize,
    slope: impl Fn(&[f64], &mut [f64]),
) -> Look {
    let mut h = gradient;
    let mut own = vec![0.0; nu.rows()];
    let mut whole = true;
    for j in 0..nu.cols() {
        slope(nu.column(j), &mut own);
        for (h, own) in h.column_mut(j).iter_mut().zip(&own) {
            *h = match own.is_nan() {
                true => {
                    whole = false;
                    0.0
                }
                false => *h - own / agents as f64,
            };
        }
    }
    Look {
        round,
        nu,
        h,
        whole,
    }
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn the_first_and_the_last_round_are_looked_at() {
        for rounds in [4, 20, 25, 26, 400, 10_000] {
            let kept = kept(rounds);
            assert_eq!((kept[0], kept.last()), (0, Some(&(rounds - 1))), "{rounds}");
            assert!(kept.windows(2).all(|pair| pair[0] < pair[1]), "{kept:?}");
        }
    }
}
