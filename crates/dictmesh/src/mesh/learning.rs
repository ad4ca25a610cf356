//! The dictionary update each agent makes alone, from its own nu_k and y_k:
//!
//! ```text
//! W_k <- Proj_{W_k} { prox_{p h_W} ( W_k + p nu_k y_k' ) }
//! ```
//!
//! In a batch, nu y' is the mean over its samples, by their weights if they have any. The step p is a number for all atoms, or one for
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
    /// Each atom q has its own step p = B / S_q (times eta for Huber): recursive least squares from local
    /// knowledge only. No step while S_q = 0. With a batch's codes y_q,
    ///
    /// ```text
    /// S_q <- c S_q + |y_q|^2              without a penalty h_W
    /// S_q <- max(S_q, c S_q + |y_q|^2)    with one
    /// ```
    ///
    /// The step is also the scale of the penalty: an update adds nu y' / B - beta sign(w), times p. The
    /// updates of a pass cancel where the mean cost plus h_W is stationary only if p is the same for
    /// batches in which the atom fires and for batches in which it is idle. If S_q decayed in the
    /// latter, p beta would grow by 1/c a batch until the atom is zero, and a zero atom never fires again.
    Adaptive {
        /// The forgetting c per batch, above 0 and at most 1. 1, the default, forgets nothing; .97 suits
        /// batches of some 256 samples, and with batches of 1 would forget all but the last 33. With a
        /// penalty, S_q settles at the largest discounted sum of the stream instead of following it down.
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

/// An agent's statistics of its atoms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtomStats {
    /// S_q, the discounted sum of y_q^2 (for [`Update::Adaptive`]).
    pub energy: Vec<f64>,
    /// The number of samples in which each atom fired since it was started.
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

/// One agent's update after a batch, in place. Returns the movement |W_new - W_old|_F. If it is not finite,
/// neither the atoms nor their statistics change.
///
/// For several agents that must change together or not at all, call [`plan_update`] for each first.
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
    let planned = plan_update(update, s, residual, task, product, y, None, block, used);
    let movement = planned.movement();
    if movement.is_finite() {
        planned.commit(block, used);
    }
    movement
}

/// One agent's update, computed and not yet written.
#[derive(Debug)]
pub struct PlannedUpdate {
    /// The new atoms, in the memory of nu y'.
    atoms: Matrix,
    /// The atoms that differ from before.
    changed: Vec<usize>,
    used: AtomStats,
    movement: f64,
}

impl PlannedUpdate {
    /// No change, for a batch without samples.
    fn nothing(used: AtomStats) -> Self {
        PlannedUpdate {
            atoms: Matrix::default(),
            changed: Vec::new(),
            used,
            movement: 0.0,
        }
    }

    /// |W_new - W_old|_F; not finite if the step overflows.
    pub fn movement(&self) -> f64 {
        self.movement
    }

    /// Writes the new atoms and their statistics. `block` and `used` are those the update was planned for.
    pub fn commit(self, block: &mut Block, used: &mut AtomStats) {
        *used = self.used;
        if !self.changed.is_empty() {
            block.renew(self.atoms, &self.changed);
        }
    }
}

/// One agent's update after a batch, without writing it. `product` is nu y', whose columns count only where
/// an atom fired; `s` is the number of the block being learned, from 1. With `weights` of the samples,
/// `product` is the sum of w_j nu_j y_j', and `y` the codes as they are.
///
/// Memory: the new atoms are written over `product`; beside it, a few numbers an atom.
#[allow(clippy::too_many_arguments)] // one for each symbol of the formula
pub fn plan_update(
    update: &Update,
    s: usize,
    residual: &dyn Residual,
    task: &LocalTask,
    product: Matrix,
    y: &Matrix,
    weights: Option<&[f64]>,
    block: &Block,
    used: &AtomStats,
) -> PlannedUpdate {
    let batch = weights.map_or(y.cols() as f64, |weights| weights.iter().sum());
    let mut used = used.clone();
    if batch == 0.0 {
        return PlannedUpdate::nothing(used);
    }
    let uses = uses(y, weights);
    let steps: Vec<Option<f64>> = (uses.iter().enumerate())
        .map(|(q, (fired, energy))| {
            used.samples[q] += fired;
            match *update {
                Update::Constant { mu_w } => Some(mu_w),
                Update::Schedule { mu_w } => Some(mu_w / s as f64),
                Update::Adaptive { forgetting } => {
                    let discounted = forgetting * used.energy[q] + energy;
                    used.energy[q] = match task.penalty() {
                        AtomPenalty::L1 { beta } if beta > 0.0 => discounted.max(used.energy[q]),
                        _ => discounted,
                    };
                    let p = residual.conjugate_curvature() * batch / used.energy[q];
                    (used.energy[q] > 0.0).then_some(p)
                }
            }
        })
        .collect();
    let old = block.atoms();
    let mut new = match product.rows() == old.rows() {
        true => product,
        false => Matrix::zeros(old.rows(), old.cols()),
    };
    let columns = new.as_mut_slice().par_chunks_mut(old.rows().max(1));
    let moved: Vec<f64> = (columns.enumerate().with_min_len(ATOMS))
        .map(|(q, w)| {
            let old = old.column(q);
            let (fired, p) = (uses[q].0 > 0, steps[q].unwrap_or(0.0));
            let step = p / batch;
            match fired {
                true => (w.iter_mut().zip(old)).for_each(|(w, old)| *w = old + step * *w),
                false => w.copy_from_slice(old),
            }
            // An atom with zero gradient and zero penalty stays bit-identical: the projection might round it.
            let still = !fired && task.penalty() == AtomPenalty::None;
            if still || steps[q].is_none() {
                return 0.0;
            }
            task.penalty().prox(p, w);
            task.set().project(w);
            distance_squared(w, old)
        })
        .collect();
    PlannedUpdate {
        atoms: new,
        changed: (0..moved.len()).filter(|q| moved[*q] > 0.0).collect(),
        used,
        movement: moved.iter().sum::<f64>().sqrt(),
    }
}

/// The number of samples of positive weight in which each atom fired, and the weighted sum of its y^2.
/// Summed in parts of a fixed width, so that no result depends on the number of threads.
fn uses(y: &Matrix, weights: Option<&[f64]>) -> Vec<(u64, f64)> {
    let n = y.rows().max(1);
    let parts = y.as_slice().par_chunks(n * SAMPLES_TOGETHER).enumerate();
    let parts = parts.map(|(number, part)| {
        let mut uses = vec![(0, 0.0); y.rows()];
        for (j, column) in part.chunks_exact(n).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[number * SAMPLES_TOGETHER + j]);
            for ((fired, energy), y) in uses.iter_mut().zip(column) {
                *fired += u64::from(weight * *y != 0.0);
                *energy += weight * y * y;
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
    /// Samples drawn without repetition, scaled to norm 1 and projected. Random atoms where there are
    /// not enough samples other than zero, or of positive weight.
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
                    .filter(|j| samples.weight(*j) > 0.0)
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
