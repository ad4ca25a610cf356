//! The result of biclustering.

use dictmesh::mesh::Mesh;
use dictmesh::Stop;
use dictmesh_kernels::matrix::Matrix;

/// One layer w_k y_k'.
#[derive(Clone, Debug, PartialEq)]
pub struct Bicluster {
    /// The agent that learned it.
    pub agent: usize,
    /// w_k, of length M and norm at most 1.
    pub w: Vec<f64>,
    /// y_k, of length T: agent k's code of each column.
    pub y: Vec<f64>,
    /// |y_k|_2.
    pub weight: f64,
}

impl Bicluster {
    /// Indices of the nonzero entries of w_k, ascending.
    pub fn rows(&self) -> Vec<usize> {
        support(&self.w)
    }

    /// The rows with at least the mean share of the energy, w_m^2 >= |w_k|^2 / M, by decreasing
    /// |w_m|. Most other rows are small but nonzero, above all if columns are centred: a group
    /// above the mean puts all other rows below it.
    pub fn main_rows(&self) -> Vec<usize> {
        let energy: f64 = self.w.iter().map(|w| w * w).sum();
        // Tolerance for rounding, so that rows of equal energy are all included.
        let even = energy / self.w.len().max(1) as f64 * (1.0 - 1e-9);
        let mut rows = self.rows();
        rows.retain(|&m| self.w[m] * self.w[m] >= even);
        rows.sort_by(|&a, &b| self.w[b].abs().total_cmp(&self.w[a].abs()));
        rows
    }

    /// Whether it has no rows or no columns.
    pub fn is_empty(&self) -> bool {
        self.w.iter().all(|w| *w == 0.0) || self.y.iter().all(|y| *y == 0.0)
    }

    /// Indices of the nonzero entries of y_k, ascending.
    pub fn columns(&self) -> Vec<usize> {
        support(&self.y)
    }
}

fn support(v: &[f64]) -> Vec<usize> {
    (0..v.len()).filter(|i| v[*i] != 0.0).collect()
}

/// The layers found.
#[derive(Clone, Debug)]
pub struct Biclusters {
    /// The layers by decreasing weight.
    pub layers: Vec<Bicluster>,
    /// The objective stated in the module documentation, computed from the agents' dual costs.
    pub objective: f64,
    /// The objective of each restart.
    pub objectives: Vec<f64>,
    /// The worst stop reason of the inference in the selected restart.
    pub stop: Stop,
    /// The mesh that learned them.
    pub mesh: Mesh,
}

impl Biclusters {
    /// See [`row_coordinates`].
    pub fn row_coordinates(&self, weighted: bool) -> Matrix {
        row_coordinates(&self.layers, weighted)
    }
}

/// The rows (patients) in N coordinates, M x N: column k is w_k |y_k|, or w_k if not `weighted`.
/// Cluster rows by the weighted coordinates: unweighted, the weakest layer counts as much as the
/// strongest.
pub fn row_coordinates(layers: &[Bicluster], weighted: bool) -> Matrix {
    let m = layers.first().map_or(0, |layer| layer.w.len());
    Matrix::from_fn(m, layers.len(), |i, k| {
        let layer = &layers[k];
        layer.w[i] * if weighted { layer.weight } else { 1.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::Bicluster;

    #[test]
    fn main_rows_have_at_least_an_even_share_the_heaviest_first() {
        let of = |w: &[f64]| {
            let (w, y) = (w.to_vec(), vec![1.0]);
            let (agent, weight) = (0, 1.0);
            Bicluster {
                agent,
                w,
                y,
                weight,
            }
            .main_rows()
        };
        // A group of two rows; the rest is below the mean.
        assert_eq!(of(&[-0.2, 0.5, -0.2, -0.7, -0.2, 0.0]), [3, 1]);
        let third = 1.0 / 3.0_f64.sqrt();
        assert_eq!(of(&[third, -third, third]), [0, 1, 2]);
        assert!(of(&[0.0, 0.0]).is_empty() && of(&[]).is_empty());
    }
}
