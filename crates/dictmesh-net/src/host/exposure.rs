//! What the graph lets a neighbour compute of a sum, masks or not.

use crate::config::MeshConfig;
use dictmesh::{strategy, AgentId, Topology};

/// Agents that are named one by one.
const NAMED: usize = 8;

/// Whether the strategy of this mesh adds parts up, so that masks do something.
pub fn has_sums(mesh: &MeshConfig) -> bool {
    strategy::build(&mesh.agreed.strategy).is_ok_and(|strategy| strategy.decides())
}

/// What is wrong with `--masks on` where the strategy has no sums.
pub fn of_no_use(mesh: &MeshConfig, given: Option<bool>) -> Option<String> {
    let is_useless = given == Some(true) && !has_sums(mesh);
    is_useless.then(|| {
        format!(
            "--masks on: {} has no sums that masks could hide; --strategy tree has",
            mesh.agreed.strategy.kind()
        )
    })
}

/// What masks do not hide in this graph, a sentence each. Empty for a 2-connected graph, and for
/// strategies without sums.
pub fn warnings(mesh: &MeshConfig) -> Vec<String> {
    if !has_sums(mesh) || mesh.agents.len() < 2 {
        return Vec::new();
    }
    if !mesh.agreed.masks {
        return vec![
            "masks are off: an agent of the tree reads the parts of the agents below it; --masks on \
             hides them"
                .into(),
        ];
    }
    mesh.topology().map_or(Vec::new(), |graph| in_graph(&graph))
}

fn in_graph(graph: &Topology) -> Vec<String> {
    let leaf = |k: &AgentId| graph.degree(*k) == 1;
    let leaves: Vec<AgentId> = (0..graph.agents()).filter(leaf).collect();
    let cuts = graph.cut_vertices();
    let mut said = Vec::new();
    if !leaves.is_empty() {
        let (who, has, their) = match leaves.len() {
            1 => ("agent", "has", "its"),
            _ => ("agents", "have", "their"),
        };
        said.push(format!(
            "{who} {} {has} one neighbour, which can remove {their} masks and compute {their} part \
             of every sum; give a second neighbour to each, as in --topology ring",
            named(&leaves)
        ));
    }
    if !cuts.is_empty() {
        let (who, is) = match cuts.len() {
            1 => ("agent", "is a cut vertex and"),
            _ => ("agents", "are cut vertices and each"),
        };
        said.push(format!(
            "{who} {} {is} can compute the total of the agents that reach the root of the tree \
             through it alone; a 2-connected graph, such as --topology ring, has no such agent",
            named(&cuts)
        ));
    }
    said
}

/// The first of them, and how many more there are.
fn named(agents: &[AgentId]) -> String {
    let (first, last) = match agents {
        [only] => return only.to_string(),
        [first @ .., last] if agents.len() <= NAMED + 1 => (first, last.to_string()),
        _ => (&agents[..NAMED], format!("{} more", agents.len() - NAMED)),
    };
    let first: Vec<String> = first.iter().map(AgentId::to_string).collect();
    format!("{} and {last}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_and_cut_vertices_are_named() {
        assert!(in_graph(&Topology::ring(5).unwrap()).is_empty());
        assert!(in_graph(&Topology::complete(3).unwrap()).is_empty());
        let said = in_graph(&Topology::path(4).unwrap());
        assert!(
            said[0].starts_with("agents 0 and 3 have one neighbour"),
            "{said:?}"
        );
        assert!(
            said[1].starts_with("agents 1 and 2 are cut vertices"),
            "{said:?}"
        );
        let two = in_graph(&Topology::path(2).unwrap());
        assert_eq!(two.len(), 1, "{two:?}");
        let bows = [(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 0)];
        let said = in_graph(&Topology::from_edges(5, &bows).unwrap());
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("agent 0 is a cut vertex"), "{said:?}");
        let star: Vec<(usize, usize)> = (1..20).map(|k| (0, k)).collect();
        let said = in_graph(&Topology::from_edges(20, &star).unwrap());
        assert!(said[0].contains("7, 8 and 11 more have"), "{said:?}");
    }
}
