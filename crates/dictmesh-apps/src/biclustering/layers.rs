//! What biclustering finds.

use dictmesh::mesh::Mesh;
use dictmesh::Stop;
use dictmesh_kernels::matrix::Matrix;

/// One layer w y'.
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
    /// The rows in the layer, where w_k is not zero; rising.
    pub fn rows(&self) -> Vec<usize> {
        support(&self.w)
    }

    /// The rows that make up the layer: those with at least an even share of it, w_m^2 >= |w_k|^2 / M; the
    /// largest |w_m| first. Most of the others are not zero but small, above all where columns are centred:
    /// what some rows have above the mean, all the others have below it.
    pub fn main_rows(&self) -> Vec<usize> {
        let energy: f64 = self.w.iter().map(|w| w * w).sum();
        // Rows that share evenly are all in, however their squares are rounded.
        let even = energy / self.w.len().max(1) as f64 * (1.0 - 1e-9);
        let mut rows = self.rows();
        rows.retain(|&m| self.w[m] * self.w[m] >= even);
        rows.sort_by(|&a, &b| self.w[b].abs().total_cmp(&self.w[a].abs()));
        rows
    }

    /// The columns in the layer, where y_k is not zero; rising.
    pub fn columns(&self) -> Vec<usize> {
        support(&self.y)
    }
}

fn support(v: &[f64]) -> Vec<usize> {
    (0..v.len()).filter(|i| v[*i] != 0.0).collect()
}

/// The layers that were found.
#[derive(Clone, Debug)]
pub struct Biclusters {
    /// The layers, weights falling.
    pub layers: Vec<Bicluster>,
    /// The objective at the top of this module, as the agents' duals give it.
    pub objective: f64,
    /// The objective of each restart.
    pub objectives: Vec<f64>,
    /// The worst ending of the inference in the restart that was kept.
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

/// The rows (patients) in few dimensions, M x N: column k is w_k times |y_k|, or w_k itself if not
/// `weighted`. Weighted is what to cluster rows by, since w_k itself makes the least layer as loud as
/// the first.
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
        // A group of two against a centred rest.
        assert_eq!(of(&[-0.2, 0.5, -0.2, -0.7, -0.2, 0.0]), [3, 1]);
        let third = 1.0 / 3.0_f64.sqrt();
        assert_eq!(of(&[third, -third, third]), [0, 1, 2]);
        assert!(of(&[0.0, 0.0]).is_empty() && of(&[]).is_empty());
    }
}
