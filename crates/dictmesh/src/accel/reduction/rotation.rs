//! Atoms in the rotated rows.

use super::atoms_of;
use super::factor::Factor;
use crate::accel::lift;
use crate::problem::block::Block;
use dictmesh_kernels::matrix::{dot, norm, Matrix};

/// Below this share of |x|^2, the part of x outside span(W) is computed directly, not by
/// difference.
const CANCEL: f64 = 1e-6;

/// The atoms in the reduced rows: the kept rows, then R, then a zero row for x outside span(W).
#[derive(Debug)]
pub(super) struct Rotation {
    pub blocks: Vec<Block>,
    pub kept: Vec<usize>,
    pub factor: Factor,
    /// Estimated relative error of W'nu in these rows.
    pub error: f64,
}

impl Rotation {
    pub fn new(blocks: &[&Block], kept: Vec<usize>, factor: Factor, beside: usize) -> Self {
        let (first, rank) = (kept.len(), factor.rank());
        let mut atoms = (0..).zip(atoms_of(blocks));
        let reduced = blocks.iter().map(|block| {
            let mut reduced = Matrix::zeros(first + rank + beside, block.len());
            for (to, (q, w)) in (0..block.len()).zip(&mut atoms) {
                let column = reduced.column_mut(to);
                for (to, row) in column.iter_mut().zip(&kept) {
                    *to = w[*row];
                }
                column[first..first + rank].copy_from_slice(factor.rotated().column(q));
            }
            Block::from_finite(reduced)
        });
        Rotation {
            blocks: reduced.collect(),
            kept,
            factor,
            error: 0.0,
        }
    }

    /// The larger of two errors relative to the longest atom: the rounding of W'x over the smallest
    /// pivot, if samples are rotated too, and the part of dependent atoms outside the span of the
    /// pivots.
    pub fn error_of(&self, blocks: &[&Block], longest: f64, rotates_samples: bool) -> f64 {
        let smallest = self.factor.smallest_pivot().max(f64::MIN_POSITIVE);
        let rounding = match rotates_samples {
            true => f64::EPSILON * longest / smallest,
            false => 0.0,
        };
        let atoms = atoms_of(blocks);
        let missed = self.factor.dependent().map(|q| {
            let w: Vec<(usize, f64)> = atoms[q].iter().copied().enumerate().collect();
            outside(self, &atoms, &w, self.factor.rotated().column(q)) / longest
        });
        missed.fold(rounding, f64::max)
    }

    /// The rotated rows of nu.
    pub fn rotated_rows<'a>(&self, nu: &'a [f64]) -> &'a [f64] {
        &nu[self.kept.len()..]
    }
}

/// Fills the rotated rows of a sample that has the entries `x` in them.
pub(super) fn rotate_sample(
    rotation: &Rotation,
    blocks: &[&Block],
    x: &[(usize, f64)],
    out: &mut [f64],
) {
    let atoms = atoms_of(blocks);
    let correlations = atoms.iter().map(|w| x.iter().map(|(i, v)| v * w[*i]).sum());
    let within = rotation.factor.rotate(&correlations.collect::<Vec<f64>>());
    let size: f64 = x.iter().map(|(_, v)| v * v).sum();
    let rest = size - dot(&within, &within);
    let rank = within.len();
    out[..rank].copy_from_slice(&within);
    out[rank] = if rest > CANCEL * size {
        rest.sqrt()
    } else {
        outside(rotation, &atoms, x, &within)
    };
}

/// The norm of the part of x outside the atoms' span in the rotated rows, without cancellation.
fn outside(rotation: &Rotation, atoms: &[&[f64]], x: &[(usize, f64)], within: &[f64]) -> f64 {
    let mut a = Matrix::zeros(atoms.len(), 1);
    (a.as_mut_slice()).copy_from_slice(&rotation.factor.coefficients(within));
    let mut rest = lift::times(atoms, &a, atoms.first().map_or(0, |w| w.len()));
    let rest = rest.as_mut_slice();
    x.iter().for_each(|(i, v)| rest[*i] -= v);
    rotation.kept.iter().for_each(|i| rest[*i] = 0.0);
    norm(rest)
}
