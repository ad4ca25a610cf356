//! Combination weights a_lk: the weight of agent l's message at agent k.

use super::Topology;
use crate::error::{Error, Result};
use dictmesh_kernels::matrix::{symmetric_eigenvalues, Matrix};
use serde::{Deserialize, Serialize};

/// Absolute tolerance for row and column sums of a given matrix, and for its symmetry: covers
/// rounding and decimal input.
const TOLERANCE: f64 = 1e-9;

/// The rule for the combination matrix A; d_k is the degree of agent k, without k.
///
/// In JSON: `"metropolis"`, `"uniform"` or `{"given": [[row 0], [row 1], ...]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightRule {
    /// a_lk = 1 / (1 + max(d_l, d_k)) on edges; the diagonal makes each column sum to 1. Needs only
    /// the degrees of neighbours.
    Metropolis,
    /// a_lk = 1 / (1 + max degree) on edges; the diagonal makes each column sum to 1. On a complete
    /// graph all entries are 1/N, the paper's fully connected case.
    Uniform,
    /// This matrix, a_lk in row l and column k, checked by [`Weights::new`].
    #[serde(with = "rows")]
    Given(Matrix),
}

/// A doubly stochastic combination matrix on a graph: sum_l a_lk = 1, sum_k a_lk = 1, and a_lk > 0
/// exactly if l is a neighbour of k or k itself (the paper's condition A_condition_general, with A1
/// = A'1 = 1).
///
/// Only the positive entries are stored. Methods panic if an agent number is not below N.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Column k: (l, a_lk) in ascending order of l.
    columns: Vec<Vec<(usize, f64)>>,
    symmetric: bool,
}

/// Extreme eigenvalues of a combination matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixing {
    /// [`Weights::spectral_gap`].
    pub gap: f64,
    /// The smallest eigenvalue of A; if A is not symmetric, a lower bound of their real parts.
    pub smallest: f64,
}

impl Weights {
    /// The weights of a rule on a graph.
    ///
    /// [`Metropolis`](WeightRule::Metropolis) and [`Uniform`](WeightRule::Uniform) are symmetric
    /// and always exist. A [`Given`](WeightRule::Given) matrix need not be symmetric.
    ///
    /// # Errors
    ///
    /// A given matrix must be N x N with finite entries, positive exactly on the edges and the
    /// diagonal and zero elsewhere. Its rows and columns must sum to 1 within 1e-9.
    pub fn new(topology: &Topology, rule: &WeightRule) -> Result<Self> {
        let degree = |k| topology.degree(k);
        match rule {
            WeightRule::Metropolis => Ok(Weights::from_edge_weights(topology, |l, k| {
                1.0 / (1 + degree(l).max(degree(k))) as f64
            })),
            WeightRule::Uniform => {
                let weight = 1.0 / (1 + topology.max_degree()) as f64;
                Ok(Weights::from_edge_weights(topology, |_, _| weight))
            }
            WeightRule::Given(a) => Weights::from_given(topology, a),
        }
    }

    /// Symmetric weights from edge weights, each at most 1 / (1 + d_k).
    fn from_edge_weights(topology: &Topology, edge: impl Fn(usize, usize) -> f64) -> Self {
        let column = |k: usize| own_column(k, topology.neighbours(k), |l| edge(l, k));
        Weights {
            columns: (0..topology.agents()).map(column).collect(),
            symmetric: true,
        }
    }

    fn from_given(topology: &Topology, a: &Matrix) -> Result<Self> {
        let n = topology.agents();
        Error::check_dimension("rows of the combination matrix", a.rows(), n)?;
        Error::check_dimension("columns of the combination matrix", a.cols(), n)?;
        for l in 0..n {
            for k in 0..n {
                check_entry(topology, l, k, a.get(l, k))?;
            }
        }
        for k in 0..n {
            check_sum("row", k, (0..n).map(|j| a.get(k, j)).sum())?;
            check_sum("column", k, a.column(k).iter().sum())?;
        }
        let symmetric = topology
            .edges()
            .iter()
            .all(|&(l, k)| (a.get(l, k) - a.get(k, l)).abs() <= TOLERANCE);
        let positive = |column: &[f64]| {
            let entries = column.iter().copied().enumerate();
            entries.filter(|&(_, weight)| weight > 0.0).collect()
        };
        Ok(Weights {
            columns: a.columns().map(positive).collect(),
            symmetric,
        })
    }

    /// (l, a_lk) for l in the neighbourhood of `k`, itself included, in ascending order of l.
    pub fn column(&self, k: usize) -> &[(usize, f64)] {
        &self.columns[k]
    }

    /// a_lk, the weight of `l`'s message at agent `k`; 0 if `l` is not in its neighbourhood.
    pub fn get(&self, l: usize, k: usize) -> f64 {
        let column = &self.columns[k];
        match column.binary_search_by_key(&l, |&(from, _)| from) {
            Ok(at) => column[at].1,
            Err(_) => 0.0,
        }
    }

    /// Whether a_lk = a_kl for all pairs, within 1e-9 for a given matrix.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// (I + A) / 2: doubly stochastic like A, and positive semidefinite if A is symmetric.
    pub fn lazy(&self) -> Weights {
        let columns = self.columns.iter().enumerate();
        Weights {
            columns: columns.map(|(k, column)| lazy_column(k, column)).collect(),
            symmetric: self.symmetric,
        }
    }

    /// 1 - |A - 11'/N| with the spectral norm; 1 - |lambda_2| for symmetric A.
    ///
    /// Each combination contracts the disagreement at least by the factor 1 - gap. The gap is in
    /// (0, 1] up to rounding, and 1 for one agent and for A = 11'/N. Dense eigenvalues, O(N^3) per
    /// call.
    pub fn spectral_gap(&self) -> f64 {
        self.mixing().gap
    }

    /// The spectral gap and the smallest eigenvalue. Dense eigenvalues: O(N^3) operations and N^2
    /// numbers per call, as [`to_matrix`](Weights::to_matrix).
    pub fn mixing(&self) -> Mixing {
        let a = self.to_matrix();
        let n = self.columns.len();
        if let Some(values) = self.symmetric.then(|| symmetric_eigenvalues(&a)).flatten() {
            // The largest eigenvalue is 1, with the vector of ones.
            let rest = &values[..n - 1];
            let norm = rest.iter().fold(0.0, |norm: f64, v| norm.max(v.abs()));
            return Mixing {
                gap: (1.0 - norm).clamp(0.0, 1.0),
                smallest: values[0],
            };
        }
        let mut deviation = a;
        let mean = 1.0 / n as f64;
        deviation.as_mut_slice().iter_mut().for_each(|v| *v -= mean);
        let norm = deviation.spectral_norm_squared().sqrt();
        // Gershgorin: all eigenvalues are in discs around a_kk with radius 1 - a_kk.
        let least = (0..n).map(|k| self.get(k, k)).fold(1.0, f64::min);
        Mixing {
            gap: (1.0 - norm).clamp(0.0, 1.0),
            smallest: 2.0 * least - 1.0,
        }
    }

    /// A as a dense N x N matrix, a_lk in row l and column k. Aborts if it exceeds the memory; a
    /// mesh has at most 5,000 agents.
    pub fn to_matrix(&self) -> Matrix {
        let n = self.columns.len();
        let mut a = Matrix::zeros(n, n);
        for (k, column) in self.columns.iter().enumerate() {
            for &(l, weight) in column {
                a.column_mut(k)[l] = weight;
            }
        }
        a
    }
}

/// (l, a_lk) for the neighbours l of `k` (ascending) and k itself, from edge weights that are at
/// most 1 / (1 + d_k). An agent computes it from its own edges alone.
pub fn own_column(
    k: usize,
    neighbours: &[usize],
    edge: impl Fn(usize) -> f64,
) -> Vec<(usize, f64)> {
    let share = 1.0 / (1 + neighbours.len()) as f64;
    // 1 - sum_l a_lk without cancellation: 1 / (1 + d_k) plus sum_l (1 / (1 + d_k) - a_lk). On a
    // regular graph this is exactly 1 / (1 + d_k).
    let rest: f64 = neighbours.iter().map(|&l| share - edge(l)).sum();
    let mut column: Vec<_> = neighbours.iter().map(|&l| (l, edge(l))).collect();
    let at = neighbours.partition_point(|&l| l < k);
    column.insert(at, (k, share + rest));
    column
}

/// (I + A)/2 for one column of A, that of agent `k`.
pub fn lazy_column(k: usize, column: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let own = |l: usize| if l == k { 1.0 } else { 0.0 };
    let entries = column.iter();
    entries.map(|&(l, a)| (l, (own(l) + a) / 2.0)).collect()
}

/// `Ok` if a_lk is finite, positive on edges and the diagonal, and zero elsewhere.
fn check_entry(topology: &Topology, l: usize, k: usize, a: f64) -> Result<()> {
    let joined = topology.neighbours(k).binary_search(&l).is_ok();
    let fault = if !a.is_finite() {
        "every weight must be a finite number".to_string()
    } else if a < 0.0 {
        "no weight may be negative".to_string()
    } else if l == k && a == 0.0 {
        format!(
            "the diagonal must be positive (a_kk > 0): agent {k} must keep a part of its own, or \
             the mesh can swap estimates back and forth forever, as an even ring does"
        )
    } else if joined && a == 0.0 {
        format!(
            "agents {l} and {k} are neighbours, so the weight must be positive: raise it, or leave \
             the edge out of the graph"
        )
    } else if l != k && !joined && a > 0.0 {
        format!(
            "agents {l} and {k} are not neighbours, so the weight must be 0: set it to 0, or add \
             the edge to the graph"
        )
    } else {
        return Ok(());
    };
    Err(Error::Weights {
        line: "row",
        index: l,
        fault: format!("the entry in column {k} is {a}; {fault}"),
    })
}

/// `Ok` if the sum of a row or column is 1 within the tolerance.
fn check_sum(line: &'static str, index: usize, sum: f64) -> Result<()> {
    if (sum - 1.0).abs() <= TOLERANCE {
        return Ok(());
    }
    Err(Error::Weights {
        line,
        index,
        fault: format!(
            "sums to {sum}; every row and every column must sum to 1 (within {TOLERANCE:e}), so \
             that combining keeps the agents' mean"
        ),
    })
}

/// Serialises a matrix as a list of rows.
mod rows {
    use dictmesh_kernels::matrix::Matrix;
    use serde::{de::Error, Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(a: &Matrix, to: S) -> Result<S::Ok, S::Error> {
        let row = |i| (0..a.cols()).map(|j| a.get(i, j)).collect();
        let rows: Vec<Vec<f64>> = (0..a.rows()).map(row).collect();
        rows.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Matrix, D::Error> {
        let rows = Vec::<Vec<f64>>::deserialize(from)?;
        let cols = rows.first().map_or(0, Vec::len);
        if let Some(i) = rows.iter().position(|row| row.len() != cols) {
            return Err(D::Error::custom(format!(
                "row {i} of the combination matrix has {} entries, but row 0 has {cols}; all rows \
                 must be of one length",
                rows[i].len()
            )));
        }
        Ok(Matrix::from_fn(rows.len(), cols, |i, j| rows[i][j]))
    }
}
