//! Sums to the root of a spanning tree and broadcasts from it.
//!
//! In a sum, an agent waits for the frames of its children, adds their integers to its own and
//! sends the packed total to its parent. In a broadcast, it waits for the frame of its parent and
//! sends the same bytes to its children. A sum and its broadcast take 2 (N - 1) messages. The tree
//! is the [`SpanningTree`](dictmesh::graph::SpanningTree) of the members and their edges.
//!
//! An engine with collectives of its own, such as MPI, performs both in place of the tree.

use super::talk::{Halt, Talk};
use crate::error::Error;
use crate::exchange::Tag;
use dictmesh::strategy::Integers;
use dictmesh::AgentId;

/// The links of one agent in the spanning tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tree {
    pub root: AgentId,
    /// The neighbour one hop nearer to the root; `None` for the root.
    pub parent: Option<AgentId>,
    /// The neighbours whose parent is this agent, rising.
    pub children: Vec<AgentId>,
}

impl Tree {
    /// Adds the integers of all agents. `part` becomes the total at the root; at the other agents
    /// it becomes the sum over the agents below.
    pub fn sum_to_root(&self, tag: Tag, part: &mut Integers, talk: &mut Talk) -> Result<(), Halt> {
        if let Some(engine) = talk.collectives() {
            let mut sums = part.values().to_vec();
            engine.sum_integers(tag, &mut sums)?;
            set(part, &sums);
            return Ok(());
        }
        talk.receive(tag, &self.children)?;
        for (from, frame) in talk.heard().filter(|(l, _)| self.children.contains(l)) {
            let theirs = unpack(part, from, &frame.bytes)?;
            part.add(&theirs);
        }
        match self.parent {
            Some(parent) => Ok(talk.send(tag, part.pack(), &[parent])?),
            None => Ok(()),
        }
    }

    /// Replaces `bytes` by those of the root.
    pub fn broadcast(&self, tag: Tag, bytes: &mut Vec<u8>, talk: &mut Talk) -> Result<(), Halt> {
        if let Some(engine) = talk.collectives() {
            return Ok(engine.broadcast(tag, self.root, bytes)?);
        }
        if let Some(parent) = self.parent {
            talk.receive(tag, &[parent])?;
            bytes.clear();
            if let Some((_, frame)) = talk.heard().find(|(l, _)| *l == parent) {
                bytes.extend_from_slice(&frame.bytes);
            }
        }
        match self.children.is_empty() {
            true => Ok(()),
            false => Ok(talk.send(tag, bytes.clone(), &self.children)?),
        }
    }
}

/// Replaces the values, modulo 2^width of each, and keeps the layout. Values in excess are ignored.
pub(super) fn set(integers: &mut Integers, values: &[i64]) {
    let apart = values.iter().zip(integers.values());
    let apart: Vec<u64> = apart.map(|(to, at)| to.wrapping_sub(*at) as u64).collect();
    let mut next = apart.into_iter();
    integers.mask(true, |_| next.next().unwrap_or(0));
}

/// The integers of a child, of the same layout as the agent's own.
fn unpack(own: &Integers, from: AgentId, bytes: &[u8]) -> Result<Integers, Error> {
    let (given, expected) = (bytes.len(), own.bytes());
    own.unpack(bytes).ok_or_else(|| Error::Protocol {
        from,
        why: match given == expected {
            true => format!("bits behind the integers of its sum of {given} bytes are set"),
            false => format!("it sent {given} bytes for a sum that has {expected}"),
        },
    })
}
