//! Constructors of standard graphs, regular and random.

use super::{check_agents, Topology};
use crate::error::{Error, Result};
use crate::random::{self, Rng};
use rand::RngExt;

/// The random stream of graphs ("graph" in ASCII), distinct from the streams of agents.
const GRAPH_STREAM: u64 = 0x67_72_61_70_68;

impl Topology {
    /// The complete graph, the paper's fully connected case. Stores N(N-1)/2 edges.
    pub fn complete(n: usize) -> Result<Self> {
        check_edges(n, 1.0)?;
        Topology::build(n, pairs(n), "add edges")
    }

    /// Agent k joined to k+1 modulo N. Two agents share a single edge.
    pub fn ring(n: usize) -> Result<Self> {
        check_agents(n)?;
        let closing = (n > 2).then(|| (0, n - 1));
        Topology::build(n, line(n).chain(closing), "add edges")
    }

    /// Agent k joined to k+1: the graph with the largest diameter.
    pub fn path(n: usize) -> Result<Self> {
        check_agents(n)?;
        Topology::build(n, line(n), "add edges")
    }

    /// Agent 0 joined to every other agent.
    pub fn star(n: usize) -> Result<Self> {
        check_agents(n)?;
        Topology::build(n, (1..n).map(|k| (0, k)), "add edges")
    }

    /// A grid of `rows` x `cols` agents with 4-neighbourhoods; the agent at row r and column c has
    /// number r `cols` + c.
    pub fn grid(rows: usize, cols: usize) -> Result<Self> {
        let n = grid_agents(rows, cols)?;
        check_agents(n)?;
        let right = (0..n)
            .filter(move |k| k % cols + 1 < cols)
            .map(|k| (k, k + 1));
        let down = (0..n - cols).map(move |k| (k, k + cols));
        Topology::build(n, right.chain(down), "add edges")
    }

    /// A random graph with each pair (i, j), i < j, joined independently with probability `p`.
    ///
    /// `n`, `p` and `seed` determine the graph on every platform. Up to 5,000 agents, one number is
    /// drawn per pair: for a fixed seed, a larger `p` only adds edges. Above, one number is drawn
    /// per edge, the number of pairs to skip (Batagelj and Brandes 2005): time is proportional to
    /// the number of edges, and graphs of different `p` are unrelated.
    ///
    /// # Errors
    ///
    /// [`Error::Disconnected`] if the graph is not connected. It most likely is when p is well
    /// above ln(n)/n.
    pub fn erdos_renyi(n: usize, p: f64, seed: u64) -> Result<Self> {
        check_agents(n)?;
        if !(0.0..=1.0).contains(&p) {
            return Err(Error::parameter(
                "p",
                p,
                "must be a probability, from 0 to 1: each pair of agents is joined with it",
            ));
        }
        check_edges(n, p)?;
        let mut rng = random::stream(seed, GRAPH_STREAM);
        let remedy =
            "take a larger p (well above ln(agents) / agents is usually enough) or another seed";
        if n <= DRAWN_PAIR_BY_PAIR {
            let drawn = pairs(n).filter(move |_| rng.random::<f64>() < p);
            return Topology::build(n, drawn, remedy);
        }
        Topology::build(n, skipping(n, p, rng), remedy)
    }

    /// A random geometric graph: N points uniform in the unit square, joined if their distance is
    /// at most `radius`. The points are not stored.
    ///
    /// For a fixed seed, a larger `radius` only adds edges; sqrt(2) joins every pair.
    ///
    /// # Errors
    ///
    /// [`Error::Disconnected`] if the graph is not connected.
    pub fn random_geometric(n: usize, radius: f64, seed: u64) -> Result<Self> {
        check_agents(n)?;
        Error::check_positive("radius", radius)?;
        check_edges(n, (std::f64::consts::PI * radius * radius).min(1.0))?;
        let mut rng = random::stream(seed, GRAPH_STREAM);
        let points: Vec<(f64, f64)> = (0..n).map(|_| (rng.random(), rng.random())).collect();
        let near = pairs(n).filter(|&(i, j)| {
            let (dx, dy) = (points[i].0 - points[j].0, points[i].1 - points[j].1);
            dx.hypot(dy) <= radius
        });
        Topology::build(
            n,
            near,
            "take a larger radius (1.42 joins every pair) or another seed",
        )
    }
}

/// Up to this many agents, a random graph draws one number per pair. It is the limit of a mesh in
/// one process: graphs of existing seeds must not change.
const DRAWN_PAIR_BY_PAIR: usize = 5_000;

/// Random numbers that [`Topology::erdos_renyi`] draws.
pub(super) fn numbers_drawn(n: usize, p: f64) -> f64 {
    let pairs = n as f64 * (n as f64 - 1.0) / 2.0;
    if n <= DRAWN_PAIR_BY_PAIR {
        pairs
    } else {
        p * pairs
    }
}

/// Bits of a pair index: at most 1e6 agents, thus fewer than 2^39 pairs.
const PAIR_BITS: usize = 39;

/// The edges of a random graph in lexicographic order, by geometric skipping: P(at least g pairs
/// are skipped) = (1 - p)^g.
fn skipping(n: usize, p: f64, mut rng: Rng) -> impl Iterator<Item = (usize, usize)> {
    // (1 - p)^(2^k). Products instead of logarithms, which are rounded differently on some
    // platforms.
    let mut powers = [1.0 - p; PAIR_BITS];
    for k in 1..PAIR_BITS {
        powers[k] = powers[k - 1] * powers[k - 1];
    }
    // The previous edge; initially the position before (0, 1). Row i ends with (i, n - 1).
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let drawn: f64 = rng.random();
        // The largest g with drawn < (1 - p)^g, bit by bit.
        let (mut skipped, mut power) = (0_usize, 1.0);
        for k in (0..PAIR_BITS).rev() {
            if drawn < power * powers[k] {
                power *= powers[k];
                skipped += 1 << k;
            }
        }
        let mut ahead = skipped + 1;
        while i + 1 < n {
            let left = n - 1 - j;
            if ahead <= left {
                j += ahead;
                return Some((i, j));
            }
            ahead -= left;
            i += 1;
            j = i;
        }
        None
    })
}

/// `rows * cols`; an error if it is 0 or overflows.
pub(super) fn grid_agents(rows: usize, cols: usize) -> Result<usize> {
    rows.checked_mul(cols).filter(|&n| n > 0).ok_or_else(|| {
        Error::parameter(
            "grid",
            format!("{rows} x {cols}"),
            "must have at least one row and one column, and no more places than agents can be \
             counted",
        )
    })
}

/// Upper limit on the number of edges: 8 GB, since each edge is stored at both of its ends.
const MAX_EDGES: f64 = 5e8;

/// `Ok` if a graph may have this share of all pairs of `n` agents as edges.
fn check_edges(n: usize, share: f64) -> Result<()> {
    check_agents(n)?;
    let edges = share * n as f64 * (n as f64 - 1.0) / 2.0;
    if edges <= MAX_EDGES {
        return Ok(());
    }
    let allowed = format!(
        "needs {edges:.0} edges; a graph has at most {MAX_EDGES}: take fewer agents or a sparser \
         graph"
    );
    Err(Error::parameter("agents", n, allowed))
}

/// All (i, j) with i < j < n, in lexicographic order.
fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))
}

/// (0, 1), (1, 2), ..., (n-2, n-1).
fn line(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (1..n).map(|k| (k - 1, k))
}
