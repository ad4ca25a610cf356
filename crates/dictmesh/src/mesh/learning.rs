//! The dictionary update each agent makes alone, from its own nu_k and y_k:
//!
//! ```text
//! W_k <- Proj_{W_k} { prox_{p h_W} ( W_k + p nu_k y_k' ) }
//! ```
//!
//! In a batch, nu y' is the mean over its samples. The step p is a number for all atoms, or one for
//! each ([`Update`]).

use crate::error::{Error, Result};
use crate::problem::atoms::{AtomPenalty, AtomSet};
use crate::problem::block::Block;
use crate::problem::residual::Residual;
use crate::problem::samples::Samples;
use crate::problem::task::LocalTask;
use crate::random::{gaussian, Rng};
use dictmesh_kernels::matrix::{distance_squared, Matrix};
pub use dictmesh_kernels::products::product;
use dictmesh_kernels::products::{ATOMS, SAMPLES_TOGETHER};
use rand::seq::index;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The rule for the step p of the dictionary update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// p = mu_w, the paper's rule.
    Constant {
        /// The step.
        mu_w: f64,
    },
    /// p = mu_w / s where s counts learned blocks from 1, the paper's rule for documents (mu_w = 1).
    Schedule {
        /// The step of the first block.
        mu_w: f64,
    },
    /// Each atom q its own step p = B / S_q (times eta for Huber), S_q <- c S_q + sum of y_q^2 over the
    /// batch: the step of recursive least squares, from local knowledge only. No step while S_q = 0.
    Adaptive {
        /// The forgetting c per batch, above 0 and at most 1. 1, the default, forgets nothing; .97 suits
        /// batches of some 256 samples, and with batches of 1 would forget all but the last 33.
        forgetting: f64,
    },
}

impl Default for Update {
    fn default() -> Self {
        Update::Adaptive { forgetting: 1.0 }
    }
}

impl Update {
    /// Refuses constants out of range.
    pub fn check_constants(&self) -> Result<()> {
        match *self {
            Update::Constant { mu_w } | Update::Schedule { mu_w } => {
                Error::check_positive("mu_w", mu_w)
            }
            Update::Adaptive { forgetting } if !(forgetting > 0.0 && forgetting <= 1.0) => {
                Err(Error::parameter(
                    "forgetting",
                    forgetting,
                    "must be above 0 and at most 1 (1 forgets nothing)",
                ))
            }
            Update::Adaptive { .. } => Ok(()),
        }
    }

    /// Refuses constants out of range, and `Adaptive` for a residual that gives it no scale.
    pub fn check(&self, residual: &dyn Residual) -> Result<()> {
        self.check_constants()?;
        match self {
            Update::Adaptive { .. } if residual.conjugate_curvature() == 0.0 => {
                Err(Error::Unsupported {
                    what: "the update \"adaptive\"".to_string(),
                    with: format!("the residual \"{}\"", residual.name()),
                    why: "its step is the inverse curvature of f, which this residual does not \
                          have; use a constant mu_w or the schedule"
                        .to_string(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// What an agent remembers of its atoms' use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtomStats {
    /// S_q, the discounted sum of y_q^2 (for [`Update::Adaptive`]).
    pub energy: Vec<f64>,
    /// How many samples each atom took part in since it was started.
    pub samples: Vec<u64>,
}

impl AtomStats {
    /// `atoms` fresh atoms.
    pub fn fresh(atoms: usize) -> Self {
        AtomStats {
            energy: vec![0.0; atoms],
            samples: vec![0; atoms],
        }
    }

    /// Adds `atoms` fresh ones behind.
    pub(crate) fn grow(&mut self, atoms: usize) {
        self.energy.resize(self.energy.len() + atoms, 0.0);
        self.samples.resize(self.samples.len() + atoms, 0);
    }
}

/// One agent's update after a batch: its atoms change in place. `product` is nu y', whose columns count only
/// where an atom fired; `s` is the number of the block being learned, from 1. Returns the movement
/// |W_new - W_old|_F; where that is not finite, nothing changes.
#[allow(clippy::too_many_arguments)] // one for each symbol of the formula
pub fn update_block(
    update: &Update,
    s: usize,
    residual: &dyn Residual,
    task: &LocalTask,
    product: Matrix,
    y: &Matrix,
    block: &mut Block,
    used: &mut AtomStats,
) -> f64 {
    let batch = y.cols() as f64;
    let uses = uses(y);
    let steps: Vec<Option<f64>> = (uses.iter().enumerate())
        .map(|(q, (fired, energy))| {
            used.samples[q] += fired;
            match *update {
                Update::Constant { mu_w } => Some(mu_w),
                Update::Schedule { mu_w } => Some(mu_w / s as f64),
                Update::Adaptive { forgetting } => {
                    used.energy[q] = forgetting * used.energy[q] + energy;
                    let p = residual.conjugate_curvature() * batch / used.energy[q];
                    (used.energy[q] > 0.0).then_some(p)
                }
            }
        })
        .collect();
    let atoms = block.atoms();
    // The new atoms are written over nu y'.
    let mut new = match product.rows() == atoms.rows() {
        true => product,
        false => Matrix::zeros(atoms.rows(), atoms.cols()),
    };
    let columns = new.as_mut_slice().par_chunks_mut(atoms.rows().max(1));
    let moved: Vec<f64> = (columns.enumerate().with_min_len(ATOMS))
        .map(|(q, w)| {
            let old = atoms.column(q);
            let (fired, p) = (uses[q].0 > 0, steps[q].unwrap_or(0.0));
            let step = p / batch;
            match fired {
                true => (w.iter_mut().zip(old)).for_each(|(w, old)| *w = old + step * *w),
                false => w.copy_from_slice(old),
            }
            // Where nothing draws at it, it stays to the bit: another projection might round it anew.
            let still = !fired && task.penalty() == AtomPenalty::None;
            if still || steps[q].is_none() {
                return 0.0;
            }
            task.penalty().prox(p, w);
            task.set().project(w);
            distance_squared(w, old)
        })
        .collect();
    let movement: f64 = moved.iter().sum();
    if movement > 0.0 && movement.is_finite() {
        let changed: Vec<usize> = (0..moved.len()).filter(|q| moved[*q] > 0.0).collect();
        block.renew(new, &changed);
    }
    movement.sqrt()
}

/// In how many samples each atom took part, and the sum of its y^2: in parts of a fixed width, so that no result
/// depends on the number of threads.
fn uses(y: &Matrix) -> Vec<(u64, f64)> {
    let n = y.rows().max(1);
    let parts = y.as_slice().par_chunks(n * SAMPLES_TOGETHER);
    let parts = parts.map(|part| {
        let mut uses = vec![(0, 0.0); y.rows()];
        for column in part.chunks_exact(n) {
            for ((fired, energy), y) in uses.iter_mut().zip(column) {
                *fired += u64::from(*y != 0.0);
                *energy += y * y;
            }
        }
        uses
    });
    let mut total = vec![(0, 0.0); y.rows()];
    for part in parts.collect::<Vec<_>>() {
        for (total, part) in total.iter_mut().zip(part) {
            *total = (total.0 + part.0, total.1 + part.1);
        }
    }
    total
}

/// Where new atoms come from.
#[derive(Clone, Copy, Debug)]
pub enum AtomInit<'a> {
    /// Gaussian entries, projected onto the set: the paper's start.
    Random,
    /// Samples drawn without repetition, scaled to norm 1 and projected (random atoms where there are
    /// not enough samples that are not zero).
    Samples(&'a Samples),
    /// These atoms (M x count), projected onto the set.
    Given(&'a Matrix),
}

impl AtomInit<'_> {
    /// `count` atoms of dimension `rows` in `set`.
    pub fn draw(
        &self,
        rows: usize,
        count: usize,
        set: &dyn AtomSet,
        rng: &mut Rng,
    ) -> Result<Matrix> {
        let given = format!("{count}, of dimension {rows}");
        Error::check_room("atoms", given, rows.checked_mul(count))?;
        let mut atoms = match self {
            AtomInit::Given(given) => {
                Error::check_dimension("rows of the given atoms", given.rows(), rows)?;
                Error::check_dimension("number of given atoms", given.cols(), count)?;
                Error::check_finite("given atoms", given)?;
                let mut atoms = (*given).clone();
                (0..count).for_each(|q| set.project(atoms.column_mut(q)));
                return Ok(atoms);
            }
            AtomInit::Random => gaussian(rows, count, rng),
            AtomInit::Samples(samples) => {
                Error::check_dimension("rows of the samples", samples.rows(), rows)?;
                let mut atoms = gaussian(rows, count, rng);
                let usable: Vec<usize> = (0..samples.len())
                    .filter(|j| samples.entries(*j).any(|(_, v)| reaches(set, v)))
                    .collect();
                let chosen = index::sample(rng, usable.len(), count.min(usable.len()));
                for (q, i) in chosen.into_iter().enumerate() {
                    let w = atoms.column_mut(q);
                    w.fill(0.0);
                    samples.add_scaled(usable[i], 1.0, w);
                }
                atoms
            }
        };
        for q in 0..count {
            set.normalise(atoms.column_mut(q));
        }
        Ok(atoms)
    }
}

impl AtomInit<'_> {
    /// Brings an atom into an agent's own set: given atoms by projection, others with norm 1.
    pub(crate) fn fit(&self, set: &dyn AtomSet, w: &mut [f64]) {
        match self {
            AtomInit::Given(_) => set.project(w),
            AtomInit::Random | AtomInit::Samples(_) => set.normalise(w),
        }
    }
}

/// Whether an entry survives the projection onto the set.
fn reaches(set: &dyn AtomSet, entry: f64) -> bool {
    entry > 0.0 || (entry < 0.0 && !set.is_non_negative())
}
