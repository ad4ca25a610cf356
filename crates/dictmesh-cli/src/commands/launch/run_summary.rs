//! What the agents of a launch told of their batches.

use super::super::Ended;
use serde::Deserialize;
use std::collections::BTreeMap;

/// All of it.
#[derive(Debug)]
pub struct RunSummary {
    /// How it ended.
    pub ended: Ended,
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
    pub samples: usize,
    pub rounds: usize,
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
    Started {
        total: Option<u64>,
    },
    Agreed {
        agent: usize,
        position: u64,
    },
    Left {
        agent: usize,
    },
    Batch {
        agent: usize,
        position: u64,
        samples: usize,
        rounds: usize,
        cost: Option<f64>,
        sparsity: f64,
        movement: f64,
        bytes: u64,
        written: u64,
        stop: String,
    },
    Ended {
        written: u64,
    },
    /// Something that a person should see.
    Warning {
        message: String,
    },
    /// Why the agent ends.
    Failed {
        message: String,
    },
}

impl RunSummary {
    pub fn new() -> Self {
        RunSummary {
            ended: Ended::Complete,
            batches: BTreeMap::new(),
            restarts: 0,
            total: None,
            before: None,
            positions: BTreeMap::new(),
            written: 0,
        }
    }

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
