//! Bytes to and from single neighbours.

pub mod grpc;

use bytes::Bytes;
use dictmesh::AgentId;
use std::time::Instant;

/// What a wire has to tell.
#[derive(Clone, Debug, PartialEq)]
pub enum WireEvent {
    /// A neighbour can be talked to (again): the hand-shake of this edge succeeded. What was sent before may be lost.
    Up {
        /// The neighbour.
        neighbour: AgentId,
        /// Another number for each start of its process.
        incarnation: u64,
        /// The newest epoch it knew of.
        epoch: u32,
    },
    /// The link to a neighbour is gone; the wire tries to get it back by itself.
    Down {
        /// The neighbour.
        neighbour: AgentId,
        /// For the log.
        reason: String,
    },
    /// A neighbour has a link to another process of this very agent, and refuses this one: only one may go on.
    Twin {
        /// The neighbour.
        neighbour: AgentId,
        /// Where the two are, and what to do.
        reason: String,
    },
    /// A neighbour sent something. It is nothing but bytes until it was decoded.
    Frame {
        /// The neighbour, by the hand-shake and not by what the bytes claim.
        neighbour: AgentId,
        /// An encoded frame.
        bytes: Bytes,
    },
}

/// Links to neighbours, each of which may lose, delay, double or reorder what it carries. Whoever uses a wire sends
/// again what was not answered, and drops what came twice.
pub trait Wire: Send {
    /// Takes bytes on the way to a neighbour. Never waits: with no link, or with more under way than a slow neighbour
    /// takes, the bytes are dropped, and sent again by the caller.
    fn send(&mut self, to: AgentId, bytes: Bytes);

    /// Puts what was sent on its way before the caller turns to something else; [`next`](Wire::next) does it by itself.
    fn flush(&mut self) {}

    /// The next event, or `None` when `until` came first. What has arrived already is given even if `until` is past.
    fn next(&mut self, until: Instant) -> Option<WireEvent>;

    /// This neighbour has left for good: it is not dialled any more once the link to it has ended.
    fn forget(&mut self, neighbour: AgentId) {
        let _ = neighbour;
    }

    /// Tells the newest epoch this agent knows of, for hand-shakes to come.
    fn newest_epoch(&mut self, epoch: u32) {
        let _ = epoch;
    }
}
