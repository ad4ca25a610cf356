//! Residuals that are quadratic up to a bound and linear beyond: Huber, and l1 with a proximal weight.
//!
//! e(u) = |u|^2 / (2 a) while |u_m| <= a, with slope 1 beyond, is min_z |u - z|^2 / (2 a) + |z|_1: what is too
//! large to be noise is an outlier z. With the unit vectors as further atoms, whose codes are z, the problem is
//! again a quadratic one, min |c - [W I] (y, z)|^2 / (2 a) + h(y) + |z|_1, with one Gram matrix for all samples.

use super::{newton, Coding, Scratch, Scratches};
use crate::matrix::Matrix;
use crate::regularizer::{soft_threshold, Piece, Regularizer};
use crate::Stop;

/// Atoms and rows together up to which it is worth the memory of their Gram matrix.
const MOST: usize = 1024;

/// [W I] and its Gram matrix.
pub(super) struct Extended {
    atoms: Matrix,
    gram: Matrix,
}

impl Extended {
    pub fn new(w: &Matrix) -> Self {
        let (m, n) = (w.rows(), w.cols());
        let atoms = Matrix::from_fn(m, n + m, |i, q| match q < n {
            true => w.get(i, q),
            false => f64::from(u8::from(q - n == i)),
        });
        let gram = atoms.transpose_times(&atoms);
        Extended { atoms, gram }
    }
}

/// |z|, for the outliers.
#[derive(Debug)]
struct Absolute;

impl Regularizer for Absolute {
    fn name(&self) -> &'static str {
        "absolute"
    }

    fn value_at(&self, z: f64) -> f64 {
        z.abs()
    }

    fn recover_damped(&self, s: f64, kappa: f64) -> f64 {
        soft_threshold(s, 1.0) / kappa
    }

    fn piece(&self, z: f64) -> Option<Piece> {
        let slope = z.signum();
        let (lo, hi) = if z > 0.0 {
            (0.0, f64::INFINITY)
        } else {
            (f64::NEG_INFINITY, 0.0)
        };
        (z != 0.0).then_some(Piece { slope, lo, hi })
    }

    fn zone(&self) -> Option<(f64, f64)> {
        Some((-1.0, 1.0))
    }

    fn domain_support(&self, _s: f64) -> f64 {
        f64::INFINITY
    }

    fn strong_convexity(&self) -> f64 {
        0.0
    }
}

/// The bound a of the envelope of this problem, if it has one and the way over outliers is worth it.
pub(super) fn bound(problem: &Coding) -> Option<f64> {
    let size = problem.atoms.rows() + problem.atoms.cols();
    let bound = (problem.residual).envelope_bound(problem.s, problem.q)?;
    (bound > 0.0 && problem.atoms.cols() >= super::FEW && size <= MOST).then_some(bound)
}

/// Solves for each column of `c` (+ `share`), as [`Coding::solve_batch`] does; tells how each ended.
pub(super) fn solve(
    problem: &Coding,
    a: f64,
    (c, share): (&[f64], Option<&[f64]>),
    y: &mut [f64],
    v: &mut [f64],
    scratches: &Scratches,
    mut ended: impl FnMut(Stop),
) {
    let (m, n) = (problem.atoms.rows(), problem.atoms.cols());
    let mut regularizers = problem.regularizers.to_vec();
    regularizers.resize(n + m, &Absolute);
    let mut wide = vec![0.0; v.len() / m.max(1) * (n + m)];
    for (wide, y) in wide.chunks_exact_mut(n + m).zip(y.chunks_exact(n)) {
        wide[..n].copy_from_slice(y);
    }
    let mut stops = Vec::with_capacity(v.len() / m.max(1));
    scratches.with(|scratch: &mut Scratch| {
        let known = scratch.extended.take();
        let extended = known.unwrap_or_else(|| Extended::new(problem.atoms));
        let whole = Coding {
            regularizers: &regularizers,
            atoms: &extended.atoms,
            gram: &extended.gram,
            ..*problem
        };
        whole.solve_quadratics(a, c, share, &mut wide, v, scratch, |stop| stops.push(stop));
        scratch.extended = Some(extended);
    });
    let columns = wide.chunks_exact(n + m).zip(y.chunks_exact_mut(n));
    for (j, (wide, y)) in columns.enumerate() {
        y.copy_from_slice(&wide[..n]);
        let v = &mut v[j * m..(j + 1) * m];
        if stops[j] != Stop::RoundLimit {
            // Rounding may have carried it out of the domain of f*.
            problem.residual.project_dual(v);
            ended(stops[j]);
            continue;
        }
        let mut total = c[j * m..(j + 1) * m].to_vec();
        if let Some(share) = share {
            crate::matrix::axpy(1.0, &share[j * m..(j + 1) * m], &mut total);
        }
        let newton =
            |scratch: &mut Scratch| newton::solve(problem, &total, y, v, &mut scratch.newton);
        ended(scratches.with(newton));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Memory;
    use crate::random::{gaussian, stream};
    use crate::regularizer::{BoxedElasticNet, ElasticNet, NonNegativeElasticNet};
    use crate::residual::{Huber, Residual, L1};

    /// The way over outliers and the Newton steps, which know nothing of each other, find the same.
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
                let problem = Coding {
                    residual,
                    regularizers: &vec![h; n],
                    atoms: &w,
                    gram: &gram,
                    s: 0.5,
                    q,
                    interrupt: None,
                };
                let a = bound(&problem).unwrap();
                let mut y = Matrix::zeros(n, samples);
                let mut v = Matrix::zeros(m, samples);
                let memory = Memory::default();
                let scratches = memory.of(1);
                let (ys, vs) = (y.as_mut_slice(), v.as_mut_slice());
                solve(
                    &problem,
                    a,
                    (c.as_slice(), None),
                    ys,
                    vs,
                    &scratches,
                    |stop| {
                        assert_eq!(stop, Stop::Converged);
                    },
                );
                for j in 0..samples {
                    let (mut other, mut nu) = (vec![0.0; n], vec![0.0; m]);
                    let mut newton = newton::Memory::default();
                    newton::solve(&problem, c.column(j), &mut other, &mut nu, &mut newton);
                    let far = crate::matrix::distance(&other, y.column(j));
                    assert!(far < 1e-8, "{} {} {j}: {far:e}", residual.name(), h.name());
                    outliers += v.column(j).iter().filter(|v| v.abs() == 1.0).count();
                }
            }
        }
        assert!(outliers > 100, "{outliers}");
    }
}
