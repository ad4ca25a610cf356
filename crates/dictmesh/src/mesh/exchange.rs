//! Exchange of arrays between agents in one process.
//!
//! A combination over neighbours is the product of the sent arrays (one column per agent) and the N
//! x N weights. It is tiled by rows, so that a tile stays in cache for all agents.

use super::rounds::{Carrier, Received};
use crate::accel::{Accels, Combiner};
use crate::graph::{Topology, Weights};
use crate::strategy::{AgentStrategy, Combine, Exchange, Message};
use dictmesh_kernels::combine::{add_up, minus_own, Order};
use dictmesh_kernels::pool::PerThreadPool;
use dictmesh_kernels::Matrix;
use faer::prelude::ReborrowMut;
use faer::MatMut;
use std::convert::Infallible;
use std::sync::OnceLock;

/// Number of entries in a tile, over all agents (256 KB).
const TILE: usize = 1 << 15;

/// The links of a mesh in one process.
#[derive(Debug)]
pub(super) struct Links<'m> {
    topology: &'m Topology,
    weights: &'m Weights,
    accels: &'m Accels,
    /// Sum of all degrees: arrays sent in a combination.
    degrees: u64,
    /// The weights by combination rule, computed on first use.
    rules: [OnceLock<Rule>; 3],
    /// Sums over all agents, one per thread.
    totals: PerThreadPool<Vec<f64>>,
}

/// The weights of one rule.
#[derive(Debug)]
struct Rule {
    /// (l, weight) of each sender of agent k, in ascending order of l.
    columns: Vec<Vec<(usize, f64)>>,
    /// The order in which each agent's sum is added up.
    orders: Vec<Order>,
    /// An equivalent faster form, if there is one.
    combiner: Option<Box<dyn Combiner>>,
}

impl<'m> Links<'m> {
    pub fn new(topology: &'m Topology, weights: &'m Weights, accels: &'m Accels) -> Self {
        Links {
            topology,
            weights,
            accels,
            degrees: (0..topology.agents())
                .map(|k| topology.degree(k) as u64)
                .sum(),
            rules: Default::default(),
            totals: PerThreadPool::default(),
        }
    }

    fn rule(&self, combine: Combine) -> &Rule {
        self.rules[combine as usize].get_or_init(|| {
            let agents = 0..self.topology.agents();
            let columns: Vec<Vec<(usize, f64)>> = match combine {
                Combine::Weights => agents.map(|k| self.weights.column(k).to_vec()).collect(),
                Combine::LazyWeights => {
                    let lazy = self.weights.lazy();
                    agents.map(|k| lazy.column(k).to_vec()).collect()
                }
                Combine::NeighbourSum => agents
                    .map(|k| {
                        self.topology
                            .neighbours(k)
                            .iter()
                            .map(|l| (*l, 1.0))
                            .collect()
                    })
                    .collect(),
            };
            Rule {
                combiner: self.accels.combiner(&columns),
                orders: (columns.iter().enumerate())
                    .map(|(k, senders)| Order::of(k, columns.len(), senders))
                    .collect(),
                columns,
            }
        })
    }

    /// Performs the exchange and returns the bytes that a network would send over its edges.
    pub fn exchange(
        &self,
        exchange: Exchange,
        agents: &[Box<dyn AgentStrategy>],
        received: &mut Received,
        parallel: bool,
    ) -> Sent {
        let tree_edges = agents.len() as u64 - 1;
        match exchange {
            Exchange::Combine(rule) => {
                let entries = agents[0].outgoing().array().len();
                if received.arrays.rows() != entries {
                    received.arrays = Matrix::zeros(entries, agents.len());
                }
                self.combine(rule, agents, &mut received.arrays, parallel);
                match agents[0].outgoing() {
                    Message::Differences(sent) => Sent::Bytes(self.degrees * sent.bytes() as u64),
                    _ => Sent::Arrays(self.degrees),
                }
            }
            Exchange::SumToRoot => {
                let parts = agents.iter().filter_map(|agent| match agent.outgoing() {
                    Message::Integers(part) => Some(part),
                    _ => None,
                });
                let same = received.total.sum(&parts.collect::<Vec<_>>(), parallel);
                debug_assert!(same, "layouts of agents differ");
                Sent::Bytes(tree_edges * received.total.bytes() as u64)
            }
            Exchange::Broadcast => {
                let (root, to) = (
                    self.topology.spanning_tree().root(),
                    received.bytes.rewrite(),
                );
                if let Message::Bytes(bytes) = agents[root].outgoing() {
                    to.extend_from_slice(bytes);
                }
                Sent::Bytes(tree_edges * to.len() as u64)
            }
        }
    }

    fn combine(
        &self,
        rule: Combine,
        agents: &[Box<dyn AgentStrategy>],
        received: &mut Matrix,
        parallel: bool,
    ) {
        let rule = self.rule(rule);
        let sent = |l: usize| agents[l].outgoing().array();
        let tile = |from: usize, out: MatMut<'_, f64>| {
            if let Some(combiner) = &rule.combiner {
                return combiner.combine(&sent, from, out);
            }
            let range = from..from + out.nrows();
            let part = |l: usize| &sent(l)[range.clone()];
            (self.totals).with(|total| rule.combine_each(part, total, out));
        };
        // Does not depend on the number of threads.
        let rows = (TILE / agents.len().max(1)).clamp(512, 4096);
        over_tiles(0, rows, received.view_mut(), parallel, &tile);
    }
}

impl Rule {
    /// Sets column k of `out` to the sum for agent k; `part(l)` has the rows of `out` at agent l.
    fn combine_each<'s>(
        &self,
        part: impl Fn(usize) -> &'s [f64] + Copy,
        total: &mut Vec<f64>,
        mut out: MatMut<'_, f64>,
    ) {
        let agents = self.columns.len();
        total.clear();
        for (k, (senders, order)) in self.columns.iter().zip(&self.orders).enumerate() {
            let Some(column) = out.rb_mut().col_mut(k).try_as_col_major_mut() else {
                continue;
            };
            let column = column.as_slice_mut();
            let Order::Total { other, own } = *order else {
                order.combine(k, agents, senders, part, column);
                continue;
            };
            // One total for all agents.
            if total.is_empty() {
                total.resize(column.len(), 0.0);
                add_up((0..agents).map(part), total);
            }
            column.copy_from_slice(total);
            minus_own(other, own, part(k), column);
        }
    }
}

/// What an exchange sends over the edges of the graph.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    /// This number of M x B arrays.
    Arrays(u64),
    /// This number of bytes.
    Bytes(u64),
}

/// The in-process carrier of a chunk.
pub(super) struct InProcess<'a, 'm> {
    pub links: &'a Links<'m>,
    pub parallel: bool,
    /// Number of arrays sent over an edge so far.
    pub arrays_sent: u64,
    /// Number of bytes of other messages sent over an edge so far.
    pub bytes_sent: u64,
    /// Number of messages so far that follow one another.
    pub hops: u64,
}

impl Carrier for InProcess<'_, '_> {
    type Error = Infallible;

    fn carry(
        &mut self,
        exchange: Exchange,
        agents: &[Box<dyn AgentStrategy>],
        received: &mut Received,
    ) -> Result<(), Infallible> {
        let sent = (self.links).exchange(exchange, agents, received, self.parallel);
        self.hops += match exchange {
            Exchange::Combine(_) => 1,
            Exchange::SumToRoot | Exchange::Broadcast => {
                self.links.topology.spanning_tree().depth() as u64
            }
        };
        match sent {
            Sent::Arrays(arrays) => self.arrays_sent += arrays,
            Sent::Bytes(bytes) => self.bytes_sent += bytes,
        }
        Ok(())
    }
}

/// Calls `work` with the first row and the view of every tile of `rows` rows.
fn over_tiles<'a>(
    from: usize,
    rows: usize,
    all: MatMut<'a, f64>,
    parallel: bool,
    work: &(impl Fn(usize, MatMut<'_, f64>) + Sync),
) {
    let tiles = all.nrows().div_ceil(rows);
    if tiles <= 1 {
        return work(from, all);
    }
    let middle = tiles / 2 * rows;
    let (upper, lower) = all.split_at_row_mut(middle);
    let upper = || over_tiles(from, rows, upper, parallel, work);
    let lower = || over_tiles(from + middle, rows, lower, parallel, work);
    if parallel {
        rayon::join(upper, lower);
    } else {
        upper();
        lower();
    }
}
