//! What ends an agent before its time.

use crate::words::{agents, listed};
use dictmesh::AgentId;
use std::path::PathBuf;

/// Why an agent cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A choice that cannot be.
    #[error("{name} = {given}: {allowed}")]
    Setting {
        /// Its name, as in the settings.
        name: &'static str,
        /// What was given.
        given: String,
        /// What is allowed, and why.
        allowed: String,
    },
    /// The library refused.
    #[error(transparent)]
    Library(#[from] dictmesh::Error),
    /// What a checkpoint holds does not belong here.
    #[error("checkpoint {}: {why}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The source of samples failed.
    #[error("the source of samples, at sample {position}: {why}")]
    Source {
        /// Which sample was asked for.
        position: u64,
        /// What is wrong.
        why: String,
    },
    /// Informed agents do not see the same samples.
    #[error(
        "at sample {position} one informed agent has {fewest} samples for the next batch and another has {most}; \
         all informed agents must see the same samples under the same numbers: give them equally long sources"
    )]
    Counts {
        /// The number of samples before the batch.
        position: u64,
        /// The fewest of any.
        fewest: u64,
        /// The most of any.
        most: u64,
    },
    /// Nobody sees the samples.
    #[error(
        "no informed agent is left: there is only {}, and no sample can come; start an agent that has a \
         source of samples",
        agents(members)
    )]
    Uninformed {
        /// Who is there.
        members: Vec<AgentId>,
    },
    /// Agents have no checkpoint in common.
    #[error(
        "the agents have no sample in common to continue from (agent {agent} can continue from {}, others from {}); restore its state directory, or remove it and put joins = true into its agent.toml: it joins with new atoms",
        listed(can), listed(others)
    )]
    NoCommonSample {
        /// One of those who cannot go on with the others.
        agent: AgentId,
        /// The samples it could go on from.
        can: Vec<u64>,
        /// What the others could.
        others: Vec<u64>,
    },
    /// This agent has lost what it had learned, and the others have not.
    #[error(
        "the state directory of this agent has nothing of what was learned: it can continue from sample 0 only, and the others from {}; they wait for it. Restore the directory; or put joins = true into its agent.toml (where dictmesh launch \
         runs it: into its part of mesh.toml): it joins with new atoms. To start again, remove the state directories of all agents",
        listed(others)
    )]
    NothingLearned {
        /// The samples that another agent could go on from.
        others: Vec<u64>,
    },
    /// Somebody announced a batch that cannot be.
    #[error(
        "at sample {position} a batch of {given} samples was announced; a batch of this run has 1 to {batch}: do all agents \
         run the same version with the same settings?"
    )]
    Announced {
        /// The number of samples before the batch.
        position: u64,
        /// What was announced.
        given: f64,
        /// What a batch has at most.
        batch: usize,
    },
    /// Somebody is informed, as it says, and tells nothing of its samples.
    #[error(
        "at sample {position} an informed agent reports neither the number of its samples nor that it waits for more; check that all agents run the same version"
    )]
    NotAnnounced {
        /// The number of samples before the batch.
        position: u64,
    },
    /// The graph fell apart when an agent left.
    #[error(
        "without agent {left}, which has left, {} cannot be reached, and the run ends here; what was \
         learned is in the checkpoints. Let the agents be each other's neighbours in another way, and start them again",
        agents(cut_off)
    )]
    CutOff {
        /// Who left.
        left: AgentId,
        /// Those beyond it.
        cut_off: Vec<AgentId>,
    },
    /// A neighbour keeps the form of frames but not the protocol.
    #[error("agent {from} does not keep the protocol: {why}; do all agents run the same version?")]
    Protocol {
        /// The neighbour.
        from: AgentId,
        /// What it did.
        why: String,
    },
    /// A masked sum does not contain the part of every agent once.
    #[error(
        "{at}: the sum counts {counted} agents in place of {agents}: a part is missing, doubled, \
         damaged or masked with another key; do all agents run the same version? Start this agent \
         again: all then agree on new keys"
    )]
    Count {
        /// The exchange.
        at: String,
        /// What the parts add up to.
        counted: i64,
        /// N.
        agents: usize,
    },
    /// The engine below gave up.
    #[error("{0}")]
    Engine(String),
}

impl Error {
    /// Whether all agents come to it in the same round. Not where one of them does not keep the protocol: that one may stay.
    pub(crate) fn is_common(&self) -> bool {
        matches!(
            self,
            Error::Counts { .. }
                | Error::Announced { .. }
                | Error::CutOff { .. }
                | Error::Uninformed { .. }
                | Error::NoCommonSample { .. }
        )
    }
}
