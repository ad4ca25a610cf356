//! Coding: `min_{y >= 0} |x - W y|_1 + lambda |y|_1` by linearised ADMM.
//!
//! In the published form, with residual e, multiplier rho and `v = x - W y + rho/phi`:
//! ```text
//! e = soft(v, 1/phi);  g = W'(W y + e - x - rho/phi);  y = max(y - kappa g - lambda kappa/phi, 0)
//! rho += phi (x - W y - e)
//! ```
//! With `c = v - e = clip(v, 1/phi)` the gradient is `g = -W'c`. The next v is `x + c - W ybar`
//! with `ybar = 2 y_new - y`. So one array c replaces e and rho, and one product with W replaces
//! two:
//! ```text
//! c = clip(x + c - W ybar, 1/phi);  y_new = max(y + kappa (W'c - lambda/phi), 0)
//! ybar = 2 y_new - y
//! ```
//! The iterates are the same, as a test checks.

use super::L1Admm;
use dictmesh::problem::samples::Samples;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{gemm, Matrix};
use rayon::prelude::*;

/// Samples per chunk: large enough for efficient products, small enough for the cache.
const CHUNK: usize = 64;

pub(super) struct Codes {
    /// K x B.
    pub y: Matrix,
    /// |x - W y|_1 + lambda |y|_1 of each sample.
    pub cost: Vec<f64>,
}

pub(super) fn code(settings: &L1Admm, w: &Matrix, x: &Samples) -> Result<Codes> {
    Error::check_dimension("rows of the samples", x.rows(), w.rows())?;
    // A row that no atom uses affects no code; it only adds |x_m| to the cost.
    let rows = rows_with_entries(w);
    let mut place = vec![None; w.rows()];
    for (i, row) in rows.iter().enumerate() {
        place[*row] = Some(i);
    }
    let w = Matrix::from_fn(rows.len(), w.cols(), |i, k| w.get(rows[i], k));
    let problem = Problem {
        kappa: step(settings, &w)?,
        settings,
        place,
        w,
    };
    let chunks: Vec<Codes> = (0..x.len().div_ceil(CHUNK))
        .into_par_iter()
        .with_max_len(1)
        .map(|i| problem.solve(x, i * CHUNK..((i + 1) * CHUNK).min(x.len())))
        .collect();
    let mut all = Codes {
        y: Matrix::zeros(problem.w.cols(), 0),
        cost: Vec::with_capacity(x.len()),
    };
    for chunk in chunks {
        all.y.append_columns(&chunk.y)?;
        all.cost.extend(chunk.cost);
    }
    Ok(all)
}

/// Indices of the rows of `w` with a nonzero entry, ascending.
pub(super) fn rows_with_entries(w: &Matrix) -> Vec<usize> {
    let mut used = vec![false; w.rows()];
    for column in w.columns() {
        for (used, v) in used.iter_mut().zip(column) {
            *used |= *v != 0.0;
        }
    }
    (0..w.rows()).filter(|i| used[*i]).collect()
}

/// kappa, checked against the bound 1 / lambda_max(W'W).
fn step(settings: &L1Admm, w: &Matrix) -> Result<f64> {
    let largest = w.spectral_norm_squared();
    match settings.kappa {
        Some(kappa) if kappa * largest >= 1.0 => Err(Error::parameter(
            "kappa",
            kappa,
            format!(
                "must be below 1 / lambda_max(W'W) = {} for this dictionary, or coding diverges",
                1.0 / largest
            ),
        )),
        Some(kappa) => Ok(kappa),
        // The dictionary is zero, so any step converges.
        None if largest == 0.0 => Ok(1.0),
        None => Ok(0.9 / largest),
    }
}

struct Problem<'a> {
    settings: &'a L1Admm,
    kappa: f64,
    /// The row of `w` for each row of the samples, if an atom uses it.
    place: Vec<Option<usize>>,
    /// The rows of the dictionary with a nonzero entry.
    w: Matrix,
}

impl Problem<'_> {
    fn solve(&self, x: &Samples, range: std::ops::Range<usize>) -> Codes {
        let (first, len) = (range.start, range.len());
        let (m, atoms) = (self.w.rows(), self.w.cols());
        let bound = 1.0 / self.settings.phi;
        let shift = self.settings.lambda / self.settings.phi;
        let mut c = Matrix::zeros(m, len);
        let mut y = Matrix::zeros(atoms, len);
        let mut ybar = Matrix::zeros(atoms, len);
        let mut wc = Matrix::zeros(atoms, len);
        for _ in 0..self.settings.coding_iterations {
            gemm(c.view_mut(), self.w.view(), ybar.view(), -1.0, true);
            self.add_samples(x, first, &mut c);
            let entries = c.as_mut_slice().iter_mut();
            entries.for_each(|c| *c = c.clamp(-bound, bound));
            let wt = self.w.view().transpose();
            gemm(wc.view_mut(), wt, c.view(), 1.0, false);
            let old = y.as_mut_slice().iter_mut().zip(ybar.as_mut_slice());
            for ((y, ybar), wc) in old.zip(wc.as_slice()) {
                let new = (*y + self.kappa * (wc - shift)).max(0.0);
                *ybar = 2.0 * new - *y;
                *y = new;
            }
        }
        // Reuse c for the residual.
        gemm(c.view_mut(), self.w.view(), y.view(), -1.0, false);
        self.add_samples(x, first, &mut c);
        let l1 = |v: &[f64]| v.iter().map(|v| v.abs()).sum::<f64>();
        let cost = (0..len)
            .map(|j| {
                let elsewhere: f64 = x
                    .entries(first + j)
                    .filter(|(i, _)| self.place[*i].is_none())
                    .map(|(_, v)| v.abs())
                    .sum();
                l1(c.column(j)) + elsewhere + self.settings.lambda * l1(y.column(j))
            })
            .collect();
        Codes { y, cost }
    }

    /// `out_j += x_{first + j}` on the rows of `w`.
    fn add_samples(&self, x: &Samples, first: usize, out: &mut Matrix) {
        for j in 0..out.cols() {
            let column = out.column_mut(j);
            for (i, v) in x.entries(first + j) {
                if let Some(place) = self.place[i] {
                    column[place] += v;
                }
            }
        }
    }
}
