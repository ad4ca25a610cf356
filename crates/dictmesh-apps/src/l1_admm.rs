//! The centralised l1 baseline of the paper's document experiment (its column "ADMM"), after
//! Kasiviswanathan et al., 2012.
//!
//! Samples are coded by `min_{y >= 0} |x - W y|_1 + lambda |y|_1` with atoms in `{ w : w >= 0,
//! |w|_1 <= 1 }`. The novelty score is the cost of the code. The baseline runs in one process with
//! all data.
//!
//! Limitation: an atom lowers `|x - W y|_1` from y = 0 only if more than half its weight lies on
//! the support of x. For sparse samples unlike every atom the optimal code is zero. The score is
//! then `|x|_1` for familiar and novel samples alike.
//!
//! The caller scales samples to `|x|_1 = 1`, see [`Samples::normalised`].

mod coding;
mod update;

use dictmesh::problem::atoms::{AtomSet, NonNegativeUnitL1Ball};
use dictmesh::problem::samples::Samples;
use dictmesh::random::{gaussian, stream};
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::Matrix;
use rand::seq::SliceRandom;

/// The atom set.
const ATOMS: NonNegativeUnitL1Ball = NonNegativeUnitL1Ball;

/// Settings of the l1 baseline. The penalties phi and beta affect the speed of convergence, not the
/// limit. The thresholds `1/phi` and `1/beta` should be of the order of the samples' entries.
#[derive(Clone, Debug, PartialEq)]
pub struct L1Admm {
    /// The weight of `|y|_1`, 0 or above. At `lambda >= 1` every code is zero, since `|w|_1 <= 1`.
    pub lambda: f64,
    /// The augmented Lagrangian penalty of coding, above 0.
    pub phi: f64,
    /// The step of coding, above 0 and below `1 / lambda_max(W'W)` (below `1/K` is always safe);
    /// `None` is `0.9 / lambda_max(W'W)`.
    pub kappa: Option<f64>,
    /// The augmented Lagrangian penalty of the dictionary update, above 0.
    pub beta: f64,
    /// Iterations per code, at least 1.
    pub coding_iterations: usize,
    /// Iterations per dictionary update, at least 1.
    pub update_iterations: usize,
    /// Alternations of coding and update in initialisation; 0 keeps the drawn atoms.
    pub initial_alternations: usize,
}

impl Default for L1Admm {
    /// The paper's iterations: 35 of coding, 10 of the update, 35 alternations. The paper does not
    /// print lambda, phi and beta. These were tuned by the training cost on part of TDT2, scaled to
    /// `|x|_1 = 1`, and do not reproduce its scores. Larger entries need smaller penalties.
    fn default() -> Self {
        L1Admm {
            lambda: 0.01,
            phi: 30.0,
            kappa: None,
            beta: 30.0,
            coding_iterations: 35,
            update_iterations: 10,
            initial_alternations: 35,
        }
    }
}

impl L1Admm {
    fn check(&self) -> Result<()> {
        Error::check_not_negative("lambda", self.lambda)?;
        Error::check_positive("phi", self.phi)?;
        Error::check_positive("beta", self.beta)?;
        if let Some(kappa) = self.kappa {
            Error::check_positive("kappa", kappa)?;
        }
        for (name, given) in [
            ("coding_iterations", self.coding_iterations),
            ("update_iterations", self.update_iterations),
        ] {
            if given == 0 {
                return Err(Error::parameter(name, given, "must be at least 1"));
            }
        }
        Ok(())
    }
}

/// A dictionary W (M x K, atoms non-negative with `|w|_1 <= 1`) with its coding settings.
///
/// ```
/// use dictmesh::Samples;
/// use dictmesh_apps::l1_admm::{L1Admm, L1Model};
/// let x = Samples::dense_from_columns(3, &[[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])?;
/// let model = L1Model::initialise(L1Admm::default(), &x, 1, 0)?;
/// let new = Samples::dense_from_columns(3, &[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])?;
/// let score = model.cost(&new)?;
/// assert!(score[0] < score[1]);
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct L1Model {
    settings: L1Admm,
    w: Matrix,
}

impl L1Model {
    /// A model with a given dictionary.
    ///
    /// Errors: invalid settings, an empty dictionary, an entry that is not finite, or an atom that
    /// is not non-negative with `|w|_1 <= 1`.
    pub fn from_dictionary(settings: L1Admm, w: Matrix) -> Result<Self> {
        settings.check()?;
        if w.rows() == 0 || w.cols() == 0 {
            return Err(Error::Empty {
                what: "the dictionary",
                need: "at least one atom with at least one row",
            });
        }
        Error::check_finite("dictionary", &w)?;
        if let Some(k) = (0..w.cols()).find(|k| !ATOMS.contains(w.column(*k), 1e-9)) {
            return Err(Error::parameter(
                "dictionary",
                format!("atom {k}"),
                "every atom must be non-negative with |w|_1 <= 1: project it first",
            ));
        }
        Ok(L1Model { settings, w })
    }

    /// A dictionary of `atoms` atoms learned from `x`: drawn as by [`grow`](L1Model::grow), then
    /// `initial_alternations` of coding and dictionary update. The multiplier of the update is
    /// carried over between alternations.
    pub fn initialise(settings: L1Admm, x: &Samples, atoms: usize, seed: u64) -> Result<Self> {
        settings.check()?;
        if atoms == 0 {
            return Err(Error::parameter("atoms", atoms, "must be at least 1"));
        }
        let w = Matrix::zeros(x.rows(), 0);
        let mut model = L1Model { settings, w };
        model.grow(x, atoms, seed)?;
        let mut block = update::Block::new(x, &model.w);
        for _ in 0..model.settings.initial_alternations {
            let codes = coding::code(&model.settings, &model.w, x)?;
            block.update(&model.settings, &mut model.w, &codes.y);
        }
        Ok(model)
    }

    /// The dictionary W, M x K.
    pub fn dictionary(&self) -> &Matrix {
        &self.w
    }

    /// The settings.
    pub fn settings(&self) -> &L1Admm {
        &self.settings
    }

    /// The codes Y (K x B) of `min_{y >= 0} |x - W y|_1 + lambda |y|_1`: `coding_iterations` from
    /// 0, without a convergence certificate.
    pub fn code(&self, x: &Samples) -> Result<Matrix> {
        Ok(coding::code(&self.settings, &self.w, x)?.y)
    }

    /// The score of each sample, `|x - W y|_1 + lambda |y|_1` at its code. Large for samples the
    /// dictionary represents poorly.
    pub fn cost(&self, x: &Samples) -> Result<Vec<f64>> {
        Ok(coding::code(&self.settings, &self.w, x)?.cost)
    }

    /// Learns one block: codes it, then runs `update_iterations` of the dictionary update from a
    /// zero multiplier. An empty block changes nothing.
    pub fn learn(&mut self, block: &Samples) -> Result<()> {
        let codes = coding::code(&self.settings, &self.w, block)?;
        update::Block::new(block, &self.w).update(&self.settings, &mut self.w, &codes.y);
        Ok(())
    }

    /// Adds `atoms` atoms: samples of `from` drawn without replacement and projected onto the atom
    /// set. Zero atoms, which never learn, and duplicates, which never separate, are skipped. When
    /// the samples run out, atoms are random (non-negative, `|w|_1 = 1`). The draw depends on the
    /// seed and the current number of atoms.
    pub fn grow(&mut self, from: &Samples, atoms: usize, seed: u64) -> Result<()> {
        Error::check_dimension("rows of the samples", from.rows(), self.w.rows())?;
        if from.is_empty() {
            return Err(Error::Empty {
                what: "the block of samples to draw atoms from",
                need: "at least one sample",
            });
        }
        let wanted = self.w.cols().saturating_add(atoms);
        Error::check_room("atoms", atoms, wanted.checked_mul(self.w.rows()))?;
        let mut rng = stream(seed, self.w.cols() as u64);
        let mut order: Vec<usize> = (0..from.len()).collect();
        order.shuffle(&mut rng);
        let mut order = order.into_iter();
        while self.w.cols() < wanted {
            let mut atom = Matrix::zeros(self.w.rows(), 1);
            if let Some(j) = order.next() {
                from.add_scaled(j, 1.0, atom.column_mut(0));
                ATOMS.project(atom.column_mut(0));
                let known = self.w.columns().any(|w| w == atom.column(0));
                if known || atom.as_slice().iter().all(|v| *v == 0.0) {
                    continue;
                }
            } else {
                atom = gaussian(self.w.rows(), 1, &mut rng);
                let size: f64 = atom.as_slice().iter().map(|v| v.abs()).sum();
                let scaled = atom.as_mut_slice().iter_mut();
                scaled.for_each(|v| *v = v.abs() / size);
            }
            self.w.append_columns(&atom)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
