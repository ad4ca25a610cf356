//! Where new atoms come from.

use crate::error::{Error, Result};
use crate::problem::atoms::AtomSet;
use crate::problem::samples::Samples;
use crate::random::{gaussian, Rng};
use dictmesh_kernels::Matrix;
use rand::seq::index;

/// The initialisation of new atoms.
#[derive(Clone, Copy, Debug)]
pub enum AtomInit<'a> {
    /// Gaussian entries, normalised by [`AtomSet::normalise`]: the paper's initialisation.
    Random,
    /// Samples drawn without replacement, normalised likewise. Random atoms if there are too few
    /// nonzero samples of positive weight.
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
        let blocks = self.draw_blocks(rows, &[count], set, rng)?;
        Ok(blocks.into_iter().next().unwrap_or_default())
    }

    /// The same atoms split into blocks of these sizes, without a matrix of all of them.
    pub(crate) fn draw_blocks(
        &self,
        rows: usize,
        sizes: &[usize],
        set: &dyn AtomSet,
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
                .filter(|j| samples.weight(*j) > 0.0)
                .filter(|j| {
                    samples
                        .entries(*j)
                        .any(|(_, v)| survives_projection(set, v))
                })
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
    /// Moves an atom into an agent's own set: given atoms by projection, others by normalisation.
    pub(crate) fn fit(&self, set: &dyn AtomSet, w: &mut [f64]) {
        match self {
            AtomInit::Given(_) => set.project(w),
            AtomInit::Random | AtomInit::Samples(_) => set.normalise(w),
        }
    }
}

/// Whether an entry can be nonzero after the projection onto the set.
fn survives_projection(set: &dyn AtomSet, entry: f64) -> bool {
    entry > 0.0 || (entry < 0.0 && !set.is_non_negative())
}
