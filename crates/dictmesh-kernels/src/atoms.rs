//! Products with W, stored as one matrix or as separate blocks of columns.
//!
//! The dictionary of several agents is [`Blocks`]: one contiguous copy would double the memory.

use crate::gram::gram;
use crate::loops::{add_atoms, Correlate};
use crate::matrix::{gemm, gemm_by_rows, largest_eigenvalue, Matrix, ShapeError};
use crate::simd::dispatch;
use faer::{MatMut, MatRef};

/// The atoms, M x n.
#[derive(Clone, Copy, Debug)]
pub enum Atoms<'a> {
    /// One contiguous matrix.
    Matrix(&'a Matrix),
    /// Blocks from left to right.
    Blocks(&'a Blocks<'a>),
}

/// Blocks of columns, each of the same number of rows.
///
/// ```
/// use dictmesh_kernels::atoms::{Atoms, Blocks};
/// use dictmesh_kernels::Matrix;
/// let left = Matrix::from_columns(2, &[[1.0, 0.0]])?;
/// let right = Matrix::from_columns(2, &[[0.0, 2.0], [3.0, 0.0]])?;
/// let blocks = Blocks::new(2, vec![&left, &right])?;
/// let mut s = [0.0; 3];
/// Atoms::Blocks(&blocks).correlate(&[1.0, 1.0], &mut s);
/// assert_eq!(s, [1.0, 2.0, 3.0]);
/// # Ok::<(), dictmesh_kernels::ShapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    rows: usize,
    blocks: Vec<&'a Matrix>,
    columns: Vec<&'a [f64]>,
}

impl<'a> Blocks<'a> {
    /// Blocks of `rows` rows. Errors if a block has another number of rows.
    pub fn new(rows: usize, blocks: Vec<&'a Matrix>) -> Result<Self, ShapeError> {
        for block in &blocks {
            ShapeError::check("rows of the atoms", block.rows(), rows)?;
        }
        Ok(Blocks {
            rows,
            columns: blocks.iter().flat_map(|block| block.columns()).collect(),
            blocks,
        })
    }

    /// All columns.
    pub fn columns(&self) -> &[&'a [f64]] {
        &self.columns
    }
}

impl<'a> From<&'a Matrix> for Atoms<'a> {
    #[inline]
    fn from(atoms: &'a Matrix) -> Self {
        Atoms::Matrix(atoms)
    }
}

impl<'a> Atoms<'a> {
    /// M.
    #[inline]
    pub fn rows(&self) -> usize {
        match self {
            Atoms::Matrix(w) => w.rows(),
            Atoms::Blocks(w) => w.rows,
        }
    }

    /// n.
    #[inline]
    pub fn cols(&self) -> usize {
        match self {
            Atoms::Matrix(w) => w.cols(),
            Atoms::Blocks(w) => w.columns.len(),
        }
    }

    /// Atom `q`.
    #[inline]
    pub fn column(&self, q: usize) -> &'a [f64] {
        match self {
            Atoms::Matrix(w) => w.column(q),
            Atoms::Blocks(w) => w.columns[q],
        }
    }

    /// The atoms from left to right.
    pub fn columns(&self) -> impl Iterator<Item = &'a [f64]> {
        let atoms = *self;
        (0..atoms.cols()).map(move |q| atoms.column(q))
    }

    /// `u += factor W y`, for a y that is mostly 0.
    ///
    /// `y` must have an entry per atom, or the call panics, and `u` one per row.
    pub fn add(&self, factor: f64, y: &[f64], u: &mut [f64]) {
        let mut rest = y;
        for block in self.blocks() {
            let (here, behind) = rest.split_at(block.cols());
            add_atoms(block, factor, here, u);
            rest = behind;
        }
    }

    /// `s = W'v`.
    ///
    /// `s` must have an entry per atom, or the call panics, and `v` one per row.
    pub fn correlate(&self, v: &[f64], s: &mut [f64]) {
        let mut rest = s;
        for atoms in self.blocks() {
            let (s, behind) = rest.split_at_mut(atoms.cols());
            dispatch(Correlate { atoms, v, s });
            rest = behind;
        }
    }

    /// `s = W'V`, n x B, by tiles of atoms on all threads. The tiles are the same for any number of
    /// threads.
    ///
    /// Panics if the shapes do not fit.
    pub fn correlate_all(&self, v: MatRef<'_, f64>, s: MatMut<'_, f64>) {
        correlate_blocks(self.blocks(), v, s);
    }

    /// The largest singular value squared, |W|^2; 0 without atoms. [`Blocks`] take min(M, n)^2
    /// numbers of memory beside the atoms.
    pub fn spectral_norm_squared(&self) -> f64 {
        let blocks = match self {
            Atoms::Matrix(w) => return w.spectral_norm_squared(),
            Atoms::Blocks(blocks) => blocks,
        };
        let (m, n) = (self.rows(), self.cols());
        let products = match n <= m {
            true => gram(&blocks.columns),
            false => {
                let mut sum = Matrix::zeros(m, m);
                for w in &blocks.blocks {
                    gemm(sum.view_mut(), w.view(), w.view().transpose(), 1.0, true);
                }
                sum
            }
        };
        largest_eigenvalue(&products)
    }

    fn blocks(&self) -> &[&'a Matrix] {
        match self {
            Atoms::Matrix(w) => std::slice::from_ref(w),
            Atoms::Blocks(w) => &w.blocks,
        }
    }
}

fn correlate_blocks(blocks: &[&Matrix], v: MatRef<'_, f64>, s: MatMut<'_, f64>) {
    match blocks {
        [] => {}
        [w] => gemm_by_rows(s, w.view().transpose(), v, 1.0, false),
        _ => {
            let (left, right) = blocks.split_at(blocks.len() / 2);
            let above = left.iter().map(|w| w.cols()).sum();
            let (s_above, s_below) = s.split_at_row_mut(above);
            rayon::join(
                || correlate_blocks(left, v, s_above),
                || correlate_blocks(right, v, s_below),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{gaussian, stream};

    #[test]
    fn blocks_give_the_products_of_the_joined_matrix() {
        let (rows, sizes) = (7, [3, 0, 1, 40]);
        let blocks: Vec<Matrix> = (0..)
            .zip(sizes)
            .map(|(k, n)| gaussian(rows, n, &mut stream(k, 0)))
            .collect();
        let mut joined = Matrix::zeros(rows, 0);
        blocks
            .iter()
            .for_each(|w| joined.append_columns(w).unwrap());
        let apart = Blocks::new(rows, blocks.iter().collect()).unwrap();
        let (apart, joined) = (Atoms::Blocks(&apart), Atoms::from(&joined));
        assert_eq!((apart.rows(), apart.cols()), (7, 44));
        assert!(apart.columns().eq(joined.columns()));
        let v = gaussian(rows, 5, &mut stream(9, 0));
        let all = |atoms: Atoms| {
            let mut s = Matrix::zeros(44, 5);
            atoms.correlate_all(v.view(), s.view_mut());
            let mut one = vec![0.0; 44];
            atoms.correlate(v.column(2), &mut one);
            let mut u = v.column(0).to_vec();
            atoms.add(-0.5, &one, &mut u);
            [s.into_vec(), one, u].concat()
        };
        for (a, b) in all(apart).iter().zip(all(joined)) {
            assert!((a - b).abs() < 1e-12);
        }
        let (norm, whole) = (
            apart.spectral_norm_squared(),
            joined.spectral_norm_squared(),
        );
        assert!((norm - whole).abs() < 1e-12 * whole);
        let few = Blocks::new(rows, vec![&blocks[0], &blocks[2]]).unwrap();
        let mut side_by_side = blocks[0].clone();
        side_by_side.append_columns(&blocks[2]).unwrap();
        let (norm, whole) = (
            Atoms::Blocks(&few).spectral_norm_squared(),
            side_by_side.spectral_norm_squared(),
        );
        assert!((norm - whole).abs() < 1e-12 * whole);
        assert!(Blocks::new(rows + 1, blocks.iter().collect()).is_err());
    }
}
