//! Why a sample has its score: the atoms it uses, and the features that none of them explains.

use crate::coding::{code, Method};
use dictmesh::mesh::Mesh;
use dictmesh::problem::samples::Samples;
use dictmesh::Result;
use serde::Serialize;

/// Samples explained together.
const TOGETHER: usize = 64;

/// A feature with its weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Term {
    /// The name of the feature.
    pub name: String,
    /// Its signed weight.
    pub weight: f64,
}

/// An atom in the code of a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtomUse {
    /// The number of the atom, from 0.
    pub atom: usize,
    /// Its signed weight y_q in the code.
    pub weight: f64,
    /// The features with the largest weights |w_qm|.
    pub terms: Vec<Term>,
}

/// Why a sample has its score.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The cost of coding the sample.
    pub score: f64,
    /// The atoms with the largest weights |y_q| in its code.
    pub atoms: Vec<AtomUse>,
    /// The features with the largest residual |x - W y|. Above 0, the sample has more of the
    /// feature than its atoms express; below 0, less.
    pub unexplained: Vec<Term>,
}

/// What [`explain`] solves and returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Where the samples are coded.
    pub method: Method,
    /// The largest number of atoms per sample.
    pub atoms: usize,
    /// The largest number of terms per atom and of unexplained terms per sample.
    pub terms: usize,
}

impl Default for ExplainOptions {
    /// Exact codes, two atoms, six terms.
    fn default() -> Self {
        ExplainOptions {
            method: Method::Exact,
            atoms: 2,
            terms: 6,
        }
    }
}

/// Why each sample has its score: code y, residual x - W y, and the largest entries of both.
///
/// `x` is prepared as the mesh learned it (scaled to norm 1 and so on). `name` returns the name of
/// a feature by its row. Entries are ordered by absolute value, then by number; zeros are left out.
///
/// Both the program (`novelty`, `score --report`) and Python (`NoveltyDetector.explain`) call this
/// function, so that they agree.
///
/// ```
/// use dictmesh::{AtomInit, Matrix, Mesh, Samples, Task, Topology};
/// use dictmesh_apps::novelty::{explain, ExplainOptions};
/// let atom = Matrix::from_columns(3, &[[1.0, 0.0, 0.0]])?;
/// let mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::complete(1)?)
///     .build(3, &[1], AtomInit::Given(&atom))?;
/// let x = Samples::dense_from_columns(3, &[[0.6, 0.0, 0.8]])?;
/// let why = &explain(&mesh, &x, &ExplainOptions::default(), &|row| format!("x{row}"))?[0];
/// assert_eq!((why.atoms[0].atom, why.unexplained[0].name.as_str()), (0, "x2"));
/// # Ok::<(), dictmesh::Error>(())
/// ```
///
/// Errors: samples of another dimension than the atoms.
pub fn explain(
    mesh: &Mesh,
    x: &Samples,
    options: &ExplainOptions,
    name: &dyn Fn(usize) -> String,
) -> Result<Vec<Explanation>> {
    let w = mesh.dictionary();
    let terms = |weights: &[f64]| -> Vec<Term> {
        let largest = largest(weights, options.terms).into_iter();
        let named = |(row, weight)| Term {
            name: name(row),
            weight,
        };
        largest.map(named).collect()
    };
    let mut all = Vec::with_capacity(x.len());
    for from in (0..x.len()).step_by(TOGETHER) {
        let part = x.range(from..(from + TOGETHER).min(x.len()));
        let coded = code(mesh, &part, options.method)?;
        let expressed = w.times(&coded.codes);
        for j in 0..part.len() {
            let mut residual: Vec<f64> = expressed.column(j).iter().map(|v| -v).collect();
            part.add_scaled(j, 1.0, &mut residual);
            let atoms = largest(coded.codes.column(j), options.atoms).into_iter();
            all.push(Explanation {
                score: coded.costs[j],
                atoms: atoms
                    .map(|(atom, weight)| AtomUse {
                        atom,
                        weight,
                        terms: terms(w.column(atom)),
                    })
                    .collect(),
                unexplained: terms(&residual),
            });
        }
    }
    Ok(all)
}

/// The `count` entries of largest absolute value, without zeros, the largest first.
fn largest(values: &[f64], count: usize) -> Vec<(usize, f64)> {
    let nonzero = values.iter().copied().enumerate().filter(|v| v.1 != 0.0);
    let mut order: Vec<(usize, f64)> = nonzero.collect();
    let before =
        |a: &(usize, f64), b: &(usize, f64)| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0));
    if order.len() > count && count > 0 {
        order.select_nth_unstable_by(count - 1, before);
    }
    order.truncate(count);
    order.sort_by(before);
    order
}
