//! Agents as threads over the wire in memory, beside the mesh in one process.
#![allow(dead_code)] // each test uses a part of it

pub mod summing;
pub mod unreachable;

use dictmesh::accel::Accels;
use dictmesh::mesh::MeshBuilder;
use dictmesh::problem::TaskSpec;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy::PenaltyRule;
use dictmesh::AgentId;
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Stopping, Topology, Update, WeightRule};
use dictmesh::{Registry, Spec};
use dictmesh_net::agent::{
    Agent, AgentSettings, Agreed, Batch, Control, Event, Neighbour, Outcome, Weighting,
};
use dictmesh_net::codec::Limits;
use dictmesh_net::memory::{Hub, MemoryWire};
use dictmesh_net::metrics::{Metered, Metrics};
use dictmesh_net::{Error, Rounds, RoundsOptions, Source, Taken, Wire, WireEvent};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Samples with structure: a few directions and noise.
pub fn samples(rows: usize, count: usize, seed: u64) -> Samples {
    let base = gaussian(rows, 3, &mut stream(seed, 1));
    let mix = gaussian(3, count, &mut stream(seed, 2));
    let noise = gaussian(rows, count, &mut stream(seed, 3));
    let x = base.times(&mix);
    let all = Matrix::from_fn(rows, count, |i, j| {
        0.3 * x.get(i, j) + 0.1 * noise.get(i, j)
    });
    Samples::dense(all).unwrap()
}

/// A run that can be done in one process and by agents.
#[derive(Clone)]
pub struct Plan {
    pub task: TaskSpec,
    pub topology: Topology,
    pub strategy: Spec,
    pub stopping: Stopping,
    pub batch: usize,
    pub rows: usize,
    pub sizes: Vec<usize>,
    pub informed: Vec<AgentId>,
    pub x: Samples,
    pub update: Update,
    pub rule: WeightRule,
    /// The speed-ups of the agents.
    pub accels: Accels,
    /// The pieces that the task and the strategy may name.
    pub registry: Registry,
}

impl Plan {
    pub fn new(topology: Topology, rows: usize, samples: usize) -> Self {
        let n = topology.agents();
        Plan {
            task: TaskSpec::sparse_svd(0.05, 0.1),
            strategy: Spec::new("relaxed-admm"),
            stopping: Stopping::rounds(12),
            batch: 1,
            rows,
            sizes: (0..n).map(|k| 1 + k % 3).collect(),
            informed: vec![0],
            x: self::samples(rows, samples, 7),
            topology,
            update: Update::default(),
            rule: WeightRule::Metropolis,
            accels: Accels::all(),
            registry: Registry::default(),
        }
    }

    pub fn builder(&self) -> MeshBuilder {
        Mesh::builder(self.task.build().unwrap(), self.topology.clone())
            .strategy(self.registry.strategy(&self.strategy).unwrap())
            .stopping(self.stopping)
            .batch(self.batch)
            .update(self.update)
            .weights(self.rule.clone())
            .informed(&self.informed)
    }

    /// The mesh in one process, before it has learned.
    pub fn mesh(&self, reduction: bool) -> Mesh {
        let builder = self.builder().accels(match reduction {
            true => Accels::all(),
            false => Accels::parse("lanes").unwrap(),
        });
        builder
            .build(self.rows, &self.sizes, AtomInit::Random)
            .unwrap()
    }

    pub fn settings(&self, mesh: &Mesh, k: AgentId) -> AgentSettings {
        let strategy = (self.registry.strategy(&self.strategy).unwrap())
            .resolve(&mesh.shared_constants())
            .unwrap()
            .spec();
        let neighbours = self.topology.neighbours(k).iter();
        AgentSettings {
            run: "test".to_string(),
            registry: self.registry.clone(),
            neighbours: neighbours
                .map(|id| Neighbour {
                    id: *id,
                    joins: false,
                })
                .collect(),
            stopping: self.stopping,
            update: Some(self.update),
            weighting: match self.rule {
                WeightRule::Metropolis => Weighting::Metropolis,
                WeightRule::Uniform => Weighting::Uniform,
                WeightRule::Given(_) => Weighting::Given(mesh.weights().column(k).to_vec()),
            },
            batch: self.batch,
            accels: self.accels.clone(),
            linger: Duration::from_secs(3),
            ..AgentSettings::new(k, self.task.clone(), strategy, self.rows)
        }
    }

    pub fn source(&self, k: AgentId) -> Option<Box<dyn Source>> {
        let informed = self.informed.contains(&k);
        informed.then(|| Box::new(self.x.clone()) as Box<dyn Source>)
    }
}

/// Of its samples only so many have come yet.
pub struct Dripping {
    pub all: Samples,
    pub there: Arc<AtomicUsize>,
}

impl Source for Dripping {
    fn take(&mut self, position: u64, count: usize, until: Instant) -> Result<Taken, String> {
        while Instant::now() < until {
            let there = self.there.load(Ordering::Relaxed);
            if there >= self.all.len() || there >= position as usize + count {
                return self.all.take(position, count, until);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Taken::Pending)
    }
}

static INCARNATIONS: AtomicU64 = AtomicU64::new(1);

/// An agent with this wire dies at the step on it at which the fuse has burnt down, wherever in its program that is:
/// nothing of it is written or said afterwards.
pub struct Mortal {
    wire: MemoryWire,
    fuse: Arc<AtomicI64>,
    says: Says,
    before: fn(&bytes::Bytes) -> Option<bytes::Bytes>,
}

/// What becomes of frames on their way out.
pub type Says = fn(bytes::Bytes) -> bytes::Bytes;

/// What a killed agent's thread ends with.
pub struct Killed;

impl Mortal {
    fn burn(&self) {
        if self.fuse.fetch_sub(1, Ordering::Relaxed) <= 0 {
            std::panic::resume_unwind(Box::new(Killed)); // without the message of a panic
        }
    }
}

impl Wire for Mortal {
    fn send(&mut self, to: AgentId, bytes: bytes::Bytes) {
        self.burn();
        if let Some(rubbish) = (self.before)(&bytes) {
            self.wire.send(to, rubbish);
        }
        self.wire.send(to, (self.says)(bytes));
    }

    fn next(&mut self, until: Instant) -> Option<WireEvent> {
        self.burn();
        self.wire.next(until)
    }

    fn newest_epoch(&mut self, epoch: u32) {
        self.wire.newest_epoch(epoch);
    }
}

/// What a started agent needs.
pub struct Started {
    pub settings: AgentSettings,
    pub atoms: Matrix,
    pub source: Option<Box<dyn Source>>,
    pub state: Option<PathBuf>,
    pub resend: Duration,
    pub float32: bool,
    /// Steps on the wire until it dies.
    pub fuse: i64,
    pub says: Says,
    /// What is sent before each frame, if anything.
    pub before: fn(&bytes::Bytes) -> Option<bytes::Bytes>,
}

impl Started {
    pub fn new(plan: &Plan, mesh: &Mesh, k: AgentId) -> Self {
        Started {
            settings: plan.settings(mesh, k),
            atoms: mesh.block(k).atoms().clone(),
            source: plan.source(k),
            state: None,
            resend: Duration::from_millis(20),
            float32: false,
            fuse: i64::MAX,
            says: |bytes| bytes,
            before: |_| None,
        }
    }

    pub fn in_directory(mut self, directory: &Path) -> Self {
        self.state = Some(directory.join(format!("agent-{}", self.settings.id)));
        self
    }

    /// Starts it in a thread of its own.
    pub fn start(self, hub: &Hub) -> Running {
        let events = Arc::new(Mutex::new(Vec::new()));
        let control = Control::default();
        let incarnation = INCARNATIONS.fetch_add(1, Ordering::Relaxed);
        let ids: Vec<AgentId> = self.settings.neighbours.iter().map(|n| n.id).collect();
        let fuse = Arc::new(AtomicI64::new(self.fuse));
        let wire = Mortal {
            wire: hub.wire(self.settings.id, &ids, incarnation),
            fuse: fuse.clone(),
            says: self.says,
            before: self.before,
        };
        let limits = Limits::new(self.settings.rows, self.settings.batch);
        let options = RoundsOptions {
            resend: self.resend,
            float32: self.float32,
            grace: Duration::from_millis(200),
            ..RoundsOptions::new(incarnation, limits)
        };
        let rounds = Rounds::new(wire, &ids, options, control.interrupt.clone());
        // As in the program: what counts rounds must pass everything on.
        let metrics = Arc::new(Metrics::new(self.settings.id, Vec::new()));
        let rounds = Metered::new(rounds, metrics);
        let (heard, asked) = (events.clone(), control.clone());
        let thread = std::thread::spawn(move || {
            let mut agent = Agent::new(
                self.settings,
                Box::new(rounds),
                self.atoms,
                self.source,
                self.state.as_deref(),
                Box::new(move |event| heard.lock().unwrap().push(event.clone())),
                asked,
            )?;
            let outcome = agent.run()?;
            Ok(Done {
                outcome,
                atoms: agent.block().atoms().clone(),
                position: agent.position(),
                codes: agent.codes().clone(),
                diverged: agent.diverged().to_string(),
                penalty: agent.penalty(),
            })
        });
        Running {
            thread,
            events,
            control,
            fuse,
        }
    }
}

#[derive(Debug)]
pub struct Done {
    pub outcome: Outcome,
    pub atoms: Matrix,
    pub position: u64,
    pub codes: Matrix,
    /// Whose numbers ended the run.
    pub diverged: String,
    /// The state of the rule that adapts the penalty.
    pub penalty: PenaltyRule,
}

pub struct Running {
    pub thread: JoinHandle<Result<Done, Error>>,
    pub events: Arc<Mutex<Vec<Event>>>,
    pub control: Control,
    fuse: Arc<AtomicI64>,
}

impl Running {
    /// Waits for its end, at most a minute.
    pub fn wait(self) -> Result<Done, Error> {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.thread.is_finished() {
            let last = || self.events.lock().unwrap().last().cloned();
            assert!(
                Instant::now() < until,
                "the agent does not come to its end after {:?}",
                last()
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        self.thread.join().unwrap()
    }

    /// Kills it at its next step on the wire, and waits for its death.
    pub fn kill(self) {
        self.dies_after(0);
    }

    /// Ends it, however it ends.
    pub fn stop(self) {
        self.fuse.store(0, Ordering::Relaxed);
        let _ = self.thread.join();
    }

    /// Kills it after so many steps on the wire, and waits for its death; false if it came to its end before.
    pub fn dies_after(self, steps: i64) -> bool {
        self.fuse.store(steps, Ordering::Relaxed);
        self.died()
    }

    /// Waits for its death, at most a minute; false if it came to its end before.
    pub fn died(self) -> bool {
        let until = Instant::now() + Duration::from_secs(60);
        while !self.thread.is_finished() {
            assert!(Instant::now() < until, "the agent does not die");
            std::thread::sleep(Duration::from_millis(1));
        }
        match self.thread.join() {
            Err(why) if why.is::<Killed>() => true,
            Err(_) => panic!("it died of something else"),
            Ok(done) => {
                done.unwrap();
                false
            }
        }
    }

    pub fn agreements(&self) -> Vec<Agreed> {
        agreements(&self.events.lock().unwrap())
    }

    /// Waits until it takes part with so many others and itself.
    pub fn until_members(&self, members: usize) {
        let until = Instant::now() + Duration::from_secs(60);
        while self
            .agreements()
            .last()
            .is_none_or(|a| a.members.len() != members)
        {
            assert!(
                Instant::now() < until,
                "{members} members do not come together after {:?}",
                self.agreements().last()
            );
            assert!(!self.thread.is_finished(), "the agent ended");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn batches(&self) -> Vec<Batch> {
        batches(&self.events.lock().unwrap())
    }

    /// Waits until it is past this sample.
    pub fn until(&self, position: u64) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.batches().last().is_none_or(|b| b.position < position) {
            assert!(Instant::now() < until, "sample {position} does not come");
            assert!(
                !self.thread.is_finished(),
                "the agent ended before sample {position}"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

pub fn batches(events: &[Event]) -> Vec<Batch> {
    let each = events.iter().filter_map(|event| match event {
        Event::Batch(batch) => Some(batch.clone()),
        _ => None,
    });
    each.collect()
}

pub fn agreements(events: &[Event]) -> Vec<Agreed> {
    let each = events.iter().filter_map(|event| match event {
        Event::Agreed(agreed) => Some(agreed.clone()),
        _ => None,
    });
    each.collect()
}

/// All agents of a plan, from the atoms of the mesh.
pub fn start_all(plan: &Plan, mesh: &Mesh, hub: &Hub) -> Vec<Running> {
    let all = (0..plan.topology.agents()).map(|k| Started::new(plan, mesh, k));
    let started: Vec<Started> = all.collect();
    started.into_iter().map(|agent| agent.start(hub)).collect()
}

/// The largest difference between an agent's atoms and those of the mesh.
pub fn apart(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
    let each = a.as_slice().iter().zip(b.as_slice());
    each.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
