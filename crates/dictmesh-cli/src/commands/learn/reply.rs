//! What `learn --json` prints.

use crate::render::Reply;
use schemars::JsonSchema;
use serde::Serialize;

/// What was learned, or how far an interrupted run has come.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LearnReply {
    /// The model's file, or the checkpoint of an interrupted run.
    pub model: String,
    /// The number of samples learned in this run, in all passes.
    pub samples: u64,
    /// Samples of these data that were learned before this run.
    pub samples_before: usize,
    /// The number of samples of one pass.
    pub samples_per_pass: usize,
    /// The number of atoms of all agents.
    pub atoms: usize,
    /// The number of agents.
    pub agents: usize,
    /// The mean cost over the first `cost_samples` samples.
    pub cost_first: f64,
    /// The mean cost over the last `cost_samples` samples.
    pub cost_last: f64,
    /// The number of samples of each of these means.
    pub cost_samples: usize,
    /// The mean number of entries of a code that are not zero, in the last batch.
    pub nonzeros: Option<f64>,
    /// The number of atoms that no sample has used.
    pub unused_atoms: usize,
    /// Rounds of all batches.
    pub rounds: usize,
    /// Batches that ended at the limit of rounds.
    pub batches_at_limit: usize,
    /// Bytes that agents exchanged, or would exchange if each were at a host of its own.
    pub bytes: u64,
    /// Bytes written to sockets, with framing, with --over processes.
    pub bytes_written: Option<u64>,
    /// Whether a signal ended the run.
    pub interrupted: bool,
    /// The command that continues an interrupted run.
    pub resume: Option<String>,
    /// How raw data become samples.
    pub preparation: String,
    /// The terms of each atom with the largest weights, for text and counts.
    pub top_terms: Vec<AtomTerms>,
    /// The page of the report.
    pub report: Option<String>,
}

/// The terms of an atom.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AtomTerms {
    /// The atom's number.
    pub atom: usize,
    /// The number of samples that used it.
    pub samples: u64,
    /// The terms, those with the largest weights first.
    pub terms: Vec<String>,
}

impl Reply for LearnReply {
    const COMMAND: &'static str = "learn";
}

/// What `learn --dry-run` expects.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DryRun {
    /// The number of samples of one pass.
    pub samples: usize,
    /// The number of entries of a sample.
    pub features: usize,
    /// The number of atoms of all agents.
    pub atoms: usize,
    /// The number of agents.
    pub agents: usize,
    /// Memory, in bytes.
    pub bytes: u64,
    /// The time of learning, in seconds.
    pub seconds: f64,
}

impl Reply for DryRun {
    const COMMAND: &'static str = "learn-dry-run";
}

/// What the ranks of an MPI job learned.
#[derive(Debug, Serialize, JsonSchema)]
#[cfg_attr(not(feature = "mpi"), allow(dead_code))]
pub struct RanksReply {
    /// The number of samples learned, in all passes and jobs.
    pub samples: usize,
    /// Those of them learned before this job.
    pub samples_before: u64,
    /// The number of batches of this job.
    pub batches: usize,
    /// Rounds of all batches.
    pub rounds: usize,
    /// Bytes that ranks exchanged.
    pub bytes: u64,
    /// The number of agents, which is that of ranks.
    pub agents: usize,
    /// The number of atoms of all agents.
    pub atoms: usize,
    /// The mean cost of a sample in the first batch.
    pub cost_first: Option<f64>,
    /// The mean cost of a sample in the last batch.
    pub cost_last: Option<f64>,
    /// The files of the blocks, one per rank.
    pub blocks: Vec<String>,
}

impl Reply for RanksReply {
    const COMMAND: &'static str = "learn-mpi";
}
