//! The centralised l1 baseline of the paper's document experiment (its column "ADMM"), after
//! Kasiviswanathan et al., 2012.
//!
//! Samples are coded by `min_{y >= 0} |x - W y|_1 + lambda |y|_1` with atoms in
//! `{ w : w >= 0, |w|_1 <= 1 }`; the cost of the code is the score of novelty. Everything happens in
//! one place: this is what the mesh is compared with, not a way to run it.
//!
//! When not to expect much of it: an atom lowers `|x - W y|_1` from y = 0 only if more than half its
//! weight lies on the support of x. For sparse samples unlike every atom the best code is zero and the
//! score is `|x|_1`, known or novel.
//!
//! The caller scales samples to `|x|_1 = 1`, for which [`Samples::normalised`] is there.

mod coding;
mod update;

use dictmesh::problem::atoms::{AtomSet, NonNegativeUnitL1Ball};
use dictmesh::problem::samples::Samples;
use dictmesh::random::{gaussian, stream};
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::Matrix;
use rand::seq::SliceRandom;

/// The set of the atoms.
const ATOMS: NonNegativeUnitL1Ball = NonNegativeUnitL1Ball;

/// Settings of the l1 baseline. The two weights set how fast the iterations go, not where they end:
/// the thresholds `1/phi` and `1/beta` should be about as large as the entries of the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct L1Admm {
    /// The weight of `|y|_1`, 0 or above. At `lambda >= 1` every code is zero, as no atom can take
    /// more than `|w|_1 <= 1` off the residual.
    pub lambda: f64,
    /// The weight phi of coding's augmented term, above 0.
    pub phi: f64,
    /// The step of coding, above 0 and below `1 / lambda_max(W'W)` (below `1/K` is always safe);
    /// `None` takes `0.9 / lambda_max(W'W)`.
    pub kappa: Option<f64>,
    /// The weight beta of the dictionary update's augmented term, above 0.
    pub beta: f64,
    /// Iterations to code a sample, at least 1.
    pub coding_iterations: usize,
    /// Iterations of the dictionary update for one set of codes, at least 1.
    pub update_iterations: usize,
    /// How often coding and update alternate to initialise; 0 leaves the atoms as drawn.
    pub initial_alternations: usize,
}

impl Default for L1Admm {
    /// The paper's iterations: 35 of coding, 10 of the update, 35 alternations. It does not print
    /// lambda and the weights: of some ten settings tried by hand on part of TDT2's block 0 (10 atoms,
    /// one seed, terms in at least 5 documents, TF-IDF, `|x|_1 = 1`) these were within 0.0003 of the
    /// lowest training cost per document, 0.968. They do not give the paper's scores.
    /// Samples with larger entries want smaller weights.
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

/// A dictionary W (M x K, every atom non-negative with `|w|_1 <= 1`) and how to code with it.
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
    /// A model with a given dictionary, whose atoms must be non-negative with `|w|_1 <= 1`.
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
    /// `initial_alternations` times coding and dictionary update, with the multiplier of the update
    /// kept from one to the next.
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

    /// The settings it was made with.
    pub fn settings(&self) -> &L1Admm {
        &self.settings
    }

    /// The codes Y (K x B) after `coding_iterations` from 0, of
    /// `min_{y >= 0} |x - W y|_1 + lambda |y|_1`. No certificate of convergence is given.
    pub fn code(&self, x: &Samples) -> Result<Matrix> {
        Ok(coding::code(&self.settings, &self.w, x)?.y)
    }

    /// The score of each sample, `|x - W y|_1 + lambda |y|_1` at its code: large for a sample that
    /// the dictionary cannot express.
    pub fn cost(&self, x: &Samples) -> Result<Vec<f64>> {
        Ok(coding::code(&self.settings, &self.w, x)?.cost)
    }

    /// Learns one block: its codes, then `update_iterations` of the dictionary update for them, from
    /// a zero multiplier. A block without samples changes nothing.
    pub fn learn(&mut self, block: &Samples) -> Result<()> {
        let codes = coding::code(&self.settings, &self.w, block)?;
        update::Block::new(block, &self.w).update(&self.settings, &mut self.w, &codes.y);
        Ok(())
    }

    /// Adds `atoms` atoms: samples of `from` drawn without repetition and projected onto the atoms'
    /// set. Samples that give a zero atom or one that is there already are passed over, since such an
    /// atom would never learn or never differ; when they run out, atoms are drawn at random
    /// (non-negative, `|w|_1 = 1`). The draw depends on the seed and on how many atoms there are.
    pub fn grow(&mut self, from: &Samples, atoms: usize, seed: u64) -> Result<()> {
        Error::check_dimension("rows of the samples", from.rows(), self.w.rows())?;
        if from.is_empty() {
            return Err(Error::Empty {
                what: "the block of samples to draw atoms from",
                need: "at least one sample",
            });
        }
        let wanted = self.w.cols() + atoms;
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
