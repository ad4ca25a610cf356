//! gRPC: one bidirectional stream for each edge, the agent with the smaller id dials. `grpc/mesh.proto` describes
//! what is said.
//!
//! Guaranteed: under TLS, a neighbour's frames come from whoever holds the private key of a certificate that the run's
//! authority gave to that neighbour's name. Everyone else is refused with a line in the log that names the peer, and
//! costs a bounded amount of memory until then: some 200 KB (what is read ahead, what TLS and HTTP/2 keep) and
//! 5 s for each connection, of which few may wait at a time. Not guaranteed: that whoever can flood the network cannot keep a neighbour from reconnecting
//! for a while.

mod accept;
mod counted;
mod credentials;
mod dial;
mod engine;
mod guard;
mod hello;
mod http2;
mod lines;
mod links;
mod message;
mod read_ahead;
mod status;
mod strangers;
mod stream;
mod tls;
mod tongue;

pub use tls::Tls;

use crate::{Wire, WireEvent};
use bytes::Bytes;
use dictmesh::AgentId;
use engine::Engine;
use hello::Terms;
use links::{Edge, Queued, Shared};
use std::fmt::Display;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// How long a hand-shake may take.
const HAND_SHAKE: Duration = Duration::from_secs(5);
/// How long the links may take to end when the wire is dropped.
const FAREWELL: Duration = Duration::from_secs(2);

/// The other end of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its id.
    pub id: AgentId,
    /// Its name, which is in its certificate.
    pub name: String,
    /// Where it listens, `host:port`.
    pub address: String,
}

/// All that a wire needs to know.
#[derive(Debug)]
pub struct Settings {
    /// This agent's id.
    pub own: AgentId,
    /// Where it listens. Only neighbours with smaller ids dial; without such, nothing is listened to.
    pub listen: SocketAddr,
    /// The edges.
    pub neighbours: Vec<Neighbour>,
    /// The run's name: agents of other runs are refused.
    pub run: String,
    /// Names and values of the settings that must be the same at both ends of an edge.
    pub agreed: Vec<(String, String)>,
    /// Another number for each start of this process.
    pub incarnation: u64,
    /// The newest epoch this agent knows of.
    pub epoch: u32,
    /// Bytes of an encoded frame at most.
    pub largest_frame: usize,
    /// Mutual TLS; without, everything is plain text.
    pub tls: Option<Tls>,
}

/// Why there is no wire.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened to.
    #[error("cannot listen at {address}: {source}; is another agent running there, or is the address another host's?")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// A certificate or key does not serve.
    #[error("{}: {why}", file.display())]
    Credentials {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// The system gives no threads.
    #[error("cannot start the network's thread: {0}")]
    Thread(std::io::Error),
}

impl Error {
    /// A file that is not what it should be at all.
    fn credentials(file: &Path, why: impl Display) -> Self {
        Error::Credentials {
            file: file.to_path_buf(),
            why: format!("{why}; expected what `dictmesh mesh init --tls` writes"),
        }
    }
}

/// What went over an edge since the start.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Bytes of frames that were given to the link.
    pub sent: AtomicU64,
    /// Bytes of frames that came.
    pub received: AtomicU64,
    /// Frames that were dropped because too many were under way.
    pub dropped: AtomicU64,
    /// Hand-shakes that succeeded; all but the first are reconnections.
    pub links: AtomicU64,
}

/// The links of one agent. Dropped, it sends what is under way and ends.
#[derive(Debug)]
pub struct GrpcWire {
    shared: Arc<Shared>,
    events: mpsc::UnboundedReceiver<Queued>,
    address: Option<SocketAddr>,
    engine: Engine,
}

impl GrpcWire {
    /// Listens and begins to dial. Links come up by and by; [`Wire::next`] tells.
    pub fn start(settings: Settings) -> Result<Self, Error> {
        let own = settings.own;
        let dialled = settings.neighbours.iter().any(|n| n.id < own);
        let listener = dialled.then(|| listen(settings.listen)).transpose()?;
        let address = listener.as_ref().and_then(|l| l.local_addr().ok());
        let (tell, events) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            terms: Terms {
                own,
                run: settings.run,
                agreed: settings.agreed,
                incarnation: settings.incarnation,
                epoch: AtomicU32::new(settings.epoch),
            },
            limit: message::limit(settings.largest_frame),
            tls: settings.tls,
            edges: settings.neighbours.into_iter().map(Edge::new).collect(),
            events: tell,
            outbox: Default::default(),
            carried: AtomicUsize::new(0),
            written: Arc::default(),
        });
        let kept = Arc::clone(&shared);
        let engine = Engine::start(move || {
            kept.give();
        })
        .map_err(Error::Thread)?;
        engine.spawn(begin(Arc::clone(&shared), listener));
        Ok(GrpcWire {
            shared,
            events,
            address,
            engine,
        })
    }

    /// Where it listens, if it does.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The traffic of each edge so far, for whoever watches; it goes on counting.
    pub fn traffic(&self) -> Vec<(AgentId, Arc<Traffic>)> {
        let of = |edge: &Edge| (edge.neighbour.id, Arc::clone(&edge.traffic));
        self.shared.edges.iter().map(of).collect()
    }

    /// Bytes written to sockets so far: frames, hand-shakes, and all that HTTP/2 and TLS add. It
    /// continues to count.
    pub fn written(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.shared.written)
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|source| Error::Listen { address, source })
}

/// Begins to listen and to dial; both go on for as long as the wire lives.
async fn begin(shared: Arc<Shared>, listener: Option<TcpListener>) {
    match listener.map(tokio::net::TcpListener::from_std) {
        Some(Ok(listener)) => {
            tokio::spawn(accept::serve(Arc::clone(&shared), listener));
        }
        Some(Err(e)) => tracing::error!("cannot listen: {e}"),
        None => {}
    }
    for (index, edge) in shared.edges.iter().enumerate() {
        if shared.terms.own < edge.neighbour.id {
            tokio::spawn(dial::keep(Arc::clone(&shared), index));
        }
    }
}

/// What is under way goes out, then the streams end; a neighbour that does not take it is not waited for.
async fn take_leave(shared: &Shared) {
    shared.edges.iter().for_each(Edge::finish);
    let drained = async {
        while shared.carried.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = tokio::time::timeout(FAREWELL, drained).await;
}

impl Wire for GrpcWire {
    fn send(&mut self, to: AgentId, bytes: Bytes) {
        self.shared.keep(to, bytes);
        // The keeper gives what it finds when it takes over, and does not look again.
        if self.engine.is_kept() {
            self.shared.give();
        }
    }

    fn flush(&mut self) {
        if self.shared.has_more() {
            self.engine.drive(async {
                self.shared.give();
                tokio::task::yield_now().await;
            });
        }
    }

    fn next(&mut self, until: Instant) -> Option<WireEvent> {
        if !self.shared.has_more() {
            if let Ok((event, _permit)) = self.events.try_recv() {
                return Some(event);
            }
        }
        let (shared, events) = (&self.shared, &mut self.events);
        let event = self.engine.drive(async {
            if shared.give() && !events.is_empty() {
                // It goes out before anything is taken in: the neighbours wait for it. Where nothing has come, the wait
                // below lets the tasks run, and looks at the sockets once less.
                tokio::task::yield_now().await;
            }
            if until <= Instant::now() {
                // What has arrived at the sockets gets its turn: tasks run, the sockets are looked at, tasks run.
                tokio::task::yield_now().await;
                tokio::task::yield_now().await;
            }
            tokio::time::timeout_at(until.into(), events.recv()).await
        });
        event.ok().flatten().map(|(event, _permit)| event)
    }

    fn forget(&mut self, neighbour: AgentId) {
        if let Some(edge) = self.shared.edge(neighbour) {
            edge.forget();
        }
    }

    fn newest_epoch(&mut self, epoch: u32) {
        self.shared.terms.epoch.fetch_max(epoch, Ordering::Relaxed);
    }
}

impl Drop for GrpcWire {
    fn drop(&mut self) {
        self.engine.drive(async {
            self.shared.give();
            take_leave(&self.shared).await;
        });
    }
}
