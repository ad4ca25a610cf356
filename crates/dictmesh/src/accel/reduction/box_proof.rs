//! The proof, after every round, that the box |nu_m| <= 1 is inactive on all rotated rows.
//!
//! On rotated rows nu = Q z with Q orthonormal, so that no entry of Q (z - z_0) exceeds |z - z_0|.
//! If the largest entry of Q z_0 is known, every z is safe whose distance from z_0 is below 1 minus
//! that entry. z_0 starts at 0. If some z is too far from it, z_0 becomes the mean over the agents,
//! whose z are close to each other. The reduced problem has no box on rotated rows, so that a
//! violation remains visible.

use dictmesh_kernels::matrix::{axpy, distance_squared, Matrix};

/// Margin for the rounding errors of an entry of nu.
const ROUNDING: f64 = 1e-6;

/// z_0 of each sample, and the safe distance from it.
#[derive(Debug)]
pub(super) struct BoxProof {
    centres: Matrix,
    reach: Vec<f64>,
}

impl BoxProof {
    /// Around 0, for `rows` rotated rows.
    pub fn new(rows: usize, samples: usize) -> Self {
        BoxProof {
            centres: Matrix::zeros(rows, samples),
            reach: vec![1.0 - ROUNDING; samples],
        }
    }

    /// Whether the box is proven inactive. `rotated` returns z of an agent and a sample, `largest`
    /// the largest absolute entry of Q z for a sample.
    pub fn holds<'a>(
        &mut self,
        agents: usize,
        rotated: impl Fn(usize, usize) -> &'a [f64],
        largest: impl Fn(usize, &[f64]) -> f64,
    ) -> bool {
        (0..self.reach.len()).all(|j| {
            let near = |centre: &[f64], reach: f64| {
                (0..agents).all(|k| distance_squared(rotated(k, j), centre) < reach * reach)
            };
            if near(self.centres.column(j), self.reach[j]) {
                return true;
            }
            let centre = self.centres.column_mut(j);
            centre.fill(0.0);
            (0..agents).for_each(|k| axpy(1.0 / agents as f64, rotated(k, j), centre));
            let reach = 1.0 - ROUNDING - largest(j, centre);
            self.reach[j] = reach;
            reach > 0.0 && near(centre, reach)
        })
    }
}
