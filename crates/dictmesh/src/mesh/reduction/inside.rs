//! The proof, round by round, that the box |nu_m| <= 1 leaves every rotated row alone.
//!
//! In the rows that are rotated nu = Q z with Q orthonormal, so that no row of Q (z - z_0) is above
//! |z - z_0|. Where the largest row of Q z_0 is known for one z_0, every z is safe whose distance from it is
//! below what that row has left to 1. z_0 is 0 first; when a z comes too far from it, it becomes the mean
//! over the agents, who are near each other. The reduced problem has no box on rotated rows, so that a row
//! that would have been cut is still there to be seen.

use super::gram::atoms_of;
use super::Rotation;
use crate::agent::Block;
use crate::matrix::{axpy, norm, Matrix};

/// What rounding may add to a row.
const ROUNDING: f64 = 1e-6;
/// Coefficients of atoms below this are not multiplied out but counted in full.
const LITTLE: f64 = 1e-9;

/// For each sample of a part z_0, and the distance from it that is safe.
#[derive(Debug)]
pub(super) struct Inside {
    centres: Matrix,
    reach: Vec<f64>,
}

impl Inside {
    /// Around 0.
    pub fn new(rank: usize, samples: usize) -> Self {
        Inside {
            centres: Matrix::zeros(rank, samples),
            reach: vec![1.0 - ROUNDING; samples],
        }
    }

    /// Whether it is proven for these duals of all agents.
    pub fn holds(&mut self, rotation: &Rotation, blocks: &[&Block], duals: &[&Matrix]) -> bool {
        (0..self.reach.len()).all(|j| {
            let rotated = || duals.iter().map(|nu| rotation.rotated_rows(nu.column(j)));
            let near = |centre: &[f64], reach: f64| {
                rotated().all(|z| squared_distance(z, centre) < reach * reach)
            };
            if near(self.centres.column(j), self.reach[j]) {
                return true;
            }
            let centre = self.centres.column_mut(j);
            centre.fill(0.0);
            rotated().for_each(|z| axpy(1.0 / duals.len() as f64, z, centre));
            let reach = 1.0 - ROUNDING - largest_row(rotation, blocks, centre);
            self.reach[j] = reach;
            reach > 0.0 && near(centre, reach)
        })
    }
}

/// At least the largest |row| of Q z among those that are rotated.
fn largest_row(rotation: &Rotation, blocks: &[&Block], z: &[f64]) -> f64 {
    let atoms = atoms_of(blocks);
    let mut nu = vec![0.0; atoms.first().map_or(0, |w| w.len())];
    let mut more = 0.0;
    for (a, w) in rotation.factor.coefficients(z).iter().zip(atoms) {
        if a.abs() > LITTLE {
            axpy(*a, w, &mut nu);
        } else {
            more += a.abs() * norm(w);
        }
    }
    rotation.kept.iter().for_each(|row| nu[*row] = 0.0);
    nu.iter()
        .fold(more, |most: f64, v| most.max(v.abs() + more))
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    // Independent sums, so that the compiler can use vector registers.
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a8.remainder().iter().zip(b8.remainder());
    let rest: f64 = rest.map(|(a, b)| (a - b) * (a - b)).sum();
    for (a, b) in a8.zip(b8) {
        for i in 0..8 {
            sums[i] += (a[i] - b[i]) * (a[i] - b[i]);
        }
    }
    sums.iter().sum::<f64>() + rest
}
