//! Rotation: the same rounds in fewer rows.
//!
//! For residuals that only see lengths (squared l2, ball, equality), every iterate of every strategy
//! lies in span(W, x). With Q an orthonormal basis of span(W) and e the unit vector of x - QQ'x, the
//! problem ([Q'W; 0], [Q'x; e'x]) has at most K + 1 rows and gives the same codes, costs and rounds;
//! nu = Q nu_1 + e nu_2 brings its duals back. One Q serves many batches, each sample has its own e.
//!
//! Huber sees only lengths where no |nu_m| reaches 1. The rows in which x is not 0 are kept as they are, with
//! the box; in the others every iterate lies in the span of the atoms' rows there, and they are rotated. As
//! long as the box leaves them alone ([`inside`] proves it after every round) the iterates are the same; if
//! that cannot be proven, the sample starts again in all rows. Its rows are its own, so each sample has its own Q.
//!
//! Q = W R^(-1) from W'W = R'R ([`factor`]) is never formed: Q'W = R and Q'x = R^(-T) W'x.

mod factor;
mod gram;
mod inside;
mod lift;

pub(super) use gram::Gram;
pub(super) use lift::{lift, Term};

use crate::agent::Block;
use crate::matrix::{dot, norm, Matrix};
use crate::residual::Residual;
use crate::samples::Samples;
use factor::Factor;
use inside::Inside;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

/// What counts as zero of an atom's square outside the others, relative to the longest atom's, where samples
/// are rotated too: the rounding of W'x over its root is what the rotation does to nu, about 1e-9.
const RANK: f64 = 1e-13;
/// The same where only atoms are rotated, and rounding is not divided by it.
const RANK_OF_ATOMS: f64 = 1e-15;
/// Below this share of |x|^2, the part of x outside span(W) is computed anew instead of by difference.
const CANCEL: f64 = 1e-6;
/// Numbers in one array of all agents that a part may have: with the five or so arrays of a strategy they stay in
/// the cache through many rounds.
const PART: usize = 1 << 15;

/// Part of a batch seen in few rows.
#[derive(Debug)]
pub(super) struct Reduction {
    rotation: Arc<Rotation>,
    /// The samples in these rows.
    pub x: Matrix,
    /// The residual for these rows, where it is not the task's own.
    residual: Option<Box<dyn Residual>>,
    inside: Option<Inside>,
}

/// Rows of W, rotated: first those kept as they are, then R, then a row of 0 for x outside span(W).
#[derive(Debug)]
pub(super) struct Rotation {
    blocks: Vec<Block>,
    kept: Vec<usize>,
    factor: Factor,
}

impl Rotation {
    fn new(blocks: &[&Block], kept: Vec<usize>, factor: Factor, beside: usize) -> Self {
        let (first, rank) = (kept.len(), factor.rank());
        let mut atoms = (0..).zip(gram::atoms_of(blocks));
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
        }
    }

    /// The rotated rows of nu.
    fn rotated_rows<'a>(&self, nu: &'a [f64]) -> &'a [f64] {
        &nu[self.kept.len()..self.kept.len() + self.factor.rank()]
    }
}

/// A batch in parts, each in fewer rows where that is possible and gives the same.
pub(super) fn parts(
    residual: &dyn Residual,
    blocks: &[&Block],
    gram: &Mutex<Gram>,
    x: &Samples,
) -> Vec<(Range<usize>, Option<Reduction>)> {
    let whole = || vec![(0..x.len(), None)];
    let atoms: usize = blocks.iter().map(|b| b.len()).sum();
    // With fewer rows there is little to gain.
    let worthwhile = |kept: usize| x.rows() >= 2 * (kept + atoms + 1);
    if !worthwhile(0) {
        return whole();
    }
    if residual.is_rotation_invariant() {
        let Some(rotation) = rotation_of_all(blocks, gram) else {
            return whole();
        };
        let numbers = blocks.len() * (rotation.factor.rank() + 1);
        let ranges = even_ranges(x.len(), (PART / numbers).max(1));
        let rotated = ranges.into_par_iter().map(|range| {
            let reduction = Reduction::of_all(&rotation, blocks, x, range.clone());
            (range, Some(reduction))
        });
        return rotated.collect();
    }
    if residual.boxed_in(0).is_none() {
        return whole();
    }
    let supports: Vec<Vec<usize>> = (0..x.len()).map(|j| support(x, j)).collect();
    if !supports.iter().any(|kept| worthwhile(kept.len())) {
        return whole();
    }
    let full = locked(gram).of(blocks).clone();
    let each = supports.into_par_iter().enumerate().map(|(j, kept)| {
        let reduction = worthwhile(kept.len())
            .then(|| Reduction::beside(kept, residual, blocks, &full, x, j))
            .flatten();
        (j..j + 1, reduction)
    });
    each.collect()
}

fn locked(gram: &Mutex<Gram>) -> MutexGuard<'_, Gram> {
    // A panic elsewhere leaves at worst entries whose version does not match.
    gram.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn support(x: &Samples, j: usize) -> Vec<usize> {
    let filled = x.entries(j).filter(|(_, v)| *v != 0.0);
    filled.map(|(row, _)| row).collect()
}

/// As few ranges of at most `most` as there can be, of sizes that differ by at most one.
fn even_ranges(total: usize, most: usize) -> Vec<Range<usize>> {
    let count = total.div_ceil(most);
    (0..count)
        .map(|i| i * total / count..(i + 1) * total / count)
        .collect()
}

/// The rotation of all rows, as long as no atom changed the same.
fn rotation_of_all(blocks: &[&Block], gram: &Mutex<Gram>) -> Option<Arc<Rotation>> {
    let mut gram = locked(gram);
    let products = gram.of(blocks);
    let least = RANK * longest(products);
    if gram.rotation.is_none() {
        let factor = Factor::of(gram.of(blocks), least)?;
        gram.rotation = Some(Arc::new(Rotation::new(blocks, Vec::new(), factor, 1)));
    }
    gram.rotation.clone()
}

/// The square of the longest atom.
fn longest(gram: &Matrix) -> f64 {
    (0..gram.cols()).fold(0.0, |most: f64, q| most.max(gram.get(q, q)))
}

impl Reduction {
    /// Samples `range` of a batch, for a residual that sees only lengths.
    fn of_all(
        rotation: &Arc<Rotation>,
        blocks: &[&Block],
        x: &Samples,
        range: Range<usize>,
    ) -> Self {
        let rank = rotation.factor.rank();
        let mut reduced = Matrix::zeros(rank + 1, range.len());
        for (to, j) in range.enumerate() {
            let atoms = blocks.iter().flat_map(|block| block.atoms().columns());
            let correlations: Vec<f64> = atoms.map(|w| x.dot(j, w)).collect();
            let within = rotation.factor.rotate(&correlations);
            let size = x.norm(j);
            let rest = size * size - dot(&within, &within);
            let column = reduced.column_mut(to);
            column[..rank].copy_from_slice(&within);
            column[rank] = if rest > CANCEL * size * size {
                rest.sqrt()
            } else {
                outside(rotation, blocks, x, j, &within)
            };
        }
        Reduction {
            rotation: rotation.clone(),
            x: reduced,
            residual: None,
            inside: None,
        }
    }

    /// Sample `j`, with the rows `kept` as they are and the others rotated. `None` if that leaves no row, or
    /// W'W is not finite.
    fn beside(
        kept: Vec<usize>,
        residual: &dyn Residual,
        blocks: &[&Block],
        gram: &Matrix,
        x: &Samples,
        j: usize,
    ) -> Option<Self> {
        // W'W of the other rows.
        let mut others = gram.clone();
        let atoms = gram::atoms_of(blocks);
        let here = Matrix::from_fn(kept.len(), atoms.len(), |i, q| atoms[q][kept[i]]);
        let here = here.transpose_times(&here);
        (others.as_mut_slice().iter_mut().zip(here.as_slice()))
            .for_each(|(all, here)| *all -= here);
        let factor = Factor::of(&others, RANK_OF_ATOMS * longest(gram))?;
        let (first, rank) = (kept.len(), factor.rank());
        if first + rank == 0 {
            return None;
        }
        let residual = residual.boxed_in(first)?;
        let mut reduced = Matrix::zeros(first + rank, 1);
        let values = x.entries(j).map(|(_, v)| v).filter(|v| *v != 0.0);
        (reduced.as_mut_slice().iter_mut().zip(values)).for_each(|(to, v)| *to = v);
        Some(Reduction {
            rotation: Arc::new(Rotation::new(blocks, kept, factor, 0)),
            x: reduced,
            residual: Some(residual),
            inside: Some(Inside::new(rank, 1)),
        })
    }

    /// The atoms of agent `k` in these rows.
    pub fn block(&self, k: usize) -> &Block {
        &self.rotation.blocks[k]
    }

    /// The residual for these rows, where it is not the task's own.
    pub fn residual(&self) -> Option<&dyn Residual> {
        self.residual.as_deref()
    }

    /// Whether these duals of all agents are those of the plain problem: no row that is rotated has left
    /// the box.
    pub fn is_inside(&mut self, blocks: &[&Block], duals: &[&Matrix]) -> bool {
        let rotation = &self.rotation;
        let inside = self.inside.as_mut();
        inside.is_none_or(|inside| inside.holds(rotation, blocks, duals))
    }
}

/// The length of the part of x_j outside span(W), without cancellation.
fn outside(rotation: &Rotation, blocks: &[&Block], x: &Samples, j: usize, within: &[f64]) -> f64 {
    let mut a = Matrix::zeros(gram::atoms_of(blocks).len(), 1);
    (a.as_mut_slice()).copy_from_slice(&rotation.factor.coefficients(within));
    let mut rest = gram::times(&gram::atoms_of(blocks), &a, x.rows());
    let rest = rest.as_mut_slice();
    rest.iter_mut().for_each(|v| *v = -*v);
    x.add_scaled(j, 1.0, rest);
    norm(rest)
}
