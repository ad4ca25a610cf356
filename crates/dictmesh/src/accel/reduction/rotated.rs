//! Samples in the rotated rows, and the way back.

use super::box_proof::BoxProof;
use super::factor::Factor;
use super::gram::Products;
use super::rotation::{rotate_sample, Rotation};
use super::{atoms_of, is_worthwhile, longest, smallest_delta, ACCURACY, RANK};
use crate::accel::{lift_all, Batch, Lift, Reduced, Term};
use crate::problem::block::Block;
use crate::problem::residual::Residual;
use crate::problem::samples::Samples;
use dictmesh_kernels::matrix::{axpy, Matrix};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// [`RANK`] if only atoms are rotated, and rounding is not divided by it.
const RANK_OF_ATOMS: f64 = 1e-15;
/// A chunk of samples in the reduced rows.
#[derive(Debug)]
pub(super) struct Rotated {
    /// W'W of all atoms, for [`enlarged`](Reduced::enlarged).
    products: Arc<Products>,
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

impl Rotated {
    /// Samples `range` of a batch, for a residual that depends on norms alone.
    pub fn of_all(
        products: &Arc<Products>,
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
    pub fn rotate_small_rows(
        batch: &Batch<'_>,
        blocks: &[&Block],
        products: &Arc<Products>,
        j: usize,
        large: f64,
    ) -> Option<Self> {
        let (residual, x) = (batch.residual, batch.x);
        let filled = x.entries(j).filter(|(_, v)| *v != 0.0);
        let (high, low): (Vec<_>, Vec<_>) = filled.partition(|(_, v)| v.abs() > large);
        let atoms = atoms_of(blocks);
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
