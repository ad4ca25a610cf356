//! What an agent counts while it runs, as Prometheus reads it.
//!
//! Guaranteed: no reader waits for another; readers that are slow, silent or no readers at all cost one thread, and a
//! connection each for at most 5 s, of which there are few. Not guaranteed: secrecy. Numbers of samples, bytes and costs are shown to
//! whoever can reach the address, so give it one that only the observer can reach.

mod page;
mod server;

use crate::exchange::{Collectives, Exchange, Fault, Frame, Phase, Tag};
use crate::grpc::Traffic;
use dictmesh::AgentId;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Upper ends of the bins of round times, in seconds.
const BINS: [f64; 10] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 10.0];

/// The numbers. All of them can be read at any time.
#[derive(Debug)]
pub struct Metrics {
    agent: AgentId,
    rounds: AtomicU64,
    /// In nanoseconds.
    round_time: AtomicU64,
    bins: [AtomicU64; BINS.len()],
    samples: AtomicU64,
    epoch: AtomicU64,
    /// As bits; NaN before there is one.
    cost: AtomicU64,
    disagreement: AtomicU64,
    traffic: Vec<(AgentId, Arc<Traffic>)>,
    /// Bytes written to sockets, and how many of them were taken.
    written: Arc<AtomicU64>,
    taken: AtomicU64,
}

impl Metrics {
    /// Of this agent, with the traffic of its edges.
    pub fn new(agent: AgentId, traffic: Vec<(AgentId, Arc<Traffic>)>) -> Self {
        Metrics {
            agent,
            rounds: AtomicU64::new(0),
            round_time: AtomicU64::new(0),
            bins: Default::default(),
            samples: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            cost: AtomicU64::new(f64::NAN.to_bits()),
            disagreement: AtomicU64::new(f64::NAN.to_bits()),
            traffic,
            written: Arc::default(),
            taken: AtomicU64::new(0),
        }
    }

    /// With this count of bytes written to sockets.
    pub fn with_written(mut self, written: Arc<AtomicU64>) -> Self {
        self.written = written;
        self
    }

    /// Bytes written to sockets since the last call.
    pub fn take_written(&self) -> u64 {
        let written = self.written.load(Ordering::Relaxed);
        written.saturating_sub(self.taken.swap(written, Ordering::Relaxed))
    }

    /// A round of inference took so long.
    fn round(&self, time: Duration) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.round_time.fetch_add(nanos, Ordering::Relaxed);
        if let Some(bin) = BINS.iter().position(|end| time.as_secs_f64() <= *end) {
            self.bins[bin].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A batch is done: samples learned in all, the mean cost of its samples, and how far the agent's duals are from
    /// its neighbours'.
    pub fn batch(&self, samples: u64, cost: f64, disagreement: f64) {
        self.samples.store(samples, Ordering::Relaxed);
        self.cost.store(cost.to_bits(), Ordering::Relaxed);
        (self.disagreement).store(disagreement.to_bits(), Ordering::Relaxed);
    }

    /// Rounds of inference so far, and the seconds they took.
    pub fn rounds(&self) -> (u64, f64) {
        let seconds = self.round_time.load(Ordering::Relaxed) as f64 / 1e9;
        (self.rounds.load(Ordering::Relaxed), seconds)
    }
}

/// Rounds that are counted and timed.
#[derive(Debug)]
pub struct Metered<E> {
    inner: E,
    metrics: Arc<Metrics>,
}

impl<E> Metered<E> {
    /// The same rounds, told to these numbers.
    pub fn new(inner: E, metrics: Arc<Metrics>) -> Self {
        Metered { inner, metrics }
    }
}

impl<E: Exchange> Exchange for Metered<E> {
    fn neighbours(&self) -> &[AgentId] {
        self.inner.neighbours()
    }

    fn take_part(&mut self, neighbours: &[AgentId]) {
        self.inner.take_part(neighbours);
    }

    fn forget(&mut self, gone: &[AgentId]) {
        self.inner.forget(gone);
    }

    fn knocking(&mut self) -> Result<Vec<AgentId>, Fault> {
        self.inner.knocking()
    }

    fn has_ended(&mut self, ended: bool) {
        self.inner.has_ended(ended);
    }

    fn round(
        &mut self,
        own: &Frame,
        inbox: &mut [Frame],
        deadline: Option<Instant>,
    ) -> Result<(), Fault> {
        let began = Instant::now();
        (self.metrics.epoch).store(u64::from(own.tag.epoch), Ordering::Relaxed);
        let done = self.inner.round(own, inbox, deadline);
        if done.is_ok() && own.tag.phase == Phase::Inference {
            self.metrics.round(began.elapsed());
        }
        done
    }

    fn send(&mut self, own: &Frame, to: &[AgentId]) -> Result<(), Fault> {
        self.inner.send(own, to)
    }

    fn receive(
        &mut self,
        tag: Tag,
        from: &[AgentId],
        inbox: &mut [Frame],
        deadline: Option<Instant>,
    ) -> Result<(), Fault> {
        let began = Instant::now();
        let done = self.inner.receive(tag, from, inbox, deadline);
        if done.is_ok() && tag.phase == Phase::Inference && !from.is_empty() {
            self.metrics.round(began.elapsed());
        }
        done
    }

    fn collectives(&mut self) -> Option<&mut dyn Collectives> {
        self.inner.collectives()
    }

    fn can_sum(&self) -> bool {
        self.inner.can_sum()
    }

    fn sum(&mut self, own: &Frame, sum: &mut [f64], most: &mut [f64]) -> Result<(), Fault> {
        let began = Instant::now();
        let done = self.inner.sum(own, sum, most);
        if done.is_ok() && own.tag.phase == Phase::Inference {
            self.metrics.round(began.elapsed());
        }
        done
    }

    fn starts_together(&self) -> bool {
        self.inner.starts_together()
    }
}
