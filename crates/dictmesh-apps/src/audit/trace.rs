//! Reconstructs an agent's gradient from its messages and those of its neighbours.

use super::Traffic;
use dictmesh::graph::{Topology, Weights};
use dictmesh::mesh::Mesh;
use dictmesh::problem::regularizer::ScalarPenalty;
use dictmesh::problem::Residual;
use dictmesh::strategy::relaxed_admm;
use dictmesh::AgentId;
use dictmesh_kernels::matrix::{axpy, dot, Matrix};

/// Number of steps in the geometric grid of inspected rounds: at most `INSPECTED` + 1 rounds.
const INSPECTED: usize = 24;

/// The attackers, their target, and the messages they see.
#[derive(Clone, Debug)]
pub struct View {
    /// Colluding neighbours of the target.
    pub attackers: Vec<AgentId>,
    pub target: AgentId,
    /// Agents whose messages the attackers have: themselves and their neighbours.
    pub visible: Vec<AgentId>,
    /// The target's neighbours in `visible`.
    pub seen: Vec<AgentId>,
    /// The target's other neighbours.
    pub unseen: Vec<AgentId>,
}

impl View {
    /// `colluding` neighbours of `target`, chosen greedily to leave the fewest of its neighbours
    /// unseen; `None` if it has no neighbours.
    pub fn widest(topology: &Topology, target: AgentId, colluding: usize) -> Option<View> {
        let near = topology.neighbours(target);
        let mut view: Option<View> = None;
        for _ in 0..colluding.min(near.len()) {
            let so_far = view.map_or(Vec::new(), |view| view.attackers);
            let more = near.iter().filter(|a| !so_far.contains(a)).map(|a| {
                let attackers = so_far.iter().chain([a]).copied().collect();
                View::of(topology, attackers, target)
            });
            view = more.min_by_key(|view| view.unseen.len());
        }
        view
    }

    fn of(topology: &Topology, attackers: Vec<AgentId>, target: AgentId) -> View {
        let sees = |l: &AgentId| {
            let near = |a: &AgentId| a == l || topology.neighbours(*a).contains(l);
            attackers.iter().any(near)
        };
        let (seen, unseen) = topology.neighbours(target).iter().partition(|l| sees(l));
        View {
            target,
            visible: (0..topology.agents()).filter(|l| sees(l)).collect(),
            seen,
            unseen,
            attackers,
        }
    }
}

/// The observation of one round.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Index of the round, from 0.
    pub round: usize,
    /// W_k y_k(nu) - b_k, M x B, plus the error from unseen neighbours or a random start. NaN in
    /// rows that nu does not determine.
    pub h: Matrix,
}

/// All observations of one agent.
#[derive(Clone, Debug)]
pub struct Trace {
    pub observations: Vec<Observation>,
    /// The nu at which each observation takes the gradient: M x B blocks side by side.
    pub nus: Matrix,
    /// Decay factor per round of a random start r_k in h; `None` for a zero start.
    pub fading: Option<f64>,
}

impl Trace {
    /// Replays the agent's recursion from the messages. An unseen neighbour's message is
    /// approximated by the agent's own.
    pub fn follow(mesh: &Mesh, traffic: &Traffic, view: &View) -> Trace {
        let mut reader = Reader::new(mesh, traffic, view);
        let mut fading = None;
        let degree = mesh.topology().degree(view.target) as f64;
        let spec = traffic.strategy.spec();
        let constant = |name| spec.number(name).ok().flatten();
        match (spec.kind(), constant("mu"), constant("rho")) {
            ("relaxed-admm", _, Some(rho)) => {
                let alpha = constant("alpha").unwrap_or(relaxed_admm::DEFAULT_ALPHA);
                fading = constant("random_start").map(|_| 1.0 - 2.0 * alpha);
                reader.admm(rho * degree, |own, sum, (s, t)| {
                    (
                        (1.0 - alpha) * s + alpha * (2.0 * rho * sum - t),
                        (1.0 - alpha) * t + alpha * (2.0 * rho * degree * own - s),
                    )
                });
            }
            ("jacobi-admm", Some(mu), _) => {
                let c = constant("penalty").unwrap_or(1.0);
                reader.admm(2.0 * c * degree, |own, sum, (_, multiplier)| {
                    let multiplier = multiplier + mu * (sum - degree * own);
                    (multiplier + 2.0 * c * sum, multiplier)
                });
            }
            ("diffusion", Some(mu), _) => reader.diffusion(mu),
            ("consensus", Some(mu), _) => reader.consensus(mu),
            ("exact-diffusion", Some(mu), _) => reader.exact_diffusion(mu),
            // Not covered by this attack.
            _ => {}
        }
        Trace {
            observations: reader.observations,
            nus: reader.nus,
            fading,
        }
    }

    /// The column of `nus` for an observation and a sample.
    pub fn place(&self, observation: usize, sample: usize) -> usize {
        observation * self.nus.cols() / self.observations.len().max(1) + sample
    }

    /// nu of one observation for all samples.
    pub fn nu(&self, observation: usize) -> &[f64] {
        let size = self.nus.as_slice().len() / self.observations.len().max(1);
        &self.nus.as_slice()[observation * size..(observation + 1) * size]
    }

    /// nu of the last observation, M x B.
    pub fn last_nu(&self) -> Matrix {
        let from = self.place(self.observations.len().saturating_sub(1), 0);
        self.nus.columns_range(from..self.nus.cols())
    }

    /// The coefficients the atom `w` would have, for each observation and sample.
    pub fn codes(&self, penalty: &dyn ScalarPenalty, w: &[f64]) -> Vec<f64> {
        let columns = self.nus.columns();
        columns
            .map(|nu| penalty.coordinate_argmax(dot(w, nu), 0.0))
            .collect()
    }

    /// An estimate of b_k for every sample: W_k y_k - h with these atoms, up to scale; 0 in unknown
    /// rows. Uses the most accurate observation: the first, or with a random start the last.
    pub fn share(&self, penalty: &dyn ScalarPenalty, atoms: &Matrix) -> Matrix {
        let i = match self.fading {
            None => 0,
            Some(_) => self.observations.len().saturating_sub(1),
        };
        let Some(observation) = self.observations.get(i) else {
            return Matrix::zeros(atoms.rows(), 0);
        };
        let mut share = Matrix::zeros(observation.h.rows(), observation.h.cols());
        for j in 0..share.cols() {
            let nu = self.nus.column(self.place(i, j));
            for w in atoms.columns() {
                let y = penalty.coordinate_argmax(dot(w, nu), 0.0);
                axpy(y, w, share.column_mut(j));
            }
            for (b, h) in share.column_mut(j).iter_mut().zip(observation.h.column(j)) {
                *b = if h.is_nan() { 0.0 } else { *b - h };
            }
        }
        share
    }
}

/// Inspected rounds on a geometric grid, dense at first, including the first and the last.
pub fn kept(rounds: usize) -> Vec<usize> {
    let factor = (rounds as f64).powf(1.0 / INSPECTED as f64);
    let mut kept: Vec<usize> = Vec::new();
    for i in 0..=INSPECTED {
        let round = (factor.powi(i as i32).round() as usize).clamp(1, rounds) - 1;
        let next = kept.last().map_or(0, |last| last + 1);
        if next < rounds {
            kept.push(round.max(next));
        }
    }
    kept
}

/// Converts messages into observations.
struct Reader<'a> {
    mesh: &'a Mesh,
    sent: &'a [Vec<Matrix>],
    view: &'a View,
    kept: Vec<usize>,
    observations: Vec<Observation>,
    nus: Matrix,
}

impl<'a> Reader<'a> {
    fn new(mesh: &'a Mesh, traffic: &'a Traffic, view: &'a View) -> Self {
        Reader {
            mesh,
            sent: &traffic.sent,
            view,
            kept: kept(traffic.sent.len()),
            observations: Vec::new(),
            nus: Matrix::zeros(mesh.rows(), 0),
        }
    }

    fn zeros(&self) -> Matrix {
        let own = &self.sent[0][self.view.target];
        Matrix::zeros(own.rows(), own.cols())
    }

    /// nu_k = argmin J_k + q/2 |nu|^2 - c_k'nu, so the gradient of J_k is c_k - q nu_k. The state
    /// (c_k and a second vector) starts at 0; `step` maps nu_k, the sum over the neighbours and the
    /// old state to the new one.
    fn admm(&mut self, q: f64, step: impl Fn(f64, f64, (f64, f64)) -> (f64, f64)) {
        let mut memory = vec![(0.0, 0.0); self.zeros().as_slice().len()];
        for (round, sent) in self.sent.iter().enumerate() {
            let own = &sent[self.view.target];
            if self.kept.contains(&round) {
                let mut gradient = self.zeros();
                let entries = gradient.as_mut_slice().iter_mut().zip(own.as_slice());
                for ((g, nu), (c, _)) in entries.zip(&memory) {
                    *g = c - q * nu;
                }
                let residual = self.mesh.task().residual();
                let slope = |nu: &[f64], out: &mut [f64]| residual.recover(nu, out);
                self.observe(round, own.clone(), gradient, slope);
            }
            let mut sum = self.zeros();
            let unseen = self.view.unseen.len() as f64;
            axpy(unseen, own.as_slice(), sum.as_mut_slice());
            for l in &self.view.seen {
                axpy(1.0, sent[*l].as_slice(), sum.as_mut_slice());
            }
            let both = own.as_slice().iter().zip(sum.as_slice());
            for (memory, (own, sum)) in memory.iter_mut().zip(both) {
                *memory = step(*own, *sum, *memory);
            }
        }
    }

    /// The target's weighted combination of a round's messages.
    fn combined(&self, weights: &Weights, round: usize) -> Matrix {
        let (k, sent) = (self.view.target, &self.sent[round]);
        let hidden: f64 = self.view.unseen.iter().map(|l| weights.get(*l, k)).sum();
        let mut sum = self.zeros();
        let mut add = |a: f64, l: AgentId| axpy(a, sent[l].as_slice(), sum.as_mut_slice());
        add(weights.get(k, k) + hidden, k);
        let seen = self.view.seen.iter();
        seen.for_each(|l| add(weights.get(*l, k), *l));
        sum
    }

    /// psi_k = nu_k - mu grad J_k(nu_k), where nu_k combines the messages of the previous round.
    fn diffusion(&mut self, mu: f64) {
        for round in self.kept.clone() {
            let mut nu = match round.checked_sub(1) {
                Some(before) => self.combined(self.mesh.weights(), before),
                None => self.zeros(),
            };
            let residual = self.mesh.task().residual();
            (0..nu.cols()).for_each(|j| residual.project_dual(nu.column_mut(j)));
            let gradient = over(&nu, &self.sent[round][self.view.target], mu);
            // On the boundary of the dual box, diffusion uses the gradient of the interior.
            let slope = |nu: &[f64], out: &mut [f64]| quadratic_slope(residual, nu, out);
            self.observe(round, nu, gradient, slope);
        }
    }

    /// nu_k <- sum a_lk nu_l - mu grad J_k(nu_k), clipped to the dual box; clipped entries are
    /// unknown.
    fn consensus(&mut self, mu: f64) {
        let k = self.view.target;
        for round in kept(self.sent.len() - 1) {
            let (nu, next) = (self.sent[round][k].clone(), &self.sent[round + 1][k]);
            let mut gradient = over(&self.combined(self.mesh.weights(), round), next, mu);
            let residual = self.mesh.task().residual();
            let mut inside = vec![0.0; nu.rows()];
            for j in 0..nu.cols() {
                residual.recover(next.column(j), &mut inside);
                for (g, inside) in gradient.column_mut(j).iter_mut().zip(&inside) {
                    *g = if inside.is_nan() { f64::NAN } else { *g };
                }
            }
            let slope = |nu: &[f64], out: &mut [f64]| quadratic_slope(residual, nu, out);
            self.observe(round, nu, gradient, slope);
        }
    }

    /// phi_k = psi_k + z_k - psi_k(previous), z_k = sum abar_lk phi_l, psi_k = nu_k - mu h_k, with
    /// nu_k the prox of z_k.
    fn exact_diffusion(&mut self, mu: f64) {
        let lazy = self.mesh.weights().lazy();
        let (mut z, mut psi) = (self.zeros(), self.zeros());
        for round in 0..self.sent.len() {
            axpy(-1.0, z.as_slice(), psi.as_mut_slice());
            let phi = &self.sent[round][self.view.target];
            axpy(1.0, phi.as_slice(), psi.as_mut_slice());
            if self.kept.contains(&round) {
                let (mut nu, residual) = (z.clone(), self.mesh.task().residual());
                let tau = mu / self.mesh.agents() as f64;
                (0..nu.cols()).for_each(|j| residual.conjugate_prox(tau, nu.column_mut(j)));
                let h = over(&nu, &psi, mu);
                self.observe(round, nu, h, |_, out| out.fill(0.0));
            }
            z = self.combined(&lazy, round);
        }
    }

    /// Records h: the gradient minus f*'(nu)/N.
    fn observe(
        &mut self,
        round: usize,
        nu: Matrix,
        gradient: Matrix,
        slope: impl Fn(&[f64], &mut [f64]),
    ) {
        let mut h = gradient;
        let mut own = vec![0.0; nu.rows()];
        for j in 0..nu.cols() {
            slope(nu.column(j), &mut own);
            axpy(-1.0 / self.mesh.agents() as f64, &own, h.column_mut(j));
        }
        self.observations.push(Observation { round, h });
        // Cannot fail: all matrices have the mesh's rows.
        let _ = self.nus.append_columns(&nu);
    }
}

/// (a - b)/mu.
fn over(a: &Matrix, b: &Matrix, mu: f64) -> Matrix {
    let mut out = a.clone();
    axpy(-1.0, b.as_slice(), out.as_mut_slice());
    out.as_mut_slice().iter_mut().for_each(|v| *v /= mu);
    out
}

/// f*'(nu) = c nu, for the quadratic f* that gradient strategies require.
fn quadratic_slope(residual: &dyn Residual, nu: &[f64], out: &mut [f64]) {
    let c = residual.conjugate_quadratic().unwrap_or(0.0);
    out.iter_mut().zip(nu).for_each(|(out, nu)| *out = c * nu);
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn the_first_and_the_last_round_are_inspected() {
        for rounds in [4, 20, 25, 26, 400, 10_000] {
            let kept = kept(rounds);
            assert_eq!((kept[0], kept.last()), (0, Some(&(rounds - 1))), "{rounds}");
            assert!(kept.windows(2).all(|pair| pair[0] < pair[1]), "{kept:?}");
        }
    }
}
