//! How agents come to agree on the cost of a sample: each starts from its own J_k(nu_k) and ends
//! near g = -(1/N) sum J_k. The novelty score is N g, so that thresholds survive growth.

use crate::topology::Weights;

/// Plain averaging, the default: g_k(0) = -J_k, g <- A'g. No bias; the error falls with the spectral
/// gap of A. `costs[k]` is J_k; returns each agent's g_k after `rounds`.
pub fn average(weights: &Weights, costs: &[f64], rounds: usize) -> Vec<f64> {
    let mut g: Vec<f64> = costs.iter().map(|j| -j).collect();
    for _ in 0..rounds {
        g = combine(weights, &g);
    }
    g
}

/// The rounds after which [`average`] is within `tolerance` of agreement, relative to the spread it
/// starts from: the error falls by 1 - gap a round.
pub fn rounds_to_agree(spectral_gap: f64, tolerance: f64) -> usize {
    let remaining = 1.0 - spectral_gap;
    if remaining <= f64::EPSILON {
        return 1; // everybody hears everybody: one round averages exactly
    }
    (tolerance.ln() / remaining.ln()).ceil().max(1.0) as usize
}

/// The paper's scalar diffusion, with step mu_g and g_k(0) = 0:
/// phi_k = g_k - mu_g (J_k + g_k); g_k = sum over l in N_k of a_lk phi_l. Its bias is O(mu_g).
pub fn scalar_diffusion(weights: &Weights, costs: &[f64], mu_g: f64, rounds: usize) -> Vec<f64> {
    let mut g = vec![0.0; costs.len()];
    for _ in 0..rounds {
        let phi: Vec<f64> = g
            .iter()
            .zip(costs)
            .map(|(g, j)| g - mu_g * (j + g))
            .collect();
        g = combine(weights, &phi);
    }
    g
}

fn combine(weights: &Weights, values: &[f64]) -> Vec<f64> {
    (0..values.len())
        .map(|k| weights.column(k).iter().map(|(l, a)| a * values[*l]).sum())
        .collect()
}
