//! Rotation: the same rounds in fewer rows.
//!
//! For residuals that only see lengths (squared l2, ball, equality), every iterate of every strategy
//! lies in span(W, x). With Q an orthonormal basis of span(W) and e the unit vector of x - QQ'x, the
//! problem ([Q'W; 0], [Q'x; e'x]) has at most K + 1 rows and gives the same codes, costs and rounds;
//! nu = Q nu_1 + e nu_2 brings its duals back. One Q serves many batches, each sample has its own e.
//!
//! Huber sees only lengths where no |nu_m| reaches 1. The rows in which x is large are kept as they are, with
//! the box; in the others every iterate lies in the span of what the atoms and x have there, and they are
//! rotated. As long as the box leaves them alone ([`inside`] proves it after every round) the iterates are the
//! same; where that cannot be proven, the sample starts again with all rows kept in which it is not 0, and
//! then in all rows. Its rows are its own, so each sample has its own Q.
//!
//! Q = W R^(-1) from W'W = R'R ([`factor`]) is never formed: Q'W = R and Q'x = R^(-T) W'x.

mod factor;
mod gram;
mod inside;
mod lift;

pub(super) use gram::Gram;
pub(super) use lift::{lift, Term};

use super::Mesh;
use crate::problem::block::{stores_grams, Block};
use crate::problem::residual::Residual;
use crate::problem::samples::Samples;
use crate::strategy::Strategy;
use dictmesh_kernels::matrix::{dot, norm, Matrix};
use factor::Factor;
use inside::Inside;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// What counts as zero of an atom's square outside the others, relative to the longest atom's, where samples
/// are rotated too: the rounding of W'x over its root is what the rotation does to nu, about 1e-9.
const RANK: f64 = 1e-13;
/// The same where only atoms are rotated, and rounding is not divided by it.
const RANK_OF_ATOMS: f64 = 1e-15;
/// Huber: rows with |x_m| above this share of eta are near the box from the start.
const LARGE: f64 = 0.5;
/// Below this share of |x|^2, the part of x outside span(W) is computed anew instead of by difference.
const CANCEL: f64 = 1e-6;

/// Part of a batch seen in few rows.
#[derive(Debug)]
pub(super) struct Reduction {
    rotation: Arc<Rotation>,
    /// The samples in these rows.
    pub x: Matrix,
    boxed: Option<Boxed>,
}

/// What belongs to rows without their box.
#[derive(Debug)]
struct Boxed {
    /// The residual with the box on the kept rows alone.
    residual: Box<dyn Residual>,
    inside: Inside,
    /// Whether all rows are kept in which x is not 0.
    support: bool,
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
        &nu[self.kept.len()..]
    }
}

/// A batch in parts, each in fewer rows where that is possible and gives the same.
pub(super) fn parts(
    residual: &dyn Residual,
    blocks: &[&Block],
    gram: &Gram,
    x: &Samples,
) -> Vec<(Range<usize>, Option<Reduction>)> {
    // An agent that is alone solves samples best together.
    let some = match blocks.len() {
        1 => x.len(),
        _ => samples_in_chunk(blocks.len(), x.rows()),
    };
    let whole = || {
        (even_ranges(x.len(), some)
            .into_iter()
            .map(|range| (range, None)))
        .collect()
    };
    let atoms: usize = blocks.iter().map(|b| b.len()).sum();
    if !is_worthwhile(x.rows(), atoms) || !stores_grams([atoms], x.rows()) {
        return whole();
    }
    if residual.is_rotation_invariant() {
        let Some(rotation) = rotation_of_all(blocks, gram) else {
            return whole();
        };
        let some = samples_in_chunk(blocks.len(), rotation.factor.rank() + 1);
        let ranges = even_ranges(x.len(), some);
        let rotated = ranges.into_par_iter().map(|range| {
            let reduction = Reduction::of_all(&rotation, blocks, x, range.clone());
            (range, Some(reduction))
        });
        return rotated.collect();
    }
    if residual.with_box_on_first_rows(0).is_none() {
        return whole();
    }
    let (products, large) = (gram.of(blocks), LARGE * residual.conjugate_curvature());
    let gram = &products.gram;
    let each = (0..x.len()).into_par_iter().map(|j| {
        (
            j..j + 1,
            Reduction::beside(residual, blocks, gram, x, j, large),
        )
    });
    let each: Vec<(Range<usize>, Option<Reduction>)> = each.collect();
    match each.iter().any(|(_, reduction)| reduction.is_some()) {
        true => each,
        false => whole(),
    }
}

/// Numbers of one array, over all agents, that a chunk of samples holds: with the five or so arrays of a
/// strategy they stay in the second-level cache.
const CHUNK: usize = 1 << 15;

/// Samples of a chunk, at least 1.
fn samples_in_chunk(agents: usize, rows: usize) -> usize {
    (CHUNK / (agents * rows).max(1)).max(1)
}

/// With more rows than that there is little to gain.
fn is_worthwhile(rows: usize, reduced: usize) -> bool {
    rows >= 2 * (reduced + 1)
}

/// As few ranges of at most `most` as there can be, of sizes that differ by at most one.
fn even_ranges(total: usize, most: usize) -> Vec<Range<usize>> {
    let count = total.div_ceil(most);
    (0..count)
        .map(|i| i * total / count..(i + 1) * total / count)
        .collect()
}

/// The rotation of all rows.
fn rotation_of_all(blocks: &[&Block], gram: &Gram) -> Option<Arc<Rotation>> {
    let products = gram.of(blocks);
    let rotation = products.rotation.get_or_init(|| {
        let factor = Factor::of(&products.gram, RANK * longest(&products.gram))?;
        Some(Arc::new(Rotation::new(blocks, Vec::new(), factor, 1)))
    });
    rotation.clone()
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
        let mut reduced = Matrix::zeros(rotation.factor.rank() + 1, range.len());
        for (to, j) in range.enumerate() {
            let x: Vec<(usize, f64)> = x.entries(j).collect();
            rotate_sample(rotation, blocks, &x, reduced.column_mut(to));
        }
        Reduction {
            rotation: rotation.clone(),
            x: reduced,
            boxed: None,
        }
    }

    /// Sample `j`, with the rows as they are in which |x_m| is above `large` and the others rotated. `None` if
    /// there is little to gain, or W'W is not finite.
    fn beside(
        residual: &dyn Residual,
        blocks: &[&Block],
        gram: &Matrix,
        x: &Samples,
        j: usize,
        large: f64,
    ) -> Option<Self> {
        let filled = x.entries(j).filter(|(_, v)| *v != 0.0);
        let (high, low): (Vec<_>, Vec<_>) = filled.partition(|(_, v)| v.abs() > large);
        let atoms = gram::atoms_of(blocks);
        if !is_worthwhile(x.rows(), high.len() + atoms.len()) {
            return None;
        }
        let kept: Vec<usize> = high.iter().map(|(row, _)| *row).collect();
        // W'W of the other rows.
        let mut others = gram.clone();
        let least = longest(&others) * if low.is_empty() { RANK_OF_ATOMS } else { RANK };
        let here = Matrix::from_fn(kept.len(), atoms.len(), |i, q| atoms[q][kept[i]]);
        let here = here.transpose_times(&here);
        (others.as_mut_slice().iter_mut().zip(here.as_slice()))
            .for_each(|(all, here)| *all -= here);
        let factor = Factor::of(&others, least)?;
        let beside = usize::from(!low.is_empty());
        let (first, rank) = (kept.len(), factor.rank());
        if first + rank + beside == 0 {
            return None;
        }
        let rotation = Rotation::new(blocks, kept, factor, beside);
        let mut reduced = Matrix::zeros(first + rank + beside, 1);
        let column = reduced.column_mut(0);
        (column.iter_mut().zip(&high)).for_each(|(to, (_, v))| *to = *v);
        if beside == 1 {
            rotate_sample(&rotation, blocks, &low, &mut column[first..]);
        }
        Some(Reduction {
            boxed: Some(Boxed {
                residual: residual.with_box_on_first_rows(first)?,
                inside: Inside::new(rank + beside, 1),
                support: low.is_empty(),
            }),
            rotation: Arc::new(rotation),
            x: reduced,
        })
    }

    /// The same sample with all rows kept in which it is not 0, if that is more than now.
    pub fn larger(&self, mesh: &Mesh, x: &Samples) -> Option<Self> {
        let boxed = self.boxed.as_ref().filter(|boxed| !boxed.support);
        let residual = boxed.map(|_| mesh.task.residual())?;
        let blocks = mesh.blocks();
        let products = mesh.gram.of(&blocks);
        Reduction::beside(residual, &blocks, &products.gram, x, 0, 0.0)
    }

    /// The atoms of agent `k` in these rows.
    pub fn block(&self, k: usize) -> &Block {
        &self.rotation.blocks[k]
    }

    /// The residual for these rows, where it is not the task's own.
    pub fn residual(&self) -> Option<&dyn Residual> {
        self.boxed.as_ref().map(|boxed| &*boxed.residual)
    }

    /// Whether every round must be looked at.
    pub fn is_boxed(&self) -> bool {
        self.boxed.is_some()
    }

    /// Whether these duals of all agents are those of the plain problem: no row that is rotated has left
    /// the box.
    pub fn is_inside(
        &mut self,
        mesh: &Mesh,
        x: &Samples,
        strategies: &[Box<dyn Strategy>],
    ) -> bool {
        let Some(boxed) = &mut self.boxed else {
            return true;
        };
        let rotation = &self.rotation;
        let rotated = |k: usize, j: usize| rotation.rotated_rows(strategies[k].dual().column(j));
        let reduced = &self.x;
        let largest = |j: usize, z: &[f64]| {
            let mut nu = vec![0.0; rotation.kept.len()];
            nu.extend_from_slice(z);
            let term = Term {
                column: 0,
                scale: 1.0,
                rotation,
                x: reduced.column(j),
                nu: &nu,
                sample: j,
            };
            let lifted = lift(&mesh.blocks(), x, 1, &[term]);
            lifted
                .as_slice()
                .iter()
                .fold(0.0, |most: f64, v| most.max(v.abs()))
        };
        boxed.inside.holds(strategies.len(), rotated, largest)
    }
}

/// Fills the rotated rows of a sample with these entries.
fn rotate_sample(rotation: &Rotation, blocks: &[&Block], x: &[(usize, f64)], out: &mut [f64]) {
    let atoms = gram::atoms_of(blocks);
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

/// The length of the part of x outside the atoms' span in the rotated rows, without cancellation.
fn outside(rotation: &Rotation, atoms: &[&[f64]], x: &[(usize, f64)], within: &[f64]) -> f64 {
    let mut a = Matrix::zeros(atoms.len(), 1);
    (a.as_mut_slice()).copy_from_slice(&rotation.factor.coefficients(within));
    let mut rest = gram::times(atoms, &a, atoms.first().map_or(0, |w| w.len()));
    let rest = rest.as_mut_slice();
    x.iter().for_each(|(i, v)| rest[*i] -= v);
    rotation.kept.iter().for_each(|i| rest[*i] = 0.0);
    norm(rest)
}
