//! The proof, round by round, that the box |nu_m| <= 1 leaves every rotated row alone.
//!
//! In the rows that are rotated nu = Q z with Q orthonormal, so that no row of Q (z - z_0) is above
//! |z - z_0|. Where the largest row of Q z_0 is known for one z_0, every z is safe whose distance from it is
//! below what that row has left to 1. z_0 is 0 first; when a z comes too far from it, it becomes the mean
//! over the agents, who are near each other. The reduced problem has no box on rotated rows, so that a row
//! that would have been cut is still there to be seen.

use dictmesh_kernels::matrix::{axpy, distance_squared, Matrix};

/// What rounding may add to a row.
const ROUNDING: f64 = 1e-6;

/// For each sample of a part z_0, and the distance from it that is safe.
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

    /// Whether it is proven: `rotated` gives z of an agent and a sample, `largest` the largest row of Q z for a
    /// sample.
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
