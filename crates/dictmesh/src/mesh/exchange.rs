//! Exchange of arrays between agents in one process.
//!
//! A combination over neighbours is the product of the sent arrays (one column per agent) and the N
//! x N weights. It is tiled by rows, so that a tile stays in cache for all agents.

use super::rounds::Carrier;
use crate::accel::{Accels, Combiner};
use crate::graph::{SpanningTree, Topology, Weights};
use crate::strategy::{AgentStrategy, Combine, Exchange};
use dictmesh_kernels::combine::combine;
use dictmesh_kernels::matrix::axpy;
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
}

/// The weights of one rule.
#[derive(Debug)]
struct Rule {
    /// (l, weight) of each sender of agent k, in ascending order of l.
    columns: Vec<Vec<(usize, f64)>>,
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
        }
    }

    /// Number of arrays sent over an edge in this exchange.
    pub fn arrays_sent(&self, exchange: Exchange) -> u64 {
        match exchange {
            Exchange::Combine(_) => self.degrees,
            Exchange::SumToRoot | Exchange::Broadcast => self.topology.agents() as u64 - 1,
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
                columns,
            }
        })
    }

    /// Performs the exchange; column k of `received` is the result for agent k.
    pub fn exchange(
        &self,
        exchange: Exchange,
        agents: &[Box<dyn AgentStrategy>],
        received: &mut Matrix,
        parallel: bool,
    ) {
        match exchange {
            Exchange::Combine(rule) => self.combine(rule, agents, received, parallel),
            Exchange::SumToRoot => sum_to_root(self.topology.spanning_tree(), agents, received),
            Exchange::Broadcast => {
                let root = agents[self.topology.spanning_tree().root()].outgoing();
                (0..agents.len())
                    .for_each(|k| received.column_mut(k).copy_from_slice(root.as_slice()));
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
        let sent = |l: usize| agents[l].outgoing().as_slice();
        let tile = |from: usize, mut out: MatMut<'_, f64>| {
            if let Some(combiner) = &rule.combiner {
                return combiner.combine(&sent, from, out);
            }
            let range = from..from + out.nrows();
            for (k, weights) in rule.columns.iter().enumerate() {
                let pairs = weights.iter().map(|(l, a)| (*a, &sent(*l)[range.clone()]));
                if let Some(column) = out.rb_mut().col_mut(k).try_as_col_major_mut() {
                    combine(pairs, column.as_slice_mut());
                }
            }
        };
        // Does not depend on the number of threads.
        let rows = (TILE / agents.len().max(1)).clamp(512, 4096);
        over_tiles(0, rows, received.view_mut(), parallel, &tile);
    }
}

/// Each agent adds the sums of its children in ascending order and passes the result to its parent.
fn sum_to_root(tree: &SpanningTree, agents: &[Box<dyn AgentStrategy>], received: &mut Matrix) {
    for (k, agent) in agents.iter().enumerate() {
        received
            .column_mut(k)
            .copy_from_slice(agent.outgoing().as_slice());
    }
    for &k in tree.order.iter().rev() {
        for &child in &tree.children[k] {
            let (part, sum) = two_columns(received, child, k);
            axpy(1.0, part, sum);
        }
    }
    for k in (0..agents.len()).filter(|k| *k != tree.root()) {
        received.column_mut(k).fill(0.0);
    }
}

/// Column `from` for reading and column `to` for writing; they differ.
fn two_columns(all: &mut Matrix, from: usize, to: usize) -> (&[f64], &mut [f64]) {
    let rows = all.rows();
    let (left, right) = all.as_mut_slice().split_at_mut(from.max(to) * rows);
    let (low, high) = (from.min(to) * rows, rows);
    match from < to {
        true => (&left[low..low + rows], &mut right[..high]),
        false => (&right[..high], &mut left[low..low + rows]),
    }
}

/// The in-process carrier of a chunk.
pub(super) struct InProcess<'a, 'm> {
    pub links: &'a Links<'m>,
    pub parallel: bool,
    /// Number of arrays sent over an edge so far.
    pub arrays_sent: u64,
}

impl Carrier for InProcess<'_, '_> {
    type Error = Infallible;

    fn carry(
        &mut self,
        exchange: Exchange,
        agents: &[Box<dyn AgentStrategy>],
        received: &mut Matrix,
    ) -> Result<(), Infallible> {
        self.links
            .exchange(exchange, agents, received, self.parallel);
        self.arrays_sent += self.links.arrays_sent(exchange);
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
