//! The dictionary update of each agent, from its own nu_k and y_k:
//!
//! ```text
//! W_k <- Proj_{W_k} { prox_{p h_W} ( W_k + p nu_k y_k' ) }
//! ```
//!
//! In a batch, nu y' is the (weighted) mean over its samples. The step p is the same for all atoms
//! or one per atom ([`Update`]).

use crate::error::{Error, Result};
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
    let mut stats = stats.clone();
    if firing.weight == 0.0 {
        return PlannedUpdate::nothing(stats);
    }
    let steps = steps(update, s, residual, task, firing, &mut stats);
    let which = atoms_of_columns(&product, firing, block);
    let moves = Moves {
        task,
        old: block.atoms(),
        firing,
        steps: &steps,
    };
    let mut atoms = product;
    let moved_by_product = moves.by_product(&which, &mut atoms);
    let mut has_column = vec![false; block.len()];
    which.iter().for_each(|q| has_column[*q] = true);
    let mut moved = moves.by_penalty_alone(&has_column);
    let by_penalty_alone = (0..block.len())
        .filter(|q| moved[*q] > 0.0)
        .filter_map(|q| steps[q].map(|p| (q, p)))
        .collect();
    (which.iter().zip(moved_by_product)).for_each(|(q, by)| moved[*q] = by);
    PlannedUpdate {
        atoms,
        which,
        by_penalty_alone,
        changed: (0..block.len()).filter(|q| moved[*q] > 0.0).collect(),
        stats,
        movement: moved.iter().sum::<f64>().sqrt(),
    }
}

/// The step p of each atom; `None` for an atom that has never fired. Updates the statistics.
fn steps(
    update: &Update,
    s: usize,
    residual: &dyn Residual,
    task: &LocalTask,
    firing: &Firing,
    stats: &mut AtomStats,
) -> Vec<Option<f64>> {
    (firing.samples.iter().zip(&firing.energy).enumerate())
        .map(|(q, (fired, energy))| {
            stats.samples[q] += fired;
            match *update {
                Update::Constant { mu_w } => Some(mu_w),
                Update::Schedule { mu_w } => Some(mu_w / s as f64),
                Update::Adaptive { forgetting } => {
                    let discounted = forgetting * stats.energy[q] + energy;
                    stats.energy[q] = match task.penalty().is_zero() {
                        true => discounted,
                        false => discounted.max(stats.energy[q]),
                    };
                    let p = residual.conjugate_curvature() * firing.weight / stats.energy[q];
                    (stats.energy[q] > 0.0).then_some(p)
                }
            }
        })
        .collect()
}

/// The atoms of the product's columns. A product without rows has none.
fn atoms_of_columns(product: &Matrix, firing: &Firing, block: &Block) -> Vec<usize> {
    let n = block.len();
    let which: Vec<usize> = match product.rows() == block.atoms().rows() {
        true => (0..n)
            .filter(|q| product.cols() == n || firing.samples[*q] > 0)
            .collect(),
        false => return Vec::new(),
    };
    debug_assert!(which.len() == product.cols());
    which
}

/// The moves of an agent's atoms.
struct Moves<'a> {
    task: &'a LocalTask,
    old: &'a Matrix,
    firing: &'a Firing,
    steps: &'a [Option<f64>],
}

impl Moves<'_> {
    fn fired(&self, q: usize) -> bool {
        self.firing.samples[q] > 0
    }

    /// An atom with zero gradient and no penalty is left unchanged (bit-identical): projecting it
    /// again could round it.
    fn is_unchanged(&self, q: usize) -> bool {
        self.steps[q].is_none() || (!self.fired(q) && self.task.penalty().is_zero())
    }

    /// Replaces the columns of nu y' of the atoms `which` by their new values. Returns the squared
    /// movement of each.
    fn by_product(&self, which: &[usize], product: &mut Matrix) -> Vec<f64> {
        let columns = (product.as_mut_slice()).par_chunks_mut(self.old.rows().max(1));
        (columns.zip(which).with_min_len(ATOMS))
            .map(|(w, &q)| {
                let (old, p) = (self.old.column(q), self.steps[q].unwrap_or(0.0));
                let step = p / self.firing.weight;
                match self.fired(q) {
                    true => (w.iter_mut().zip(old)).for_each(|(w, old)| *w = old + step * *w),
                    false => w.copy_from_slice(old),
                }
                if self.is_unchanged(q) {
                    return 0.0;
                }
                apply_prox(self.task, p, w);
                distance_squared(w, old)
            })
            .collect()
    }

    /// |new - old|^2 of the atoms that have no column in the product; 0 for the others.
    fn by_penalty_alone(&self, has_column: &[bool]) -> Vec<f64> {
        if self.task.penalty().is_zero() {
            return vec![0.0; has_column.len()];
        }
        (0..has_column.len())
            .into_par_iter()
            .with_min_len(ATOMS)
            .map(|q| match self.steps[q] {
                Some(p) if !has_column[q] && !self.is_unchanged(q) => {
                    let mut w = self.old.column(q).to_vec();
                    apply_prox(self.task, p, &mut w);
                    distance_squared(&w, self.old.column(q))
                }
                _ => 0.0,
            })
            .collect()
    }
}
