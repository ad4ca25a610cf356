//! What an agent counts while it runs, as Prometheus reads it.
//!
//! Guaranteed: nothing here waits for anybody; a reader that is slow, silent or no reader at all costs one thread
//! for at most two seconds. Not guaranteed: secrecy. Numbers of samples, bytes and costs are shown to
//! whoever can reach the address, so give it one that only the observer can reach.

mod page;

use crate::exchange::{Exchange, Fault, Frame, Phase};
use crate::grpc::Traffic;
use dictmesh::agent::AgentId;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
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
        }
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

    /// Answers at this address, for as long as the process lives. Where it really is (port 0 takes a free one).
    pub fn serve(self: Arc<Self>, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let answer = move || {
            for socket in listener.incoming() {
                match socket {
                    // Whoever asks wrongly gets nothing.
                    Ok(socket) => drop(self.answer(socket)),
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        thread::Builder::new()
            .name("metrics".into())
            .spawn(answer)?;
        Ok(address)
    }

    fn answer(&self, mut socket: TcpStream) -> io::Result<()> {
        const PATIENCE: Duration = Duration::from_secs(1);
        const LONGEST: usize = 8 << 10;
        let until = Instant::now() + PATIENCE;
        socket.set_write_timeout(Some(PATIENCE))?;
        let mut asked = Vec::new();
        let mut some = [0; 1024];
        while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || asked.len() > LONGEST {
                return Err(io::ErrorKind::TimedOut.into());
            }
            socket.set_read_timeout(Some(left))?;
            match socket.read(&mut some)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => asked.extend_from_slice(&some[..read]),
            }
        }
        let (status, kind, text) = match asked.starts_with(b"GET /metrics ") {
            true => ("200 OK", "text/plain; version=0.0.4", self.page()),
            false => ("404 Not Found", "text/plain", "ask for /metrics\n".into()),
        };
        let length = text.len();
        write!(
            socket,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
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

    fn knocking(&mut self) -> Vec<AgentId> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut socket = TcpStream::connect(address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_numbers_are_there_for_whoever_asks_and_nobody_blocks_them() {
        let traffic = Arc::new(Traffic::default());
        traffic.sent.store(10, Ordering::Relaxed);
        traffic.links.store(3, Ordering::Relaxed);
        let metrics = Arc::new(Metrics::new(4, vec![(7, traffic)]));
        metrics.round(Duration::from_millis(2));
        metrics.round(Duration::from_secs(20));
        metrics.batch(48, 0.25, 1e-5);
        let address = Arc::clone(&metrics)
            .serve(SocketAddr::from(([127, 0, 0, 1], 0)))
            .unwrap();
        // One that says nothing, and one that says nonsense.
        let _silent = TcpStream::connect(address).unwrap();
        assert!(ask(address, "GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404"));
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        for line in [
            "dictmesh_rounds_total{agent=\"4\"} 2",
            "dictmesh_round_seconds_bucket{agent=\"4\",le=\"0.001\"} 0",
            "dictmesh_round_seconds_bucket{agent=\"4\",le=\"0.003\"} 1",
            "dictmesh_round_seconds_bucket{agent=\"4\",le=\"+Inf\"} 2",
            "dictmesh_round_seconds_sum{agent=\"4\"} 20.002",
            "dictmesh_bytes_sent_total{agent=\"4\",neighbour=\"7\"} 10",
            "dictmesh_reconnects_total{agent=\"4\",neighbour=\"7\"} 2",
            "dictmesh_samples_total{agent=\"4\"} 48",
            "dictmesh_cost{agent=\"4\"} 0.25",
            "dictmesh_disagreement{agent=\"4\"} 0.00001",
        ] {
            assert!(page.contains(&format!("\n{line}\n")), "{line} in {page}");
        }
    }
}
