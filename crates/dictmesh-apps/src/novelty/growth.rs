//! How a detector's dictionary grows between two blocks: by agents that join, or by atoms.

use dictmesh::graph::Topology;
use dictmesh::mesh::learning::AtomInit;
use dictmesh::mesh::Mesh;
use dictmesh::random::{stream, Rng};
use dictmesh::AgentId;
use dictmesh::{Error, Result};
use rand::RngExt;

/// The streams of a seed that growth draws from ("grow" in ASCII, above any other stream), one for
/// each number of atoms there are.
const GROWTH_STREAM: u64 = 0x67_72_6f_77 << 32;

/// What is added after a block was scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Nothing.
    None,
    /// Agents that join the mesh. The paper adds ten of one atom each. They are informed if every agent
    /// so far is.
    Agents {
        /// How many.
        count: usize,
        /// Atoms of each, at least 1.
        atoms_each: usize,
    },
    /// Atoms at the agents there are: each goes to the agent with the fewest, the first of them in
    /// case of a tie. Agents without atoms only relay, and stay so.
    Atoms {
        /// How many.
        count: usize,
    },
}

/// Whom an agent is joined to when it enters the mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Join {
    /// Everybody: a complete graph.
    Everybody,
    /// Each agent there is with probability p, independently; one of them at random if that gives
    /// none. So the graph is the random graph G(N, p) of the paper (p = .5), but always connected.
    Random {
        /// The probability, from 0 to 1.
        p: f64,
    },
}

impl Join {
    pub(super) fn check(&self) -> Result<()> {
        match *self {
            Join::Random { p } if !(0.0..=1.0).contains(&p) => Err(Error::parameter(
                "p",
                p,
                "must be a probability, from 0 to 1: a new agent is joined to each with it",
            )),
            _ => Ok(()),
        }
    }

    /// The neighbours, among `agents` agents, of one that joins; empty only if there are no agents.
    fn draw(&self, agents: usize, rng: &mut Rng) -> Vec<AgentId> {
        match *self {
            Join::Everybody => (0..agents).collect(),
            Join::Random { p } => {
                let joined: Vec<AgentId> =
                    (0..agents).filter(|_| rng.random::<f64>() < p).collect();
                if joined.is_empty() && agents > 0 {
                    vec![rng.random_range(0..agents)]
                } else {
                    joined
                }
            }
        }
    }

    /// The graph of `agents` agents that joined one after the other.
    pub fn topology(&self, agents: usize, seed: u64) -> Result<Topology> {
        self.check()?;
        if let Join::Everybody = self {
            return Topology::complete(agents);
        }
        let mut rng = stream(seed, GROWTH_STREAM);
        let mut edges = Vec::new();
        for k in 1..agents {
            edges.extend(self.draw(k, &mut rng).into_iter().map(|l| (l, k)));
        }
        Topology::from_edges(agents, &edges)
    }
}

impl Growth {
    /// Grows the mesh. The new atoms are drawn together, so that no sample starts two of them; the draw
    /// depends on the seed and on how many atoms there are, not on what was drawn before.
    pub(super) fn apply(
        self,
        mesh: &mut Mesh,
        join: &Join,
        seed: u64,
        start: AtomInit<'_>,
    ) -> Result<()> {
        let total = match self {
            Growth::None => return Ok(()),
            Growth::Agents { atoms_each: 0, .. } => {
                return Err(Error::parameter("atoms_each", 0, "must be at least 1"))
            }
            Growth::Agents { count, atoms_each } => {
                count.checked_mul(atoms_each).ok_or_else(|| {
                    Error::parameter("count", count, "their number overflows; take fewer agents")
                })?
            }
            Growth::Atoms { count } => count,
        };
        let mut rng = stream(seed, GROWTH_STREAM + mesh.atoms() as u64);
        let set = mesh.task().common().set();
        let atoms = start.draw(mesh.rows(), total, set, &mut rng)?;
        match self {
            Growth::None => {}
            Growth::Agents { count, atoms_each } => {
                let informed = (0..mesh.agents()).all(|k| mesh.is_informed(k));
                for i in 0..count {
                    let own = atoms.columns_range(i * atoms_each..(i + 1) * atoms_each);
                    let neighbours = join.draw(mesh.agents(), &mut rng);
                    mesh.add_agent(
                        &neighbours,
                        atoms_each,
                        AtomInit::Given(&own),
                        informed,
                        None,
                    )?;
                }
            }
            Growth::Atoms { .. } => {
                for q in 0..total {
                    let poorest = (0..mesh.agents())
                        .filter(|k| !mesh.block(*k).is_empty())
                        .min_by_key(|k| mesh.block(*k).len())
                        .unwrap_or(0);
                    mesh.add_atoms(poorest, 1, AtomInit::Given(&atoms.columns_range(q..q + 1)))?;
                }
            }
        }
        Ok(())
    }
}
