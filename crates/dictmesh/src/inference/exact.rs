//! `exact`: the whole coding problem solved in one place, with a certificate. The reference for the
//! strategies, and the fast path where all atoms are at hand. Not a [`Strategy`](super::Strategy): it
//! needs every atom.
//!
//! For any nu in the dual domain and any y, weak duality bounds how far both are from the optimum:
//!
//! ```text
//! gap = [f(u) + f*(nu) - u'nu] + [h(y) + h*(W'nu) - y'W'nu] >= 0,    u = x - W y
//! ```
//!
//! which is primal minus dual cost, written so that nothing large cancels. For `ball` and `equality` the
//! first bracket is taken at the nearest feasible u, plus |nu| times the distance to it, and that
//! distance is returned as the violation.

use crate::agent::Block;
use crate::coding::{start_code, Coding, Memory};
use crate::error::{Error, Result};
use crate::matrix::{dot, norm, Matrix};
use crate::regularizer::Regularizer;
use crate::residual::Residual;
use crate::samples::Samples;
use crate::task::LocalTask;
use crate::Stop;
use rayon::prelude::*;
use std::borrow::Cow;

/// Samples that are solved together: with more of them, those that take as much work find each other. Parts that are
/// multiples of it give the same bits as all at once.
pub const SOLVED_TOGETHER: usize = 128;

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
    /// The certificates, one a sample.
    pub certificates: Vec<Certificate>,
}

/// What is proven about one sample's solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// The dual cost, a lower bound of the optimum.
    pub dual: f64,
    /// The duality gap: the primal cost is at most dual + gap.
    pub gap: f64,
    /// The distance of x - W y from the domain of f (0 for the finite residuals).
    pub violation: f64,
    /// `Converged` if gap and violation are within the tolerance, relative to the cost and to |x|.
    pub stop: Stop,
}

impl Exact {
    /// The worst ending over the batch.
    pub fn stop(&self) -> Stop {
        self.certificates
            .iter()
            .fold(Stop::Converged, |worst, c| worst.worse(c.stop))
    }

    /// The largest relative gap over the batch.
    pub fn relative_gap(&self) -> f64 {
        self.certificates
            .iter()
            .map(|c| c.gap / c.dual.abs().max(f64::MIN_POSITIVE))
            .fold(0.0, f64::max)
    }
}

/// The relative gap that well-posed problems reach.
pub const TOLERANCE: f64 = 1e-10;

/// Solves min_y f(x - W y) + h(y) for each sample over the blocks of `parts`, to a relative gap of
/// `tolerance` ([`TOLERANCE`] is a good value). Whether it was reached is in each certificate.
pub fn solve(
    residual: &dyn Residual,
    parts: &[Part<'_>],
    x: &Samples,
    tolerance: f64,
) -> Result<Exact> {
    Error::check_positive("tolerance", tolerance)?;
    let (joined, regularizers) = joined(parts, x.rows())?;
    let (atoms, gram) = (joined.atoms(), joined.gram());
    let problem = whole(residual, atoms, gram, &regularizers);
    let lengths: Vec<f64> = atoms.columns().map(norm).collect();
    // An empty zone where there is none.
    let zone = |h: &&dyn Regularizer| h.zone().unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
    let zones: Vec<(f64, f64)> = regularizers.iter().map(zone).collect();
    let proof = Proof {
        problem: &problem,
        lengths: &lengths,
        zones: &zones,
        tolerance,
    };
    let mut exact = Exact {
        codes: Matrix::zeros(atoms.cols(), x.len()),
        duals: Matrix::zeros(x.rows(), x.len()),
        certificates: Vec::new(),
    };
    let start = start_codes(&problem);
    // Each sample is solved on its own, in parts of a fixed width: the result does not depend on the
    // number of threads.
    let (m, n) = (x.rows(), atoms.cols());
    let memory = Memory::default();
    let scratches = memory.of(joined.version());
    let solve_part = |room: &mut Room, (part, nu): (usize, &mut [f64]), y: &mut [f64]| {
        room.take(x, part * SOLVED_TOGETHER, n);
        // Memory that is read before it is written costs a second fault a page, and an interrupt of all threads.
        y.chunks_exact_mut(n.max(1))
            .for_each(|y| y.copy_from_slice(&start));
        let Room { c, s, ended, used } = room;
        problem.solve_together(c, y, nu, s, ended, &scratches);
        (ended.iter().enumerate())
            .map(|(j, ended)| {
                let (y, nu) = (&y[j * n..(j + 1) * n], &nu[j * m..(j + 1) * m]);
                let (c, s) = (&c[j * m..(j + 1) * m], &s[j * n..(j + 1) * n]);
                proof.certify(c, (y, nu, s), *ended, used)
            })
            .collect::<Vec<_>>()
    };
    let duals = exact
        .duals
        .as_mut_slice()
        .par_chunks_mut(m * SOLVED_TOGETHER);
    let parts = duals.enumerate();
    let certificates: Vec<_> = match n {
        0 => parts
            .map_init(Room::default, |room, part| solve_part(room, part, &mut []))
            .collect(),
        _ => (parts.zip(
            exact
                .codes
                .as_mut_slice()
                .par_chunks_mut(n * SOLVED_TOGETHER),
        ))
        .map_init(Room::default, |room, (part, y)| solve_part(room, part, y))
        .collect(),
    };
    exact.certificates = certificates.into_iter().flatten().collect();
    Ok(exact)
}

/// What a part of the samples is solved in: memory that comes and goes with each would be taken back by the system
/// each time, at the cost of all threads.
#[derive(Default)]
struct Room {
    /// The samples.
    c: Vec<f64>,
    /// W'nu.
    s: Vec<f64>,
    ended: Vec<Stop>,
    /// Coefficients that a certificate has to look at.
    used: Vec<usize>,
}

impl Room {
    /// Takes the samples from `from` on, for n atoms.
    fn take(&mut self, x: &Samples, from: usize, n: usize) {
        let (m, to) = (x.rows(), (from + SOLVED_TOGETHER).min(x.len()));
        self.c.clear();
        self.c.resize(m * (to - from), 0.0);
        for (j, c) in (from..to).zip(self.c.chunks_exact_mut(m)) {
            x.add_scaled(j, 1.0, c);
        }
        self.s.resize(n * (to - from), 0.0);
        self.ended.clear();
    }
}

/// The dual vectors alone, without proof: M x B, and the worst ending.
pub(crate) fn duals(
    residual: &dyn Residual,
    parts: &[Part<'_>],
    x: &Samples,
) -> Result<(Matrix, Stop)> {
    let (joined, regularizers) = joined(parts, x.rows())?;
    let problem = whole(residual, joined.atoms(), joined.gram(), &regularizers);
    let start = start_codes(&problem);
    let mut y = Matrix::from_fn(start.len(), x.len(), |q, _| start[q]);
    let mut nu = Matrix::zeros(x.rows(), x.len());
    let memory = Memory::default();
    let scratches = memory.of(joined.version());
    let stop = problem.solve_batch(&x.to_dense(), None, &mut y, &mut nu, &scratches);
    Ok((nu, stop))
}

/// All atoms side by side, and the regularizer of each. A single block is taken as it is.
fn joined<'a>(
    parts: &[Part<'a>],
    rows: usize,
) -> Result<(Cow<'a, Block>, Vec<&'a dyn Regularizer>)> {
    let regularizers = (parts.iter())
        .flat_map(|part| vec![part.task.regularizer(); part.block.len()])
        .collect();
    if let [part] = parts {
        Error::check_dimension("rows of the atoms", part.block.atoms().rows(), rows)?;
        return Ok((Cow::Borrowed(part.block), regularizers));
    }
    let mut atoms = Matrix::zeros(rows, 0);
    for part in parts {
        atoms.append_columns(part.block.atoms())?;
    }
    Ok((Cow::Owned(Block::from_finite(atoms)), regularizers))
}

fn whole<'a>(
    residual: &'a dyn Residual,
    atoms: &'a Matrix,
    gram: &'a Matrix,
    regularizers: &'a [&'a dyn Regularizer],
) -> Coding<'a> {
    Coding {
        residual,
        regularizers,
        gram,
        atoms,
        s: 1.0,
        q: 0.0,
        interrupt: None,
    }
}

fn start_codes(problem: &Coding) -> Vec<f64> {
    (problem.regularizers.iter())
        .map(|h| start_code(*h))
        .collect()
}

/// f(u) + f*(nu) - u'nu at the nearest feasible u, with what the way there costs, and how far it is.
fn data_gap(problem: &Coding, x: &[f64], y: &[f64], nu: &[f64], conjugate: f64) -> (f64, f64) {
    let residual = problem.residual;
    if residual.envelope_bound(1.0, 0.0).is_some_and(|a| a > 0.0) {
        // nu was made as u/a within +-1 of u = x - W y: row by row there is no gap, on either side of the bound.
        return (0.0, 0.0);
    }
    let mut u = x.to_vec();
    problem.subtract_atoms(y, &mut u);
    let violation = residual.violation(&u);
    if violation > 0.0 {
        let keep = 1.0 - violation / norm(&u);
        u.iter_mut().for_each(|u| *u *= keep);
    }
    let gap = residual.value(&u) + conjugate - dot(&u, nu) + violation * norm(nu);
    (gap, violation)
}

/// What all certificates have in common.
struct Proof<'a> {
    problem: &'a Coding<'a>,
    /// Of the atoms.
    lengths: &'a [f64],
    /// Where h* and its recovery are 0.
    zones: &'a [(f64, f64)],
    tolerance: f64,
}

impl Proof<'_> {
    /// `s` is W'nu; `used` is memory.
    fn certify(
        &self,
        x: &[f64],
        (y, nu, s): (&[f64], &[f64], &[f64]),
        ended: Stop,
        used: &mut Vec<usize>,
    ) -> Certificate {
        let (problem, residual) = (self.problem, self.problem.residual);
        let conjugate = residual.conjugate(nu);
        let (data_gap, violation) = match residual.envelope_quadratic(1.0, 0.0) {
            // f* = |.|^2/2, and nu was made as x - W y.
            Some(1.0) => (residual.value(nu) + conjugate - dot(nu, nu), 0.0),
            _ => data_gap(problem, x, y, nu, conjugate),
        };
        // Of most of them h, h* and s y are 0. Which they are nobody could predict: they are listed without a branch.
        used.resize(y.len(), 0);
        let mut count = 0;
        for (q, ((s, y), (lo, hi))) in s.iter().zip(y).zip(self.zones).enumerate() {
            used[count] = q;
            count += usize::from((*y != 0.0) | !((lo <= s) & (s <= hi)));
        }
        let (mut code_gap, mut code_value, mut code_conjugate) = (0.0, 0.0, 0.0);
        let mut terms = 0.0;
        for q in &used[..count] {
            let (h, s, y) = (problem.regularizers[*q], s[*q], y[*q]);
            terms += self.lengths[*q] * y.abs();
            let (value, conjugate) = (h.value_at(y), h.conjugate(&[s]));
            code_gap += value + conjugate - s * y;
            code_value += value;
            code_conjugate += conjugate;
        }
        let dual = dot(x, nu) - conjugate - code_conjugate;
        let gap = data_gap + code_gap;
        if !(gap.is_finite() && dual.is_finite()) {
            // Overflow: nothing is known.
            return Certificate {
                dual: f64::NEG_INFINITY,
                gap: f64::INFINITY,
                violation,
                stop: ended.worse(Stop::RoundLimit),
            };
        }
        let (gap, tolerance) = (gap.max(0.0), self.tolerance);
        let cost = dual.abs().max(code_value);
        let size = norm(x) + terms;
        let met = (gap <= tolerance * cost
            || gap <= tolerance * cost + rounding(residual, nu, size))
            && violation <= tolerance * size;
        let stop = match ended {
            Stop::Infeasible => Stop::Infeasible,
            _ if met => Stop::Converged,
            _ => Stop::RoundLimit,
        };
        Certificate {
            dual,
            gap,
            violation,
            stop,
        }
    }
}

/// Below this a gap is what rounding in u = x - W y makes of it, through nu and through f; `size` is that of
/// the numbers added up.
fn rounding(residual: &dyn Residual, nu: &[f64], size: f64) -> f64 {
    let slip = 16.0 * f64::EPSILON * size;
    let through_f = residual.value(&vec![slip; nu.len()]);
    slip * norm(nu)
        + if through_f.is_finite() {
            through_f
        } else {
            0.0
        }
}
