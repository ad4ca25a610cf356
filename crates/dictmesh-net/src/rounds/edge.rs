//! What is known of one neighbour.

use crate::codec::Header;
use crate::exchange::Tag;
use bytes::Bytes;
use dictmesh::AgentId;
use std::time::Instant;

/// A frame as it came, and what stands before its numbers.
pub(super) type Came = (Header, Bytes);

/// Frames that a neighbour may still need.
const KEPT: usize = 2;

#[derive(Debug)]
pub(super) struct Edge {
    /// The start of its process that we talk to, once we do.
    pub incarnation: Option<u64>,
    /// Our last two frames to it, the newest last.
    pub kept: Vec<(Tag, Bytes)>,
    /// The latest tag of its frames, which acknowledges all of ours with an earlier one.
    pub seen: Option<Tag>,
    /// A frame of a later round than ours, as it came.
    pub early: Option<Came>,
    /// The newest epoch of ours in which it was heard.
    pub heard_in: Option<u32>,
    /// When it was last heard.
    pub heard_at: Instant,
    /// It knows that all have come to their end.
    pub ended: bool,
    /// It does not take part and wants to.
    pub knocks: bool,
    /// Frames of it that were refused.
    pub refused: u64,
}

impl Edge {
    pub fn new() -> Self {
        Edge {
            incarnation: None,
            kept: Vec::new(),
            seen: None,
            early: None,
            heard_in: None,
            heard_at: Instant::now(),
            ended: false,
            knocks: false,
            refused: 0,
        }
    }

    /// Drops what a new frame of this tag replaces, and returns its memory. The same round begun
    /// again says the same.
    pub fn make_room(&mut self, tag: Tag) -> Option<Bytes> {
        self.kept.retain(|(kept, _)| *kept != tag);
        (self.kept.len() >= KEPT).then(|| self.kept.remove(0).1)
    }

    /// Keeps the earliest of the frames that come early: the next one we need.
    pub fn keep_early(&mut self, came: Came) {
        if (self.early.as_ref()).is_none_or(|(kept, _)| came.0.tag < kept.tag) {
            self.early = Some(came);
        }
    }

    pub fn refuse(&mut self, from: AgentId, why: &str) {
        if let Some(refused) = self.refusal() {
            tracing::warn!(neighbour = from, refused, "frame refused: {why}");
        }
    }

    /// Refuses what is of no use and no reason to worry.
    pub fn pass_over(&mut self, from: AgentId, why: &str) {
        if let Some(refused) = self.refusal() {
            tracing::debug!(neighbour = from, refused, "frame passed over: {why}");
        }
    }

    /// Counts a refusal: the number, if it is to be said. Ever more seldom: a flood must not fill the disk.
    fn refusal(&mut self) -> Option<u64> {
        self.refused += 1;
        (self.refused <= 20 || self.refused.is_power_of_two()).then_some(self.refused)
    }
}
