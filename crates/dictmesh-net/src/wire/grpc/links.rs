//! The links there are now, one at most for each neighbour, and what comes in by them.

use super::hello::{shown, Terms};
use super::lines::Lines;
use super::message::{Hello, Kind, Piece};
use super::status::Status;
use super::stream::Incoming;
use super::{Neighbour, Tls, Traffic};
use crate::WireEvent;
use bytes::Bytes;
use dictmesh::AgentId;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, OwnedSemaphorePermit, Semaphore};

/// Events of one neighbour that the agent has not taken yet. When there are so many, the stream is not read, and
/// HTTP/2's flow control holds the sender.
const UNREAD: usize = 4;
/// Messages to one neighbour that are not on the way yet; more are dropped.
pub const UNSENT: usize = 4;

/// Lines about one edge in a minute at most.
pub const MOST_LINES: usize = 20;
/// See [`MOST_LINES`].
pub const MINUTE: Duration = Duration::from_secs(60);

/// An event, and the permit that the next one of this neighbour may be waiting for.
pub type Queued = (WireEvent, OwnedSemaphorePermit);

/// What all tasks of a wire share.
#[derive(Debug)]
pub struct Shared {
    pub terms: Terms,
    /// Bytes of a message at most.
    pub limit: usize,
    pub tls: Option<Tls>,
    pub edges: Vec<Edge>,
    pub events: mpsc::UnboundedSender<Queued>,
    /// What was sent since the network was last driven. Tasks that are woken by whoever drives them cost no system
    /// call.
    pub outbox: Mutex<Vec<(AgentId, Bytes)>>,
    /// How many links are being carried.
    pub carried: AtomicUsize,
    /// Bytes written to all sockets.
    pub written: Arc<AtomicU64>,
}

/// An edge of the graph at this agent.
#[derive(Debug)]
pub struct Edge {
    pub neighbour: Neighbour,
    pub traffic: Arc<Traffic>,
    unread: Arc<Semaphore>,
    link: Mutex<Link>,
    lines: Lines,
    /// The neighbour has left for good.
    gone: AtomicBool,
}

#[derive(Debug, Default)]
struct Link {
    /// Counts the links this edge has had.
    generation: u64,
    /// When the last of them began.
    since: Option<Instant>,
    out: Option<mpsc::Sender<Piece>>,
    /// Which process of the neighbour it is a link to, and where that is.
    incarnation: u64,
    at: String,
    /// Processes that others have taken the edge from, the last few.
    past: Vec<u64>,
    /// How often one of them came back while another had the edge, since a link last stayed for a while or a process was
    /// first seen.
    returns: usize,
    /// Dropped when a newer link takes over.
    _current: Option<oneshot::Sender<()>>,
}

/// Processes of a neighbour that are known again when they come back.
const PAST: usize = 8;
/// So often they may take the edge from each other, as a connection of one that has died since can come late, once. An
/// even number: the first of two stays. It is counted anew for each new one, or a copy that was refused and is started
/// again would find the first one at the end of the count.
const RETURNS: usize = 4;

impl Link {
    /// Whether another process of the neighbour has the edge, and this one had it before: whoever was started anew
    /// in another's place never sees that one again.
    fn is_return(&self, incarnation: u64) -> bool {
        let another = self.out.is_some() && self.incarnation != incarnation;
        another && self.past.contains(&incarnation)
    }

    /// The next link of the edge: its number.
    fn take_over(
        &mut self,
        (hello, at): (&Hello, String),
        out: mpsc::Sender<Piece>,
        current: oneshot::Sender<()>,
    ) -> u64 {
        let mut past = std::mem::take(&mut self.past);
        let before = self.incarnation;
        let is_new = before != hello.incarnation && !past.contains(&hello.incarnation);
        let known = before == hello.incarnation || past.contains(&before);
        if self.generation > 0 && !known {
            past.truncate(PAST - 1);
            past.insert(0, before);
        }
        let stayed = self.since.is_some_and(|since| since.elapsed() >= MINUTE);
        *self = Link {
            generation: self.generation + 1,
            since: Some(Instant::now()),
            returns: match stayed || is_new {
                true => 0,
                false => self.returns,
            },
            out: Some(out),
            incarnation: hello.incarnation,
            at,
            past,
            _current: Some(current),
        };
        self.generation
    }
}

impl Edge {
    pub fn new(neighbour: Neighbour) -> Self {
        Edge {
            neighbour,
            traffic: Arc::default(),
            unread: Arc::new(Semaphore::new(UNREAD)),
            link: Mutex::default(),
            lines: Lines::new(MOST_LINES, MINUTE),
            gone: AtomicBool::new(false),
        }
    }

    /// The neighbour has left for good.
    pub fn forget(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Says in the log that there was a link and why it ended, unless this agent itself is going; of one that comes and
    /// goes for ever, not every time.
    pub fn log_down(&self, reason: &str) {
        let neighbour = self.neighbour.id;
        if self.unread.is_closed() {
            tracing::debug!(neighbour, "link closed");
        } else if let Some(hidden) = self.lines.next() {
            let hidden = (hidden > 0).then_some(hidden);
            tracing::info!(neighbour, hidden, "link down: {reason}");
        }
    }

    /// Says in the log why there is no link.
    pub fn log_none(&self, reason: &str) {
        let Neighbour { id, name, address } = &self.neighbour;
        if let Some(hidden) = self.lines.next() {
            let hidden = (hidden > 0).then_some(hidden);
            tracing::warn!(neighbour = id, %name, %address, hidden, "no link: {reason}; trying again");
        }
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether this process of the neighbour, which is `at` there, may have the edge. Two that run at once would take it from
    /// each other for ever: when they have shown that both are alive, the one that has it keeps it. What is said then is the
    /// same at each attempt, if `at` is, or logs would tell of each.
    pub fn check_single(&self, hello: &Hello, at: &str) -> Result<(), String> {
        let mut link = self.link();
        if !link.is_return(hello.incarnation) {
            return Ok(());
        }
        link.returns += 1;
        if link.returns < RETURNS {
            return Ok(());
        }
        let id = self.neighbour.id;
        Err(format!(
            "agent {id} runs twice: one process of it, at {}, has this link; another, at {at}, took it from that one time and \
             again, and is refused. End one of them: an agent's id, certificate and state directory are for one process \
             only",
            link.at
        ))
    }

    /// Takes bytes on the way, or drops them.
    pub fn send(&self, bytes: Bytes) {
        let length = bytes.len() as u64;
        if let Some(out) = &self.link().out {
            if out.try_send(Piece::frame(bytes)).is_ok() {
                self.traffic.sent.fetch_add(length, Ordering::Relaxed);
            } else {
                self.traffic.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Ends the link after what was sent is on the way; nothing is waited for any more.
    pub fn finish(&self) {
        self.link().out = None;
        self.unread.close();
    }
}

impl Shared {
    /// Takes bytes that are to be given to a link soon, or drops them.
    pub fn keep(&self, to: AgentId, bytes: Bytes) {
        let mut outbox = self.outbox.lock().unwrap_or_else(|e| e.into_inner());
        if outbox.iter().filter(|(id, _)| *id == to).count() < UNSENT {
            outbox.push((to, bytes));
        } else if let Some(edge) = self.edge(to) {
            edge.traffic.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Gives the links what is for them, if there is anything. It goes out when the network's tasks run next.
    pub fn give(&self) -> bool {
        let mut outbox = self.outbox.lock().unwrap_or_else(|e| e.into_inner());
        let any = !outbox.is_empty();
        for (to, bytes) in outbox.drain(..) {
            if let Some(edge) = self.edge(to) {
                edge.send(bytes);
            }
        }
        any
    }

    /// Whether there is anything to give.
    pub fn has_more(&self) -> bool {
        !(self.outbox.lock().unwrap_or_else(|e| e.into_inner())).is_empty()
    }

    /// The edge to this neighbour.
    pub fn edge(&self, neighbour: AgentId) -> Option<&Edge> {
        (self.edges.iter()).find(|edge| edge.neighbour.id == neighbour)
    }

    /// Tells the agent, when it has taken enough of what came before. `false` if there is no agent any more.
    pub async fn tell(&self, edge: &Edge, event: WireEvent) -> bool {
        let Ok(permit) = Arc::clone(&edge.unread).acquire_owned().await else {
            return false;
        };
        self.events.send((event, permit)).is_ok()
    }

    /// Carries a link from the end of its hand-shake to its own end: `out` is its way out, `incoming` what the
    /// neighbour, which is `at` there, says after its hello. Returns why it ended.
    pub async fn carry(
        &self,
        edge: &Edge,
        (hello, at): (&Hello, String),
        out: mpsc::Sender<Piece>,
        incoming: &mut Incoming,
    ) -> String {
        let neighbour = edge.neighbour.id;
        let (current, displaced) = oneshot::channel();
        let generation = edge.link().take_over((hello, at), out, current);
        self.carried.fetch_add(1, Ordering::Relaxed);
        edge.traffic.links.fetch_add(1, Ordering::Relaxed);
        let up = WireEvent::Up {
            neighbour,
            incarnation: hello.incarnation,
            epoch: hello.epoch,
        };
        let reason = match self.tell(edge, up).await {
            true => self.receive(edge, incoming, displaced).await,
            false => let_go(incoming).await,
        };
        let is_last = {
            let mut link = edge.link();
            let is_last = link.generation == generation;
            if is_last {
                link.out = None;
            }
            is_last
        };
        if is_last {
            let reason = reason.clone();
            self.tell(edge, WireEvent::Down { neighbour, reason }).await;
        }
        self.carried.fetch_sub(1, Ordering::Relaxed);
        reason
    }

    async fn receive(
        &self,
        edge: &Edge,
        incoming: &mut Incoming,
        mut displaced: oneshot::Receiver<()>,
    ) -> String {
        let neighbour = edge.neighbour.id;
        loop {
            let message = tokio::select! {
                biased;
                _ = &mut displaced => return "a newer link took over".into(),
                message = incoming.message() => message,
            };
            let bytes = match message {
                Err(status) => return words(&status),
                Ok(None) => return "it ended the stream".into(),
                Ok(Some(message)) => match message.kind {
                    Some(Kind::Frame(bytes)) => bytes,
                    Some(Kind::Refusal(why)) => return format!("it refused: {}", shown(&why)),
                    _ => return format!("it sent {} where frames belong", message.name()),
                },
            };
            let length = bytes.len() as u64;
            edge.traffic.received.fetch_add(length, Ordering::Relaxed);
            if !self.tell(edge, WireEvent::Frame { neighbour, bytes }).await {
                return let_go(incoming).await;
            }
        }
    }
}

/// This agent ends: what still comes in is not for it, but the other side must get what is under way to it before
/// the stream is cut.
async fn let_go(incoming: &mut Incoming) -> String {
    while let Ok(Some(_)) = incoming.message().await {}
    "this agent ends".into()
}

/// A status as a reason for a log.
pub fn words(status: &Status) -> String {
    shown(&status.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the edge as this process of the neighbour: whether it may.
    fn takes(edge: &Edge, incarnation: u64) -> bool {
        let hello = Hello {
            incarnation,
            ..Hello::default()
        };
        let may = edge.check_single(&hello, "there").is_ok();
        if may {
            let link = (&hello, "there".to_string());
            (edge.link()).take_over(link, mpsc::channel(1).0, oneshot::channel().0);
        }
        may
    }

    #[test]
    fn processes_that_come_back_are_counted_anew_when_a_link_has_stayed_or_a_new_one_comes() {
        let edge = Edge::new(Neighbour {
            id: 1,
            name: "agent-1".into(),
            address: "127.0.0.1:1".into(),
        });
        for (one, other) in [(1, 2), (3, 4), (5, 6)] {
            // Two take it from each other, and the first one keeps it, however often the other one is started anew,
            for other in [other, other + 10, other + 20] {
                let may = [one, other, one, other, one].map(|process| takes(&edge, process));
                assert_eq!(may, [true; 5], "{one} and {other}");
                assert!(!takes(&edge, other), "{other}");
            }
            // for a minute, before it is started anew itself.
            let Some(long_ago) = Instant::now().checked_sub(MINUTE) else {
                return; // a clock that began just now
            };
            edge.link().since = Some(long_ago);
        }
    }
}
