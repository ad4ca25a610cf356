//! What the agents of a launch told of their batches.

use serde::Deserialize;
use std::collections::BTreeMap;

/// All of it.
#[derive(Debug, Default)]
pub struct RunSummary {
    /// Whether the agents were asked to end before the samples had ended.
    pub interrupted: bool,
    /// By the number of samples before the batch; one done again counts once.
    pub batches: BTreeMap<u64, BatchTold>,
    /// How often an agent was started again after it had been killed.
    pub restarts: usize,
    /// Samples that there are, if an agent knows.
    pub total: Option<u64>,
    /// Samples that they were through with when they were started: what was learned before.
    pub before: Option<u64>,
    /// Samples that each agent is through with, of those who have told and have not left.
    pub positions: BTreeMap<usize, u64>,
    /// Bytes that all agents wrote to sockets, with hand-shakes and batches that were begun again.
    pub written: u64,
}

/// A batch.
#[derive(Clone, Debug, Default)]
pub struct BatchTold {
    /// Its samples.
    pub samples: usize,
    /// Its rounds.
    pub rounds: usize,
    /// The mean cost of a sample, if agents agree on it.
    pub cost: Option<f64>,
    /// It ended at the limit of rounds.
    pub at_limit: bool,
    /// For some sample of it, no code meets the constraint.
    pub is_infeasible: bool,
    /// Of each agent: coefficients that are not zero, the movement of its atoms, and bytes sent.
    pub agents: BTreeMap<usize, (f64, f64, u64)>,
}

/// A line of `dictmesh agent --events`.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Line {
    /// The agent runs.
    Started {
        /// Samples that there are, if it knows.
        total: Option<u64>,
    },
    /// The agents agreed on who is there.
    Agreed {
        /// The agent.
        agent: usize,
        /// The sample that they go on from.
        position: u64,
    },
    /// The agent has left for good.
    Left {
        /// The agent.
        agent: usize,
    },
    /// A batch is learned.
    Batch {
        /// The agent.
        agent: usize,
        /// The number of samples before the batch.
        position: u64,
        /// Samples of the batch.
        samples: usize,
        /// Rounds of the batch.
        rounds: usize,
        /// The mean cost of a sample, if agents agree on it.
        cost: Option<f64>,
        /// Mean number of the agent's coefficients that are not zero.
        sparsity: f64,
        /// How far its atoms moved.
        movement: f64,
        /// Bytes that it sent.
        bytes: u64,
        /// Bytes that it wrote to sockets since the line before.
        written: u64,
        /// Why rounds ended, by the name of the reason.
        stop: String,
    },
    /// The agent's run ended.
    Ended {
        /// Bytes that it wrote to sockets since the line before.
        written: u64,
    },
    /// Something that a person should see.
    Warning {
        /// The warning.
        message: String,
    },
    /// Why the agent ends.
    Failed {
        /// The reason.
        message: String,
    },
}

impl RunSummary {
    /// Adds what an agent's line tells.
    pub fn hear(&mut self, line: Line) {
        let (agent, at) = match line {
            Line::Started { total, .. } => {
                self.total = self.total.max(total);
                return;
            }
            Line::Agreed { agent, position } => {
                self.before.get_or_insert(position);
                (agent, position)
            }
            Line::Left { agent } => {
                self.positions.remove(&agent);
                return;
            }
            Line::Ended { written } => {
                self.written += written;
                return;
            }
            // The group prints them.
            Line::Warning { .. } | Line::Failed { .. } => return,
            Line::Batch {
                agent,
                position,
                samples,
                rounds,
                cost,
                sparsity,
                movement,
                bytes,
                written,
                stop,
            } => {
                self.written += written;
                let batch = self.batches.entry(position).or_default();
                (batch.samples, batch.rounds, batch.cost) = (samples, rounds, cost);
                batch.at_limit = stop == "round-limit";
                batch.is_infeasible = stop == "infeasible";
                batch.agents.insert(agent, (sparsity, movement, bytes));
                (agent, position + samples as u64)
            }
        };
        self.positions.insert(agent, at);
    }

    /// Samples that all are through with.
    pub fn samples(&self) -> u64 {
        self.positions.values().copied().min().unwrap_or(0)
    }

    /// Agents that are there.
    pub fn agents(&self) -> usize {
        self.positions.len()
    }

    /// Rounds of all batches.
    pub fn rounds(&self) -> usize {
        self.batches.values().map(|batch| batch.rounds).sum()
    }

    /// Batches that ended at the limit of rounds.
    pub fn at_limit(&self) -> usize {
        self.batches.values().filter(|batch| batch.at_limit).count()
    }

    /// The first and the last sample of the first batch that no code can meet.
    pub fn infeasible(&self) -> Option<(u64, u64)> {
        let mut all = self.batches.iter();
        let found = all.find(|(_, batch)| batch.is_infeasible)?;
        Some((*found.0, found.0 + found.1.samples as u64 - 1))
    }

    /// Bytes that crossed links.
    pub fn bytes(&self) -> u64 {
        let of = |batch: &BatchTold| batch.agents.values().map(|agent| agent.2).sum::<u64>();
        self.batches.values().map(of).sum()
    }

    /// The costs of a sample in the first and in the last batch.
    pub fn costs(&self) -> (Option<f64>, Option<f64>) {
        let batches = || self.batches.values();
        let of = |batch: Option<&BatchTold>| batch.and_then(|batch| batch.cost);
        (of(batches().next()), of(batches().next_back()))
    }
}
