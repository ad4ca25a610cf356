//! Agents as ranks of an MPI job: the round is a neighbourhood collective, or on a complete graph an allreduce.
//!
//! Rank k is agent k. MPI loses nothing and nobody can come or go, so that an agreement is made once, and a rank
//! that fails ends the job: it is started again, from the ranks' checkpoints.
//!
//! Guarantee: what arrives is handed on one by one, and summed in the order of the agents' numbers, so that the
//! result is that of the mesh in one process to the last bit. An allreduce sums in an order of its own: there it is
//! the same to rounding, and decisions, which depend on the largest of numbers only, are the same at all ranks. Not
//! guaranteed: that a deadline ends a round.
//!
//! Sums to a root are an allreduce of integers modulo 2^64, which is exact in any order; broadcasts
//! are those of MPI.

mod calls;

use crate::error::Error;
use crate::exchange::{Collectives, Exchange, Fault, Frame, Phase, Tag};
use calls::{Graph, Library};
use dictmesh::AgentId;
use std::time::Instant;

/// Numbers that all ranks compare before a collective: the tag, and two lengths.
const HEAD: usize = 6;
/// Numbers in front of every frame: its tag, and the lengths of its three parts.
const FRAME_HEAD: usize = HEAD + 1;
/// With so many ranks an allreduce, which sends about two arrays, takes less than one array to each other rank.
const WORTH_A_SUM: usize = 4;

/// This process as a rank of a job. Dropping it ends MPI for the process.
pub struct Job {
    library: Library,
}

impl Job {
    /// Joins the job that `mpirun` started; without `mpirun`, a job of one rank.
    pub fn begin() -> Result<Self, Error> {
        let library = Library::begin().map_err(Error::Engine)?;
        Ok(Job { library })
    }

    /// The agent that this rank is.
    pub fn rank(&self) -> AgentId {
        self.library.rank()
    }

    /// N, the number of ranks.
    pub fn size(&self) -> usize {
        self.library.size()
    }

    /// Rounds with these neighbours (rising). All ranks must call it, and name each other mutually.
    pub fn exchange(&self, neighbours: &[AgentId]) -> Result<Mpi, Error> {
        if let Some(stranger) = neighbours.iter().find(|l| **l >= self.size()) {
            return Err(Error::Setting {
                name: "neighbours",
                given: stranger.to_string(),
                allowed: format!("the job has the ranks 0 to {}", self.size() - 1),
            });
        }
        Ok(Mpi {
            graph: self.library.graph(neighbours).map_err(Error::Engine)?,
            size: self.size(),
            neighbours: neighbours.to_vec(),
            sent: Vec::new(),
            received: Vec::new(),
            lengths: vec![0; neighbours.len()],
        })
    }

    /// Waits until all ranks are here.
    pub fn barrier(&self) -> Result<(), Error> {
        self.library.barrier().map_err(Error::Engine)
    }

    /// The largest of what the ranks say, the same at all of them. All ranks must call it.
    pub fn most(&self, own: f64) -> Result<f64, Error> {
        let mut most = [own];
        let done = self.library.most(&[own], &mut most);
        done.map(|()| most[0]).map_err(Error::Engine)
    }

    /// Ends all ranks at once, with this exit code.
    pub fn abort(&self, code: u8) {
        self.library.abort(code);
    }
}

/// Rounds by neighbourhood collectives.
pub struct Mpi {
    graph: Graph,
    /// N.
    size: usize,
    neighbours: Vec<AgentId>,
    /// The frame that goes out, as numbers.
    sent: Vec<f64>,
    /// Those that came in, one after the other.
    received: Vec<f64>,
    /// How long each of them is.
    lengths: Vec<i32>,
}

impl Exchange for Mpi {
    fn neighbours(&self) -> &[AgentId] {
        &self.neighbours
    }

    // Ranks neither come nor go, and end together.
    fn take_part(&mut self, _: &[AgentId]) {}

    fn forget(&mut self, _: &[AgentId]) {}

    fn knocking(&mut self) -> Result<Vec<AgentId>, Fault> {
        Ok(Vec::new())
    }

    fn has_ended(&mut self, _: bool) {}

    fn round(
        &mut self,
        own: &Frame,
        inbox: &mut [Frame],
        _deadline: Option<Instant>,
    ) -> Result<(), Fault> {
        if self.neighbours.is_empty() {
            return Ok(());
        }
        write(own, &mut self.sent);
        // In an agreement everybody has something else to tell; in all other rounds frames are alike.
        let done = match own.tag.phase {
            Phase::Agreement => (self.graph).gather_lengths(self.sent.len(), &mut self.lengths),
            _ => {
                let length = i32::try_from(self.sent.len());
                self.lengths.fill(length.unwrap_or(i32::MAX));
                Ok(())
            }
        };
        let done = done.and_then(|()| {
            let all = self.lengths.iter().map(|length| *length as usize).sum();
            self.received.resize(all, 0.0);
            (self.graph).gather(&self.sent, &mut self.received, &self.lengths)
        });
        done.map_err(Fault::Engine)?;
        let mut from = 0;
        for (i, frame) in inbox.iter_mut().enumerate() {
            let to = from + self.lengths[i] as usize;
            read(own, &self.received[from..to], frame).map_err(|why| {
                Fault::Engine(format!(
                    "rank {} does not keep step: {why}; do all ranks run the same program with the same flags?",
                    self.neighbours[i]
                ))
            })?;
            from = to;
        }
        Ok(())
    }

    fn can_sum(&self) -> bool {
        self.size >= WORTH_A_SUM
    }

    fn sum(&mut self, own: &Frame, sum: &mut [f64], most: &mut [f64]) -> Result<(), Fault> {
        let lengths = [own.scalars.len(), own.dual.len()];
        most.copy_from_slice(self.keep_step(own.tag, lengths, &own.scalars)?);
        self.graph.sum(&own.dual, sum).map_err(Fault::Engine)
    }

    // Ranks have collectives instead.
    fn send(&mut self, _: &Frame, _: &[AgentId]) -> Result<(), Fault> {
        Err(Fault::Engine("ranks do not send along a tree".into()))
    }

    fn receive(
        &mut self,
        _: Tag,
        _: &[AgentId],
        _: &mut [Frame],
        _: Option<Instant>,
    ) -> Result<(), Fault> {
        Err(Fault::Engine("ranks do not receive along a tree".into()))
    }

    fn collectives(&mut self) -> Option<&mut dyn Collectives> {
        Some(self)
    }

    fn starts_together(&self) -> bool {
        true
    }
}

impl Mpi {
    /// `Ok` if all ranks call it with the same tag and lengths; returns the largest of each scalar.
    fn keep_step(
        &mut self,
        tag: Tag,
        lengths: [usize; 2],
        scalars: &[f64],
    ) -> Result<&[f64], Fault> {
        // The head twice, once negative: where both largest are this rank's own, all ranks have the same.
        let lengths = lengths.map(|length| length as f64);
        let head = head(tag).into_iter().chain(lengths);
        self.sent.clear();
        self.sent.extend(head.flat_map(|v| [v, -v]));
        self.sent.extend_from_slice(scalars);
        self.received.resize(self.sent.len(), 0.0);
        (self.graph)
            .most(&self.sent, &mut self.received)
            .map_err(Fault::Engine)?;
        let (heads, scalars) = self.received.split_at(2 * HEAD);
        if heads != &self.sent[..2 * HEAD] {
            return Err(Fault::Engine(format!(
                "a rank does not keep step: it is in another round than {tag}; do all ranks run the \
                 same program with the same flags?"
            )));
        }
        Ok(scalars)
    }
}

impl Collectives for Mpi {
    fn sum_integers(&mut self, tag: Tag, values: &mut [i64]) -> Result<(), Fault> {
        self.keep_step(tag, [0, values.len()], &[])?;
        self.graph.sum_integers(values).map_err(Fault::Engine)
    }

    fn broadcast(&mut self, tag: Tag, root: AgentId, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        let own = match self.graph.rank().map_err(Fault::Engine)? == root {
            true => bytes.len(),
            false => 0,
        };
        // The lengths of the other ranks are 0, so that the largest is the root's.
        let length = self.keep_step(tag, [root, 0], &[own as f64])?[0];
        bytes.resize(length as usize, 0);
        self.graph.broadcast(root, bytes).map_err(Fault::Engine)
    }
}

fn write(frame: &Frame, numbers: &mut Vec<f64>) {
    numbers.clear();
    numbers.extend(head(frame.tag));
    let lengths = [frame.scalars.len(), frame.dual.len(), frame.bytes.len()];
    numbers.extend(lengths.map(|length| length as f64));
    numbers.extend_from_slice(&frame.scalars);
    numbers.extend_from_slice(&frame.dual);
    // Eight bytes as the bits of a number, the last ones filled up with zeros.
    numbers.extend(frame.bytes.chunks(8).map(|bytes| {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        f64::from_le_bytes(eight)
    }));
}

/// The tag as numbers; all are whole and small enough to be exact. The samples of closing rounds are counted down from the
/// largest number there is.
fn head(tag: Tag) -> [f64; HEAD - 2] {
    let sample = match tag.phase {
        Phase::Closing => -((u64::MAX - tag.sample) as f64),
        _ => tag.sample as f64,
    };
    [
        f64::from(tag.epoch),
        sample,
        f64::from(tag.phase as u8),
        f64::from(tag.round),
    ]
}

/// A frame of the same round as `own`.
fn read(own: &Frame, numbers: &[f64], frame: &mut Frame) -> Result<(), String> {
    let Some((first, rest)) = numbers.split_at_checked(FRAME_HEAD) else {
        return Err(format!("its frame has {} numbers", numbers.len()));
    };
    if first[..HEAD - 2] != head(own.tag) {
        return Err(format!(
            "its frame is of epoch {}, sample {}, phase {}, round {}, and ours is {}",
            first[0], first[1], first[2], first[3], own.tag
        ));
    }
    let [scalars, dual, bytes] = [2, 1, 0].map(|i| first[HEAD - i] as usize);
    let words = bytes.div_ceil(8);
    let parts = scalars.checked_add(dual).and_then(|n| n.checked_add(words));
    if parts != Some(rest.len()) {
        return Err(format!(
            "its frame has {} numbers behind its head",
            rest.len()
        ));
    }
    let (finite, words) = rest.split_at(scalars + dual);
    // Without an early end, many numbers are looked at together.
    if finite.iter().fold(false, |bad, v| bad | !v.is_finite()) {
        return Err("its frame holds numbers that are not finite".into());
    }
    let (scalars, dual) = finite.split_at(scalars);
    frame.tag = own.tag;
    frame.scalars.clear();
    frame.scalars.extend_from_slice(scalars);
    frame.dual.clear();
    frame.dual.extend_from_slice(dual);
    frame.bytes.clear();
    frame
        .bytes
        .extend(words.iter().flat_map(|word| word.to_le_bytes()));
    frame.bytes.truncate(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_strange_ones_are_refused() {
        let mut own = Frame {
            tag: Tag {
                epoch: 3,
                sample: 1 << 40,
                phase: Phase::Inference,
                round: 17,
            },
            scalars: vec![1.0, -2.0],
            dual: vec![0.5; 7],
            // The first eight are a signalling NaN.
            bytes: vec![1, 0, 0, 0, 0, 0, 0xf0, 0x7f, 5, 6, 7],
        };
        let (mut numbers, mut back) = (Vec::new(), Frame::default());
        write(&own, &mut numbers);
        read(&own, &numbers, &mut back).unwrap();
        assert_eq!(back, own);
        for cut in 0..numbers.len() {
            assert!(read(&own, &numbers[..cut], &mut back).is_err(), "{cut}");
        }
        let mut wrong = numbers.clone();
        wrong[9] = f64::NAN;
        assert!(read(&own, &wrong, &mut back)
            .unwrap_err()
            .contains("finite"));
        own.tag.round = 18;
        let why = read(&own, &numbers, &mut back).unwrap_err();
        assert!(why.contains("round 17"), "{why}");
    }
}
