//! The regularizers an audit supports: one scalar penalty for all atoms of an agent.

use dictmesh::mesh::Mesh;
use dictmesh::problem::regularizer::ScalarPenalty;
use dictmesh::AgentId;
use dictmesh::{Error, Result};

/// Rejects agents whose atoms have different penalties, or no scalar penalty. Recovered atoms have
/// no order, so an individual penalty cannot be assigned to them.
pub(super) fn check(mesh: &Mesh) -> Result<()> {
    for k in 0..mesh.agents() {
        let h = mesh.task().local(k).regularizer();
        let first = h.scalar(0);
        let same = |q: usize| match (first, h.scalar(q)) {
            (Some(first), Some(other)) => std::ptr::addr_eq(first, other),
            _ => false,
        };
        if !(0..mesh.block(k).len()).all(same) {
            return Err(Error::Unsupported {
                what: "an audit".to_string(),
                with: format!("the regularizer \"{}\" of agent {k}", h.name()),
                why: "it needs one scalar penalty for all atoms of an agent; use an elastic net"
                    .to_string(),
            });
        }
    }
    Ok(())
}

/// The common penalty of agent `k`'s atoms, after [`check`].
pub(super) fn scalar_penalty(mesh: &Mesh, k: AgentId) -> &dyn ScalarPenalty {
    let scalar = mesh.task().local(k).regularizer().scalar(0);
    scalar.unwrap_or(&Unused)
}

/// The penalty of an agent without atoms: every code is 0.
#[derive(Debug)]
struct Unused;

impl ScalarPenalty for Unused {
    fn value_at(&self, y: f64) -> f64 {
        match y == 0.0 {
            true => 0.0,
            false => f64::INFINITY,
        }
    }

    fn coordinate_argmax(&self, _s: f64, _kappa: f64) -> f64 {
        0.0
    }

    fn strong_convexity(&self) -> f64 {
        1.0
    }
}
