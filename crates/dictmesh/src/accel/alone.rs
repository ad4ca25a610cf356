//! A batch of one agent without neighbours and with the squared residual: the conditions, and the
//! result as learning needs it.

use super::{Batch, BatchCodes, Part};
use crate::Stop;
use dictmesh_kernels::products::Firing;
use dictmesh_kernels::Matrix;

/// The only agent, if its argmin is the whole problem 1/2 |x - W y|^2 + h(y) and h is separable.
pub(super) fn agent_alone<'b, 'm>(batch: &'b Batch<'m>) -> Option<&'b Part<'m>> {
    let [agent] = batch.agents.as_slice() else {
        return None;
    };
    let envelope = batch.residual.envelope();
    let squared = envelope.and_then(|e| e.quadratic(1.0, 0.0)) == Some(1.0);
    let separable = agent.task.regularizer().scalar(0).is_some();
    (squared && separable && batch.strategy.solves_alone()).then_some(agent)
}

/// The worst stop, the total cost and the number of non-zero coefficients of some samples, weighted
/// by sample.
pub(super) struct BatchStats {
    pub stop: Stop,
    pub cost: f64,
    pub fired: f64,
}

impl BatchStats {
    pub fn with(self, other: BatchStats) -> BatchStats {
        BatchStats {
            stop: self.stop.worse(other.stop),
            cost: self.cost + other.cost,
            fired: self.fired + other.fired,
        }
    }
}

/// The result for the codes `y` and nu y' = `product`.
pub(super) fn batch_codes(
    batch: &Batch<'_>,
    stats: BatchStats,
    product: Matrix,
    y: &Matrix,
    weights: Option<&[f64]>,
) -> BatchCodes {
    let samples = weights.map_or(y.cols() as f64, |weights| weights.iter().sum());
    let samples = if samples > 0.0 { samples } else { 1.0 };
    let stop = match (stats.stop, batch.tolerance) {
        _ if !stats.cost.is_finite() => stats.stop.worse(Stop::Diverged),
        (Stop::Converged, None) => Stop::RoundLimit,
        (stop, _) => stop,
    };
    BatchCodes {
        // Later rounds would change nothing.
        rounds: batch.tolerance.map_or(batch.rounds, |_| 1),
        bytes: 0,
        stop: Some(stop),
        infeasible: None,
        cost: stats.cost / samples,
        sparsity: stats.fired / samples,
        products: vec![product],
        firing: vec![Firing::of(y, weights)],
    }
}
