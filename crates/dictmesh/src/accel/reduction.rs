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
//! A strategy that rounds its messages to integers has other iterates in other rows. If it
//! certifies the gap of its results
//! ([`Strategy::is_certified`](crate::strategy::Strategy::is_certified)), the rotation is used too.
//! The gap in the rotated rows is the gap in all rows, up to the error of the rotation.
//!
//! Q = W R^(-1) from W'W = R'R ([`factor`]) is never formed: Q'W = R and Q'x = R^(-T) W'x.

mod box_proof;
mod factor;
mod gram;
mod on_gram;
mod rotated;
mod rotation;

use super::chunks::{even_ranges, samples_in_chunk};
use super::{Accel, Batch, BatchCodes, Chunk, Memory, Reduced};
use crate::problem::block::{stores_grams, Block};
use crate::problem::samples::Samples;
use dictmesh_kernels::matrix::Matrix;
use factor::Factor;
use gram::JointGram;
use rayon::prelude::*;
use rotated::Rotated;
use rotation::Rotation;
use std::ops::Range;
use std::sync::Arc;

/// Rank tolerance, relative to the largest squared norm of an atom, if samples are rotated too. The
/// rotation perturbs nu by the rounding of W'x over its square root, about 1e-9.
const RANK: f64 = 1e-13;
/// Largest relative error of codes that a rotation may cause.
const ACCURACY: f64 = 1e-9;
/// Huber: rows with |x_m| above this share of eta are kept.
const LARGE: f64 = 0.5;
/// Memory limit of the rotations of one batch, in bytes. With the Huber residual each sample has
/// its own rotation ([`rotation_bytes`]). Samples beyond the limit are coded in all rows.
const BUDGET: usize = 1 << 29;

/// Rotates samples and atoms into fewer rows. Codes agree with those in all rows within 1e-9, or
/// within the certified gaps for a strategy that rounds its messages.
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

impl Accel for Reduction {
    fn name(&self) -> &'static str {
        "reduction"
    }

    fn code(
        &self,
        batch: &Batch<'_>,
        range: Range<usize>,
        memory: &mut Memory,
    ) -> Option<BatchCodes> {
        on_gram::code(batch, range, memory)
    }

    fn chunks(&self, batch: &Batch<'_>) -> Option<Vec<Chunk>> {
        let (blocks, x, residual) = (batch.blocks(), batch.x, batch.residual);
        let strategy = batch.strategy;
        let applies = (strategy.is_rotation_equivariant() || strategy.is_certified())
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

/// The atoms of all blocks, in order.
fn atoms_of<'a>(blocks: &[&'a Block]) -> Vec<&'a [f64]> {
    blocks.iter().flat_map(|b| b.atoms().columns()).collect()
}
