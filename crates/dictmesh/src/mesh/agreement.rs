//! Agreement of the agents on the cost of each sample.

use super::averaging;
use super::{Inference, Mesh};
use crate::error::{Error, Result};
use dictmesh_kernels::matrix::Matrix;

/// Spread of the agents' estimates, relative to the initial one, at which they agree.
const AGREEMENT: f64 = 1e-12;

impl Mesh {
    /// Every agent's estimate of the cost of each sample after plain averaging, N x B.
    ///
    /// It is N g_k, which converges to -sum_k J_k, so that thresholds remain valid when the mesh
    /// grows.
    pub fn agree(&self, inference: &Inference) -> Result<Matrix> {
        self.check_inference(inference)?;
        Ok(self.average(&inference.local_costs))
    }

    fn check_inference(&self, inference: &Inference) -> Result<()> {
        Error::check_dimension(
            "agents of the inference (was it made before the mesh changed?)",
            inference.local_costs.len(),
            self.agents.len(),
        )
    }

    /// N g_k of each agent for each sample, N x B.
    pub(super) fn average(&self, local_costs: &[Vec<f64>]) -> Matrix {
        let n = self.agents.len();
        let averaging = self
            .averaging
            .get_or_init(|| averaging::averaging(&self.weights, self.agreement_rounds()));
        let samples = local_costs.first().map_or(0, Vec::len);
        // `0.0 -` instead of negation: no -0.
        let scaled = Matrix::from_fn(n, samples, |k, j| 0.0 - n as f64 * local_costs[k][j]);
        averaging.transpose_times(&scaled)
    }

    /// The number of averaging rounds until the agents agree to 1e-12, relative to the initial
    /// spread. Each round exchanges one number per sample.
    pub fn agreement_rounds(&self) -> usize {
        averaging::rounds_to_agree(self.mixing.gap, AGREEMENT)
    }

    /// As [`agree`](Mesh::agree), by the paper's scalar diffusion with step `mu_g`.
    pub fn agree_by_diffusion(
        &self,
        inference: &Inference,
        mu_g: f64,
        rounds: usize,
    ) -> Result<Matrix> {
        if !(mu_g > 0.0 && mu_g < 2.0) {
            return Err(Error::parameter(
                "mu_g",
                mu_g,
                "must be above 0 and below 2, or the scalar diffusion diverges",
            ));
        }
        self.check_inference(inference)?;
        let (n, local) = (self.agents.len(), &inference.local_costs);
        let samples = inference.costs.len();
        let mut out = Matrix::zeros(n, samples);
        for j in 0..samples {
            let costs: Vec<f64> = local.iter().map(|c| c[j]).collect();
            let agreed = averaging::scalar_diffusion(&self.weights, &costs, mu_g, rounds);
            for (out, g) in out.column_mut(j).iter_mut().zip(agreed) {
                *out = n as f64 * g;
            }
        }
        Ok(out)
    }
}
