//! `exact`: the whole coding problem solved in one place, with a certificate. It is the reference
//! for the strategies, and the fast path where one process holds all atoms. It is not a
//! [`Strategy`](crate::strategy::Strategy): it needs every atom.
//!
//! For any nu in the dual domain and any y, weak duality bounds how far both are from the optimum:
//!
//! ```text
//! gap = [f(u) + f*(nu) - u'nu] + [h(y) + h*(W'nu) - y'W'nu] >= 0,    u = x - W y
//! ```
//!
//! This is primal minus dual cost, written so that nothing large cancels. For `ball` and `equality`
//! the first bracket is taken at the nearest feasible u, plus |nu| times the distance to it; that
//! distance is returned as the violation.

mod certificate;
mod codes;
pub(crate) mod coding;
mod joined;

use crate::error::{Error, Result};
use crate::problem::block::Block;
use crate::problem::residual::Residual;
use crate::problem::samples::Samples;
use crate::problem::task::LocalTask;
use crate::Stop;
pub use certificate::Certificate;
use certificate::Proof;
pub use codes::Codes;
use coding::{BlockScratch, Coding, ScratchPool};
use dictmesh_kernels::matrix::Matrix;
use dictmesh_kernels::pool::PerThreadPool;
use dictmesh_kernels::quadratic::Batching;
use joined::Joined;
use rayon::prelude::*;

/// Samples per part. Larger parts let a solver of several samples group those of similar work.
/// Batches that are cut at multiples of this give bit-identical results.
pub const SOLVED_TOGETHER: usize = 128;
/// Samples per part if W'W is not stored: each takes three vectors of K numbers. Divides
/// [`SOLVED_TOGETHER`].
pub(crate) const SOLVED_ON_DEMAND: usize = 16;

/// One block and its owner's share of the task.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// W_k.
    pub block: &'a Block,
    /// h_y of its owner.
    pub task: &'a LocalTask,
}

/// The exact solution for a batch.
#[derive(Clone, Debug)]
pub struct Exact {
    /// The codes, K x B, blocks in order.
    pub codes: Matrix,
    /// The dual vectors nu, M x B.
    pub duals: Matrix,
    /// The certificates, one per sample.
    pub certificates: Vec<Certificate>,
}

impl Exact {
    /// The worst [`Stop`] over the batch.
    pub fn stop(&self) -> Stop {
        Certificate::worst(&self.certificates)
    }

    /// The largest relative gap over the batch.
    pub fn relative_gap(&self) -> f64 {
        Certificate::widest(&self.certificates)
    }
}

/// The relative gap that well-posed problems reach.
pub const TOLERANCE: f64 = 1e-10;

/// How samples are solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The relative gap to reach.
    pub tolerance: f64,
    /// How the samples of a batch are solved.
    pub batching: Batching,
}

impl Default for Options {
    /// [`TOLERANCE`], several samples at the same time.
    fn default() -> Self {
        Options {
            tolerance: TOLERANCE,
            batching: Batching::default(),
        }
    }
}

/// Solves min_y f(x - W y) + h(y) for each sample over the blocks of `parts`, to the relative gap
/// of `options`. Each certificate states whether it was reached.
pub fn solve(
    residual: &dyn Residual,
    parts: &[Part<'_>],
    x: &Samples,
    options: Options,
) -> Result<Exact> {
    let n: usize = parts.iter().map(|part| part.block.len()).sum();
    check_batch(n, x, 1)?;
    with_solver(residual, parts, x, options, |solver| {
        let (m, together) = (x.rows(), solver.together);
        let mut exact = Exact {
            codes: Matrix::zeros(n, x.len()),
            duals: Matrix::zeros(m, x.len()),
            certificates: vec![Certificate::NONE; x.len()],
        };
        let codes = exact.codes.as_mut_slice();
        let mut codes: Vec<_> = codes.chunks_mut((n * together).max(1)).collect();
        codes.resize_with(x.len().div_ceil(together), Default::default); // if there are no atoms
        let duals = exact.duals.as_mut_slice();
        let scratch_pool: PerThreadPool<PartScratch> = PerThreadPool::default();
        (codes.par_iter_mut())
            .zip(duals.par_chunks_mut(m * together))
            .zip(exact.certificates.par_chunks_mut(together))
            .enumerate()
            .with_max_len(1) // one per task, for load balance
            .for_each(|(part, ((y, nu), proven))| {
                scratch_pool
                    .with(|scratch| solver.solve_part(part, scratch, y, nu, proven, |_, _| ()));
            });
        exact
    })
}

/// The codes of [`solve`] as their non-zero entries, with their certificates. If most entries are 0
/// this takes a fraction of the memory, and less time if there are many atoms.
pub fn codes(
    residual: &dyn Residual,
    parts: &[Part<'_>],
    x: &Samples,
    options: Options,
) -> Result<Codes> {
    with_solver(residual, parts, x, options, |solver| {
        let (m, n) = (x.rows(), solver.problem.atoms.cols());
        let mut certificates = vec![Certificate::NONE; x.len()];
        let scratch_pool: PerThreadPool<(PartScratch, Vec<f64>, Vec<f64>)> =
            PerThreadPool::default();
        let parts = certificates.par_chunks_mut(solver.together).enumerate();
        let parts = parts.with_max_len(1).map(|(part, proven)| {
            scratch_pool.with(|(scratch, y, nu)| {
                y.resize(n * proven.len(), 0.0);
                nu.resize(m * proven.len(), 0.0);
                let mut entries = codes::Part::default();
                solver.solve_part(part, scratch, y, nu, proven, |y, used| {
                    entries.push(y, used)
                });
                entries
            })
        });
        Codes::new(n, solver.together, parts.collect(), certificates)
    })
}

/// Data that all parts of the samples share.
struct Solver<'a> {
    problem: Coding<'a>,
    x: &'a Samples,
    /// Samples per part.
    together: usize,
    /// The code that each solve starts from.
    start: Vec<f64>,
    proof: Proof,
    scratch_of: BlockScratch<'a>,
}

fn with_solver<T>(
    residual: &dyn Residual,
    parts: &[Part<'_>],
    x: &Samples,
    options: Options,
    work: impl FnOnce(&Solver) -> T,
) -> Result<T> {
    Error::check_positive("tolerance", options.tolerance)?;
    let joined = Joined::new(parts, x.rows())?;
    let problem = joined.problem(residual, options.batching);
    let pool = ScratchPool::default();
    Ok(work(&Solver {
        x,
        together: match problem.gram {
            Some(_) => SOLVED_TOGETHER,
            None => SOLVED_ON_DEMAND,
        },
        start: start_codes(&problem),
        proof: Proof::new(&problem, options.tolerance),
        scratch_of: pool.of(joined.version),
        problem,
    }))
}

impl Solver<'_> {
    /// Solves a part of the samples. Calls `keep` with each code, and with indices that include all
    /// of its non-zero entries.
    ///
    /// Samples are solved independently, in parts of fixed width: no result depends on the number
    /// of threads.
    fn solve_part(
        &self,
        part: usize,
        scratch: &mut PartScratch,
        y: &mut [f64],
        nu: &mut [f64],
        proven: &mut [Certificate],
        mut keep: impl FnMut(&[f64], &[usize]),
    ) {
        let (m, n) = (self.x.rows(), self.start.len());
        scratch.take(self.x, part * self.together, self.together, n);
        // Memory that is read before it is written takes a second page fault per page.
        (y.chunks_exact_mut(n.max(1))).for_each(|y| y.copy_from_slice(&self.start));
        let PartScratch { c, s, ended, used } = scratch;
        (self.problem).solve_together(c, y, nu, s, ended, &self.scratch_of);
        for (j, (proven, ended)) in proven.iter_mut().zip(ended).enumerate() {
            let (y, nu) = (&y[j * n..(j + 1) * n], &nu[j * m..(j + 1) * m]);
            let (c, s) = (&c[j * m..(j + 1) * m], &s[j * n..(j + 1) * n]);
            *proven = (self.proof).certify(&self.problem, c, (y, nu, s), *ended, used);
            keep(y, used);
        }
    }
}

/// Scratch memory of one part. Freed after each part, it would return to the system each time.
#[derive(Default)]
struct PartScratch {
    /// The samples.
    c: Vec<f64>,
    /// W'nu.
    s: Vec<f64>,
    ended: Vec<Stop>,
    /// Coefficients that contribute to a certificate.
    used: Vec<usize>,
}

impl PartScratch {
    /// Loads at most `count` samples from `from` on, for n atoms.
    fn take(&mut self, x: &Samples, from: usize, count: usize, n: usize) {
        let (m, to) = (x.rows(), (from + count).min(x.len()));
        self.c.clear();
        self.c.resize(m * (to - from), 0.0);
        for (j, c) in (from..to).zip(self.c.chunks_exact_mut(m)) {
            x.add_scaled(j, 1.0, c);
        }
        self.s.resize(n * (to - from), 0.0);
        self.ended.clear();
    }
}

/// The dual vectors, M x B, without certificates, and the worst [`Stop`].
pub(crate) fn duals(
    residual: &dyn Residual,
    parts: &[Part<'_>],
    x: &Samples,
    batching: Batching,
) -> Result<(Matrix, Stop)> {
    let joined = Joined::new(parts, x.rows())?;
    let problem = joined.problem(residual, batching);
    let start = start_codes(&problem);
    let n = start.len();
    check_batch(n, x, 2)?; // the dense samples and nu
    let mut y = Matrix::from_fn(start.len(), x.len(), |q, _| start[q]);
    let mut nu = Matrix::zeros(x.rows(), x.len());
    let pool = ScratchPool::default();
    let scratch_of = pool.of(joined.version);
    let stop = problem.solve_batch(&x.to_dense(), None, &mut y, &mut nu, &scratch_of);
    Ok((nu, stop))
}

/// `Ok` if dense codes of `n` atoms and `arrays` arrays of M x B fit into memory.
pub(crate) fn check_batch(n: usize, x: &Samples, arrays: usize) -> Result<()> {
    let rows = x.rows().checked_mul(arrays).and_then(|m| m.checked_add(n));
    let given = format!(
        "{} samples of dimension {} and {n} atoms",
        x.len(),
        x.rows()
    );
    let numbers = rows.and_then(|rows| rows.checked_mul(x.len()));
    Error::check_room("batch", given, numbers)
}

fn start_codes(problem: &Coding) -> Vec<f64> {
    let mut start = vec![0.0; problem.atoms.cols()];
    problem.h.argmax(0.0, &mut start);
    start
}
