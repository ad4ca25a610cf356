//! Sparse SVD: the biclustering baseline, Alg. 3 of the paper (after Lee et al., 2010).

use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{axpy, dot, gemm, norm, Matrix};
use std::sync::atomic::{AtomicBool, Ordering};

/// Biclustering by sparse rank-one layers, `X = sum_k w_k y_k'` with `w_k` and `y_k` sparse.
///
/// For each layer k, starting from the leading left singular vector `w` of the deflated X, iterate
/// until `|w_new - w_old|_inf <= tolerance`:
/// ```text
/// y = T_lambda(X'w);  y = y / |y|_2;    w_new = T_beta(X y);  w_new = w_new / |w_new|_2
/// ```
/// Then `s_k = w'X y`, `y_k = s_k y` and `X = X - w_k y_k'`. `T_a(v) = sign(v) max(|v| - a, 0)`.
/// (The paper prints `w / |y|`, with which w collapses.)
///
/// This batch method needs all of X. The thresholds are in the units of X; with both at 0 the
/// layers are those of the singular value decomposition.
///
/// ```
/// use dictmesh::Matrix;
/// use dictmesh_apps::ssvd::SparseSvd;
/// let x = Matrix::from_columns(2, &[[3.0, 0.1], [4.0, 0.0], [0.0, 0.1]])?;
/// let layers = SparseSvd { layers: 1, lambda: 0.2, beta: 0.2, ..SparseSvd::default() }.run(&x)?;
/// assert_eq!(layers[0].w, [1.0, 0.0]);
/// assert_eq!(layers[0].y[2], 0.0);
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseSvd {
    /// Number of layers, at least 1; the paper uses 3.
    pub layers: usize,
    /// The threshold on `X'w`, which makes y sparse: 0 or above.
    pub lambda: f64,
    /// The threshold on `X y`, which makes w sparse: 0 or above.
    pub beta: f64,
    /// A layer converges when no entry of w changes by more than this.
    pub tolerance: f64,
    /// Maximum number of iterations per layer, at least 1.
    pub max_iterations: usize,
}

impl Default for SparseSvd {
    /// The paper's three layers and tolerance. It prints no thresholds for Alg. 3; these are its
    /// gamma and beta for Alg. 4 on the same data.
    fn default() -> Self {
        SparseSvd {
            layers: 3,
            lambda: 0.5,
            beta: 0.01,
            tolerance: 1e-10,
            max_iterations: 1000,
        }
    }
}

/// One layer `w y'` of the decomposition.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// `w_k`, of length M: of norm 1 with its entry of largest absolute value positive, or all
    /// zero.
    pub w: Vec<f64>,
    /// `y_k = s_k y`, of length T.
    pub y: Vec<f64>,
    /// `s_k = w'X y >= 0`, the layer's singular value; 0 for a zero layer.
    pub s: f64,
    /// Number of iterations.
    pub iterations: usize,
    /// Whether w converged within `max_iterations`.
    pub converged: bool,
}

impl SparseSvd {
    /// The layers of `x` (M x T, one sample per column).
    ///
    /// A layer is zero if a threshold exceeds every entry of a vector, or if earlier layers leave
    /// only rounding error. All later layers are then zero too. A layer that does not converge is
    /// not an error, see [`Layer::converged`].
    ///
    /// Errors: an empty matrix, an entry that is not finite, invalid settings.
    pub fn run(&self, x: &Matrix) -> Result<Vec<Layer>> {
        self.run_unless(x, &AtomicBool::new(false))
    }

    /// Like [`run`](SparseSvd::run), but stops soon after another thread sets `stop`. Returns the
    /// layers found so far, of which the last may not have converged.
    pub fn run_unless(&self, x: &Matrix, stop: &AtomicBool) -> Result<Vec<Layer>> {
        self.check()?;
        if x.rows() == 0 || x.cols() == 0 {
            return Err(Error::Empty {
                what: "the matrix to bicluster",
                need: "at least one row and one column",
            });
        }
        Error::check_finite("the matrix to bicluster", x)?;

        // Scaling by a power of two near the largest entry is exact and keeps squares from overflow
        // and underflow.
        let largest = largest(x);
        let unit = if largest > 0.0 {
            largest.log2().floor().exp2()
        } else {
            1.0
        };
        let mut left = x.clone();
        left.as_mut_slice().iter_mut().for_each(|v| *v /= unit);
        let rounding = 8.0 * f64::EPSILON * (largest / unit);

        let mut layers: Vec<Layer> = Vec::new();
        while layers.len() < self.layers && !stop.load(Ordering::Relaxed) {
            let layer = if self::largest(&left) <= rounding {
                Layer::zero(x, 0)
            } else {
                self.layer(&left, unit, stop)
            };
            if layer.s == 0.0 {
                // Without deflation, all later layers are equal to this one.
                layers.resize(self.layers, layer);
                break;
            }
            for (j, y) in layer.y.iter().enumerate() {
                axpy(-y, &layer.w, left.column_mut(j));
            }
            layers.push(layer);
        }
        for layer in &mut layers {
            layer.s *= unit;
            layer.y.iter_mut().for_each(|y| *y *= unit);
        }
        Ok(layers)
    }

    fn check(&self) -> Result<()> {
        Error::check_not_negative("lambda", self.lambda)?;
        Error::check_not_negative("beta", self.beta)?;
        Error::check_not_negative("tolerance", self.tolerance)?;
        for (name, given) in [
            ("layers", self.layers),
            ("max_iterations", self.max_iterations),
        ] {
            if given == 0 {
                return Err(Error::parameter(name, given, "must be at least 1"));
            }
        }
        Ok(())
    }

    /// One layer of `x`, whose entries are multiples of `unit`.
    fn layer(&self, x: &Matrix, unit: f64, stop: &AtomicBool) -> Layer {
        let mut w = leading_left_vector(x);
        let mut y = vec![0.0; x.cols()];
        let mut w_new = vec![0.0; x.rows()];
        let (mut iterations, mut converged) = (0, false);
        while iterations < self.max_iterations && !converged {
            if iterations > 0 && stop.load(Ordering::Relaxed) {
                break;
            }
            iterations += 1;
            for (j, y) in y.iter_mut().enumerate() {
                *y = dot(x.column(j), &w);
            }
            if !threshold_and_normalise(&mut y, self.lambda / unit) {
                return Layer::zero(x, iterations);
            }
            times(x, &y, &mut w_new);
            if !threshold_and_normalise(&mut w_new, self.beta / unit) {
                return Layer::zero(x, iterations);
            }
            let moved = w.iter().zip(&w_new).map(|(a, b)| (a - b).abs());
            converged = moved.fold(0.0, f64::max) <= self.tolerance;
            w.copy_from_slice(&w_new);
        }
        times(x, &y, &mut w_new);
        let s = dot(&w, &w_new);
        if largest_entry(&w) < 0.0 {
            w.iter_mut().for_each(|v| *v = -*v);
            y.iter_mut().for_each(|v| *v = -*v);
        }
        y.iter_mut().for_each(|v| *v *= s);
        Layer {
            w,
            y,
            s,
            iterations,
            converged,
        }
    }
}

impl Layer {
    fn zero(x: &Matrix, iterations: usize) -> Self {
        Layer {
            w: vec![0.0; x.rows()],
            y: vec![0.0; x.cols()],
            s: 0.0,
            iterations,
            converged: true,
        }
    }
}

/// The leading left singular vector, from the smaller Gram matrix.
fn leading_left_vector(x: &Matrix) -> Vec<f64> {
    let (m, t) = (x.rows(), x.cols());
    let mut gram = Matrix::zeros(m.min(t), m.min(t));
    let (v, vt) = (x.view(), x.view().transpose());
    let (a, b) = if m <= t { (v, vt) } else { (vt, v) };
    gemm(gram.view_mut(), a, b, 1.0, false);
    let mut w = vec![0.0; m];
    match gram.view().self_adjoint_eigen(faer::Side::Lower) {
        Ok(eigen) => {
            let last: Vec<f64> = eigen.U().col(m.min(t) - 1).iter().copied().collect();
            if m <= t {
                w.copy_from_slice(&last);
            } else {
                times(x, &last, &mut w);
            }
        }
        // The eigensolver failed, which is not expected for finite entries of order one. The
        // iteration of the layer is a power iteration, so it also converges from the longest
        // column.
        Err(_) => {
            let longest = (0..t).max_by(|a, b| norm(x.column(*a)).total_cmp(&norm(x.column(*b))));
            w.copy_from_slice(x.column(longest.unwrap_or(0)));
        }
    }
    threshold_and_normalise(&mut w, 0.0);
    w
}

/// `v = T_a(v) / |T_a(v)|`. Returns false, with v all zero, if no entry exceeds the threshold.
fn threshold_and_normalise(v: &mut [f64], a: f64) -> bool {
    for v in v.iter_mut() {
        *v = if v.abs() > a {
            *v - a.copysign(*v)
        } else {
            0.0
        };
    }
    // Dividing by the largest entry first keeps the norm from underflow.
    let largest = largest_entry(v).abs();
    if largest == 0.0 {
        return false;
    }
    v.iter_mut().for_each(|v| *v /= largest);
    let size = norm(v);
    v.iter_mut().for_each(|v| *v /= size);
    true
}

/// `out = X y`.
fn times(x: &Matrix, y: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (j, y) in y.iter().enumerate() {
        axpy(*y, x.column(j), out);
    }
}

/// The first entry of largest absolute value, with its sign; 0 if there is none.
fn largest_entry(v: &[f64]) -> f64 {
    v.iter()
        .fold(0.0, |m: f64, v| if v.abs() > m.abs() { *v } else { m })
}

/// The largest absolute value.
fn largest(x: &Matrix) -> f64 {
    largest_entry(x.as_slice()).abs()
}

#[cfg(test)]
mod tests;
