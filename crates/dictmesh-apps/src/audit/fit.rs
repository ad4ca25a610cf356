//! Damped Gauss-Newton for |e - sum g_l W_l y_l(nu)|^2 over all columns of evidence, where y_l
//! depends on W_l.

use super::evidence::{Evidence, Fit};
use dictmesh_kernels::matrix::{axpy, dot, gemm, Matrix};

/// Maximum number of Gauss-Newton steps.
const STEPS: usize = 60;
/// Maximum number of conjugate gradient iterations per step.
const INNER: usize = 80;
/// Approximate limit on the multiply-adds of one fit.
const WORK: f64 = 1e9;
/// A step that lowers the squared error by less than this fraction is idle. `IDLE` consecutive idle
/// steps end the fit.
const PROGRESS: f64 = 1e-3;
const IDLE: usize = 4;
/// Unexplained fraction of the energy at rounding level.
const EXACT: f64 = 1e-22;

/// Coefficients of the atoms in all columns (K x C), and dy/d(w'nu) at all nu (K x P).
struct Codes {
    columns: Matrix,
    slopes: Matrix,
}

impl Evidence<'_> {
    /// Refines `fit` by damped Gauss-Newton steps; they never increase the squared error.
    pub fn polish(&self, fit: &Fit) -> Fit {
        let mut fit = fit.clone();
        let atoms = fit.atoms.cols();
        if atoms == 0 {
            return fit;
        }
        let wide = (self.columns.len() + self.nus.cols()) as f64;
        let product = self.values.rows() as f64 * atoms as f64 * wide;
        let mut work = WORK;
        let energy = square(&self.values);
        let (mut damping, mut idle) = (1e-2, 0);
        let mut codes = self.codes(&fit);
        let mut left = self.left(&fit, &codes);
        for _ in 0..STEPS {
            let size = square(&codes.columns) / atoms as f64;
            let (step, inner) = self.step(&fit, &codes, &left, damping * size);
            work -= 2.0 * product * inner as f64;
            let mut next = fit.clone();
            axpy(1.0, step.as_slice(), next.atoms.as_mut_slice());
            let next_codes = self.codes(&next);
            let next_left = self.left(&next, &next_codes);
            let lower = square(&next_left) < square(&left);
            idle = match square(&next_left) < (1.0 - PROGRESS) * square(&left) {
                true => 0,
                false => idle + 1,
            };
            if lower {
                (fit, codes, left) = (next, next_codes, next_left);
                damping = (damping / 5.0).max(1e-12);
            } else {
                damping *= 4.0;
            }
            if damping > 1e6 || idle >= IDLE || work < 0.0 || square(&left) < EXACT * energy {
                break;
            }
        }
        fit
    }

    /// Fraction of the energy that the atoms leave unexplained.
    pub fn unexplained(&self, fit: &Fit) -> f64 {
        let left = square(&self.left(fit, &self.codes(fit)));
        let share = left / square(&self.values);
        if share.is_finite() {
            share
        } else {
            f64::INFINITY
        }
    }

    fn codes(&self, fit: &Fit) -> Codes {
        let mut y = fit.atoms.transpose_times(self.nus);
        let mut slopes = Matrix::zeros(y.rows(), y.cols());
        for p in 0..y.cols() {
            for (q, owner) in fit.owners.iter().enumerate() {
                let h = self.owners[*owner].penalty;
                let code = h.coordinate_argmax(y.get(q, p), 0.0);
                y.column_mut(p)[q] = code;
                if code != 0.0 && h.quadratic_piece(code).is_some() {
                    slopes.column_mut(p)[q] = 1.0 / h.strong_convexity();
                }
            }
        }
        Codes {
            columns: self.spread(fit, &y),
            slopes,
        }
    }

    /// Maps coefficients at all nu (K x P) to coefficients in all columns (K x C).
    fn spread(&self, fit: &Fit, y: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(y.rows(), self.columns.len());
        for (j, column) in self.columns.iter().enumerate() {
            for (p, c) in &column.terms {
                axpy(*c, y.column(*p), out.column_mut(j));
            }
            for (y, owner) in out.column_mut(j).iter_mut().zip(&fit.owners) {
                *y *= column.factors[*owner];
            }
        }
        out
    }

    /// The transpose of [`spread`](Evidence::spread).
    fn gather(&self, fit: &Fit, mut columns: Matrix) -> Matrix {
        let mut out = Matrix::zeros(columns.rows(), self.nus.cols());
        for (j, column) in self.columns.iter().enumerate() {
            for (y, owner) in columns.column_mut(j).iter_mut().zip(&fit.owners) {
                *y *= column.factors[*owner];
            }
            for (p, c) in &column.terms {
                axpy(*c, columns.column(j), out.column_mut(*p));
            }
        }
        out
    }

    /// The residual of the evidence; 0 in unknown rows.
    fn left(&self, fit: &Fit, codes: &Codes) -> Matrix {
        let mut left = self.values.clone();
        gemm(
            left.view_mut(),
            fit.atoms.view(),
            codes.columns.view(),
            -1.0,
            true,
        );
        multiply(&mut left, &self.known);
        left
    }

    /// The Jacobian of the explained part with respect to the atoms, applied to `change`.
    fn forward(&self, fit: &Fit, codes: &Codes, change: &Matrix) -> Matrix {
        let mut slopes = change.transpose_times(self.nus);
        multiply(&mut slopes, &codes.slopes);
        let mut out = fit.atoms.times(&self.spread(fit, &slopes));
        gemm(
            out.view_mut(),
            change.view(),
            codes.columns.view(),
            1.0,
            true,
        );
        multiply(&mut out, &self.known);
        out
    }

    /// The transpose of [`forward`](Evidence::forward); `left` must be 0 in unknown rows.
    fn backward(&self, fit: &Fit, codes: &Codes, left: &Matrix) -> Matrix {
        let mut slopes = self.gather(fit, fit.atoms.transpose_times(left));
        multiply(&mut slopes, &codes.slopes);
        let mut out = self.nus.times(&slopes.transpose());
        gemm(
            out.view_mut(),
            left.view(),
            codes.columns.transpose().view(),
            1.0,
            true,
        );
        out
    }

    /// The damped Gauss-Newton step by conjugate gradients, and the number of iterations.
    fn step(&self, fit: &Fit, codes: &Codes, left: &Matrix, damping: f64) -> (Matrix, usize) {
        let mut r = self.backward(fit, codes, left);
        let mut x = Matrix::zeros(r.rows(), r.cols());
        let mut p = r.clone();
        let (mut size, first) = (square(&r), square(&r));
        let mut steps = 0;
        while steps < INNER && size > 1e-14 * first && first > 0.0 {
            steps += 1;
            let mut q = self.backward(fit, codes, &self.forward(fit, codes, &p));
            axpy(damping, p.as_slice(), q.as_mut_slice());
            let along = size / dot(p.as_slice(), q.as_slice());
            axpy(along, p.as_slice(), x.as_mut_slice());
            axpy(-along, q.as_slice(), r.as_mut_slice());
            let next = square(&r);
            let keep = next / size;
            let pairs = p.as_mut_slice().iter_mut().zip(r.as_slice());
            pairs.for_each(|(p, r)| *p = r + keep * *p);
            size = next;
        }
        (x, steps)
    }
}

fn square(a: &Matrix) -> f64 {
    dot(a.as_slice(), a.as_slice())
}

fn multiply(a: &mut Matrix, b: &Matrix) {
    (a.as_mut_slice().iter_mut().zip(b.as_slice())).for_each(|(a, b)| *a *= b);
}
