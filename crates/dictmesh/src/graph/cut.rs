//! Cut vertices: agents without which the graph falls apart.

use super::{AgentId, Topology};

impl Topology {
    /// The agents without which the others are disconnected, in ascending order, by depth-first
    /// search in time proportional to the number of edges. Empty exactly if the graph is
    /// 2-connected or has at most two agents.
    pub fn cut_vertices(&self) -> Vec<AgentId> {
        let n = self.agents();
        // The order of the first visit, from 1, and the earliest agent that a subtree has an edge
        // to.
        let (mut visited, mut earliest) = (vec![0_usize; n], vec![0_usize; n]);
        let mut is_cut = vec![false; n];
        // Agent, its parent, and the next of its neighbours. Without recursion: a path is as deep
        // as it has agents.
        let mut stack: Vec<(AgentId, Option<AgentId>, usize)> = vec![(0, None, 0)];
        let (mut count, mut below_root) = (1, 0);
        (visited[0], earliest[0]) = (1, 1);
        while let Some((k, parent, next)) = stack.pop() {
            let Some(&l) = self.neighbours(k).get(next) else {
                let Some(p) = parent else { continue };
                earliest[p] = earliest[p].min(earliest[k]);
                is_cut[p] |= p != 0 && earliest[k] >= visited[p];
                continue;
            };
            stack.push((k, parent, next + 1));
            if visited[l] == 0 {
                count += 1;
                (visited[l], earliest[l]) = (count, count);
                below_root += usize::from(k == 0);
                stack.push((l, Some(k), 0));
            } else if Some(l) != parent {
                earliest[k] = earliest[k].min(visited[l]);
            }
        }
        is_cut[0] = below_root > 1;
        (0..n).filter(|k| is_cut[*k]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On graphs of all kinds: those agents whose removal disconnects the others.
    #[test]
    fn cut_vertices_are_those_whose_removal_disconnects() {
        let mut graphs = vec![
            Topology::path(1).unwrap(),
            Topology::path(2).unwrap(),
            Topology::path(6).unwrap(),
            Topology::ring(6).unwrap(),
            Topology::complete(5).unwrap(),
            Topology::grid(1, 5).unwrap(),
            Topology::grid(3, 4).unwrap(),
            // Two triangles that share agent 0.
            Topology::from_edges(5, &[(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 0)]).unwrap(),
        ];
        graphs.extend((0..40).filter_map(|seed| Topology::erdos_renyi(12, 0.2, seed).ok()));
        assert!(graphs.len() > 12, "{} graphs", graphs.len());
        for graph in graphs {
            let n = graph.agents();
            let expected: Vec<usize> = (0..n)
                .filter(|k| n > 1 && graph.without_agent(*k).is_err())
                .collect();
            assert_eq!(graph.cut_vertices(), expected, "{:?}", graph.edges());
        }
    }

    #[test]
    fn a_long_path_takes_no_stack() {
        let path = Topology::path(50_000).unwrap();
        assert_eq!(path.cut_vertices().len(), 49_998);
    }
}
