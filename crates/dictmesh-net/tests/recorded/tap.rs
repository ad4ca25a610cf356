//! Agents whose every byte is written down.

use super::common::Plan;
use dictmesh::AgentId;
use dictmesh::{Matrix, Mesh};
use dictmesh_net::agent::{Agent, AgentSettings, Control, Event};
use dictmesh_net::codec::Limits;
use dictmesh_net::memory::{Hub, MemoryWire};
use dictmesh_net::{Rounds, RoundsOptions, Source, Wire, WireEvent};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Writes down what is sent through it.
struct Recorded {
    wire: MemoryWire,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Wire for Recorded {
    fn send(&mut self, to: AgentId, bytes: bytes::Bytes) {
        self.sent.lock().unwrap().push(bytes.to_vec());
        self.wire.send(to, bytes);
    }

    fn next(&mut self, until: Instant) -> Option<WireEvent> {
        self.wire.next(until)
    }

    fn newest_epoch(&mut self, epoch: u32) {
        self.wire.newest_epoch(epoch);
    }
}

/// How it is listened to.
#[derive(Clone, Copy)]
pub struct Tap {
    pub float32: bool,
    pub resend: Duration,
}

impl Default for Tap {
    fn default() -> Self {
        Tap {
            float32: false,
            resend: Duration::from_secs(30), // nothing is lost, so that everything is sent once
        }
    }
}

/// All that an agent sent, and what it ended with.
pub struct Told {
    pub sent: Vec<Vec<u8>>,
    pub atoms: Matrix,
    pub codes: Matrix,
}

pub struct Tapped {
    thread: JoinHandle<(Matrix, Matrix)>,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
    pub events: Arc<Mutex<Vec<Event>>>,
    pub control: Control,
}

impl Tap {
    pub fn start(
        self,
        mut settings: AgentSettings,
        atoms: Matrix,
        source: Option<Box<dyn Source>>,
        hub: &Hub,
    ) -> Tapped {
        let (id, control) = (settings.id, Control::default());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let neighbours: Vec<AgentId> = settings.neighbours.iter().map(|l| l.id).collect();
        let wire = Recorded {
            wire: hub.wire(id, &neighbours, 1 + id as u64),
            sent: sent.clone(),
        };
        let limits = Limits::new(settings.rows, settings.batch);
        let options = RoundsOptions {
            resend: self.resend,
            float32: self.float32,
            ..RoundsOptions::new(1 + id as u64, limits)
        };
        settings.float32 = self.float32;
        let rounds = Rounds::new(wire, &neighbours, options, control.interrupt.clone());
        let events = Arc::new(Mutex::new(Vec::new()));
        let (heard, asked) = (events.clone(), control.clone());
        let thread = std::thread::spawn(move || {
            let observer = Box::new(move |event: &Event| heard.lock().unwrap().push(event.clone()));
            let rounds = Box::new(rounds);
            let agent = Agent::new(settings, rounds, atoms, source, None, observer, asked);
            let mut agent = agent.unwrap();
            agent.run().unwrap();
            (agent.block().atoms().clone(), agent.codes().clone())
        });
        Tapped {
            thread,
            sent,
            events,
            control,
        }
    }
}

impl Tapped {
    pub fn wait(self) -> Told {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.thread.is_finished() {
            assert!(Instant::now() < until, "it does not come to its end");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (atoms, codes) = self.thread.join().unwrap();
        let sent = self.sent.lock().unwrap().clone();
        Told { sent, atoms, codes }
    }

    /// Waits until this is true of what it went through.
    pub fn until(&self, what: &str, is_so: impl Fn(&[Event]) -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !is_so(&self.events.lock().unwrap()) {
            assert!(Instant::now() < until, "{what} does not come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// All that each agent of the plan tells, from the atoms of the mesh.
pub fn record(plan: &Plan, mesh: &Mesh, tap: Tap) -> Vec<Told> {
    let hub = Hub::new(0);
    let start = |k: AgentId| {
        let (atoms, source) = (mesh.block(k).atoms().clone(), plan.source(k));
        tap.start(plan.settings(mesh, k), atoms, source, &hub)
    };
    let all: Vec<Tapped> = (0..plan.topology.agents()).map(start).collect();
    all.into_iter().map(Tapped::wait).collect()
}
