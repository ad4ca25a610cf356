//! A wire between threads of one process, with the faults of a network on demand: for tests, and for trying out what
//! a mesh does when its links are bad.
//!
//! ```
//! use dictmesh_net::memory::Hub;
//! use dictmesh_net::{Wire, WireEvent};
//! use std::time::{Duration, Instant};
//!
//! let hub = Hub::new(0);
//! let (mut a, mut b) = (hub.wire(0, &[1], 10), hub.wire(1, &[0], 11));
//! a.send(1, vec![1, 2, 3].into());
//! let soon = Instant::now() + Duration::from_secs(5);
//! assert!(matches!(b.next(soon), Some(WireEvent::Up { neighbour: 0, .. })));
//! assert!(matches!(b.next(soon), Some(WireEvent::Frame { neighbour: 0, .. })));
//! ```

use crate::wire::{Wire, WireEvent};
use bytes::Bytes;
use dictmesh::random::{stream, Rng};
use dictmesh::AgentId;
use rand::RngExt;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Frames under way to one agent from one neighbour, at most: what is beyond is dropped, as the trait allows.
const UNDER_WAY: usize = 8;

/// What the links do to frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// The share of frames that are lost.
    pub loss: f64,
    /// The share of frames that come twice.
    pub duplicates: f64,
    /// Each frame is late by anything up to this, so that frames overtake each other.
    pub delay: Duration,
}

/// Links all wires of a mesh in this process.
#[derive(Clone, Debug)]
pub struct Hub {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    faults: Faults,
    rng: Rng,
    agents: BTreeMap<AgentId, Place>,
    cut: BTreeSet<(AgentId, AgentId)>,
    frozen: BTreeSet<AgentId>,
    sequence: u64,
    /// Frames that were handed over to wires.
    frames: u64,
}

/// An agent's end.
#[derive(Debug)]
struct Place {
    incarnation: u64,
    neighbours: Vec<AgentId>,
    /// By when it is due, then in the order of sending.
    queue: BinaryHeap<Reverse<Due>>,
    /// The newest epoch it told.
    epoch: u32,
    /// Wakes it when something is put into its queue, or when it is thawed.
    changed: Arc<Condvar>,
}

#[derive(Debug)]
struct Due {
    at: Instant,
    sequence: u64,
    event: WireEvent,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.sequence == other.sequence
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl Hub {
    /// Links without faults; the dice of later ones are drawn from this seed.
    pub fn new(seed: u64) -> Self {
        Hub {
            state: Arc::new(Mutex::new(State {
                faults: Faults::default(),
                rng: stream(seed, 0),
                agents: BTreeMap::new(),
                cut: BTreeSet::new(),
                frozen: BTreeSet::new(),
                sequence: 0,
                frames: 0,
            })),
        }
    }

    /// From now on the links do this.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// An agent's wire to these neighbours. It is up with each of them that has a wire already.
    pub fn wire(&self, id: AgentId, neighbours: &[AgentId], incarnation: u64) -> MemoryWire {
        let mut state = self.lock();
        let changed = Arc::new(Condvar::new());
        let place = Place {
            incarnation,
            neighbours: neighbours.to_vec(),
            queue: BinaryHeap::new(),
            epoch: 0,
            changed: changed.clone(),
        };
        state.agents.insert(id, place);
        for l in neighbours {
            state.connect(id, *l);
        }
        drop(state);
        MemoryWire {
            hub: self.clone(),
            id,
            incarnation,
            changed,
        }
    }

    /// Cuts the link between two agents: nothing passes, and both see it go down.
    pub fn cut(&self, a: AgentId, b: AgentId) {
        let mut state = self.lock();
        state.cut.insert((a.min(b), a.max(b)));
        for (at, from) in [(a, b), (b, a)] {
            let reason = "the link was cut".to_string();
            state.tell(
                at,
                WireEvent::Down {
                    neighbour: from,
                    reason,
                },
            );
        }
    }

    /// Heals a link.
    pub fn heal(&self, a: AgentId, b: AgentId) {
        let mut state = self.lock();
        if state.cut.remove(&(a.min(b), a.max(b))) {
            state.connect(a, b);
        }
    }

    /// An agent stands still at its next step on the wire, as a stopped process does, until it is thawed. What is
    /// sent to it waits as far as there is room.
    pub fn freeze(&self, id: AgentId) {
        self.lock().frozen.insert(id);
    }

    /// It goes on.
    pub fn thaw(&self, id: AgentId) {
        let mut state = self.lock();
        state.frozen.remove(&id);
        if let Some(place) = state.agents.get(&id) {
            place.changed.notify_all();
        }
    }

    /// Frames that arrived so far.
    pub fn frames(&self) -> u64 {
        self.lock().frames
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_cut(&self, a: AgentId, b: AgentId) -> bool {
        self.cut.contains(&(a.min(b), a.max(b)))
    }

    /// Tells two agents of each other, if both are there.
    fn connect(&mut self, a: AgentId, b: AgentId) {
        if self.is_cut(a, b) {
            return;
        }
        for (at, from) in [(a, b), (b, a)] {
            let here = (self.agents.get(&at)).is_some_and(|p| p.neighbours.contains(&from));
            let Some(there) = self.agents.get(&from).filter(|_| here) else {
                continue;
            };
            let event = WireEvent::Up {
                neighbour: from,
                incarnation: there.incarnation,
                epoch: there.epoch,
            };
            self.tell(at, event);
        }
    }

    fn tell(&mut self, at: AgentId, event: WireEvent) {
        self.push(at, Instant::now(), event);
    }

    fn push(&mut self, to: AgentId, at: Instant, event: WireEvent) {
        self.sequence += 1;
        let sequence = self.sequence;
        if let Some(place) = self.agents.get_mut(&to) {
            place.queue.push(Reverse(Due {
                at,
                sequence,
                event,
            }));
            place.changed.notify_one();
        }
    }

    /// Frames from one agent that wait for another.
    fn under_way(&self, from: AgentId, to: AgentId) -> usize {
        let of = |due: &&Reverse<Due>| matches!(&due.0.event, WireEvent::Frame { neighbour, .. } if *neighbour == from);
        (self.agents.get(&to)).map_or(0, |place| place.queue.iter().filter(of).count())
    }
}

/// One agent's end of the links.
#[derive(Debug)]
pub struct MemoryWire {
    hub: Hub,
    id: AgentId,
    incarnation: u64,
    changed: Arc<Condvar>,
}

impl MemoryWire {
    /// Waits while the agent is frozen.
    fn thawed<'h>(&self, hub: &'h Hub) -> MutexGuard<'h, State> {
        let mut state = hub.lock();
        while state.frozen.contains(&self.id) {
            state = (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }
}

impl Wire for MemoryWire {
    fn send(&mut self, to: AgentId, bytes: Bytes) {
        let mut state = self.thawed(&self.hub);
        if state.is_cut(self.id, to) {
            return;
        }
        let faults = state.faults;
        let copies = match (state.rng.random::<f64>(), state.rng.random::<f64>()) {
            (dice, _) if dice < faults.loss => 0,
            (_, dice) if dice < faults.duplicates => 2,
            _ => 1,
        };
        for _ in 0..copies {
            if state.under_way(self.id, to) >= UNDER_WAY {
                break;
            }
            let late = faults.delay.mul_f64(state.rng.random::<f64>());
            let event = WireEvent::Frame {
                neighbour: self.id,
                bytes: bytes.clone(),
            };
            state.push(to, Instant::now() + late, event);
        }
    }

    fn next(&mut self, until: Instant) -> Option<WireEvent> {
        let mut state = self.thawed(&self.hub);
        loop {
            let now = Instant::now();
            let place = state.agents.get_mut(&self.id)?;
            let due = place.queue.peek().map(|due| due.0.at);
            if due.is_some_and(|at| at <= now) {
                let due = place.queue.pop()?;
                if matches!(due.0.event, WireEvent::Frame { .. }) {
                    state.frames += 1;
                }
                return Some(due.0.event);
            }
            if now >= until {
                return None;
            }
            let wake = due.map_or(until, |at| at.min(until));
            let woken = self.changed.wait_timeout(state, wake - now);
            drop(woken.unwrap_or_else(PoisonError::into_inner).0);
            state = self.thawed(&self.hub);
        }
    }

    fn newest_epoch(&mut self, epoch: u32) {
        if let Some(place) = self.hub.lock().agents.get_mut(&self.id) {
            place.epoch = epoch;
        }
    }
}

impl Drop for MemoryWire {
    fn drop(&mut self) {
        let mut state = self.hub.lock();
        let still = (state.agents.get(&self.id)).is_some_and(|p| p.incarnation == self.incarnation);
        if !still {
            return; // its place was taken by a new start already
        }
        let Some(place) = state.agents.remove(&self.id) else {
            return;
        };
        for l in place.neighbours {
            let reason = "the agent is gone".to_string();
            let neighbour = self.id;
            state.tell(l, WireEvent::Down { neighbour, reason });
        }
    }
}
