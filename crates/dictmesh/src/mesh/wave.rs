//! Rounds that follow each other through the mesh like waves.
//!
//! What an agent does in a round needs only what it and its neighbours did in the round before. On a long thin graph
//! (a ring, a path, a narrow grid) the rounds need not pass one after the other through arrays that no cache can
//! hold: in an order in which neighbours stand at most `reach` apart, the next round begins 2 `reach` agents
//! behind the one before it, while what that one wrote is still at hand. Every number is the same.

use super::part::Part;
use crate::inference::combine;
use crate::topology::Order;

/// Numbers of one array that a part should touch before it comes back to the first: with the five or so arrays of a
/// strategy they stay in the cache.
const PART: usize = 1 << 15;
/// More samples than that in a part do not make an agent's turn any cheaper.
const SAMPLES: usize = 8;
/// Rounds that should be under way at the same time, and those that may be: an interruption waits for them.
const ROUNDS: usize = 4;
const MOST_ROUNDS: usize = 16;

/// How many samples a part should have: as many as stay in the cache, of all agents or of those that a few rounds
/// have to do with.
pub(super) fn samples_in_part(order: &Order, rows: usize) -> usize {
    let still = PART / (order.agents.len() * rows).max(1);
    let moving = PART / (2 * order.reach * ROUNDS * rows).max(1);
    still.max(moving.min(SAMPLES)).max(1)
}

impl Part<'_> {
    /// How many rounds may be under way at the same time: one where all agents' arrays stay in the cache; where what
    /// they send is combined by a product, which sums in another order; and where the agents of the only part can share
    /// more threads than waves would make up for.
    fn rounds_together(&self) -> usize {
        let (order, numbers) = (self.mesh.topology().order(), self.share.as_slice().len());
        let fits = order.agents.len() * numbers <= PART;
        let shared = self.alone && rayon::current_num_threads() > 2;
        match fits || order.reach == 0 || self.exchange.multiplies() || shared {
            true => 1,
            false => (PART / (2 * order.reach * numbers)).min(MOST_ROUNDS),
        }
    }

    /// So many rounds in waves, if there is something to gain. What was heard in the last of them is not kept.
    pub(super) fn waves(&mut self, count: usize) -> bool {
        let together = self.rounds_together();
        if together < 2 || count < 2 {
            return false;
        }
        let (mut left, mut goes_on) = (count, true);
        self.adapt_all();
        while goes_on {
            let now = together.min(left);
            left -= now;
            goes_on = left > 0 && !self.local(0).is_interrupted();
            self.wave(now, goes_on);
        }
        self.rounds += count - left;
        true
    }

    /// So many rounds of agents that have adapted; they do so again at the end if there is `more`.
    fn wave(&mut self, rounds: usize, more: bool) {
        let mut strategies = std::mem::take(&mut self.strategies);
        let mut heard = std::mem::take(&mut self.heard);
        let Order { agents, reach } = self.mesh.topology().order();
        heard.resize(self.share.as_slice().len(), 0.0);
        let (behind, n) = (2 * reach, agents.len());
        for front in 0..n + reach + behind * (rounds - 1) {
            for round in 0..rounds.min(front / behind + 1) {
                let at = front - behind * round;
                if let Some(&k) = agents.get(at) {
                    let sent = |l: usize| strategies[l].outgoing().as_slice();
                    combine(
                        self.exchange.heard_by(k).map(|(l, a)| (a, sent(l))),
                        &mut heard,
                    );
                    strategies[k].absorb(&self.local(k), &heard);
                }
                // Whom nobody will listen to in this round any more.
                let free = at.checked_sub(*reach).and_then(|at| agents.get(at));
                if let Some(&k) = free.filter(|_| more || round + 1 < rounds) {
                    strategies[k].adapt(&self.local(k));
                }
            }
        }
        (self.strategies, self.heard) = (strategies, heard);
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::Run;
    use crate::inference::StrategySpec;
    use crate::random::{gaussian, stream};
    use crate::task::Task;
    use crate::{Mesh, Samples, Start, Stopping, Topology};

    /// 20 samples through so many agents that their arrays are too large for one part, in waves and round by round.
    fn agree(topology: &Topology, strategy: &str, atoms: usize, stopping: Stopping) -> bool {
        let n = topology.agents();
        let x = Samples::dense(gaussian(200, 20, &mut stream(1, 0))).unwrap();
        let mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1).unwrap(), topology.clone())
            .strategy(StrategySpec::from_name(strategy).unwrap())
            .build(200, &vec![atoms; n], Start::Random)
            .unwrap();
        let mut waves = Run::start_reduced(&mesh, &x).unwrap();
        assert!(waves.parts.iter().all(|part| part.rounds_together() > 1));
        let stop = waves.until(&stopping);
        let mut plain = Run::start(&mesh, &x).unwrap();
        (0..waves.rounds()).for_each(|_| plain.round());
        waves.found(stop).duals.iter().eq(plain.duals())
    }

    #[test]
    fn rounds_in_waves_are_the_rounds_to_the_last_bit() {
        let graphs = [
            Topology::ring(121).unwrap(),
            Topology::path(120).unwrap(),
            Topology::grid(3, 40).unwrap(),
        ];
        for graph in &graphs {
            for name in StrategySpec::NAMES {
                // Fewer than go together, as many, and some more.
                for rounds in [1, 2, 9, 23] {
                    assert!(
                        agree(graph, name, 1, Stopping::rounds(rounds)),
                        "{name} {rounds}"
                    );
                }
            }
        }
        // Where agents measure in between.
        let measured = Stopping {
            tolerance: Some(1e-3),
            rounds: 200,
        };
        assert!(agree(&graphs[2], "relaxed-admm", 1, measured));
        // Where agents have problems of several atoms to solve.
        for name in StrategySpec::NAMES {
            assert!(agree(&graphs[0], name, 4, Stopping::rounds(9)), "{name}");
        }
    }
}
