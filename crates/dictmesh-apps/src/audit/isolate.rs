//! The atoms of one agent from h_k = W_k y_k - b_k in the inspected rounds.

use super::evidence::{known_norm, Column, Evidence, Fit, Owner, SOLVED};
use super::penalty::scalar_penalty;
use super::trace::{Trace, View};
use dictmesh::mesh::Mesh;
use dictmesh::Result;
use dictmesh_kernels::matrix::{axpy, dot, norm, Matrix};

/// The target's atoms that best explain the observed h_k. `share` is b_k if the attackers know it.
/// `hidden` says that an unknown b_k is present.
pub fn atoms(
    mesh: &Mesh,
    view: &View,
    trace: &Trace,
    share: Option<&Matrix>,
    hidden: bool,
) -> Result<Option<Fit>> {
    let owner = Owner {
        agent: view.target,
        atoms: mesh.block(view.target).len(),
        penalty: scalar_penalty(mesh, view.target),
    };
    let last = trace.observations.last().map_or(0, |last| last.round);
    let all: Vec<usize> = (0..trace.observations.len()).collect();
    let is_late = |i: &usize| trace.observations[*i].round >= last / 2;
    let late: Vec<usize> = all.iter().copied().filter(is_late).collect();
    let is_seen = view.unseen.is_empty();
    let sought = Sought {
        owners: vec![owner],
        others: view.unseen.iter().map(|l| mesh.block(*l).len()).sum(),
        // From a zero start, the first message depends on no neighbour.
        exact: vec![is_seen || trace.fading.is_none(), is_seen, is_seen],
        sets: vec![vec![0], late, all],
        is_seen,
    };
    let guess = match hidden {
        true => guessed_share(mesh, trace),
        false => None,
    };
    sought.solve(trace, share, hidden, guess.as_ref())
}

/// The atoms that are sought in the observations of a trace.
pub struct Sought<'a> {
    pub owners: Vec<Owner<'a>>,
    /// Atoms that contribute and are not sought.
    pub others: usize,
    /// The observations to try, by their indices.
    pub sets: Vec<Vec<usize>>,
    /// For each of these sets: whether its observations contain the sought atoms alone.
    pub exact: Vec<bool>,
    /// Whether the attackers see all messages that the observations depend on.
    pub is_seen: bool,
}

impl<'a> Sought<'a> {
    /// The atoms that best explain the observations. `share` is b_k if the attackers know it, and
    /// `guess` an estimate of it. `hidden` says that an unknown b_k is present.
    pub fn solve(
        &self,
        trace: &'a Trace,
        share: Option<&Matrix>,
        hidden: bool,
        guess: Option<&Matrix>,
    ) -> Result<Option<Fit>> {
        let read = |share: Option<&Matrix>, hidden: bool| {
            let sets = self.sets.iter().zip(&self.exact);
            let found = sets.filter_map(|(indices, exact)| {
                let evidence = evidence(trace, &self.owners, indices, share, hidden)?;
                Some((evidence, *exact))
            });
            found.collect::<Vec<_>>()
        };
        let mut list = Vec::new();
        if !hidden {
            list.extend(read(share, false));
        }
        // Differences between rounds cancel b_k, but they amplify the error from unseen
        // neighbours.
        if self.is_seen && (hidden || share.is_some()) {
            list.extend(read(None, true));
        }
        if let Some(guess) = guess {
            let guessed = read(Some(guess), false).into_iter();
            list.extend(guessed.map(|(evidence, _)| (evidence, false)));
        }
        let mut best: Option<Fit> = None;
        for (evidence, exact) in list {
            let found = match exact.then(|| evidence.single()).flatten() {
                Some(fit) => Some(fit),
                None => evidence.solve(self.others)?,
            };
            // The held-out error selects the evidence, without knowledge of the true atoms.
            let limit = best.as_ref().map_or(f64::INFINITY, |best| best.unexplained);
            best = found.filter(|fit| fit.unexplained < limit).or(best);
            if best.as_ref().is_some_and(|best| best.unexplained < SOLVED) {
                break;
            }
        }
        Ok(best)
    }
}

/// An estimate of b_k; `None` without an inspected round. If the first nu is 0, no atom fires and
/// b_k is -h. Otherwise f*'(nu)/|N_I| at the last nu: f*'(nu) is the residual x - W y, that is x up
/// to what the atoms explain.
pub fn guessed_share(mesh: &Mesh, trace: &Trace) -> Option<Matrix> {
    let first = trace.observations.first()?;
    if trace.nu(0).iter().all(|v| *v == 0.0) {
        let mut share = first.h.clone();
        share.as_mut_slice().iter_mut().for_each(|b| *b = -*b);
        return Some(share);
    }
    let (nu, residual) = (trace.last_nu(), mesh.task().residual());
    let informed = (0..mesh.agents()).filter(|k| mesh.is_informed(*k)).count();
    let mut share = Matrix::zeros(nu.rows(), nu.cols());
    for j in 0..nu.cols() {
        residual.recover(nu.column(j), share.column_mut(j));
    }
    let scaled = share.as_mut_slice().iter_mut();
    scaled.for_each(|b| *b /= informed as f64);
    Some(share)
}

/// Evidence from linear combinations of rounds that cancel an unknown b_k and a decaying random
/// start.
fn evidence<'a>(
    trace: &'a Trace,
    owners: &[Owner<'a>],
    indices: &[usize],
    share: Option<&Matrix>,
    hidden: bool,
) -> Option<Evidence<'a>> {
    let mut constants = Vec::new();
    if hidden {
        constants.push(vec![1.0; indices.len()]);
    }
    if let Some(fading) = trace.fading {
        let round = |i: &usize| trace.observations[*i].round as i32;
        constants.push(indices.iter().map(|i| fading.powi(round(i))).collect());
    }
    let combinations = complement(indices.len(), constants);
    let first = &trace.observations[*indices.first()?].h;
    let mut columns = Vec::new();
    let mut largest = 0.0_f64;
    for j in 0..first.cols() {
        for combination in combinations.columns() {
            let mut values = vec![0.0; first.rows()];
            for (i, factor) in indices.iter().zip(combination) {
                let h = trace.observations[*i].h.column(j);
                largest = largest.max(known_norm(h));
                axpy(*factor, h, &mut values);
                if let Some(share) = share {
                    axpy(*factor, share.column(j), &mut values);
                }
            }
            let places = indices.iter().map(|i| trace.place(*i, j));
            columns.push(Column {
                values,
                terms: places.zip(combination.iter().copied()).collect(),
                factors: vec![1.0; owners.len()],
                sample: j,
            });
        }
    }
    Evidence::new(owners.to_vec(), &trace.nus, columns, largest)
}

/// An orthonormal basis (columns) of the orthogonal complement of `constants` in R^n.
fn complement(n: usize, constants: Vec<Vec<f64>>) -> Matrix {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let count = constants.len();
    let units = (0..n).map(|i| (0..n).map(|l| f64::from(l == i)).collect());
    let mut taken = 0;
    for (place, mut vector) in constants.into_iter().chain(units).enumerate() {
        let before = norm(&vector);
        // Gram-Schmidt twice: one pass loses orthogonality to rounding.
        for _ in 0..2 {
            for other in &basis {
                let along = dot(other, &vector);
                axpy(-along, other, &mut vector);
            }
        }
        let size = norm(&vector);
        if size > 1e-6 * before && before > 0.0 {
            vector.iter_mut().for_each(|v| *v /= size);
            basis.push(vector);
            taken += usize::from(place < count);
        }
    }
    let rest = &basis[taken..];
    Matrix::from_fn(n, rest.len(), |i, c| rest[c][i])
}
