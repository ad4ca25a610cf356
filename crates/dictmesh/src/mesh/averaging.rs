//! Averaging of the local costs: each agent starts from its own J_k(nu_k) and converges to g =
//! -(1/N) sum J_k. The novelty score is N g, so that thresholds remain valid when the mesh grows.

use crate::graph::Weights;
use dictmesh_kernels::matrix::Matrix;

/// A^rounds, the matrix of plain averaging: g_k(0) = -J_k, g <- A'g, so g = (A^rounds)' g(0),
/// without bias. Repeated squaring takes O(log rounds) products.
pub fn averaging(weights: &Weights, rounds: usize) -> Matrix {
    let mut square = weights.to_matrix();
    let n = square.cols();
    let mut power = Matrix::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 });
    let mut left = rounds;
    while left > 0 {
        if left % 2 == 1 {
            power = power.times(&square);
        }
        left /= 2;
        if left > 0 {
            square = square.times(&square);
            normalise(&mut square);
        }
    }
    normalise(&mut power);
    power
}

/// Normalises the columns to sum 1, since every squaring doubles their rounding error.
fn normalise(a: &mut Matrix) {
    for k in 0..a.cols() {
        let sum: f64 = a.column(k).iter().sum();
        a.column_mut(k).iter_mut().for_each(|v| *v /= sum);
    }
}

/// The number of rounds after which averaging is within `tolerance` of agreement, relative to the
/// initial spread: the error decreases by the factor 1 - gap per round.
pub fn rounds_to_agree(spectral_gap: f64, tolerance: f64) -> usize {
    let remaining = 1.0 - spectral_gap;
    if remaining <= f64::EPSILON {
        return 1; // a complete graph with weights 1/N: one round averages exactly
    }
    if remaining >= 1.0 {
        return usize::MAX; // the gap is lost in rounding
    }
    (tolerance.ln() / remaining.ln()).ceil().max(1.0) as usize
}

/// The paper's scalar diffusion with step mu_g and g_k(0) = 0: phi_k = g_k - mu_g (J_k + g_k); g_k
/// = sum over l in N_k of a_lk phi_l. Its bias is O(mu_g).
pub fn scalar_diffusion(weights: &Weights, costs: &[f64], mu_g: f64, rounds: usize) -> Vec<f64> {
    let mut g = vec![0.0; costs.len()];
    for _ in 0..rounds {
        let phi: Vec<f64> = g
            .iter()
            .zip(costs)
            .map(|(g, j)| g - mu_g * (j + g))
            .collect();
        g = (0..costs.len())
            .map(|k| weights.column(k).iter().map(|(l, a)| a * phi[*l]).sum())
            .collect();
    }
    g
}
