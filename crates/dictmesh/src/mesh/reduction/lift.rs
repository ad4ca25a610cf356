//! The way back into all rows.

use super::gram::{atoms_of, times};
use super::Reduction;
use crate::agent::Block;
use crate::matrix::{axpy, Matrix};
use crate::samples::Samples;

/// Something to be added to a column: `scale` times nu, which is given in the rows of a reduction.
pub(in crate::mesh) struct Term<'a> {
    pub column: usize,
    pub scale: f64,
    pub reduction: &'a Reduction,
    /// In the rows of the reduction.
    pub nu: &'a [f64],
    /// The sample's number in the reduction.
    pub at: usize,
    /// Its number in the batch `x`.
    pub sample: usize,
}

/// nu = W a + b x, and then what the kept rows have more.
struct Parts {
    a: Vec<f64>,
    b: f64,
    more: Vec<f64>,
}

impl Term<'_> {
    /// In the rotated rows nu = Q z + b x with z = nu_1 - b Q'x and b = nu_2 / e'x, and Q z = W a.
    fn parts(&self) -> Parts {
        let rotation = &self.reduction.rotation;
        let (first, rank) = (rotation.kept.len(), rotation.factor.rank());
        let mut z = rotation.rotated_rows(self.nu).to_vec();
        let x = self.reduction.x.column(self.at);
        let b = match x.get(first + rank) {
            Some(beside) if *beside > 0.0 => self.nu[first + rank] / beside,
            _ => 0.0,
        };
        axpy(-b, &x[first..first + rank], &mut z);
        let a = rotation.factor.coefficients(&z);
        let atoms = rotation.blocks.iter().flat_map(|w| w.atoms().columns());
        let mut more = self.nu[..first].to_vec();
        for (a, w) in a.iter().zip(atoms).filter(|(a, _)| **a != 0.0) {
            axpy(-a, &w[..first], &mut more);
        }
        Parts { a, b, more }
    }
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
        for (row, more) in term.reduction.rotation.kept.iter().zip(&part.more) {
            column[*row] += term.scale * more;
        }
    }
    out
}
