//! The way back into all rows.

use super::gram::{atoms_of, times};
use super::{Reduction, Rotation};
use crate::problem::block::Block;
use crate::problem::samples::Samples;
use dictmesh_kernels::matrix::{axpy, Matrix};

/// Something to be added to a column: `scale` times nu, which is given in the rows of a rotation.
pub(in crate::mesh) struct Term<'a> {
    pub(super) column: usize,
    pub(super) scale: f64,
    pub(super) rotation: &'a Rotation,
    /// The sample in these rows.
    pub(super) x: &'a [f64],
    /// nu in these rows.
    pub(super) nu: &'a [f64],
    /// The sample's number in the batch.
    pub(super) sample: usize,
}

impl<'a> Term<'a> {
    /// `scale` times the nu of sample `at` of a reduction, which has the number `sample` in the batch.
    pub fn new(
        column: usize,
        scale: f64,
        (reduction, at): (&'a Reduction, usize),
        nu: &'a Matrix,
        sample: usize,
    ) -> Self {
        Term {
            column,
            scale,
            rotation: &reduction.rotation,
            x: reduction.x.column(at),
            nu: nu.column(at),
            sample,
        }
    }

    /// In the rotated rows nu = Q z + b x with z = nu_1 - b Q'x and b = nu_2 / e'x, and Q z = W a.
    fn parts(&self) -> Parts {
        let rotation = self.rotation;
        let (first, rank) = (rotation.kept.len(), rotation.factor.rank());
        let mut z = self.nu[first..first + rank].to_vec();
        let b = match self.x.get(first + rank) {
            Some(beside) if *beside > 0.0 => self.nu[first + rank] / beside,
            _ => 0.0,
        };
        axpy(-b, &self.x[first..first + rank], &mut z);
        let a = rotation.factor.coefficients(&z);
        let atoms = rotation.blocks.iter().flat_map(|w| w.atoms().columns());
        let mut more = self.nu[..first].to_vec();
        axpy(-b, &self.x[..first], &mut more);
        // Mostly all rows are rotated.
        if first > 0 {
            for (a, w) in a.iter().zip(atoms).filter(|(a, _)| **a != 0.0) {
                axpy(-a, &w[..first], &mut more);
            }
        }
        Parts { a, b, more }
    }
}

/// nu = W a + b x, and then what the kept rows have more.
struct Parts {
    a: Vec<f64>,
    b: f64,
    more: Vec<f64>,
}

/// The sums of all terms, one for each of so many columns, in all rows.
pub(in crate::mesh) fn lift(
    blocks: &[&Block],
    x: &Samples,
    columns: usize,
    terms: &[Term],
) -> Matrix {
    let atoms = atoms_of(blocks);
    let parts: Vec<Parts> = terms.iter().map(Term::parts).collect();
    // Side by side, so that every atom is read once.
    let mut a = Matrix::zeros(atoms.len(), columns);
    for (term, part) in terms.iter().zip(&parts) {
        axpy(term.scale, &part.a, a.column_mut(term.column));
    }
    let mut out = times(&atoms, &a, x.rows());
    for (term, part) in terms.iter().zip(&parts) {
        let column = out.column_mut(term.column);
        x.add_scaled(term.sample, term.scale * part.b, column);
        for (row, more) in term.rotation.kept.iter().zip(&part.more) {
            column[*row] += term.scale * more;
        }
    }
    out
}
