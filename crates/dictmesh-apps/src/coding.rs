//! Codes and scores of samples under a learned dictionary.
//!
//! The score of a sample is the cost of coding it,
//!
//! ```text
//! score(x) = min_y f(x - W y) + h_y(y) = -sum_k J_k(nu; x),
//! ```
//!
//! high where no atom expresses x. [`Method`] says who solves the minimisation.

use dictmesh::mesh::{AtomStats, Mesh, Progress};
use dictmesh::problem::samples::Samples;
use dictmesh::problem::TaskSpec;
use dictmesh::{Result, Stop, Topology};
use dictmesh_kernels::matrix::Matrix;
use serde::{Deserialize, Serialize, Serializer};

/// Where samples are coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// In one place with all atoms, to a certified relative gap of 1e-10. The default.
    #[default]
    Exact,
    /// By the agents of the mesh, with its strategy and stopping rule.
    Mesh,
}

impl Method {
    /// The name that [`Serialize`] writes.
    pub fn name(self) -> &'static str {
        match self {
            Method::Exact => "exact",
            Method::Mesh => "mesh",
        }
    }

    /// The relative error of a score: 0 if exact, else the tolerance of the mesh.
    pub fn tolerance(self, mesh: &Mesh) -> f64 {
        match self {
            Method::Exact => 0.0,
            Method::Mesh => mesh.stopping().tolerance.unwrap_or(0.0),
        }
    }
}

/// Writes the name of an outcome: "converged", "round-limit" and so on.
pub(crate) fn stop_name<S: Serializer>(stop: &Stop, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.serialize_str(stop.name())
}

/// Scores of samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scores {
    /// The score of each sample; higher is more novel.
    pub scores: Vec<f64>,
    /// The certified relative gap of each score; empty if the strategy of the mesh certifies none.
    pub gaps: Vec<f64>,
    /// The worst outcome.
    #[serde(serialize_with = "stop_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub stop: Stop,
}

impl Scores {
    /// Of no samples.
    pub fn none() -> Self {
        Scores {
            scores: Vec::new(),
            gaps: Vec::new(),
            stop: Stop::Converged,
        }
    }

    /// Appends the scores of more samples.
    pub fn extend(&mut self, more: Scores) {
        self.gaps = joined(
            std::mem::take(&mut self.gaps),
            self.scores.len(),
            more.gaps,
            more.scores.len(),
        );
        self.scores.extend(more.scores);
        self.stop = self.stop.worse(more.stop);
    }

    /// The largest certified relative gap; `None` without certificates. NaN if one is.
    pub fn largest_gap(&self) -> Option<f64> {
        largest(&self.gaps)
    }
}

/// Gaps of two parts: none if one part that has samples lacks them.
fn joined(mut gaps: Vec<f64>, samples: usize, more: Vec<f64>, more_samples: usize) -> Vec<f64> {
    if gaps.len() != samples || more.len() != more_samples {
        return Vec::new();
    }
    gaps.extend(more);
    gaps
}

fn largest(gaps: &[f64]) -> Option<f64> {
    let larger = |a: f64, b: f64| if a.is_nan() || a >= b { a } else { b };
    gaps.iter().copied().reduce(larger)
}

/// The score of each sample. All agents of a mesh agree on it; the one returned is agent 0's.
///
/// ```
/// use dictmesh::{AtomInit, Matrix, Mesh, Samples, Task, Topology};
/// use dictmesh_apps::coding::{scores, Method};
/// let atom = Matrix::from_columns(2, &[[1.0, 0.0]])?;
/// let mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::complete(1)?)
///     .build(2, &[1], AtomInit::Given(&atom))?;
/// let x = Samples::dense_from_columns(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let found = scores(&mesh, &x, Method::Exact)?.scores;
/// assert!(found[0] < found[1]);
/// # Ok::<(), dictmesh::Error>(())
/// ```
///
/// Errors: samples of another dimension than the atoms. A run that diverges is no error: see
/// [`Scores::stop`].
pub fn scores(mesh: &Mesh, x: &Samples, method: Method) -> Result<Scores> {
    match method {
        Method::Exact => {
            let solved = mesh.exact_codes(x)?;
            let stop = solved.stop();
            let certificates = solved.certificates.iter();
            let (scores, gaps) = certificates.map(|c| (c.dual, c.relative_gap())).unzip();
            Ok(Scores { scores, gaps, stop })
        }
        Method::Mesh => {
            let (agreed, stop, certified) = mesh.score_certified(x)?;
            Ok(Scores {
                scores: agreed.columns().map(|g| g[0]).collect(),
                gaps: certified.iter().map(|c| c.relative_gap()).collect(),
                stop,
            })
        }
    }
}

/// Codes of samples, one column each.
#[derive(Clone, Debug)]
pub struct Coded {
    /// The codes y.
    pub codes: Matrix,
    /// The cost of each sample.
    pub costs: Vec<f64>,
    /// The certified relative gap of each cost; empty if the strategy of the mesh certifies none.
    pub gaps: Vec<f64>,
    /// The worst outcome.
    pub stop: Stop,
}

/// The code of each sample.
///
/// Errors: samples of another dimension than the atoms. A run that diverges is no error: see
/// [`Coded::stop`].
pub fn code(mesh: &Mesh, x: &Samples, method: Method) -> Result<Coded> {
    match method {
        Method::Exact => {
            let solved = mesh.exact_codes(x)?;
            Ok(Coded {
                codes: solved.to_dense(),
                costs: solved.certificates.iter().map(|c| c.dual).collect(),
                gaps: (solved.certificates.iter())
                    .map(|c| c.relative_gap())
                    .collect(),
                stop: solved.stop(),
            })
        }
        Method::Mesh => {
            let found = mesh.infer(x)?;
            Ok(Coded {
                codes: found.stacked_codes(),
                gaps: found.certified.iter().map(|c| c.relative_gap()).collect(),
                costs: found.costs,
                stop: found.stop,
            })
        }
    }
}

/// A mesh of one agent with these atoms as they are, to code samples by a dictionary from elsewhere.
///
/// Learning keeps atoms in the set of the task; nothing is projected here, as the code of a sample
/// does not depend on that set.
///
/// ```
/// use dictmesh::problem::TaskSpec;
/// use dictmesh::{Matrix, Samples};
/// use dictmesh_apps::coding::{around, code, Method};
/// let atom = Matrix::from_columns(2, &[[3.0, 0.0]])?;
/// let mesh = around(&TaskSpec::preset("sparse-svd")?, atom)?;
/// assert_eq!(mesh.dictionary().column(0), [3.0, 0.0]);
/// # Ok::<(), dictmesh::Error>(())
/// ```
///
/// Errors: a task with constants out of their ranges, no atoms, and atoms that are not finite.
pub fn around(task: &TaskSpec, atoms: Matrix) -> Result<Mesh> {
    let (rows, stats) = (atoms.rows(), AtomStats::fresh(atoms.cols()));
    let builder = Mesh::builder(task.build()?, Topology::complete(1)?);
    builder.restore(rows, vec![(atoms, stats)], Progress::default())
}

/// Statistics of codes that are not kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeStats {
    /// The number of samples.
    pub samples: usize,
    /// The cost of each sample; empty after [`CodeStats::none`].
    pub costs: Vec<f64>,
    /// The number of nonzero entries of each code; empty after [`CodeStats::none`].
    pub nonzeros: Vec<usize>,
    /// The number of samples that use each atom.
    pub uses: Vec<u64>,
    /// The largest certified relative gap; `None` if a part has no certificates.
    pub gap: Option<f64>,
    /// The worst outcome.
    #[serde(serialize_with = "stop_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub stop: Stop,
    /// The sum of the costs.
    #[serde(skip)]
    cost: f64,
    /// Whether the vectors with an entry per sample grow.
    #[serde(skip)]
    each: bool,
}

impl CodeStats {
    /// Of no samples, for a number of atoms. Memory does not grow with the samples.
    pub fn none(atoms: usize) -> Self {
        CodeStats {
            samples: 0,
            costs: Vec::new(),
            nonzeros: Vec::new(),
            uses: vec![0; atoms],
            gap: None,
            stop: Stop::Converged,
            cost: 0.0,
            each: false,
        }
    }

    /// The same with the cost and the number of nonzero entries of each sample.
    pub fn of_each(atoms: usize) -> Self {
        CodeStats {
            each: true,
            ..CodeStats::none(atoms)
        }
    }

    /// Adds the codes of more samples.
    pub fn add(&mut self, coded: &Coded) {
        let gap = largest(&coded.gaps);
        self.gap = match self.samples {
            0 => gap,
            _ => self.gap.zip(gap).and_then(|(a, b)| largest(&[a, b])),
        };
        self.samples += coded.costs.len();
        coded.costs.iter().for_each(|cost| self.cost += cost);
        if self.each {
            self.costs.extend(&coded.costs);
        }
        for y in coded.codes.columns() {
            let used = y.iter().enumerate().filter(|(_, y)| **y != 0.0);
            if self.each {
                self.nonzeros.push(used.clone().count());
            }
            used.for_each(|(q, _)| self.uses[q] += 1);
        }
        self.stop = self.stop.worse(coded.stop);
    }

    /// The mean cost of a sample; NaN of no samples.
    pub fn mean_cost(&self) -> f64 {
        self.cost / self.samples as f64
    }

    /// The mean number of nonzero entries of a code; NaN of no samples.
    pub fn mean_nonzeros(&self) -> f64 {
        self.uses.iter().sum::<u64>() as f64 / self.samples as f64
    }

    /// The number of atoms that no sample uses.
    pub fn unused_atoms(&self) -> usize {
        self.uses.iter().filter(|n| **n == 0).count()
    }
}

/// The largest absolute entry of samples: squares of huge entries overflow.
pub fn largest_entry(x: &Samples) -> f64 {
    let entries = (0..x.len()).flat_map(|j| x.entries(j));
    entries.fold(0.0, |most, (_, v)| f64::max(most, v.abs()))
}
