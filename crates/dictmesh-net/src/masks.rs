//! Masks that hide an agent's part of a sum and cancel in the total.
//!
//! Every edge between two members of an epoch has a secret, also an edge which the spanning tree
//! does not use. For each sum, both ends of an edge derive the same key stream. The agent with the
//! smaller number adds it to its integers and the other subtracts it, modulo 2^width of each
//! integer. What an agent sends is then uniform for every coalition that lacks the secret of at
//! least one of its edges. The root receives the exact total, as all masks cancel.
//!
//! | step | value |
//! |---|---|
//! | key pair | X25519, ephemeral: one for each edge and epoch, from the system's generator |
//! | secret of an edge | HKDF-Extract-SHA256(salt: label and run, the shared X25519 secret) |
//! | key of a batch | HKDF-Expand(info: label, both agents, both public keys, epoch, position) |
//! | mask of a sum | ChaCha20 key stream; its nonce is the number of the exchange |
//!
//! No mask is used twice. An attempt at a batch is the pair of its epoch and its position:
//!
//! - An agent begins epochs in increasing order. It follows a neighbour to a later epoch, and drops
//!   frames of earlier ones.
//! - Private keys exist in memory only, and each is consumed by one X25519 agreement. An agreement
//!   of the mesh, which begins every epoch, draws new ones; so does a restarted process. Hence a
//!   secret belongs to one epoch of two running processes.
//! - Within an epoch a batch position occurs once: a batch that fails ends the epoch, and one that
//!   succeeds advances the position. A batch begun again is in another epoch, with another key.
//! - Within a batch the number of the exchange counts up, and each sum has its own. The attempt
//!   fails before that number wraps around.
//! - A frame is resent as the cached bytes of its first transmission; nothing is masked again.
//!
//! One more integer of 64 bits stands behind those of the strategy. Each agent adds 1 to it, masked
//! like the others. At the root it totals N; otherwise a part is missing, doubled or masked with
//! another key, and the attempt fails with [`Error::Count`].
//!
//! Not hidden: the total and the broadcasts, the lengths and times of messages, and the part of an
//! agent from the coalition of all its neighbours. An agent with one neighbour is visible to it.

use crate::error::Error;
use crate::exchange::Tag;
use dictmesh::strategy::Integers;
use dictmesh::AgentId;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use ring::agreement::{agree_ephemeral, EphemeralPrivateKey, UnparsedPublicKey, X25519};
use ring::hkdf::{Prk, Salt, HKDF_SHA256};
use ring::rand::SystemRandom;
use std::fmt;

/// Bytes of a public key.
pub(crate) const PUBLIC_KEY: usize = 32;
/// The width of the integer that counts agents, in bits.
const COUNT_WIDTH: u32 = 64;
/// Separates these keys from all others that might be derived from the same secrets.
const LABEL: &[u8] = b"dictmesh masks 1";

/// The key pair of one edge, before the neighbour's public key is known.
pub(crate) struct KeyPair {
    private: EphemeralPrivateKey,
    public: [u8; PUBLIC_KEY],
}

impl KeyPair {
    /// A new key pair from the system's random numbers.
    pub fn new() -> Result<Self, Error> {
        let none = |_| Error::Engine("the system gives no random numbers for a key".to_string());
        let private = EphemeralPrivateKey::generate(&X25519, &SystemRandom::new()).map_err(none)?;
        let key = private.compute_public_key().map_err(none)?;
        let mut public = [0; PUBLIC_KEY];
        public.copy_from_slice(key.as_ref());
        Ok(KeyPair { private, public })
    }

    /// The public key.
    pub fn public(&self) -> &[u8] {
        &self.public
    }
}

/// The secrets of an agent's edges during one epoch.
pub(crate) struct Masks {
    id: AgentId,
    run: String,
    edges: Vec<Edge>,
}

struct Edge {
    neighbour: AgentId,
    secret: Prk,
    /// The public keys, that of the agent with the smaller number first.
    keys: [[u8; PUBLIC_KEY]; 2],
}

impl Masks {
    /// Without any edge.
    pub fn new(id: AgentId, run: &str) -> Self {
        Masks {
            id,
            run: run.to_string(),
            edges: Vec::new(),
        }
    }

    /// Adds the edge to a neighbour with its public key.
    pub fn add_edge(
        &mut self,
        neighbour: AgentId,
        own: KeyPair,
        theirs: &[u8],
    ) -> Result<(), Error> {
        let bad = |why: &str| Error::Protocol {
            from: neighbour,
            why: why.to_string(),
        };
        let theirs: [u8; PUBLIC_KEY] = (theirs.try_into())
            .map_err(|_| bad("it sent no public key of 32 bytes; are masks on at all agents?"))?;
        let salt = Salt::new(HKDF_SHA256, &[LABEL, self.run.as_bytes()].concat());
        let public = UnparsedPublicKey::new(&X25519, theirs);
        let secret = agree_ephemeral(own.private, &public, |shared| salt.extract(shared))
            .map_err(|_| bad("its public key is not valid"))?;
        let keys = match self.id < neighbour {
            true => [own.public, theirs],
            false => [theirs, own.public],
        };
        self.edges.push(Edge {
            neighbour,
            secret,
            keys,
        });
        Ok(())
    }

    /// Appends the count of this agent and masks all integers for the sum of this tag.
    pub fn hide(&self, tag: Tag, integers: &mut Integers) -> Result<(), Error> {
        if tag.round == u32::MAX {
            let why = "the batch has used all numbers of exchanges, and masks must not repeat";
            return Err(Error::Engine(format!("{tag}: {why}; allow fewer rounds")));
        }
        integers.push(COUNT_WIDTH, [1]);
        for edge in &self.edges {
            let mut stream = ChaCha20Rng::from_seed(edge.key(self.id, tag)?);
            stream.set_stream(u64::from(tag.round));
            integers.mask(self.id < edge.neighbour, |_| stream.next_u64());
        }
        Ok(())
    }

    /// `Ok` if the total counts this number of agents.
    pub fn check_count(&self, tag: Tag, total: &Integers, agents: usize) -> Result<(), Error> {
        let counted = total.values().last().copied().unwrap_or(0);
        match counted == agents as i64 {
            true => Ok(()),
            false => Err(Error::Count {
                at: tag.to_string(),
                counted,
                agents,
            }),
        }
    }
}

impl Edge {
    /// The key of the batch of this tag, the same at both ends.
    fn key(&self, id: AgentId, tag: Tag) -> Result<[u8; 32], Error> {
        let ends = [id.min(self.neighbour), id.max(self.neighbour)];
        let ends = ends.map(|end| (end as u64).to_le_bytes());
        let (epoch, position) = (tag.epoch.to_le_bytes(), tag.sample.to_le_bytes());
        let [low, high] = &self.keys;
        let info: [&[u8]; 7] = [LABEL, &ends[0], &ends[1], low, high, &epoch, &position];
        let mut key = [0; 32];
        let expanded = self.secret.expand(&info, HKDF_SHA256);
        let filled = expanded.and_then(|okm| okm.fill(&mut key));
        filled.map_err(|_| Error::Engine("a key of 32 bytes cannot be derived".to_string()))?;
        Ok(key)
    }
}

/// Without the secrets.
impl fmt::Debug for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges: Vec<AgentId> = self.edges.iter().map(|edge| edge.neighbour).collect();
        let mut shown = f.debug_struct("Masks");
        shown.field("id", &self.id).field("edges", &edges);
        shown.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
