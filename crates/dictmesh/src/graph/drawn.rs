//! Random graphs that are drawn until they are connected and, if possible, 2-connected.

use super::shapes::numbers_drawn;
use super::Topology;
use crate::error::{Error, Result};

/// The probability of an edge where no graph is given.
const DEFAULT_P: f64 = 0.3;
/// Draws of one graph, at most.
const MOST_DRAWS: f64 = 200.0;
/// Random numbers drawn for one graph, at most: about half a second.
const MOST_NUMBERS: f64 = 1e8;

impl Topology {
    /// A random graph with edges of probability `p`, and the seed of its draw: the first
    /// 2-connected one among [`erdos_renyi`](Topology::erdos_renyi) of `seed`, `seed + 1`, ...
    ///
    /// In a 2-connected graph every agent has two neighbours and no agent is a cut vertex, so that
    /// masks hide each part of a sum from every single agent. Where such a graph is unlikely for
    /// `n` and `p`, or none is found in 200 draws (fewer above 1,000 agents), the first connected
    /// one is returned.
    ///
    /// ```
    /// use dictmesh::Topology;
    /// let (graph, seed) = Topology::random_connected(8, 0.3, 0)?;
    /// assert!(graph.cut_vertices().is_empty());
    /// assert_eq!(graph, Topology::erdos_renyi(8, 0.3, seed)?);
    /// # Ok::<(), dictmesh::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Disconnected`] if the draws gave no connected graph. A connected one is unlikely
    /// where p is below ln(n)/n.
    pub fn random_connected(n: usize, p: f64, seed: u64) -> Result<(Self, u64)> {
        let draws = (MOST_NUMBERS / numbers_drawn(n, p)).clamp(1.0, MOST_DRAWS);
        let is_likely = |probability: f64| probability * draws >= 2.0;
        let [connected, two_connected] = likelihoods(n, p).map(is_likely);
        let mut best = None;
        for draw in 0..draws as u64 {
            let seed = seed.wrapping_add(draw);
            match Topology::erdos_renyi(n, p, seed) {
                Ok(graph) if graph.cut_vertices().is_empty() => return Ok((graph, seed)),
                Ok(graph) if !matches!(best, Some(Ok(_))) => best = Some(Ok((graph, seed))),
                Ok(_) => {}
                Err(error @ Error::Disconnected { .. }) => {
                    best.get_or_insert(Err(error));
                }
                Err(error) => return Err(error),
            }
            let goes_on = match best {
                Some(Ok(_)) => two_connected,
                _ => connected,
            };
            if !goes_on {
                break;
            }
        }
        // NaN draws nothing above, and is refused here.
        best.unwrap_or_else(|| Topology::erdos_renyi(n, p, seed).map(|graph| (graph, seed)))
    }

    /// The graph where none is given, and the seed of its draw if it is random:
    /// [`random_connected`](Topology::random_connected) with p = 0.3 if that is 2-connected,
    /// otherwise (a mesh of few agents) the complete graph.
    pub fn unspecified(n: usize, seed: u64) -> Result<(Self, Option<u64>)> {
        match Topology::random_connected(n, DEFAULT_P, seed) {
            Ok((graph, seed)) if graph.cut_vertices().is_empty() => Ok((graph, Some(seed))),
            Ok(_) | Err(Error::Disconnected { .. }) => Ok((Topology::complete(n)?, None)),
            Err(error) => Err(error),
        }
    }
}

/// Estimates of the probabilities that a random graph is connected and 2-connected: that no agent
/// has fewer than one and two neighbours. Both hold in the limit of many agents.
fn likelihoods(n: usize, p: f64) -> [f64; 2] {
    let (agents, others, q) = (n as f64, n as f64 - 1.0, 1.0 - p);
    let none = q.powf(others);
    let one = if n < 3 {
        0.0 // two agents have no cut vertex
    } else {
        others * p * q.powf(others - 1.0)
    };
    [none, none + one].map(|each| (-agents * each).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_fine(graph: &Topology) -> bool {
        graph.cut_vertices().is_empty()
    }

    #[test]
    fn a_draw_that_is_2_connected_is_taken_as_it_is() {
        let mut fine = 0;
        for seed in 0..40 {
            let Ok(graph) = Topology::erdos_renyi(16, 0.3, seed) else {
                continue;
            };
            if is_fine(&graph) {
                fine += 1;
                let drawn = Topology::random_connected(16, 0.3, seed).unwrap();
                assert_eq!(drawn, (graph, seed));
            }
        }
        assert!((10..40).contains(&fine), "{fine}");
    }

    #[test]
    fn graphs_are_drawn_until_one_is_2_connected_and_its_seed_is_returned() {
        for (n, p) in [
            (1, 0.3),
            (2, 0.3),
            (5, 0.3),
            (8, 0.3),
            (16, 0.3),
            (200, 0.04),
        ] {
            for seed in [0, 1, 2, u64::MAX] {
                let (graph, drawn) = Topology::random_connected(n, p, seed).unwrap();
                assert!(is_fine(&graph), "{n} {p} {seed}: {:?}", graph.edges());
                assert_eq!(graph, Topology::erdos_renyi(n, p, drawn).unwrap());
                let skipped = (0..drawn.wrapping_sub(seed)).map(|i| seed.wrapping_add(i));
                let mut skipped = skipped.map(|seed| Topology::erdos_renyi(n, p, seed));
                assert!(skipped.all(|graph| !graph.is_ok_and(|graph| is_fine(&graph))));
            }
        }
    }

    /// Mean degree 3: a connected graph takes some draws, one without leaves far too many.
    #[test]
    fn a_connected_graph_is_taken_where_a_2_connected_one_is_unlikely() {
        let (n, p) = (30, 3.0 / 29.0);
        let (graph, drawn) = Topology::random_connected(n, p, 0).unwrap();
        assert!(!is_fine(&graph));
        let before = (0..drawn).map(|seed| Topology::erdos_renyi(n, p, seed));
        assert!(before.map(Result::ok).all(|graph| graph.is_none()));
    }

    #[test]
    fn no_connected_graph_is_an_error_as_of_the_first_draw() {
        for (n, p) in [(2, 0.0), (50, 0.01), (4_000, 0.0005)] {
            let error = Topology::random_connected(n, p, 3).unwrap_err();
            let first = Topology::erdos_renyi(n, p, 3).unwrap_err();
            assert_eq!(error.to_string(), first.to_string());
            assert!(matches!(error, Error::Disconnected { .. }), "{error}");
        }
        for p in [1.5, -0.1, f64::NAN] {
            assert!(Topology::random_connected(4, p, 0).is_err());
            assert!(Topology::random_connected(6_000, p, 0).is_err());
        }
        assert!(Topology::random_connected(0, 0.5, 0).is_err());
    }

    #[test]
    fn an_unspecified_graph_is_2_connected() {
        for n in 1..40 {
            for seed in 0..10 {
                let (graph, drawn) = Topology::unspecified(n, seed).unwrap();
                assert!(is_fine(&graph), "{n} {seed}");
                match drawn {
                    Some(drawn) => assert_eq!(graph, Topology::erdos_renyi(n, 0.3, drawn).unwrap()),
                    None => assert_eq!(graph, Topology::complete(n).unwrap()),
                }
            }
        }
        assert!(Topology::unspecified(0, 0).is_err());
    }
}
