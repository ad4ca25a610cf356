//! The spanning tree for sums to a root and broadcasts from it.

use super::{AgentId, Topology};

/// A breadth-first spanning tree rooted at an agent of least eccentricity, the one with the
/// smallest number.
///
/// The parent of an agent is its neighbour one hop nearer to the root, with ties broken by the
/// smallest number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanningTree {
    /// The parent of each agent; `None` for the root.
    pub parent: Vec<Option<AgentId>>,
    /// The children of each agent in ascending order.
    pub children: Vec<Vec<AgentId>>,
    /// The agents in breadth-first order: the root first, each after its parent.
    pub order: Vec<AgentId>,
}

/// What an exchange over the graph or its spanning tree takes; all 0 for one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The largest number of neighbours of an agent.
    pub max_degree: usize,
    /// The largest number of hops from the root.
    pub tree_depth: usize,
    /// The largest number of links of the tree at one agent.
    pub tree_degree: usize,
}

impl SpanningTree {
    /// The tree with this root.
    pub(super) fn new(topology: &Topology, root: AgentId) -> Self {
        let n = topology.agents();
        let (mut parent, mut seen, mut order) = (vec![None; n], vec![false; n], vec![root]);
        seen[root] = true;
        let mut at = 0;
        // Each level is visited in ascending order, so the first agent to reach another is its
        // parent.
        while at < order.len() {
            let end = order.len();
            let mut next = Vec::new();
            let mut shell = order[at..end].to_vec();
            shell.sort_unstable();
            for k in shell {
                for &l in topology.neighbours(k) {
                    if !std::mem::replace(&mut seen[l], true) {
                        parent[l] = Some(k);
                        next.push(l);
                    }
                }
            }
            next.sort_unstable();
            order.extend(next);
            at = end;
        }
        let mut children = vec![Vec::new(); n];
        for (k, parent) in parent.iter().enumerate() {
            if let Some(parent) = *parent {
                let siblings: &mut Vec<AgentId> = &mut children[parent];
                siblings.push(k);
            }
        }
        SpanningTree {
            parent,
            children,
            order,
        }
    }

    /// The largest number of hops from the root.
    pub fn depth(&self) -> usize {
        let mut k = self.order.last().copied();
        let up = std::iter::from_fn(|| {
            k = self.parent[k?];
            k
        });
        up.count()
    }

    /// The root.
    pub fn root(&self) -> AgentId {
        self.order[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_hangs_below_a_neighbour_one_hop_nearer_to_the_root() {
        for graph in [
            Topology::ring(7).unwrap(),
            Topology::grid(3, 4).unwrap(),
            Topology::complete(5).unwrap(),
            Topology::path(1).unwrap(),
            Topology::erdos_renyi(30, 0.2, 3).unwrap(),
        ] {
            let tree = graph.spanning_tree();
            let mut sorted = tree.order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..graph.agents()));
            let farthest = |k: usize| {
                let hops = super::super::distances(&graph.adjacency, k);
                hops.into_iter().flatten().max().unwrap()
            };
            let least = (0..graph.agents()).min_by_key(|k| (farthest(*k), *k));
            assert_eq!(least, Some(tree.root()));
            assert_eq!(tree.depth(), farthest(tree.root()));
            let hops = super::super::distances(&graph.adjacency, tree.root());
            for k in 0..graph.agents() {
                let Some(parent) = tree.parent[k] else {
                    assert_eq!(k, tree.root());
                    continue;
                };
                let nearer = graph.neighbours(k).iter().copied();
                let first = nearer
                    .filter(|l| hops[*l].unwrap() + 1 == hops[k].unwrap())
                    .min();
                assert_eq!(Some(parent), first);
                let place = |k| tree.order.iter().position(|l| *l == k);
                assert!(place(parent) < place(k));
            }
        }
    }
}
