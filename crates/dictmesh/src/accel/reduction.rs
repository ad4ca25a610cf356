//! Rotation: the same rounds in fewer rows.
//!
//! For residuals that depend on norms alone (squared l2, ball, equality), every iterate of every
//! strategy lies in span(W, x). With Q an orthonormal basis of span(W) and e the unit vector of x -
//! QQ'x, the problem ([Q'W; 0], [Q'x; e'x]) has at most K + 1 rows and gives the same codes, costs
//! and rounds. Its duals are lifted by nu = Q nu_1 + e nu_2. One Q serves many batches; each sample
//! has its own e.
//!
//! Huber depends on norms alone while all |nu_m| < 1. Rows in which x is large are kept, with the
//! box. The other rows are rotated: there, every iterate lies in the span of the atoms and x. The
//! iterates are the same as long as the box is inactive on rotated rows, which [`box_proof`] proves
//! after every round. If it cannot, the sample restarts with all rows kept in which it is not 0,
//! and then in all rows. Kept rows differ between samples, so each sample has its own Q.
//!
//! Q = W R^(-1) from W'W = R'R ([`factor`]) is never formed: Q'W = R and Q'x = R^(-T) W'x.

mod box_proof;
mod factor;
mod gram;

use super::chunks::{even_ranges, samples_in_chunk};
use super::{lift_all, Accel, Batch, Chunk, Lift, Reduced, Term};
use crate::problem::block::{stores_grams, Block};
use crate::problem::residual::Residual;
use crate::problem::samples::Samples;
use box_proof::BoxProof;
use dictmesh_kernels::matrix::{axpy, dot, norm, Matrix};
use factor::Factor;
use gram::JointGram;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Rank tolerance, relative to the largest squared norm of an atom, if samples are rotated too. The
/// rotation perturbs nu by the rounding of W'x over its square root, about 1e-9.
const RANK: f64 = 1e-13;
/// The same if only atoms are rotated, and rounding is not divided by it.
const RANK_OF_ATOMS: f64 = 1e-15;
/// Largest relative error of codes that a rotation may cause.
const ACCURACY: f64 = 1e-9;
/// Huber: rows with |x_m| above this share of eta are kept.
const LARGE: f64 = 0.5;
/// Below this share of |x|^2, the part of x outside span(W) is computed directly, not by
/// difference.
const CANCEL: f64 = 1e-6;

/// Memory limit of the rotations of one batch, in bytes. With the Huber residual each sample has
/// its own rotation ([`rotation_bytes`]). Samples beyond the limit are coded in all rows.
const BUDGET: usize = 1 << 29;

/// Rotates samples and atoms into fewer rows. Codes agree with those in all rows within 1e-9.
#[derive(Debug)]
pub struct Reduction {
    joint: JointGram,
    budget: usize,
}

impl Default for Reduction {
    fn default() -> Self {
        Reduction::with_budget(BUDGET)
    }
}

/// A chunk of samples in the reduced rows.
#[derive(Debug)]
struct Rotated {
    /// W'W of all atoms, for [`enlarged`](Reduced::enlarged).
    products: Arc<gram::Products>,
    rotation: Arc<Rotation>,
    /// The samples in the reduced rows.
    x: Matrix,
    boxed: Option<Boxed>,
}

/// Data of a rotation that drops the box on the rotated rows.
#[derive(Debug)]
struct Boxed {
    /// The residual with the box on the kept rows alone.
    residual: Box<dyn Residual>,
    proof: Mutex<BoxProof>,
    /// Whether all rows are kept in which x is not 0.
    full_support: bool,
}

/// The atoms in the reduced rows: the kept rows, then R, then a zero row for x outside span(W).
#[derive(Debug)]
struct Rotation {
    blocks: Vec<Block>,
    kept: Vec<usize>,
    factor: Factor,
    /// Estimated relative error of W'nu in these rows.
    error: f64,
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
            error: 0.0,
        }
    }

    /// The larger of two errors relative to the longest atom: the rounding of W'x over the smallest
    /// pivot, if samples are rotated too, and the part of dependent atoms outside the span of the
    /// pivots.
    fn error_of(&self, blocks: &[&Block], longest: f64, rotates_samples: bool) -> f64 {
        let smallest = self.factor.smallest_pivot().max(f64::MIN_POSITIVE);
        let rounding = match rotates_samples {
            true => f64::EPSILON * longest / smallest,
            false => 0.0,
        };
        let atoms = gram::atoms_of(blocks);
        let missed = self.factor.dependent().map(|q| {
            let w: Vec<(usize, f64)> = atoms[q].iter().copied().enumerate().collect();
            outside(self, &atoms, &w, self.factor.rotated().column(q)) / longest
        });
        missed.fold(rounding, f64::max)
    }

    /// The rotated rows of nu.
    fn rotated_rows<'a>(&self, nu: &'a [f64]) -> &'a [f64] {
        &nu[self.kept.len()..]
    }
}

impl Accel for Reduction {
    fn name(&self) -> &'static str {
        "reduction"
    }

    fn chunks(&self, batch: &Batch<'_>) -> Option<Vec<Chunk>> {
        let (blocks, x, residual) = (batch.blocks(), batch.x, batch.residual);
        let applies = batch.strategy.is_rotation_equivariant()
            && is_worthwhile(x.rows(), batch.atoms())
            && stores_grams([batch.atoms()], x.rows());
        if !applies {
            return None;
        }
        if residual.is_rotation_invariant() {
            return self.in_one_rotation(batch, &blocks);
        }
        residual.with_box_on_first_rows(0)?;
        let products = self.joint.of(&blocks);
        let large = LARGE * residual.conjugate_curvature();
        let mut left = self.budget;
        let within_budget: Vec<bool> = (0..x.len())
            .map(|j| {
                let rest = left.checked_sub(rotation_bytes(x, j, batch.atoms()));
                left = rest.unwrap_or(left);
                rest.is_some()
            })
            .collect();
        let each = within_budget.into_par_iter().enumerate();
        let each = each.map(|(j, within_budget)| Chunk {
            samples: j..j + 1,
            reduced: within_budget
                .then(|| Rotated::rotate_small_rows(batch, &blocks, &products, j, large))
                .flatten()
                .map(|rotated| Box::new(rotated) as Box<dyn Reduced>),
        });
        let each: Vec<Chunk> = each.collect();
        each.iter()
            .any(|chunk| chunk.reduced.is_some())
            .then_some(each)
    }
}

impl Reduction {
    /// Limits the rotations of a batch to this many bytes.
    pub fn with_budget(bytes: usize) -> Self {
        Reduction {
            joint: JointGram::default(),
            budget: bytes,
        }
    }

    /// One rotation for all samples, for a residual that depends on norms alone.
    fn in_one_rotation(&self, batch: &Batch<'_>, blocks: &[&Block]) -> Option<Vec<Chunk>> {
        let products = self.joint.of(blocks);
        let rotation = rotation_of_all(blocks, &products)?;
        if rotation.error > ACCURACY * smallest_delta(batch) {
            return None; // codes divide the error by delta
        }
        let most = match blocks.len() {
            1 => batch.x.len(), // a single agent solves the whole batch faster
            n => samples_in_chunk(n, rotation.factor.rank() + 1),
        };
        let ranges: Vec<Range<usize>> = even_ranges(batch.x.len(), most).collect();
        let rotated = ranges.into_par_iter().map(|samples| {
            let rotated = Rotated::of_all(&products, &rotation, blocks, batch.x, samples.clone());
            Chunk {
                samples,
                reduced: Some(Box::new(rotated)),
            }
        });
        Some(rotated.collect())
    }
}

/// The smallest delta of all agents, at most 1.
fn smallest_delta(batch: &Batch<'_>) -> f64 {
    let each = batch.agents.iter();
    let deltas = each.map(|agent| agent.task.regularizer().strong_convexity());
    deltas.fold(1.0, f64::min)
}

/// Upper bound of the memory of a rotation of sample `j` alone: the atoms in its kept rows, which
/// are at most those where it is not 0, and in the rotated rows, R and the agents' Gram matrices.
fn rotation_bytes(x: &Samples, j: usize, atoms: usize) -> usize {
    let kept = x.entries(j).filter(|(_, v)| *v != 0.0).count();
    let rows = kept.saturating_add(3 * atoms + 1);
    rows.saturating_mul(atoms).saturating_mul(8)
}

/// Whether a rotation to `reduced` + 1 rows at least halves their number.
fn is_worthwhile(rows: usize, reduced: usize) -> bool {
    rows >= 2 * (reduced + 1)
}

/// The rotation of all rows.
fn rotation_of_all(blocks: &[&Block], products: &gram::Products) -> Option<Arc<Rotation>> {
    (products.rotation).get_or_compute(|| {
        let longest = longest(&products.gram);
        let factor = Factor::of(&products.gram, RANK * longest)?;
        let mut rotation = Rotation::new(blocks, Vec::new(), factor, 1);
        rotation.error = rotation.error_of(blocks, longest.sqrt(), true);
        Some(Arc::new(rotation))
    })
}

/// The largest squared norm of an atom.
fn longest(gram: &Matrix) -> f64 {
    (0..gram.cols()).fold(0.0, |most: f64, q| most.max(gram.get(q, q)))
}

impl Rotated {
    /// Samples `range` of a batch, for a residual that depends on norms alone.
    fn of_all(
        products: &Arc<gram::Products>,
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
        Rotated {
            products: products.clone(),
            rotation: rotation.clone(),
            x: reduced,
            boxed: None,
        }
    }

    /// Sample `j`, with the rows kept in which |x_m| is above `large` and the others rotated.
    /// `None` if there is little to gain, digits would be lost, or W'W is not finite.
    fn rotate_small_rows(
        batch: &Batch<'_>,
        blocks: &[&Block],
        products: &Arc<gram::Products>,
        j: usize,
        large: f64,
    ) -> Option<Self> {
        let (residual, x) = (batch.residual, batch.x);
        let filled = x.entries(j).filter(|(_, v)| *v != 0.0);
        let (high, low): (Vec<_>, Vec<_>) = filled.partition(|(_, v)| v.abs() > large);
        let atoms = gram::atoms_of(blocks);
        if !is_worthwhile(x.rows(), high.len() + atoms.len()) {
            return None;
        }
        let kept: Vec<usize> = high.iter().map(|(row, _)| *row).collect();
        // W'W of the other rows.
        let mut others = products.gram.clone();
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
        let longest = longest(&products.gram).sqrt();
        if rotation.error_of(blocks, longest, beside == 1) > ACCURACY * smallest_delta(batch) {
            return None; // codes divide the error by delta
        }
        let mut reduced = Matrix::zeros(first + rank + beside, 1);
        let column = reduced.column_mut(0);
        (column.iter_mut().zip(&high)).for_each(|(to, (_, v))| *to = *v);
        if beside == 1 {
            rotate_sample(&rotation, blocks, &low, &mut column[first..]);
        }
        Some(Rotated {
            products: products.clone(),
            boxed: Some(Boxed {
                residual: residual.with_box_on_first_rows(first)?,
                proof: Mutex::new(BoxProof::new(rank + beside, 1)),
                full_support: low.is_empty(),
            }),
            rotation: Arc::new(rotation),
            x: reduced,
        })
    }
}

impl Reduced for Rotated {
    fn x(&self) -> &Matrix {
        &self.x
    }

    fn block(&self, k: usize) -> &Block {
        &self.rotation.blocks[k]
    }

    fn residual(&self) -> Option<&dyn Residual> {
        self.boxed.as_ref().map(|boxed| &*boxed.residual)
    }

    /// Whether the box is proven inactive on the rotated rows of all agents.
    fn still_holds<'d>(
        &self,
        batch: &Batch<'_>,
        first: usize,
        dual: &dyn Fn(usize) -> &'d Matrix,
    ) -> bool {
        let Some(boxed) = &self.boxed else {
            return true;
        };
        let rotation = &self.rotation;
        let rotated = |k: usize, j: usize| rotation.rotated_rows(dual(k).column(j));
        let largest = |j: usize, z: &[f64]| {
            let mut nu = vec![0.0; rotation.kept.len()];
            nu.extend_from_slice(z);
            let term = Term {
                column: 0,
                scale: 1.0,
                sample: first + j,
                lift: self.lift(j, &nu),
            };
            let lifted = lift_all(&batch.blocks(), batch.x, 1, &[term]);
            (lifted.as_slice().iter()).fold(0.0, |most: f64, v| most.max(v.abs()))
        };
        let mut proof = boxed.proof.lock().unwrap_or_else(PoisonError::into_inner);
        proof.holds(batch.agents.len(), rotated, largest)
    }

    /// The same sample with all rows kept in which it is not 0, if it does not have them yet.
    fn enlarged(&self, batch: &Batch<'_>, first: usize) -> Option<Box<dyn Reduced>> {
        self.boxed.as_ref().filter(|boxed| !boxed.full_support)?;
        let with_full_support =
            Rotated::rotate_small_rows(batch, &batch.blocks(), &self.products, first, 0.0)?;
        Some(Box::new(with_full_support))
    }

    /// In the rotated rows nu = Q z + b x with z = nu_1 - b Q'x and b = nu_2 / e'x, and Q z = W a.
    fn lift(&self, at: usize, nu: &[f64]) -> Lift {
        let (rotation, x) = (&self.rotation, self.x.column(at));
        let (first, rank) = (rotation.kept.len(), rotation.factor.rank());
        let mut z = nu[first..first + rank].to_vec();
        let b = match x.get(first + rank) {
            Some(beside) if *beside > 0.0 => nu[first + rank] / beside,
            _ => 0.0,
        };
        axpy(-b, &x[first..first + rank], &mut z);
        let a = rotation.factor.coefficients(&z);
        let atoms = rotation.blocks.iter().flat_map(|w| w.atoms().columns());
        let mut more = nu[..first].to_vec();
        axpy(-b, &x[..first], &mut more);
        // Usually no row is kept.
        if first > 0 {
            for (a, w) in a.iter().zip(atoms).filter(|(a, _)| **a != 0.0) {
                axpy(-a, &w[..first], &mut more);
            }
        }
        let c = rotation.kept.iter().copied().zip(more).collect();
        Lift { a, b, c }
    }
}

/// Fills the rotated rows of a sample that has the entries `x` in them.
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

/// The norm of the part of x outside the atoms' span in the rotated rows, without cancellation.
fn outside(rotation: &Rotation, atoms: &[&[f64]], x: &[(usize, f64)], within: &[f64]) -> f64 {
    let mut a = Matrix::zeros(atoms.len(), 1);
    (a.as_mut_slice()).copy_from_slice(&rotation.factor.coefficients(within));
    let mut rest = super::lift::times(atoms, &a, atoms.first().map_or(0, |w| w.len()));
    let rest = rest.as_mut_slice();
    x.iter().for_each(|(i, v)| rest[*i] -= v);
    rotation.kept.iter().for_each(|i| rest[*i] = 0.0);
    norm(rest)
}
