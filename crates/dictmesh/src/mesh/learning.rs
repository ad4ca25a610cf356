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
pub use dictmesh_kernels::products::{product, product_of_fired};
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

/// One agent's update after a batch: its atoms change in place. `product` is nu y' with a column for each atom, or
/// only for those that fired, from left to right ([`product_of_fired`]); `s` is the number of the block being learned, from 1. Returns the movement
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
    let (atoms, n) = (block.atoms(), block.len());
    // The new atoms are written over nu y': a second copy of all atoms is made only where all of them fired.
    let mut new = product;
    let which: Vec<usize> = (0..n)
        .filter(|q| new.cols() == n || uses[*q].0 > 0)
        .collect();
    // An atom that did not fire moves by its penalty alone, and one with no step not at all (bit-identical):
    // another projection might round it anew.
    let is_still =
        |q: usize| steps[q].is_none() || (uses[q].0 == 0 && task.penalty() == AtomPenalty::None);
    let pull = |q: usize, w: &mut [f64]| {
        task.penalty().prox(steps[q].unwrap_or(0.0), w);
        task.set().project(w);
    };
    let columns = new.as_mut_slice().par_chunks_mut(atoms.rows().max(1));
    let moved_by_product: Vec<f64> = (columns.zip(&which).with_min_len(ATOMS))
        .map(|(w, &q)| {
            let old = atoms.column(q);
            let step = steps[q].unwrap_or(0.0) / batch;
            match uses[q].0 > 0 {
                true => (w.iter_mut().zip(old)).for_each(|(w, old)| *w = old + step * *w),
                false => w.copy_from_slice(old),
            }
            if is_still(q) {
                return 0.0;
            }
            pull(q, w);
            distance_squared(w, old)
        })
        .collect();
    let has_column = |q: usize| which.binary_search(&q).is_ok();
    let mut moved: Vec<f64> = (0..n)
        .into_par_iter()
        .with_min_len(ATOMS)
        .map(|q| {
            if has_column(q) || is_still(q) {
                return 0.0;
            }
            let mut w = atoms.column(q).to_vec();
            pull(q, &mut w);
            distance_squared(&w, atoms.column(q))
        })
        .collect();
    (which.iter().zip(moved_by_product)).for_each(|(q, by)| moved[*q] = by);
    let movement: f64 = moved.iter().sum();
    if movement > 0.0 && movement.is_finite() {
        let changed: Vec<usize> = (0..n).filter(|q| moved[*q] > 0.0).collect();
        match which.len() == n {
            true => block.renew(new, &changed),
            false => block.renew_in_place(&changed, |atoms| {
                for (q, w) in which.iter().zip(new.columns()) {
                    atoms.column_mut(*q).copy_from_slice(w);
                }
                for q in changed.iter().filter(|q| !has_column(**q)) {
                    pull(*q, atoms.column_mut(*q));
                }
            }),
        }
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
    pub fn draw(&self, rows: usize, count: usize, set: AtomSet, rng: &mut Rng) -> Result<Matrix> {
        let blocks = self.draw_blocks(rows, &[count], set, rng)?;
        Ok(blocks.into_iter().next().unwrap_or_default())
    }

    /// The same atoms dealt out to blocks of these sizes: they never lie side by side.
    pub(crate) fn draw_blocks(
        &self,
        rows: usize,
        sizes: &[usize],
        set: AtomSet,
        rng: &mut Rng,
    ) -> Result<Vec<Matrix>> {
        let total = sizes.iter().try_fold(0_usize, |sum, n| sum.checked_add(*n));
        let count = total.unwrap_or(usize::MAX);
        let given = format!("{count}, of dimension {rows}");
        Error::check_room("atoms", given, rows.checked_mul(count))?;
        let mut blocks: Vec<Matrix> = match self {
            AtomInit::Given(given) => {
                Error::check_dimension("rows of the given atoms", given.rows(), rows)?;
                Error::check_dimension("number of given atoms", given.cols(), count)?;
                Error::check_finite("given atoms", given)?;
                let mut from = 0;
                let block = |size: &usize| {
                    let mut atoms = given.columns_range(from..from + size);
                    from += size;
                    (0..*size).for_each(|q| set.project(atoms.column_mut(q)));
                    atoms
                };
                return Ok(sizes.iter().map(block).collect());
            }
            _ => (sizes.iter())
                .map(|size| gaussian(rows, *size, rng))
                .collect(),
        };
        let columns = |blocks: &mut Vec<Matrix>, work: &mut dyn FnMut(&mut [f64])| {
            for block in blocks {
                (0..block.cols()).for_each(|q| work(block.column_mut(q)));
            }
        };
        if let AtomInit::Samples(samples) = self {
            Error::check_dimension("rows of the samples", samples.rows(), rows)?;
            let usable: Vec<usize> = (0..samples.len())
                .filter(|j| samples.entries(*j).any(|(_, v)| reaches(set, v)))
                .collect();
            let chosen = index::sample(rng, usable.len(), count.min(usable.len()));
            let mut chosen = chosen.into_iter();
            columns(&mut blocks, &mut |w| {
                if let Some(i) = chosen.next() {
                    w.fill(0.0);
                    samples.add_scaled(usable[i], 1.0, w);
                }
            });
        }
        columns(&mut blocks, &mut |w| set.normalise(w));
        Ok(blocks)
    }
}

impl AtomInit<'_> {
    /// Brings an atom into an agent's own set: given atoms by projection, others with norm 1.
    pub(crate) fn fit(&self, set: AtomSet, w: &mut [f64]) {
        match self {
            AtomInit::Given(_) => set.project(w),
            AtomInit::Random | AtomInit::Samples(_) => set.normalise(w),
        }
    }
}

/// Whether an entry survives the projection onto the set.
fn reaches(set: AtomSet, entry: f64) -> bool {
    entry > 0.0 || (entry < 0.0 && !set.is_non_negative())
}
