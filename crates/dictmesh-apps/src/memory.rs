//! The memory of a mesh against the memory that is free. A failed allocation aborts a process, so
//! that a front end refuses a mesh that does not fit before it is built.

mod free;

pub use free::free;

use dictmesh::mesh::{MOST_AGENTS, MOST_ATOMS};
use dictmesh::problem::block::stores_grams;
use dictmesh::Mesh;

/// Why a mesh does not fit into this process.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// A number of agents or atoms is out of range.
    #[error("{what} = {given}: must be 1 to {most}, the most of one process")]
    Count {
        /// `agents` or `atoms`.
        what: &'static str,
        /// The number.
        given: usize,
        /// The largest possible number.
        most: usize,
    },
    /// There is less memory than the sizes need.
    #[error(
        "{} atoms of {} numbers, shared by {} agents, with {} samples at a time, need about {need} \
         bytes of memory, and {free} are free; take fewer of them",
        .sizes.atoms, .sizes.rows, .sizes.agents, .sizes.batch
    )]
    Memory {
        /// The sizes.
        sizes: Sizes,
        /// Bytes that they need.
        need: u64,
        /// Bytes that are free.
        free: u64,
    },
}

/// Errors: a number of agents or atoms that is 0 or that no process can have.
pub fn check_counts(agents: usize, atoms: usize) -> Result<(), Unfit> {
    let limits = [
        ("agents", agents, MOST_AGENTS),
        ("atoms", atoms, MOST_ATOMS),
    ];
    for (what, given, most) in limits {
        if !(1..=most).contains(&given) {
            return Err(Unfit::Count { what, given, most });
        }
    }
    Ok(())
}

/// The sizes that memory depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sizes {
    /// M, the numbers in a sample.
    pub rows: usize,
    /// K, over all agents.
    pub atoms: usize,
    /// N.
    pub agents: usize,
    /// Samples coded together.
    pub batch: usize,
    /// Numbers of the data in memory.
    pub data: usize,
    /// Whether the residual is rotation-invariant, so that long samples are rotated into the span
    /// of the atoms.
    pub rotates: bool,
}

impl Sizes {
    /// The sizes of a mesh that codes `batch` samples together; in one place if `exact`.
    pub fn of(mesh: &Mesh, batch: usize, exact: bool) -> Self {
        Sizes {
            rows: mesh.rows(),
            atoms: mesh.atoms(),
            agents: if exact { 1 } else { mesh.agents() },
            batch,
            data: 0,
            rotates: mesh.task().residual().is_rotation_invariant(),
        }
    }

    /// The approximate number of bytes: the atoms with their update, W'W and its factor where they
    /// are needed, the graph's matrices, the dual vectors and multipliers of all agents, the codes
    /// and the data.
    pub fn bytes(&self) -> u64 {
        let [m, k, n, b, data] =
            [self.rows, self.atoms, self.agents, self.batch, self.data].map(|v| v as f64);
        let reduced = self.rotates && m >= 2.0 * (k + 1.0) && stores_grams([self.atoms], self.rows);
        let rows = if reduced { k + 1.0 } else { m };
        let gram = match stores_grams(self.each_block(), self.rows) {
            _ if reduced => 4.0 * k * k,
            true => k * k / n,
            false => 0.0,
        };
        let numbers = 3.0 * m * k + gram + 4.0 * n * n + 6.0 * rows * n * b + 2.0 * k * b + data;
        // A cast of a float keeps to the range of the integer.
        (8.0 * numbers) as u64
    }

    /// The atoms of each agent, dealt out evenly.
    fn each_block(&self) -> impl Iterator<Item = usize> {
        let agents = self.agents.clamp(1, MOST_AGENTS);
        std::iter::repeat_n(self.atoms.div_ceil(agents), agents)
    }

    /// Errors: sizes that are impossible, or that need more memory than is free.
    pub fn check(&self) -> Result<(), Unfit> {
        check_counts(self.agents, self.atoms)?;
        let (need, free) = (self.bytes(), free());
        match need <= free {
            true => Ok(()),
            false => Err(Unfit::Memory {
                sizes: *self,
                need,
                free,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 537 MB of atoms, 17 MB of duals and 67 MB of codes; W'W would take 2 GB at the agents and
    /// 137 GB at one.
    #[test]
    fn atoms_without_gram_matrices_need_no_room_for_them() {
        for agents in [64, 1] {
            let sizes = Sizes {
                rows: 512,
                atoms: 131_072,
                agents,
                batch: 64,
                data: 0,
                rotates: true,
            };
            assert!(sizes.bytes() < 2_000_000_000, "{agents}: {}", sizes.bytes());
            check_counts(sizes.agents, sizes.atoms).unwrap();
        }
        // Where they are stored they count.
        let stored = Sizes {
            rows: 16,
            atoms: 4_000,
            agents: 1,
            ..Sizes::default()
        };
        assert!(stored.bytes() > 8 * 4_000 * 4_000);
    }

    #[test]
    fn what_fits_passes_and_the_rest_is_refused_with_its_numbers() {
        let small = Sizes {
            rows: 64,
            atoms: 128,
            agents: 4,
            batch: 256,
            data: 1 << 20,
            rotates: true,
        };
        small.check().unwrap();
        let long = Sizes {
            rows: 1 << 40,
            ..small
        };
        let refused = long.check().unwrap_err();
        assert!(matches!(refused, Unfit::Memory { need, .. } if need == long.bytes()));
        assert!(refused.to_string().starts_with("128 atoms of"), "{refused}");
        // Samples that are not rotated keep their length, for every agent and sample.
        let turned = Sizes {
            rows: 1 << 18,
            ..small
        };
        let as_it_is = Sizes {
            rotates: false,
            ..turned
        };
        assert!(as_it_is.bytes() > 4 * turned.bytes());
        // Overflow is refused as well.
        for sizes in [
            Sizes {
                rows: usize::MAX,
                ..small
            },
            Sizes {
                batch: usize::MAX,
                ..small
            },
            Sizes {
                agents: usize::MAX,
                ..small
            },
            Sizes {
                atoms: usize::MAX,
                ..small
            },
        ] {
            assert!(sizes.check().is_err(), "{sizes:?}");
        }
    }
}
