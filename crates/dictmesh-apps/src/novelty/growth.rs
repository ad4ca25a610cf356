//! Growth of the dictionary between blocks: new agents or new atoms.

use dictmesh::graph::Topology;
use dictmesh::mesh::AtomInit;
use dictmesh::mesh::Mesh;
use dictmesh::random::{stream, Rng};
use dictmesh::AgentId;
use dictmesh::{Error, Result};
use rand::RngExt;

/// First random stream of growth ("grow" in ASCII, above all other streams); the offset is the
/// number of atoms.
const GROWTH_STREAM: u64 = 0x67_72_6f_77 << 32;

/// What is added after scoring a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Nothing.
    None,
    /// New agents. The paper adds ten with one atom each. They are informed if all existing agents
    /// are.
    Agents {
        /// Number of agents.
        count: usize,
        /// Atoms per agent, at least 1.
        atoms_each: usize,
    },
    /// New atoms for existing agents: each goes to the agent with the fewest, the first on a tie.
    /// Agents without atoms only relay and receive none.
    Atoms {
        /// Number of atoms.
        count: usize,
    },
}

/// The neighbours of a new agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Join {
    /// All agents: a complete graph.
    Everybody,
    /// Each existing agent independently with probability p, or one at random if none is drawn.
    /// This is the paper's random graph G(N, p) with p = .5, but always connected.
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

    /// The neighbours of a new agent among `agents` existing ones; empty only if there are none.
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

    /// The graph after `agents` agents have joined one by one.
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
    /// Grows the mesh. All new atoms come from one draw, so that no sample is used twice. The draw
    /// depends on the seed and the number of atoms, not on earlier draws.
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
