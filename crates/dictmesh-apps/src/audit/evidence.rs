//! Equations in the private atoms, and their solution.
//!
//! A column of evidence is a sum over agents l, with known coefficients, of W_l y_l(nu) at known
//! nu:
//!
//! ```text
//! e = sum over l of g_l W_l sum over t of c_t y_l(nu_t),      y_l(nu) = argmax_y (W_l'nu)'y - h(y)
//! ```
//!
//! Only the atoms are unknown, since y_l is a known function of W_l. The solver learns a dictionary
//! of the columns and selects the atoms that explain most under this model. Gauss-Newton steps
//! (`fit.rs`) then refine them. They converge to the true atoms if the evidence contains nothing
//! else.

use crate::AtomInit;
use dictmesh::graph::Topology;
use dictmesh::mesh::Mesh;
use dictmesh::problem::regularizer::ScalarPenalty;
use dictmesh::problem::samples::Samples;
use dictmesh::problem::Task;
use dictmesh::AgentId;
use dictmesh::Result;
use dictmesh_kernels::matrix::{axpy, dot, norm, Matrix};
use std::ops::ControlFlow;

/// Maximum number of columns used: those of largest norm.
const COLUMNS: usize = 600;
/// Columns whose norm is below this fraction of the scale are rounding error.
const ROUNDING: f64 = 1e-8;
/// Fraction of the energy along one direction above which the evidence has rank one.
const PURE: f64 = 1.0 - 1e-9;
/// Passes over the columns when learning a dictionary of them.
const PASSES: usize = 30;
/// Maximum number of atoms in that dictionary.
const LEARNED: usize = 200;
/// The weights of |y|_1 with which it is learned.
const GAMMAS: [f64; 2] = [0.1, 0.2];
/// Maximum number of initialisations.
const STARTS: u64 = 4;
/// Unexplained fraction of the energy below which the atoms count as found.
pub const SOLVED: f64 = 1e-9;

/// An agent whose atoms are sought.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    pub agent: AgentId,
    /// Number of atoms.
    pub atoms: usize,
    pub penalty: &'a dyn ScalarPenalty,
}

/// One column of evidence.
#[derive(Clone, Debug)]
pub struct Column {
    /// e; NaN in unknown rows.
    pub values: Vec<f64>,
    /// Pairs of the index t of nu_t and c_t.
    pub terms: Vec<(usize, f64)>,
    /// g_l for each owner.
    pub factors: Vec<f64>,
    /// Index of the sample.
    pub sample: usize,
}

#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    pub owners: Vec<Owner<'a>>,
    /// All nu_t, M x P.
    pub nus: &'a Matrix,
    /// The columns e, M x C; 0 in unknown rows.
    pub values: Matrix,
    /// 1 where `values` are known, else 0.
    pub known: Matrix,
    pub columns: Vec<Column>,
}

/// Recovered atoms, and for each the index of its owner.
#[derive(Clone, Debug)]
pub struct Fit {
    pub atoms: Matrix,
    pub owners: Vec<usize>,
    /// Fraction of the held-out energy that the atoms leave unexplained.
    pub unexplained: f64,
}

/// Euclidean norm of the known (non-NaN) entries.
pub fn known_norm(values: &[f64]) -> f64 {
    let known = values.iter().filter(|v| !v.is_nan());
    known.map(|v| v * v).sum::<f64>().sqrt()
}

impl Fit {
    /// The atoms of one owner.
    pub fn of(&self, owner: usize) -> Matrix {
        let own = self.atoms.columns().zip(&self.owners);
        let own: Vec<&[f64]> = own.filter(|(_, o)| **o == owner).map(|(w, _)| w).collect();
        Matrix::from_columns(self.atoms.rows(), &own)
            .unwrap_or_else(|_| Matrix::zeros(self.atoms.rows(), 0))
    }
}

impl<'a> Evidence<'a> {
    /// Drops columns that are negligible relative to `scale`; `None` if no column is left.
    pub fn new(
        owners: Vec<Owner<'a>>,
        nus: &'a Matrix,
        columns: Vec<Column>,
        scale: f64,
    ) -> Option<Self> {
        let sized = columns.into_iter().map(|c| (known_norm(&c.values), c));
        let mut columns: Vec<(f64, Column)> = sized.collect();
        columns.retain(|(size, _)| *size > ROUNDING * scale);
        columns.sort_by(|a, b| b.0.total_cmp(&a.0));
        columns.truncate(COLUMNS);
        let columns: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
        let rows = nus.rows();
        let entry = |i: usize, j: usize| columns[j].values[i];
        let known =
            |i: usize, j: usize| -> f64 { f64::from(u8::from(!columns[j].values[i].is_nan())) };
        Some(Evidence {
            values: Matrix::from_fn(rows, columns.len(), |i, j| match entry(i, j).is_nan() {
                true => 0.0,
                false => entry(i, j),
            }),
            known: Matrix::from_fn(rows, columns.len(), known),
            owners,
            nus,
            columns,
        })
        .filter(|evidence| !evidence.columns.is_empty())
    }

    fn wanted(&self) -> usize {
        self.owners.iter().map(|owner| owner.atoms).sum()
    }

    /// If one atom is sought and the evidence has rank one: its direction, from the SVD.
    pub fn single(&self) -> Option<Fit> {
        let svd = self.values.view().thin_svd().ok()?;
        let values = svd.S().column_vector();
        let energy: f64 = values.iter().map(|s| s * s).sum();
        let pure = self.wanted() == 1 && values[0] * values[0] > PURE * energy;
        pure.then(|| Fit {
            atoms: Matrix::from_fn(self.values.rows(), 1, |i, _| svd.U()[(i, 0)]),
            owners: vec![0],
            unexplained: 0.0,
        })
    }

    /// The atoms that explain the evidence best among the starts tried; `None` if there are too few
    /// columns. `others` counts atoms that contribute to the evidence but are not sought.
    pub fn solve(&self, others: usize) -> Result<Option<Fit>> {
        let wanted = self.wanted();
        // With this few columns, wrong atoms would fit as well.
        if self.columns.len() <= 2 * wanted {
            return Ok(None);
        }
        let (kept, aside) = self.split();
        let (mut best, mut smooth): (Option<Fit>, bool) = (None, false);
        for start in 0..STARTS {
            let mut candidates = Matrix::zeros(self.values.rows(), 0);
            for gamma in GAMMAS {
                let atoms = (wanted + others).min(LEARNED);
                candidates.append_columns(&kept.learned(atoms, gamma, start)?)?;
            }
            let chosen = kept.choose(&candidates, start % 2 == 0);
            let polished = kept.polish(&chosen);
            for (mut fit, is_polished) in [(chosen, false), (polished, true)] {
                fit.unexplained = aside.unexplained(&fit);
                if best
                    .as_ref()
                    .is_none_or(|best| fit.unexplained < best.unexplained)
                {
                    (best, smooth) = (Some(fit), is_polished);
                }
            }
            if best.as_ref().is_some_and(|best| best.unexplained < SOLVED) {
                break;
            }
        }
        Ok(best.map(|best| match smooth {
            true => Fit {
                unexplained: best.unexplained,
                ..self.polish(&best)
            },
            false => best,
        }))
    }

    /// Training evidence from three samples in four, and held-out evidence from the rest.
    fn split(&self) -> (Evidence<'a>, Evidence<'a>) {
        let part = |aside: bool| {
            let here = |c: &&Column| (c.sample % 4 == 3) == aside;
            let columns = self.columns.iter().filter(here).cloned().collect();
            Evidence::new(self.owners.clone(), self.nus, columns, 0.0)
        };
        match (part(false), part(true)) {
            (Some(kept), Some(aside)) => (kept, aside),
            _ => (self.clone(), self.clone()),
        }
    }

    /// A dictionary learned from the columns.
    fn learned(&self, atoms: usize, gamma: f64, start: u64) -> Result<Matrix> {
        let mut unit = self.values.clone();
        for j in 0..unit.cols() {
            let size = norm(unit.column(j));
            unit.column_mut(j).iter_mut().for_each(|v| *v /= size);
        }
        let samples = Samples::dense(unit)?;
        let mut learner = Mesh::builder(Task::sparse_svd(gamma, 0.01)?, Topology::complete(1)?)
            .batch(32)
            .seed(start)
            .build(samples.rows(), &[atoms], AtomInit::Samples(&samples))?;
        for _ in 0..PASSES {
            learner.learn(&samples, |_| ControlFlow::Continue(()))?;
        }
        Ok(learner.dictionary())
    }

    /// Greedy selection (matching pursuit) with the coefficients that an owner would compute; each
    /// selected direction is subtracted before the next. `strict` fixes the scale of the
    /// coefficients to 1. Otherwise it is fitted, because a mixture of atoms that fire together has
    /// coefficients that are too large.
    fn choose(&self, candidates: &Matrix, strict: bool) -> Fit {
        let mut left = self.values.clone();
        let mut room: Vec<usize> = self.owners.iter().map(|owner| owner.atoms).collect();
        let mut tried: Vec<(Vec<f64>, usize, Vec<f64>)> = Vec::new();
        for w in candidates.columns().filter(|w| norm(w) > 0.0) {
            for sign in [1.0, -1.0] {
                let w: Vec<f64> = w.iter().map(|v| sign * v / norm(w)).collect();
                for owner in 0..self.owners.len() {
                    tried.push((w.clone(), owner, self.codes_of(&w, owner)));
                }
            }
        }
        let (mut atoms, mut owners): (Vec<Vec<f64>>, Vec<usize>) = (Vec::new(), Vec::new());
        while room.iter().any(|room| *room > 0) {
            // The decrease in squared error, and the scale of the coefficients.
            let gain = |(w, owner, codes): &(Vec<f64>, usize, Vec<f64>)| {
                let size = dot(codes, codes);
                if room[*owner] == 0 || size == 0.0 {
                    return (0.0, 0.0);
                }
                let along = left.columns().zip(codes).filter(|(_, y)| **y != 0.0);
                let along: f64 = along.map(|(e, y)| y * dot(w, e)).sum();
                match strict {
                    true => (2.0 * along - size, 1.0),
                    false => (along.max(0.0) * along / size, along / size),
                }
            };
            let gains = tried.iter().map(gain).enumerate();
            let best = gains.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
            let Some((i, (_, factor))) = best.filter(|(_, (gain, _))| *gain > 0.0) else {
                break;
            };
            let (w, owner, codes) = tried.swap_remove(i);
            for (j, code) in codes.iter().enumerate() {
                axpy(-factor * code, &w, left.column_mut(j));
            }
            room[owner] -= 1;
            atoms.push(w);
            owners.push(owner);
        }
        Fit {
            atoms: Matrix::from_columns(self.values.rows(), &atoms)
                .unwrap_or_else(|_| Matrix::zeros(self.values.rows(), 0)),
            owners,
            unexplained: 1.0,
        }
    }

    /// The coefficient of direction `w` in each column if `owner` holds it.
    fn codes_of(&self, w: &[f64], owner: usize) -> Vec<f64> {
        let h = self.owners[owner].penalty;
        let code =
            |(p, c): &(usize, f64)| c * h.coordinate_argmax(dot(w, self.nus.column(*p)), 0.0);
        (self.columns.iter())
            .map(|column| column.factors[owner] * column.terms.iter().map(code).sum::<f64>())
            .collect()
    }
}
