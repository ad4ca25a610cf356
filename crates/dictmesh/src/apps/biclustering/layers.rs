//! What biclustering finds.

use crate::matrix::Matrix;
use crate::mesh::Mesh;
use crate::Stop;

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
