//! Weights of samples: the weight of sample j multiplies its whole cost.
//!
//! ```text
//! min over W of  sum_j w_j [ min_y f(x_j - W y) + h_y(y) ] / sum_j w_j  +  h_W(W)
//! ```
//!
//! Codes and dual vectors do not depend on the weights. The dictionary update replaces the mean of
//! nu y' by sum_j w_j nu_j y_j' / sum_j w_j, and the energy of atom q by sum_j w_j y_qj^2.

use super::Samples;
use crate::error::{Error, Result};
use dictmesh_kernels::matrix::Matrix;

impl Samples {
    /// Sets the weights of the samples, replacing any previous ones.
    ///
    /// Within one batch, weight 2 equals giving the sample twice, and weight 0 equals omitting it.
    /// A common factor on all weights has no effect. A factor on one batch alone has none either,
    /// except on [`Update::Adaptive`](crate::Update::Adaptive), which accumulates w_j y_qj^2 over
    /// batches.
    ///
    /// ```
    /// use dictmesh::Samples;
    /// let x = Samples::dense_from_columns(2, &[[1.0, 0.0], [0.0, 1.0]])?;
    /// let x = x.weighted(vec![1.0, 2.5])?;
    /// assert_eq!(x.range(1..2).weights(), Some(&[2.5][..]));
    /// # Ok::<(), dictmesh::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not one weight per sample, or one is negative or not finite.
    pub fn weighted(mut self, weights: Vec<f64>) -> Result<Samples> {
        Error::check_dimension(
            "number of weights (one per sample)",
            weights.len(),
            self.len(),
        )?;
        for weight in &weights {
            Error::check_not_negative("weight of a sample", *weight)?;
        }
        self.weights = weights.iter().any(|w| *w != 1.0).then_some(weights);
        Ok(self)
    }

    /// The weight of each sample; `None` if all are 1.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The weight of sample `j`.
    pub fn weight(&self, j: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[j])
    }
}

/// `y` with column j scaled by w_j, for the sums of w_j nu_j y_j'.
pub(crate) fn weigh(y: &Matrix, weights: &[f64]) -> Matrix {
    Matrix::from_fn(y.rows(), y.cols(), |q, j| y.get(q, j) * weights[j])
}

/// The weighted mean of one value per sample (weights 1 if `None`); 0 if the weights sum to 0.
pub(crate) fn mean(values: impl Iterator<Item = f64>, weights: Option<&[f64]>) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (j, value) in values.enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[j]);
        if weight > 0.0 {
            sum += weight * value;
            total += weight;
        }
    }
    if total > 0.0 {
        sum / total
    } else {
        0.0
    }
}
