//! The dictionary update of each agent, from its own nu_k and y_k:
//!
//! ```text
//! W_k <- Proj_{W_k} { prox_{p h_W} ( W_k + p nu_k y_k' ) }
//! ```
//!
//! In a batch, nu y' is the (weighted) mean over its samples. The step p is the same for all atoms
//! or one per atom ([`Update`]).

use crate::error::{Error, Result};
use crate::problem::atoms::AtomPenalty;
use crate::problem::block::Block;
use crate::problem::residual::Residual;
use crate::problem::task::LocalTask;
use dictmesh_kernels::matrix::{distance_squared, Matrix};
use dictmesh_kernels::products::{Firing, ATOMS};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// The step p of the dictionary update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Update {
    /// p = mu_w, the paper's rule.
    Constant {
        /// The step.
        mu_w: f64,
    },
    /// p = mu_w / s for the s-th learned block, s >= 1: the paper's rule for documents, with mu_w
    /// 1.
    Schedule {
        /// The step of the first block.
        mu_w: f64,
    },
    /// Each atom q has its own step p = B / S_q (times eta for Huber): recursive least squares from
    /// local data. p = 0 while S_q = 0. With a batch's codes y_q,
    ///
    /// ```text
    /// S_q <- c S_q + |y_q|^2              without a penalty h_W
    /// S_q <- max(S_q, c S_q + |y_q|^2)    with one
    /// ```
    ///
    /// With a penalty, an update adds p (nu y' / B - beta sign(w)). The updates of a pass cancel at
    /// a stationary point of the mean cost plus h_W only if p is the same in batches where the atom
    /// fires and where it is idle. If S_q decayed in idle batches, p beta would grow by 1/c per
    /// batch until the atom is zero, and a zero atom never fires again.
    Adaptive {
        /// The forgetting factor c per batch, in (0, 1]. 1, the default, forgets nothing. .97 suits
        /// batches of about 256 samples; its memory is about 33 batches. With a penalty, S_q
        /// converges to the largest discounted sum and does not decrease.
        forgetting: f64,
    },
}

impl Default for Update {
    fn default() -> Self {
        Update::Adaptive { forgetting: 1.0 }
    }
}

impl Update {
    /// `Ok` if the constants are in range.
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

    /// `Ok` if the constants are in range and, for `Adaptive`, f* is strongly convex.
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

/// Statistics of an agent's atoms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtomStats {
    /// S_q, the discounted sum of y_q^2 (for [`Update::Adaptive`]).
    pub energy: Vec<f64>,
    /// The number of samples in which each atom fired since its initialisation.
    pub samples: Vec<u64>,
}

impl AtomStats {
    /// Statistics of `atoms` new atoms.
    pub fn fresh(atoms: usize) -> Self {
        AtomStats {
            energy: vec![0.0; atoms],
            samples: vec![0; atoms],
        }
    }

    /// Appends `atoms` new atoms.
    pub(crate) fn grow(&mut self, atoms: usize) {
        self.energy.resize(self.energy.len() + atoms, 0.0);
        self.samples.resize(self.samples.len() + atoms, 0);
    }
}

/// Updates one agent's atoms after a batch, in place. Returns |W_new - W_old|_F. If it is not
/// finite, neither the atoms nor their statistics change.
///
/// To update several agents atomically, call [`plan_update`] for each first.
///
/// Panics unless `y` has a row per atom and `product` is M x N_k, or has a column per atom that
/// fired.
#[allow(clippy::too_many_arguments)] // one for each symbol of the formula
pub fn update_block(
    update: &Update,
    s: usize,
    residual: &dyn Residual,
    task: &LocalTask,
    product: Matrix,
    y: &Matrix,
    block: &mut Block,
    stats: &mut AtomStats,
) -> f64 {
    let firing = Firing::of(y, None);
    let planned = plan_update(update, s, residual, task, product, &firing, block, stats);
    let movement = planned.movement();
    if movement.is_finite() {
        planned.commit(task, block, stats);
    }
    movement
}

/// One agent's update, computed but not yet written.
#[derive(Debug)]
pub struct PlannedUpdate {
    /// New atoms in the memory of nu y', and their indices in ascending order.
    atoms: Matrix,
    which: Vec<usize>,
    /// Other atoms that only their penalty moves, in ascending order, with their steps.
    /// [`commit`](PlannedUpdate::commit) recomputes them, since storing them would copy most atoms.
    by_penalty_alone: Vec<(usize, f64)>,
    /// The atoms that change, in ascending order.
    changed: Vec<usize>,
    stats: AtomStats,
    movement: f64,
}

impl PlannedUpdate {
    /// An update without change, for a batch of zero total weight.
    fn nothing(stats: AtomStats) -> Self {
        PlannedUpdate {
            atoms: Matrix::default(),
            which: Vec::new(),
            by_penalty_alone: Vec::new(),
            changed: Vec::new(),
            stats,
            movement: 0.0,
        }
    }

    /// |W_new - W_old|_F; not finite if the update overflows.
    pub fn movement(&self) -> f64 {
        self.movement
    }

    /// Writes the new atoms and their statistics. The arguments must be those of [`plan_update`].
    pub fn commit(self, task: &LocalTask, block: &mut Block, stats: &mut AtomStats) {
        *stats = self.stats;
        if self.changed.is_empty() {
            return;
        }
        if self.which.len() == block.len() {
            return block.renew(self.atoms, &self.changed);
        }
        block.renew_in_place(&self.changed, |atoms| {
            for (q, w) in self.which.iter().zip(self.atoms.columns()) {
                atoms.column_mut(*q).copy_from_slice(w);
            }
            for (q, p) in &self.by_penalty_alone {
                apply_prox(task, *p, atoms.column_mut(*q));
            }
        });
    }
}

/// Applies the prox of the penalty with step p, then the projection.
fn apply_prox(task: &LocalTask, p: f64, w: &mut [f64]) {
    task.penalty().prox(p, w);
    task.set().project(w);
}

/// Computes one agent's update after a batch without writing it.
///
/// `product` is nu y' with one column per atom, or one per atom that fired, in order
/// ([`product_of_fired`](dictmesh_kernels::products::product_of_fired)). `s` is the number of the
/// block being learned, from 1. For samples with weights, `product` is the sum of w_j nu_j y_j'. An
/// atom fired if w_j y_qj is not 0 for some sample j.
///
/// Memory: the new atoms overwrite `product`; otherwise a few numbers per atom.
#[allow(clippy::too_many_arguments)] // one for each symbol of the formula
pub fn plan_update(
    update: &Update,
    s: usize,
    residual: &dyn Residual,
    task: &LocalTask,
    product: Matrix,
    firing: &Firing,
    block: &Block,
    stats: &AtomStats,
) -> PlannedUpdate {
    let batch = firing.weight;
    let mut stats = stats.clone();
    if batch == 0.0 {
        return PlannedUpdate::nothing(stats);
    }
    let steps: Vec<Option<f64>> = (firing.samples.iter().zip(&firing.energy).enumerate())
        .map(|(q, (fired, energy))| {
            stats.samples[q] += fired;
            match *update {
                Update::Constant { mu_w } => Some(mu_w),
                Update::Schedule { mu_w } => Some(mu_w / s as f64),
                Update::Adaptive { forgetting } => {
                    let discounted = forgetting * stats.energy[q] + energy;
                    stats.energy[q] = match task.penalty() {
                        AtomPenalty::L1 { beta } if beta > 0.0 => discounted.max(stats.energy[q]),
                        _ => discounted,
                    };
                    let p = residual.conjugate_curvature() * batch / stats.energy[q];
                    (stats.energy[q] > 0.0).then_some(p)
                }
            }
        })
        .collect();
    let (old, n) = (block.atoms(), block.len());
    let fired = |q: usize| firing.samples[q] > 0;
    // The atoms of the product's columns. A product without rows has none.
    let which: Vec<usize> = match product.rows() == old.rows() {
        true => (0..n)
            .filter(|q| product.cols() == n || fired(*q))
            .collect(),
        false => Vec::new(),
    };
    debug_assert!(product.rows() != old.rows() || which.len() == product.cols());
    // An atom with zero gradient and no penalty is left unchanged (bit-identical): projecting it
    // again could round it.
    let is_unchanged =
        |q: usize| steps[q].is_none() || (!fired(q) && task.penalty() == AtomPenalty::None);
    let mut new = product;
    let columns = new.as_mut_slice().par_chunks_mut(old.rows().max(1));
    let moved_by_product: Vec<f64> = (columns.zip(&which).with_min_len(ATOMS))
        .map(|(w, &q)| {
            let (old, p) = (old.column(q), steps[q].unwrap_or(0.0));
            let step = p / batch;
            match fired(q) {
                true => (w.iter_mut().zip(old)).for_each(|(w, old)| *w = old + step * *w),
                false => w.copy_from_slice(old),
            }
            if is_unchanged(q) {
                return 0.0;
            }
            apply_prox(task, p, w);
            distance_squared(w, old)
        })
        .collect();
    let mut has_column = vec![false; n];
    which.iter().for_each(|q| has_column[*q] = true);
    let mut moved: Vec<f64> = (0..n)
        .into_par_iter()
        .with_min_len(ATOMS)
        .map(|q| match (has_column[q] || is_unchanged(q), steps[q]) {
            (false, Some(p)) => {
                let mut w = old.column(q).to_vec();
                apply_prox(task, p, &mut w);
                distance_squared(&w, old.column(q))
            }
            _ => 0.0,
        })
        .collect();
    let by_penalty = |q: &usize| !has_column[*q] && moved[*q] > 0.0;
    let by_penalty_alone: Vec<usize> = (0..n).filter(by_penalty).collect();
    (which.iter().zip(moved_by_product)).for_each(|(q, by)| moved[*q] = by);
    PlannedUpdate {
        atoms: new,
        which,
        by_penalty_alone: (by_penalty_alone.into_iter())
            .filter_map(|q| steps[q].map(|p| (q, p)))
            .collect(),
        changed: (0..n).filter(|q| moved[*q] > 0.0).collect(),
        stats,
        movement: moved.iter().sum::<f64>().sqrt(),
    }
}
