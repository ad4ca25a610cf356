//! Dense matrices, column-major and contiguous: a column (one sample, one atom, one dual vector) is
//! a slice.

use crate::simd::{self, dispatch, Simd, WithSimd};
use crate::work::{self, count};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// A size differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: got {given}, expected {expected}")]
pub struct ShapeError {
    /// Which size of which object.
    pub what: String,
    /// The size that was given.
    pub given: usize,
    /// The size it must have.
    pub expected: usize,
}

impl ShapeError {
    /// `Ok` if the two sizes agree.
    pub fn check(what: impl Into<String>, given: usize, expected: usize) -> Result<(), ShapeError> {
        match given == expected {
            true => Ok(()),
            false => Err(ShapeError {
                what: what.into(),
                given,
                expected,
            }),
        }
    }
}

/// A dense `rows x cols` matrix of `f64`, stored column by column without padding.
///
/// ```
/// use dictmesh_kernels::Matrix;
/// let w = Matrix::from_columns(2, &[vec![1.0, 2.0], vec![3.0, 4.0]])?;
/// assert_eq!(w.column(1), &[3.0, 4.0]);
/// # Ok::<(), dictmesh_kernels::ShapeError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let data = vec![0.0; rows * cols];
        Matrix { rows, cols, data }
    }

    /// A matrix over existing column-major data.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<f64>) -> Result<Self, ShapeError> {
        ShapeError::check(
            format!("length of the data of a {rows} x {cols} matrix"),
            data.len(),
            rows.saturating_mul(cols),
        )?;
        Ok(Matrix { rows, cols, data })
    }

    /// A matrix from its columns, each of length `rows`.
    pub fn from_columns<C: AsRef<[f64]>>(rows: usize, columns: &[C]) -> Result<Self, ShapeError> {
        let numbers = columns.iter().map(|column| column.as_ref().len()).sum();
        let mut data = Vec::with_capacity(numbers);
        for (j, column) in columns.iter().enumerate() {
            let column = column.as_ref();
            ShapeError::check(format!("length of column {j}"), column.len(), rows)?;
            data.extend_from_slice(column);
        }
        Ok(Matrix {
            rows,
            cols: columns.len(),
            data,
        })
    }

    /// A matrix whose entries are given by a function of row and column.
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for j in 0..cols {
            for i in 0..rows {
                data.push(entry(i, j));
            }
        }
        Matrix { rows, cols, data }
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Column `j`.
    ///
    /// Panics if there is no column `j`.
    #[inline]
    pub fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Column `j`, mutable.
    ///
    /// Panics if there is no column `j`.
    #[inline]
    pub fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// The columns from left to right (empty slices if there are no rows).
    pub fn columns(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.cols).map(|j| self.column(j))
    }

    /// All entries, column by column.
    #[inline]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, column by column, mutable.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The entries, column by column.
    pub fn into_vec(self) -> Vec<f64> {
        self.data
    }

    /// The entry at row `i` and column `j`.
    ///
    /// `i` must be below the number of rows, which is not checked. Panics beyond the last entry.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.rows + i]
    }

    /// The transpose.
    pub fn transpose(&self) -> Matrix {
        Matrix::from_fn(self.cols, self.rows, |i, j| self.get(j, i))
    }

    /// Columns `range` as a matrix of their own.
    ///
    /// Panics if the range is not within the columns.
    pub fn columns_range(&self, range: std::ops::Range<usize>) -> Matrix {
        Matrix {
            rows: self.rows,
            cols: range.len(),
            data: self.data[range.start * self.rows..range.end * self.rows].to_vec(),
        }
    }

    /// Appends the columns of `right`. Errors if it has another number of rows.
    pub fn append_columns(&mut self, right: &Matrix) -> Result<(), ShapeError> {
        ShapeError::check("rows of the appended columns", right.rows, self.rows)?;
        self.data.extend_from_slice(&right.data);
        self.cols += right.cols;
        Ok(())
    }

    /// `self * right`.
    ///
    /// Panics unless the number of rows of `right` equals the number of columns of `self`.
    pub fn times(&self, right: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(self.rows, right.cols);
        gemm(out.view_mut(), self.view(), right.view(), 1.0, false);
        out
    }

    /// `self' * right`.
    ///
    /// Panics unless both have the same number of rows.
    pub fn transpose_times(&self, right: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(self.cols, right.cols);
        gemm(
            out.view_mut(),
            self.view().transpose(),
            right.view(),
            1.0,
            false,
        );
        out
    }

    /// The largest singular value squared, |self|^2; 0 for an empty matrix.
    pub fn spectral_norm_squared(&self) -> f64 {
        // Eigenvalues of the smaller of the two Gram matrices, of side min(rows, cols).
        let gram = if self.cols <= self.rows {
            self.transpose_times(self)
        } else {
            let t = self.transpose();
            t.transpose_times(&t)
        };
        largest_eigenvalue(&gram)
    }

    /// Row, column and value of the first entry that is NaN or infinite.
    pub fn first_nonfinite(&self) -> Option<(usize, usize, f64)> {
        let at = self.data.iter().position(|v| !v.is_finite())?;
        Some((at % self.rows, at / self.rows, self.data[at]))
    }

    /// Changes the shape and reuses the memory. The entries are unspecified.
    pub fn reshape(&mut self, rows: usize, cols: usize) {
        self.data.resize(rows * cols, 0.0);
        (self.rows, self.cols) = (rows, cols);
    }

    /// A view for faer.
    #[inline]
    pub fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.cols)
    }

    /// A mutable view for faer.
    #[inline]
    pub fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.cols)
    }
}

/// The largest eigenvalue of a Gram matrix; if an entry is not finite, the trace, an upper bound.
pub(crate) fn largest_eigenvalue(gram: &Matrix) -> f64 {
    match symmetric_eigenvalues(gram) {
        Some(values) => values.last().copied().unwrap_or(0.0).max(0.0),
        None => (0..gram.cols()).map(|q| gram.get(q, q)).sum(),
    }
}

/// `out = alpha a b`, or `out += alpha a b` if `add`. One thread: parallelism is over agents and
/// samples, so that no sum depends on the number of threads.
///
/// Panics if the shapes do not fit.
pub fn gemm(out: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>, alpha: f64, add: bool) {
    count(a.nrows() * a.ncols() * b.ncols());
    let accum = if add { Accum::Add } else { Accum::Replace };
    matmul(out, accum, a, b, alpha, Par::Seq);
}

/// Rows per tile of [`gemm_by_rows`].
const TILE: usize = 2048;

/// [`gemm`] by tiles of rows on all threads. The tiles are the same for any number of threads.
///
/// Panics if the shapes do not fit.
pub fn gemm_by_rows(
    out: MatMut<'_, f64>,
    a: MatRef<'_, f64>,
    b: MatRef<'_, f64>,
    alpha: f64,
    add: bool,
) {
    let tiles = out.nrows().div_ceil(TILE);
    if tiles <= 1 {
        return gemm(out, a, b, alpha, add);
    }
    let middle = tiles / 2 * TILE;
    let (out_upper, out_lower) = out.split_at_row_mut(middle);
    let (upper, lower) = a.split_at_row(middle);
    rayon::join(
        || gemm_by_rows(out_upper, upper, b, alpha, add),
        || gemm_by_rows(out_lower, lower, b, alpha, add),
    );
}

/// Eigenvalues of a symmetric matrix, ascending; `None` if an entry is not finite or the algorithm
/// fails.
pub fn symmetric_eigenvalues(a: &Matrix) -> Option<Vec<f64>> {
    if a.as_slice().iter().any(|v| !v.is_finite()) {
        return None;
    }
    if a.cols() == 0 {
        return Some(Vec::new());
    }
    count(work::eigenvalues(a.cols()));
    a.view().self_adjoint_eigenvalues(faer::Side::Lower).ok()
}

/// The inner product a'b.
///
/// The lengths must be equal: debug builds panic otherwise.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    struct Dot<'a>(&'a [f64], &'a [f64]);
    impl WithSimd for Dot<'_> {
        type Output = f64;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            simd::dot(simd, self.0, self.1)
        }
    }
    debug_assert_eq!(a.len(), b.len());
    dispatch(Dot(a, b))
}

/// The Euclidean norm.
pub fn norm(a: &[f64]) -> f64 {
    let squares = dot(a, a);
    if squares.is_finite() && squares > SAFE {
        return squares.sqrt();
    }
    // The squares overflow or underflow, though the entries need not: scale by the largest one.
    let largest = a.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() || squares.is_nan() {
        return if squares.is_nan() { f64::NAN } else { largest };
    }
    let relative: f64 = a.iter().map(|v| (v / largest) * (v / largest)).sum();
    largest * relative.sqrt()
}

/// Sums of squares below this may have lost entries to underflow.
const SAFE: f64 = 1e-280;

/// The Euclidean distance of two vectors.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    distance_from(a, 1.0, b)
}

/// |a - scale b|.
pub fn distance_from(a: &[f64], scale: f64, b: &[f64]) -> f64 {
    let squares = dispatch(Distance(a, scale, b));
    if squares.is_finite() && squares > SAFE {
        return squares.sqrt();
    }
    norm(
        &a.iter()
            .zip(b)
            .map(|(a, b)| a - scale * b)
            .collect::<Vec<_>>(),
    )
}

/// |a - b|^2, without protection against overflow.
pub fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    dispatch(Distance(a, 1.0, b))
}

struct Distance<'a>(&'a [f64], f64, &'a [f64]);

impl WithSimd for Distance<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        simd::distance_squared(simd, self.0, self.1, self.2)
    }
}

/// `y += alpha x`.
pub fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    struct Axpy<'a>(f64, &'a [f64], &'a mut [f64]);
    impl WithSimd for Axpy<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            // No fused multiply-add: bit-identical to adding single entries of a sparse vector.
            for (y, x) in self.2.iter_mut().zip(self.1) {
                *y += self.0 * x;
            }
        }
    }
    count(x.len());
    dispatch(Axpy(alpha, x, y));
}
