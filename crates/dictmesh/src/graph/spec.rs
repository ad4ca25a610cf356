//! A graph as plain data, for files, flags and Python arguments.

use super::shapes::grid_agents;
use super::Topology;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The serialisable description of a [`Topology`], without its number of agents.
///
/// In JSON, an object with the name under `kind`, such as
/// `{"kind": "erdos-renyi", "p": 0.5, "seed": 1}`.
///
/// ```
/// use dictmesh::TopologySpec;
/// let ring = TopologySpec::Ring.build(6)?;
/// assert_eq!(ring.neighbours(0), &[1, 5]);
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologySpec {
    /// [`Topology::complete`].
    Complete,
    /// [`Topology::ring`].
    Ring,
    /// [`Topology::path`].
    Path,
    /// [`Topology::star`].
    Star,
    /// [`Topology::grid`]; `rows * cols` must be the number of agents.
    Grid {
        /// Rows of the grid.
        rows: usize,
        /// Columns of the grid.
        cols: usize,
    },
    /// [`Topology::erdos_renyi`].
    ErdosRenyi {
        /// The probability that a pair is joined, from 0 to 1.
        p: f64,
        /// The seed of the draws.
        seed: u64,
    },
    /// [`Topology::random_connected`]: draws from `seed` on until the graph is 2-connected.
    Random {
        /// The probability that a pair is joined, from 0 to 1.
        p: f64,
        /// The seed of the first draw.
        seed: u64,
    },
    /// [`Topology::random_geometric`].
    RandomGeometric {
        /// The distance up to which two points of the unit square are joined.
        radius: f64,
        /// The seed of the points.
        seed: u64,
    },
    /// [`Topology::from_edges`].
    Edges {
        /// The pairs of agents that are joined.
        edges: Vec<(usize, usize)>,
    },
}

impl TopologySpec {
    /// The graph with `n` agents; errors are those of its constructor.
    pub fn build(&self, n: usize) -> Result<Topology> {
        match self {
            TopologySpec::Complete => Topology::complete(n),
            TopologySpec::Ring => Topology::ring(n),
            TopologySpec::Path => Topology::path(n),
            TopologySpec::Star => Topology::star(n),
            &TopologySpec::Grid { rows, cols } => {
                Error::check_dimension(
                    format!("agents in the {rows} x {cols} grid"),
                    grid_agents(rows, cols)?,
                    n,
                )?;
                Topology::grid(rows, cols)
            }
            &TopologySpec::ErdosRenyi { p, seed } => Topology::erdos_renyi(n, p, seed),
            &TopologySpec::Random { p, seed } => {
                Topology::random_connected(n, p, seed).map(|(graph, _)| graph)
            }
            &TopologySpec::RandomGeometric { radius, seed } => {
                Topology::random_geometric(n, radius, seed)
            }
            TopologySpec::Edges { edges } => Topology::from_edges(n, edges),
        }
    }
}
