//! The graph of the agents and its combination weights.
//!
//! ```
//! use dictmesh::{Topology, WeightRule, Weights};
//! let mesh = Topology::grid(2, 3)?;
//! assert_eq!(mesh.neighbours(1), &[0, 2, 4]);
//! assert_eq!(mesh.diameter(), 3);
//!
//! let a = Weights::new(&mesh, &WeightRule::Metropolis)?;
//! let sum: f64 = a.column(1).iter().map(|&(_, weight)| weight).sum();
//! assert!((sum - 1.0).abs() < 1e-15);
//! # Ok::<(), dictmesh::Error>(())
//! ```
//!
//! Guarantees: every [`Topology`] is undirected, simple and connected. Every [`Weights`] is doubly
//! stochastic, with a_lk > 0 exactly if l is a neighbour of k or k itself. A random graph may be
//! disconnected; its constructor then returns an error. [`Topology::random_connected`] draws again.

mod cut;
mod drawn;
mod shapes;
mod spec;
mod tree;
pub(crate) mod weights;

pub use spec::TopologySpec;
pub use tree::{Shape, SpanningTree};
pub use weights::{Mixing, WeightRule, Weights};

use crate::error::{Error, Result};
use dictmesh_kernels::matrix::{symmetric_eigenvalues, Matrix};
use std::sync::OnceLock;

/// An agent's number, from 0.
pub type AgentId = usize;

/// Upper limit on the number of agents, so that a mistyped number does not exhaust the memory.
const MAX_AGENTS: usize = 1_000_000;

/// An undirected, simple, connected graph over the agents 0, ..., N-1.
///
/// The neighbourhood N_k of the paper is [`neighbours(k)`](Topology::neighbours) and k itself. Two
/// topologies are equal if they have the same edges.
///
/// # Panics
///
/// Methods that take an agent `k` panic if `k >= agents()`, unless they return a [`Result`].
#[derive(Clone, Debug)]
pub struct Topology {
    /// Neighbours of each agent in ascending order, without the agent itself.
    adjacency: Vec<Vec<usize>>,
    /// Computed on first use: not every caller needs it, and it takes a search from every agent.
    /// The agent of least eccentricity, and the diameter.
    eccentricities: OnceLock<(usize, usize)>,
    tree: OnceLock<SpanningTree>,
}

/// Extreme eigenvalues of the graph's Laplacians; all 0 for one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spectrum {
    /// lambda_2(D - B), the algebraic connectivity: above 0, because the graph is connected.
    pub laplacian_second: f64,
    /// lambda_max(D - B).
    pub laplacian_largest: f64,
    /// lambda_min(D + B): 0 exactly if the graph is bipartite.
    pub signless_smallest: f64,
    /// lambda_max(D + B).
    pub signless_largest: f64,
}

impl PartialEq for Topology {
    fn eq(&self, other: &Self) -> bool {
        self.adjacency == other.adjacency
    }
}

impl Eq for Topology {}

impl Topology {
    /// The graph with these edges. Edges are undirected, and duplicates count once.
    pub fn from_edges(n: usize, edges: &[(usize, usize)]) -> Result<Self> {
        check_agents(n)?;
        for &(i, j) in edges {
            if i == j {
                return Err(Error::parameter(
                    "edges",
                    format!("({i}, {j})"),
                    "an edge must join two different agents; an agent combines its own message in \
                     any case: remove this edge",
                ));
            }
            if i.max(j) >= n {
                return Err(Error::parameter(
                    "edges",
                    format!("({i}, {j})"),
                    format!(
                        "the {n} agents are numbered from 0 to {}; both ends must be among them",
                        n - 1
                    ),
                ));
            }
        }
        Topology::build(
            n,
            edges.iter().copied(),
            "add edges that join the separate parts",
        )
    }

    /// Builds every topology. `n` is already checked, and every edge joins two different agents
    /// below `n`.
    fn build(
        n: usize,
        edges: impl Iterator<Item = (usize, usize)>,
        remedy: &'static str,
    ) -> Result<Self> {
        let mut adjacency = vec![Vec::new(); n];
        for (i, j) in edges {
            adjacency[i].push(j);
            adjacency[j].push(i);
        }
        for neighbours in &mut adjacency {
            neighbours.sort_unstable();
            neighbours.dedup();
        }
        let distance = distances(&adjacency, 0);
        match distance.iter().position(Option::is_none) {
            None => Ok(Topology {
                adjacency,
                eccentricities: OnceLock::new(),
                tree: OnceLock::new(),
            }),
            Some(unreachable) => Err(Error::Disconnected {
                agents: n,
                reached: distance.iter().flatten().count(),
                unreachable,
                remedy,
            }),
        }
    }

    /// The number of agents N, at least 1.
    pub fn agents(&self) -> usize {
        self.adjacency.len()
    }

    /// The neighbours of agent `k` in ascending order, without `k` itself.
    pub fn neighbours(&self, k: usize) -> &[usize] {
        &self.adjacency[k]
    }

    /// The number of neighbours of agent `k`, d_k, without `k` itself.
    pub fn degree(&self, k: usize) -> usize {
        self.adjacency[k].len()
    }

    /// The largest degree, max_k d_k; 0 for one agent.
    pub fn max_degree(&self) -> usize {
        self.adjacency.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The mean degree; 0 for one agent.
    pub fn mean_degree(&self) -> f64 {
        let ends: usize = self.adjacency.iter().map(Vec::len).sum();
        ends as f64 / self.agents() as f64
    }

    /// The edges (i, j), i < j, in lexicographic order, each once.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let ends = |(i, neighbours): (usize, &Vec<usize>)| -> Vec<(usize, usize)> {
            let above = neighbours.iter().filter(|&&j| j > i);
            above.map(|&j| (i, j)).collect()
        };
        self.adjacency.iter().enumerate().flat_map(ends).collect()
    }

    /// The largest number of hops between two agents; 0 for one agent. A flood from any agent
    /// reaches all others after this many rounds.
    ///
    /// The first call searches from every agent; the result is cached.
    pub fn diameter(&self) -> usize {
        self.eccentricities().1
    }

    /// The agent of least eccentricity, the smallest number of several, and the diameter.
    fn eccentricities(&self) -> (usize, usize) {
        *self.eccentricities.get_or_init(|| {
            let farthest = |k| distances(&self.adjacency, k).into_iter().flatten().max();
            let each = (0..self.agents()).map(|k| farthest(k).unwrap_or(0));
            let (mut centre, mut least, mut most) = (0, usize::MAX, 0);
            for (k, hops) in each.enumerate() {
                if hops < least {
                    (centre, least) = (k, hops);
                }
                most = most.max(hops);
            }
            (centre, most)
        })
    }

    /// The spanning tree for sums and broadcasts, computed on the first call and cached.
    pub fn spanning_tree(&self) -> &SpanningTree {
        self.tree
            .get_or_init(|| SpanningTree::new(self, self.eccentricities().0))
    }

    /// The depth of the spanning tree and the largest degrees.
    pub fn shape(&self) -> Shape {
        let tree = self.spanning_tree();
        let up = |k: AgentId| usize::from(tree.parent[k].is_some());
        let links = |k: AgentId| tree.children[k].len() + up(k);
        Shape {
            max_degree: self.max_degree(),
            tree_depth: tree.depth(),
            tree_degree: (0..self.agents()).map(links).max().unwrap_or(0),
        }
    }

    /// The extreme eigenvalues of D - B and D + B, where B is the adjacency matrix and D =
    /// diag(d_k).
    ///
    /// Dense eigenvalues: O(N^3) operations and N^2 numbers per call, so that it aborts for graphs
    /// whose N x N matrix exceeds the memory. A mesh has at most 5,000 agents.
    pub fn spectrum(&self) -> Spectrum {
        let n = self.agents();
        if n == 1 {
            return Spectrum::default();
        }
        let eigenvalues = |sign: f64| {
            let mut laplacian = Matrix::zeros(n, n);
            for (k, neighbours) in self.adjacency.iter().enumerate() {
                let column = laplacian.column_mut(k);
                column[k] = neighbours.len() as f64;
                for &l in neighbours {
                    column[l] = sign;
                }
            }
            symmetric_eigenvalues(&laplacian)
        };
        // If the eigenvalue iteration fails, these safe bounds replace its result: Gershgorin's
        // from above and Mohar's, 4 / (N diameter), from below.
        let above = 2.0 * self.max_degree() as f64;
        let below = 4.0 / (n as f64 * self.diameter() as f64);
        let laplacian = eigenvalues(-1.0);
        let signless = eigenvalues(1.0);
        let at = |values: &Option<Vec<f64>>, i: usize, otherwise: f64| {
            values.as_ref().map_or(otherwise, |v| v[i])
        };
        Spectrum {
            laplacian_second: at(&laplacian, 1, below),
            laplacian_largest: at(&laplacian, n - 1, above),
            signless_smallest: at(&signless, 0, 0.0).max(0.0),
            signless_largest: at(&signless, n - 1, above),
        }
    }

    /// This graph with one more agent, number N, joined to `neighbours` (in any order; duplicates
    /// count once).
    pub fn with_agent(&self, neighbours: &[usize]) -> Result<Topology> {
        let n = self.agents();
        check_agents(n + 1)?;
        if let Some(&l) = neighbours.iter().find(|&&l| l >= n) {
            return Err(Error::parameter(
                "neighbours",
                l,
                format!(
                    "neighbours of the new agent must be existing agents, 0 to {}",
                    n - 1
                ),
            ));
        }
        let edges = self.edges();
        let joined = neighbours.iter().map(|&l| (l, n));
        Topology::build(
            n + 1,
            edges.into_iter().chain(joined),
            "give the new agent at least one neighbour",
        )
    }

    /// This graph without agent `k`; agents with larger numbers move down by one.
    ///
    /// # Errors
    ///
    /// [`Error::Disconnected`] if `k` is a cut vertex; [`Error::Parameter`] if `k` is the last
    /// agent or does not exist.
    pub fn without_agent(&self, k: usize) -> Result<Topology> {
        let n = self.agents();
        if k >= n {
            return Err(Error::parameter(
                "agent",
                k,
                format!(
                    "there is no such agent to remove; they are numbered 0 to {}",
                    n - 1
                ),
            ));
        }
        if n == 1 {
            return Err(Error::parameter(
                "agent",
                k,
                "it is the last one; a mesh has at least 1 agent, so it cannot be removed",
            ));
        }
        let down = |l: usize| if l > k { l - 1 } else { l };
        let kept = self.edges().into_iter().filter(|&(i, j)| i != k && j != k);
        Topology::build(
            n - 1,
            kept.map(|(i, j)| (down(i), down(j))),
            "the others are connected only through the removed agent; add an edge between them \
             first (agent numbers are those after the removal)",
        )
    }
}

/// `Ok` if a graph may have `n` agents.
fn check_agents(n: usize) -> Result<()> {
    if (1..=MAX_AGENTS).contains(&n) {
        return Ok(());
    }
    Err(Error::parameter(
        "agents",
        n,
        format!("a mesh has at least 1 agent and at most {MAX_AGENTS}"),
    ))
}

/// Hops from `start` to every agent by breadth-first search; `None` if unreachable.
fn distances(adjacency: &[Vec<usize>], start: usize) -> Vec<Option<usize>> {
    let mut distance = vec![None; adjacency.len()];
    distance[start] = Some(0);
    let (mut shell, mut hops, mut left) = (vec![start], 0, adjacency.len() - 1);
    // Stops once every agent is reached: a dense graph has many more edges.
    while !shell.is_empty() && left > 0 {
        hops += 1;
        let mut next = Vec::new();
        for k in shell {
            if left == 0 {
                break;
            }
            for &l in &adjacency[k] {
                if distance[l].is_none() {
                    distance[l] = Some(hops);
                    left -= 1;
                    next.push(l);
                }
            }
        }
        shell = next;
    }
    distance
}
