//! gRPC: one bidirectional stream for each edge, the agent with the smaller id dials. `grpc/mesh.proto` describes
//! what is said.
//!
//! Guaranteed: under TLS, a neighbour's frames come from whoever holds the private key of a certificate that the run's
//! authority gave to that neighbour's name. Everyone else is refused with a line in the log that names the peer, and
//! costs a bounded amount of memory until then: at most 64 KB and 5 s for each connection, of which few may
//! wait at a time. Not guaranteed: that whoever can flood the network cannot keep a neighbour from reconnecting
//! for a while.

mod accept;
mod dial;
mod guard;
mod hello;
mod io_settings;
mod links;
mod message;
mod strangers;
mod tls;

pub use tls::Tls;

use crate::{Wire, WireEvent};
use bytes::Bytes;
use dictmesh::agent::AgentId;
use hello::Terms;
use links::{Edge, Queued, Shared};
use message::MessageCodec;
use std::fmt::Display;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

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
    #[error("{}: {why}; expected what `dictmesh mesh init --tls` writes", file.display())]
    Credentials {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The system gives no threads.
    #[error("cannot start the network's thread: {0}")]
    Thread(std::io::Error),
}

impl Error {
    fn credentials(file: &Path, why: impl Display) -> Self {
        Error::Credentials {
            file: file.to_path_buf(),
            why: why.to_string(),
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
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
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
            codec: MessageCodec {
                largest: settings.largest_frame,
            },
            tls: settings.tls,
            edges: settings.neighbours.into_iter().map(Edge::new).collect(),
            events: tell,
            carried: AtomicUsize::new(0),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("network".into())
            .spawn(move || {
                runtime.block_on(run(theirs, listener, stopped));
                // What resolves host names may hang in the system.
                runtime.shutdown_background();
            })
            .map_err(Error::Thread)?;
        Ok(GrpcWire {
            shared,
            events,
            address,
            stop: Some(stop),
            thread: Some(thread),
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
}

fn listen(address: SocketAddr) -> Result<TcpListener, Error> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|source| Error::Listen { address, source })
}

/// The network's thread, until the wire is dropped.
async fn run(shared: Arc<Shared>, listener: Option<TcpListener>, stopped: oneshot::Receiver<()>) {
    let mut tasks = tokio::task::JoinSet::new();
    match listener.map(tokio::net::TcpListener::from_std) {
        Some(Ok(listener)) => {
            tasks.spawn(accept::serve(Arc::clone(&shared), listener));
        }
        Some(Err(e)) => tracing::error!("cannot listen: {e}"),
        None => {}
    }
    for (index, edge) in shared.edges.iter().enumerate() {
        if shared.terms.own < edge.neighbour.id {
            tasks.spawn(dial::keep(Arc::clone(&shared), index));
        }
    }
    let _ = stopped.await;
    // What is under way goes out, then the streams end; a neighbour that does not take it is not waited for.
    shared.edges.iter().for_each(Edge::finish);
    let drained = async {
        while shared.carried.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = tokio::time::timeout(FAREWELL, drained).await;
}

/// Wakes the agent's thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Wire for GrpcWire {
    fn send(&mut self, to: AgentId, bytes: Bytes) {
        if let Some(edge) = self.shared.edge(to) {
            edge.send(bytes);
        }
    }

    fn next(&mut self, until: Instant) -> Option<WireEvent> {
        if let Ok((event, _permit)) = self.events.try_recv() {
            return Some(event);
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            match self.events.poll_recv(&mut context) {
                Poll::Ready(Some((event, _permit))) => return Some(event),
                // No sender left: the network's thread is gone. Only time can pass.
                Poll::Ready(None) | Poll::Pending => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            thread::park_timeout(left);
        }
    }

    fn newest_epoch(&mut self, epoch: u32) {
        self.shared.terms.epoch.fetch_max(epoch, Ordering::Relaxed);
    }
}

impl Drop for GrpcWire {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
