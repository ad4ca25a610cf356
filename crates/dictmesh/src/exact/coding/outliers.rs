//! Residuals that are quadratic up to a threshold and linear beyond: Huber, and l1 with q > 0.
//!
//! e(u) = |u|^2 / (2 a) while |u_m| <= a, with slope 1 beyond, is min_z |u - z|^2 / (2 a) + |z|_1:
//! entries too large for noise are outliers z. With the unit vectors as further atoms, whose codes
//! are z, the problem is again quadratic, min |c - [W I] (y, z)|^2 / (2 a) + h(y) + |z|_1. It has
//! one Gram matrix for all samples.

use super::{Coding, Scratch};
use dictmesh_kernels::atoms::Atoms;
use dictmesh_kernels::matrix::Matrix;
use dictmesh_kernels::penalty::soft_threshold;
use dictmesh_kernels::{Piece, ScalarPenalty};

/// The Gram matrix of all coefficients of a sample: those of the atoms, then those of `outliers`
/// unit vectors.
#[derive(Clone, Copy)]
pub(super) struct Augmented<'a> {
    pub gram: &'a Matrix,
    pub outliers: usize,
}

/// Atoms plus rows up to which the Gram matrix of [W I] is worth its memory.
const MOST: usize = 1024;

/// The Gram matrix of [W I], and scratch memory for solves with it.
#[derive(Default)]
pub(super) struct Extended {
    known: bool,
    gram: Matrix,
    /// (y, z), by columns.
    codes: Vec<f64>,
}

impl Extended {
    /// Drops the cached Gram matrix. Must be called before other atoms are used.
    pub fn invalidate(&mut self) {
        self.known = false;
    }

    /// Caches the Gram matrix [W'W W'; W I], unless it is cached. There is no product to form.
    fn cache_gram(&mut self, w: Atoms<'_>, gram: &Matrix) {
        if self.known {
            return;
        }
        let (m, n) = (w.rows(), w.cols());
        self.gram.reshape(n + m, n + m);
        for q in 0..n {
            let (above, below) = self.gram.column_mut(q).split_at_mut(n);
            above.copy_from_slice(gram.column(q));
            below.copy_from_slice(w.column(q));
        }
        for i in 0..m {
            let (above, below) = self.gram.column_mut(n + i).split_at_mut(n);
            for (q, out) in above.iter_mut().enumerate() {
                *out = w.column(q)[i];
            }
            below.fill(0.0);
            below[i] = 1.0;
        }
        self.known = true;
    }
}

/// The penalty of every outlier.
pub(super) const ABSOLUTE: &dyn ScalarPenalty = &Absolute;

/// |z|, for the outliers.
#[derive(Debug)]
struct Absolute;

impl ScalarPenalty for Absolute {
    fn value_at(&self, z: f64) -> f64 {
        z.abs()
    }

    fn coordinate_argmax(&self, s: f64, kappa: f64) -> f64 {
        soft_threshold(s, 1.0) / kappa
    }

    fn quadratic_piece(&self, z: f64) -> Option<Piece> {
        let slope = z.signum();
        let (lo, hi) = if z > 0.0 {
            (0.0, f64::INFINITY)
        } else {
            (f64::NEG_INFINITY, 0.0)
        };
        (z != 0.0).then_some(Piece { slope, lo, hi })
    }

    fn subgradient_at_zero(&self) -> Option<(f64, f64)> {
        Some((-1.0, 1.0))
    }

    fn strong_convexity(&self) -> f64 {
        0.0
    }
}

/// The Huber threshold a of the envelope, if it has one and the formulation with outliers pays.
pub(super) fn bound(problem: &Coding) -> Option<f64> {
    let size = problem.atoms.rows() + problem.atoms.cols();
    let bound = problem
        .residual
        .envelope()?
        .huber_threshold(problem.s, problem.q)?;
    let worth = problem.gram.is_some() && problem.atoms.cols() >= super::FEW && size <= MOST;
    (bound > 0.0 && worth).then_some(bound)
}

/// Calls `work` with the Gram matrix of [W I] and codes that start at (y, 0); on return `y` holds
/// their first part.
pub(super) fn with(
    problem: &Coding,
    gram: &Matrix,
    y: &mut [f64],
    scratch: &mut Scratch,
    work: impl FnOnce(Augmented, &mut [f64], &mut Scratch) -> bool,
) -> bool {
    let (m, n) = (problem.atoms.rows(), problem.atoms.cols());
    let mut extended = std::mem::take(&mut scratch.extended);
    extended.cache_gram(problem.atoms, gram);
    let codes = &mut extended.codes;
    codes.clear();
    codes.resize(y.len() / n * (n + m), 0.0);
    for (wide, y) in codes.chunks_exact_mut(n + m).zip(y.chunks_exact(n)) {
        wide[..n].copy_from_slice(y);
    }
    let wide = Augmented {
        gram: &extended.gram,
        outliers: m,
    };
    let done = work(wide, codes, scratch);
    for (wide, y) in codes.chunks_exact(n + m).zip(y.chunks_exact_mut(n)) {
        y.copy_from_slice(&wide[..n]);
    }
    scratch.extended = extended;
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::coding::{newton, CodePenalty, ScratchPool};
    use crate::problem::regularizer::{
        BoxedElasticNet, ElasticNet, NonNegativeElasticNet, Regularizer,
    };
    use crate::problem::residual::{Huber, Residual, L1};
    use crate::random::{gaussian, stream};
    use crate::Stop;

    /// The formulation with outliers and the Newton steps give the same codes.
    #[test]
    fn outliers_and_newton_agree() {
        let (m, n, samples) = (20, 30, 20);
        let w = gaussian(m, n, &mut stream(1, 0));
        let gram = w.transpose_times(&w);
        let c = gaussian(m, samples, &mut stream(2, 0));
        let hs: [&dyn Regularizer; 3] = [
            &ElasticNet::new(1.0, 0.3).unwrap(),
            &NonNegativeElasticNet::new(0.5, 0.3).unwrap(),
            &BoxedElasticNet::new(0.5, 0.3, -0.2, 0.4).unwrap(),
        ];
        let residuals: [(&dyn Residual, f64); 3] = [
            (&Huber::new(0.3).unwrap(), 0.0),
            (&Huber::new(0.3).unwrap(), 0.4),
            (&L1, 0.2),
        ];
        let mut outliers = 0;
        for h in hs {
            for (residual, q) in residuals {
                let (blocks, mut scalars) = ([(n, h)], Vec::new());
                CodePenalty::collect_scalars(&blocks, &mut scalars);
                let problem = Coding {
                    residual,
                    h: CodePenalty {
                        blocks: &blocks,
                        scalars: &scalars,
                    },
                    atoms: (&w).into(),
                    gram: Some(&gram),
                    s: 0.5,
                    q,
                    interrupt: None,
                    batching: Default::default(),
                };
                assert!(bound(&problem).is_some());
                let mut y = Matrix::zeros(n, samples);
                let mut v = Matrix::zeros(m, samples);
                let memory = ScratchPool::default();
                let scratch_of = memory.of(1);
                let stop = problem.solve_batch(&c, None, &mut y, &mut v, &scratch_of);
                assert_eq!(stop, Stop::Converged);
                for j in 0..samples {
                    let (mut other, mut nu) = (vec![0.0; n], vec![0.0; m]);
                    let mut newton = newton::Steps::default();
                    newton::solve(&problem, c.column(j), &mut other, &mut nu, &mut newton);
                    let far = dictmesh_kernels::matrix::distance(&other, y.column(j));
                    assert!(far < 1e-8, "{} {} {j}: {far:e}", residual.name(), h.name());
                    outliers += v.column(j).iter().filter(|v| v.abs() == 1.0).count();
                }
            }
        }
        assert!(outliers > 100, "{outliers}");
    }
}
