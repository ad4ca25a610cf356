//! An order of the agents in which neighbours stand near each other.

use super::Topology;
use crate::agent::AgentId;

/// The agents in such an order, and how far neighbours stand apart in it at most.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub agents: Vec<AgentId>,
    pub reach: usize,
}

impl Topology {
    /// Everyone by the distance from an agent at the rim, neighbours of those who stand first before others (Cuthill and
    /// McKee 1969, with ties as they come). 1 apart on a path, 2 on a ring.
    ///
    /// The first call searches, later ones look it up.
    pub(crate) fn order(&self) -> &Order {
        self.order.get_or_init(|| {
            let rim = |from: AgentId| self.in_shells(from).last().copied().unwrap_or(from);
            let agents = self.in_shells(rim(rim(0)));
            let mut place = vec![0; agents.len()];
            for (at, k) in agents.iter().enumerate() {
                place[*k] = at;
            }
            let edges =
                (0..agents.len()).flat_map(|k| self.neighbours(k).iter().map(move |l| (k, *l)));
            let reach = edges.map(|(k, l)| place[k].abs_diff(place[l])).max();
            Order {
                agents,
                reach: reach.unwrap_or(0),
            }
        })
    }

    fn in_shells(&self, from: AgentId) -> Vec<AgentId> {
        let mut seen = vec![false; self.agents()];
        seen[from] = true;
        let (mut agents, mut at) = (vec![from], 0);
        while let Some(k) = agents.get(at).copied() {
            for &l in self.neighbours(k) {
                if !std::mem::replace(&mut seen[l], true) {
                    agents.push(l);
                }
            }
            at += 1;
        }
        agents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologySpec;

    #[test]
    fn neighbours_stand_near_each_other_on_thin_graphs() {
        let reach = |t: Topology| t.order().reach;
        assert_eq!(reach(Topology::path(1).unwrap()), 0);
        assert_eq!(reach(Topology::path(9).unwrap()), 1);
        assert_eq!(reach(Topology::ring(9).unwrap()), 2);
        assert!(reach(Topology::grid(3, 20).unwrap()) <= 4); // 3 at best
        assert_eq!(reach(Topology::complete(9).unwrap()), 8);
    }

    #[test]
    fn everybody_stands_in_it_once_and_nobody_further_from_a_neighbour_than_said() {
        let spec = TopologySpec::ErdosRenyi { p: 0.2, seed: 3 };
        let graph = spec.build(40).unwrap();
        let order = graph.order();
        let mut sorted = order.agents.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..40));
        let place = |k| order.agents.iter().position(|l| *l == k).unwrap();
        let apart = graph
            .edges()
            .into_iter()
            .map(|(i, j)| place(i).abs_diff(place(j)));
        assert_eq!(apart.max(), Some(order.reach));
    }
}
