//! What agents exchange.

use super::{Differences, Integers};
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// The type of an exchange between agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// Each agent receives a combination of its neighbours' arrays: the paper's exchange.
    Combine(Combine),
    /// The root of a spanning tree receives the sum over all agents of their integers; the others
    /// receive [`Message::Nothing`].
    SumToRoot,
    /// Every agent, the root included, receives the bytes of the root: [`Message::Delivered`].
    Broadcast,
}

/// The contribution of an agent to an exchange, or its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Message<'a> {
    /// No content.
    Nothing,
    /// M x B numbers by columns, for [`Exchange::Combine`].
    Array(&'a [f64]),
    /// The same as differences to earlier messages. The neighbours combine the known arrays. All
    /// agents of a mesh have the same number of bits.
    Differences(&'a Differences),
    /// A result of [`Exchange::Combine`] with differences: the combination of known arrays, and
    /// that of the agent itself.
    Combined {
        /// The combination.
        array: &'a [f64],
        /// The known array of the agent.
        own: &'a [f64],
    },
    /// For [`Exchange::SumToRoot`]; of the same layout at every agent.
    Integers(&'a Integers),
    /// For [`Exchange::Broadcast`]; only those of the root count.
    Bytes(&'a [u8]),
    /// A result of [`Exchange::Broadcast`].
    Delivered(&'a Delivered),
}

impl<'a> Message<'a> {
    /// The numbers of an array, of the known array, or of a combination; empty for the other
    /// messages.
    pub fn array(self) -> &'a [f64] {
        match self {
            Message::Array(array) | Message::Combined { array, .. } => array,
            Message::Differences(differences) => differences.known(),
            _ => &[],
        }
    }

    /// What the neighbours received of this agent's array: the array itself, or the known one.
    pub fn own(self, sent: &'a [f64]) -> &'a [f64] {
        match self {
            Message::Combined { own, .. } => own,
            _ => sent,
        }
    }
}

/// The bytes of the root, and what the agents of one process decoded from them.
#[derive(Debug, Default)]
pub struct Delivered {
    bytes: Vec<u8>,
    decoded: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Delivered {
    /// The bytes of the root.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes the bytes and returns the buffer for new ones.
    pub fn rewrite(&mut self) -> &mut Vec<u8> {
        self.decoded = OnceLock::new();
        self.bytes.clear();
        &mut self.bytes
    }

    /// The result of `decode` for these bytes. The first agent of a process computes it, and the
    /// others share it. `decode` must return the same for all of them and must not use rayon, which
    /// could call it again while others wait for it.
    pub fn decode_once<T: Any + Send + Sync>(&self, decode: impl Fn(&[u8]) -> T) -> Arc<T> {
        let first = self.decoded.get_or_init(|| Arc::new(decode(&self.bytes)));
        let shared = Arc::clone(first).downcast();
        shared.unwrap_or_else(|_| Arc::new(decode(&self.bytes)))
    }
}

impl PartialEq for Delivered {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

/// The combination of the arrays psi_l of an agent's neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// sum over l in N_k of a_lk psi_l, k itself included.
    Weights,
    /// The same with (I + A)/2 for A.
    LazyWeights,
    /// The unweighted sum over the neighbours, k itself excluded.
    NeighbourSum,
}
