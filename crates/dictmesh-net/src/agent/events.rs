//! What an agent tells.

use dictmesh::AgentId;
use dictmesh::Stop;

/// What an observer hears.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The agents agreed on who is there and from where they go on.
    Agreed(Agreed),
    /// A batch was done.
    Batch(Batch),
    /// Masks do not hide this agent's parts of sums from its only neighbour.
    Visible {
        /// The neighbour.
        to: AgentId,
    },
}

/// The result of an agreement.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreed {
    /// Counts agreements.
    pub epoch: u32,
    /// The number of samples before the next batch.
    pub position: u64,
    /// All agents that take part, rising.
    pub members: Vec<AgentId>,
    /// How many of them are informed.
    pub informed: usize,
    /// The largest number of hops between two of them.
    pub diameter: usize,
}

/// A batch, as this agent saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The epoch.
    pub epoch: u32,
    /// The number of samples before the batch.
    pub position: u64,
    /// Samples of the batch.
    pub samples: usize,
    /// Rounds of the inference.
    pub rounds: usize,
    /// How it ended, the same at every agent.
    pub stop: Stop,
    /// The largest residual that the agents last flooded, if they stop by a tolerance.
    pub residual: Option<f64>,
    /// Each sample's cost as all agents agreed on it: the novelty score. Empty if they were not asked to.
    pub scores: Vec<f64>,
    /// How many of this agent's own coefficients are not zero, a sample.
    pub sparsity: f64,
    /// How far its own atoms moved.
    pub movement: f64,
    /// Bytes that it sent for this batch, re-sent ones not counted.
    pub bytes: u64,
}

impl Batch {
    /// The mean of the scores, if there are any.
    pub fn cost(&self) -> Option<f64> {
        let sum: f64 = self.scores.iter().sum();
        (!self.scores.is_empty()).then(|| sum / self.scores.len() as f64)
    }
}

/// How an agent's run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No more samples will come.
    Ended,
    /// It was asked to end; a restart takes up its checkpoint.
    Interrupted,
    /// It left for good.
    Left,
    /// The iterates of some agent grew without bound; nobody learned from that batch.
    Diverged,
}
