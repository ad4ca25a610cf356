//! The arithmetic of a batch in one process, where messages take no time.
//!
//! ```text
//! work = rounds (N (agent + B (sample + (entry + link d) R + (atom + product R) K/N)) + B (root + row R))
//! ```
//!
//! with N agents of mean degree d, K atoms and B samples of R rows (after the rotation of
//! `accel::reduction`, where it applies). The constants are nanoseconds of one core, fitted to
//! `dictmesh-bench cost` on the meshes of `docs/benchmarks.md`. Their ratios alone decide, so that
//! all machines make the same choice.

use super::super::SharedConstants;
use super::{gossip_rounds, tree_rounds};

/// The nanoseconds of one round.
struct Round {
    /// For each agent: its calls and its message.
    agent: f64,
    /// For each sample of each agent, and for each of its entries.
    sample: f64,
    entry: f64,
    /// For each entry and neighbour.
    link: f64,
    /// For each atom and sample, and for each entry of the atom.
    atom: f64,
    product: f64,
    /// For each sample at the root, and for each of its rows.
    root: f64,
    row: f64,
}

/// `tree`: parts as integers, products in single precision, L-BFGS at the root.
const TREE: Round = Round {
    agent: 200.0,
    sample: 100.0,
    entry: 1.2,
    link: 0.0,
    atom: 10.0,
    product: 0.01,
    root: 500.0,
    row: 25.0,
};

/// `relaxed-admm`: an argmin by W_k'W_k, two updates, sums over neighbours.
const GOSSIP: Round = Round {
    agent: 80.0,
    sample: 20.0,
    entry: 1.2,
    link: 0.02,
    atom: 8.0,
    product: 0.028,
    root: 0.0,
    row: 0.0,
};

/// Whether `tree` takes less arithmetic.
pub(super) fn tree_is_less(shared: &SharedConstants) -> bool {
    TREE.batch(shared, tree_rounds(shared)) < GOSSIP.batch(shared, gossip_rounds(shared))
}

impl Round {
    /// Nanoseconds of this number of rounds for a batch.
    fn batch(&self, shared: &SharedConstants, rounds: f64) -> f64 {
        let (agents, atoms) = (shared.agents as f64, shared.atoms as f64);
        let (samples, rows) = (shared.batch as f64, rows(shared));
        let array = self.sample + (self.entry + self.link * shared.mean_degree) * rows;
        let codes = atoms * (self.atom + self.product * rows);
        let root = self.root + self.row * rows;
        rounds * (agents * self.agent + samples * (agents * array + codes + root))
    }
}

/// The rows in which a batch is coded: K + 1 where that is at most half of M.
fn rows(shared: &SharedConstants) -> f64 {
    let reduced = shared.atoms + 1;
    match shared.rows >= 2 * reduced {
        true => reduced as f64,
        false => shared.rows as f64,
    }
}
