//! The atoms from what is known of h_k = W_k y_k - b_k.

use super::trace::{Trace, View};
use crate::error::Result;
use crate::matrix::{axpy, dot, norm, Matrix};
use crate::mesh::Mesh;
use crate::regularizer::Regularizer;
use crate::samples::Samples;
use crate::task::Task;
use crate::topology::Topology;
use crate::Start;
use std::ops::ControlFlow;

/// Columns that are worked with, at most: those with most in them.
const COLUMNS: usize = 400;
/// What is smaller than this share of h_k is rounding.
const ROUNDING: f64 = 1e-8;
/// Of the energy, what must lie along one direction to believe that there is no other.
const PURE: f64 = 1.0 - 1e-9;
/// Passes over the columns when a dictionary of them is learned.
const PASSES: usize = 30;
/// Atoms of such a dictionary, at most.
const LEARNED: usize = 48;

/// Directions for the atoms of the target, as many as it has. `share` is b_k for whoever knows it; `hidden` if there is
/// a b_k that is not known.
pub fn atoms(
    mesh: &Mesh,
    view: &View,
    trace: &Trace,
    share: Option<&Matrix>,
    hidden: bool,
) -> Result<Matrix> {
    let wanted = mesh.block(view.target).len();
    let regularizer = mesh.task().local(view.target).regularizer();
    let last = trace.looks.last().map_or(0, |look| look.round);
    let all: Vec<usize> = (0..trace.looks.len()).collect();
    let is_late = |i: &usize| trace.looks[*i].round >= last / 2;
    let late: Vec<usize> = all.iter().copied().filter(is_late).collect();
    // The first message of a start from 0 depends on no neighbour.
    let sets = [vec![0], late, all];
    let read = |share, hidden| {
        let sets = sets.iter().cloned();
        sets.filter_map(move |looks| Evidence::new(trace, looks, share, hidden))
    };
    // In differences between rounds x is not needed; but what unseen neighbours add weighs more in them.
    let differences = view.unseen.is_empty();
    let mut evidence: Vec<Evidence> = Vec::new();
    if !hidden {
        evidence.extend(read(share, false));
    }
    if differences && (hidden || share.is_some()) {
        evidence.extend(read(None, true));
    }
    let guess = match hidden {
        true => guessed_share(mesh, trace),
        false => None,
    };
    evidence.extend(guess.iter().flat_map(|guess| read(Some(guess), false)));
    let exact = |evidence: &Evidence| {
        let first = evidence.looks == [0] && trace.fading.is_none() && !hidden;
        first || view.unseen.is_empty()
    };
    let others: usize = view.unseen.iter().map(|l| mesh.block(*l).len()).sum();
    let (mut best, mut found) = (-1.0, Matrix::zeros(mesh.rows(), 0));
    for evidence in evidence {
        let (purity, main) = evidence.purity(wanted);
        if wanted == 1 && exact(&evidence) && purity > PURE {
            return Ok(main);
        }
        // So few columns can be explained by anything.
        if evidence.columns.cols() <= 2 * wanted {
            continue;
        }
        let mut candidates = evidence.learned((wanted + others).min(LEARNED))?;
        candidates.append_columns(&main)?;
        let (explained, chosen) = evidence.choose(trace, regularizer, candidates, wanted);
        // Nobody has to tell the attacker which evidence is best: it is what atoms explain best.
        if explained > best {
            (best, found) = (explained, chosen);
        }
    }
    Ok(found)
}

/// b_k as far as it can be guessed. Where the first look is at nu = 0, no atom has fired, and h is -b_k itself; else by
/// the last nu: f*'(nu) is the residual x - W y, and so x but for what the atoms explain.
fn guessed_share(mesh: &Mesh, trace: &Trace) -> Option<Matrix> {
    let first = trace.looks.first()?;
    if first.nu.as_slice().iter().all(|v| *v == 0.0) {
        let mut share = first.h.clone();
        share.as_mut_slice().iter_mut().for_each(|b| *b = -*b);
        return Some(share);
    }
    let nu = &trace.looks.last()?.nu;
    let informed = (0..mesh.agents()).filter(|k| mesh.is_informed(*k)).count();
    let mut share = Matrix::zeros(nu.rows(), nu.cols());
    for j in 0..nu.cols() {
        mesh.task()
            .residual()
            .recover(nu.column(j), share.column_mut(j));
    }
    for b in share.as_mut_slice() {
        *b = if b.is_nan() {
            0.0
        } else {
            *b / informed as f64
        };
    }
    Some(share)
}

/// Combinations of looks in which all that is constant or fades in a known way cancels.
struct Evidence {
    looks: Vec<usize>,
    /// A column a combination: a factor for each of the looks.
    combinations: Matrix,
    /// M x (samples and combinations), some of them.
    columns: Matrix,
    /// Which sample and combination a column is.
    places: Vec<(usize, usize)>,
}

impl Evidence {
    fn new(
        trace: &Trace,
        looks: Vec<usize>,
        share: Option<&Matrix>,
        hidden: bool,
    ) -> Option<Evidence> {
        let mut constants = Vec::new();
        if hidden {
            constants.push(vec![1.0; looks.len()]);
        }
        if let Some(fading) = trace.fading {
            let round = |i: &usize| trace.looks[*i].round as i32;
            constants.push(looks.iter().map(|i| fading.powi(round(i))).collect());
        }
        let combinations = complement(looks.len(), constants);
        let first = &trace.looks[*looks.first()?].h;
        let mut found: Vec<(usize, usize, Vec<f64>)> = Vec::new();
        let mut largest = 0.0_f64;
        for j in 0..first.cols() {
            for c in 0..combinations.cols() {
                let mut column = vec![0.0; first.rows()];
                for (i, factor) in looks.iter().zip(combinations.column(c)) {
                    let h = trace.looks[*i].h.column(j);
                    largest = largest.max(norm(h));
                    axpy(*factor, h, &mut column);
                    if let Some(share) = share {
                        axpy(*factor, share.column(j), &mut column);
                    }
                }
                found.push((j, c, column));
            }
        }
        found.retain(|(_, _, column)| norm(column) > ROUNDING * largest);
        found.sort_by(|a, b| norm(&b.2).total_cmp(&norm(&a.2)));
        found.truncate(COLUMNS);
        let columns: Vec<&[f64]> = found.iter().map(|(_, _, column)| &column[..]).collect();
        Some(Evidence {
            columns: Matrix::from_columns(first.rows(), &columns).ok()?,
            places: found.iter().map(|(j, c, _)| (*j, *c)).collect(),
            looks,
            combinations,
        })
        .filter(|evidence| !evidence.places.is_empty())
    }

    /// The share of the energy in as many directions as there are atoms, and the foremost direction.
    fn purity(&self, wanted: usize) -> (f64, Matrix) {
        let Ok(svd) = self.columns.view().thin_svd() else {
            return (0.0, Matrix::zeros(self.columns.rows(), 0));
        };
        let values: Vec<f64> = svd.S().column_vector().iter().map(|s| s * s).collect();
        let main = Matrix::from_fn(self.columns.rows(), 1, |i, _| svd.U()[(i, 0)]);
        let share = values.iter().take(wanted).sum::<f64>() / values.iter().sum::<f64>();
        (share, main)
    }

    /// A dictionary learned from the columns.
    fn learned(&self, atoms: usize) -> Result<Matrix> {
        let mut unit = self.columns.clone();
        for j in 0..unit.cols() {
            let size = norm(unit.column(j));
            unit.column_mut(j).iter_mut().for_each(|v| *v /= size);
        }
        let samples = Samples::dense(unit)?;
        let mut learner = Mesh::builder(Task::sparse_svd(0.1, 0.01)?, Topology::complete(1)?)
            .batch(32)
            .build(samples.rows(), &[atoms], Start::Samples(&samples))?;
        for _ in 0..PASSES {
            learner.learn(&samples, |_| ControlFlow::Continue(()))?;
        }
        Ok(learner.dictionary())
    }

    /// Of directions, those whose coefficients, computed as the target computes them, explain most; what a chosen one
    /// explains is taken out before the next. The share of the energy that all of them explain, and they.
    fn choose(
        &self,
        trace: &Trace,
        regularizer: &dyn Regularizer,
        candidates: Matrix,
        wanted: usize,
    ) -> (f64, Matrix) {
        let mut left = self.columns.clone();
        let mut tried: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        for w in candidates.columns().filter(|w| norm(w) > 0.0) {
            for sign in [1.0, -1.0] {
                let w: Vec<f64> = w.iter().map(|v| sign * v / norm(w)).collect();
                let codes = self.codes(trace, regularizer, &w);
                tried.push((w, codes));
            }
        }
        let mut chosen: Vec<Vec<f64>> = Vec::new();
        while chosen.len() < wanted {
            let explained = |codes: &[f64], w: &[f64]| {
                let along: Vec<f64> = left.columns().map(|column| dot(w, column)).collect();
                dot(&along, codes).max(0.0) / norm(codes)
            };
            let scored = tried.iter().enumerate();
            let scored = scored.map(|(i, (w, codes))| (i, explained(codes, w)));
            let best = scored
                .filter(|(_, score)| score.is_finite())
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let Some((i, _)) = best else { break };
            let (w, codes) = tried.swap_remove(i);
            let size = dot(&codes, &codes);
            let along: f64 = (left.columns().zip(&codes))
                .map(|(column, y)| y * dot(&w, column))
                .sum();
            for (j, code) in codes.iter().enumerate() {
                axpy(-code * along / size, &w, left.column_mut(j));
            }
            chosen.push(w);
        }
        let energy = |m: &Matrix| dot(m.as_slice(), m.as_slice());
        let chosen = Matrix::from_columns(self.columns.rows(), &chosen);
        (
            1.0 - energy(&left) / energy(&self.columns),
            chosen.unwrap_or_else(|_| Matrix::zeros(self.columns.rows(), 0)),
        )
    }

    /// The coefficients of a direction in each column.
    fn codes(&self, trace: &Trace, regularizer: &dyn Regularizer, w: &[f64]) -> Vec<f64> {
        let code = |i: usize, j: usize| {
            regularizer.recover_damped(dot(w, trace.looks[i].nu.column(j)), 0.0)
        };
        (self.places.iter())
            .map(|(j, c)| {
                let factors = self.looks.iter().zip(self.combinations.column(*c));
                factors.map(|(i, factor)| factor * code(*i, *j)).sum()
            })
            .collect()
    }
}

/// An orthonormal basis, as columns, of what is at right angles to all of `constants` in R^n.
fn complement(n: usize, constants: Vec<Vec<f64>>) -> Matrix {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let count = constants.len();
    let units = (0..n).map(|i| (0..n).map(|l| f64::from(l == i)).collect());
    let mut taken = 0;
    for (place, mut vector) in constants.into_iter().chain(units).enumerate() {
        let before = norm(&vector);
        // Twice, as the first time leaves rounding behind.
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
