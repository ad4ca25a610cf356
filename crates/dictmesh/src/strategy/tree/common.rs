//! What all agents hold alike: nu, the samples that are being coded, and their tasks.
//!
//! Every agent computes it from the broadcasts of the root, so that it is bit-identical everywhere.
//! The agents of one process compute it once and share it.

use super::order::{decode, power, Probe, Task};
use super::root::capacity;
use super::screen::Singles;
use super::DIRECTION_BITS;
use crate::problem::residual::Residual;
use crate::strategy::{Certified, Local};
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, distance, norm, Matrix};
use std::sync::Arc;

/// Changes of nu up to this, relative to it, are rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// What all agents do after a broadcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Next {
    /// Perform the tasks.
    #[default]
    Work,
    /// Begin these samples: the root broadcasts their first tasks.
    Begin,
    /// The batch has ended.
    End,
}

/// The state of a batch that all agents have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Common {
    /// nu of the whole batch, after the steps of the tasks and before them.
    pub nu: Arc<Matrix>,
    pub before: Arc<Matrix>,
    /// The samples of the batch that are being coded; their tasks, and their ways so far.
    pub samples: Vec<usize>,
    pub tasks: Vec<Task>,
    pub paths: Vec<Path>,
    /// The directions that these tasks begin, in the order of the samples.
    pub directions: Singles,
    /// Which of the samples before these tasks are still being coded, if not all.
    pub kept: Option<Vec<bool>>,
    pub next: Next,
    /// Whether these tasks complete a round, and the rounds of these samples so far.
    pub is_round: bool,
    pub rounds: usize,
    /// The results of all samples of the batch.
    pub certified: Vec<Certified>,
    /// The number of samples begun, and whether the next tasks are the first of the last ones.
    begun: usize,
    is_first: bool,
}

/// The way of nu of one sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// The last direction, and its norm.
    pub p: Vec<f64>,
    pub length: f64,
    /// The length of all steps, before the last tasks and after them.
    pub before: f64,
    pub moved: f64,
    /// Whether the last step left the dual domain by more than rounding and was projected.
    pub projected: bool,
}

impl Common {
    /// A batch at this nu.
    pub fn begin(local: &Local, nu: Arc<Matrix>) -> Self {
        let unknown = Certified {
            cost: f64::NAN,
            gap: f64::INFINITY,
            violation: 0.0,
            stop: Stop::RoundLimit,
        };
        let mut common = Common {
            before: Arc::clone(&nu),
            nu,
            certified: vec![unknown; local.samples],
            ..Common::default()
        };
        common.begin_part(local);
        common
    }

    /// Begins the next samples, as many as the root has memory for.
    fn begin_part(&mut self, local: &Local) {
        let (window, _) = capacity(local.rows(), local.samples);
        let end = (self.begun + window).min(local.samples);
        self.samples = (self.begun..end).collect();
        self.paths = vec![Path::default(); self.samples.len()];
        (self.tasks, self.kept) = (Vec::new(), None);
        (self.begun, self.is_first, self.rounds) = (end, true, 0); // the limit is that of each part
    }

    /// The state after the tasks in these bytes of the root; `None` if they hold no such tasks.
    pub fn follow(&self, local: &Local, bytes: &[u8]) -> Option<Self> {
        let tasks = decode(bytes, self.samples.len(), local.rows(), DIRECTION_BITS)?;
        let mut common = Common {
            before: Arc::clone(&self.nu),
            nu: Arc::clone(&self.nu),
            samples: self.samples.clone(),
            paths: self.paths.clone(),
            certified: self.certified.clone(),
            is_round: !self.is_first,
            rounds: self.rounds + usize::from(!self.is_first),
            begun: self.begun,
            ..Common::default()
        };
        common.end(&tasks);
        common.tasks = tasks;
        common.tasks.retain(|task| !matches!(task, Task::End(_)));
        common.step(local.residual);
        if common.samples.is_empty() {
            match common.begun < local.samples {
                true => {
                    common.begin_part(local);
                    (common.next, common.is_round) = (Next::Begin, false);
                }
                false => (common.next, common.is_round) = (Next::End, true),
            }
        }
        Some(common)
    }

    /// Stores the results of the samples that have ended, and removes them.
    fn end(&mut self, tasks: &[Task]) {
        let certified = &mut self.certified;
        let keep = |(j, task): (&usize, &Task)| match task {
            Task::End(result) => {
                certified[*j] = match result.stop {
                    // Iterates without bound have no certificate.
                    Stop::Diverged => Certified {
                        gap: f64::INFINITY,
                        ..*result
                    },
                    _ => *result,
                };
                false
            }
            _ => true,
        };
        let keep: Vec<bool> = self.samples.iter().zip(tasks).map(keep).collect();
        if keep.contains(&false) {
            retain(&mut self.samples, &keep);
            retain(&mut self.paths, &keep);
            self.kept = Some(keep);
        }
    }

    /// Takes the new directions and steps of the tasks.
    fn step(&mut self, residual: &dyn Residual) {
        let each = self.samples.iter().zip(&self.tasks).zip(&mut self.paths);
        for ((j, task), path) in each {
            (path.before, path.projected) = (path.moved, false);
            if let Task::Slopes(_, probe) | Task::Trial(probe, _) = task {
                path.p.resize(probe.q.len(), 0.0);
                direction(residual, self.nu.column(*j), probe, &mut path.p);
                path.length = norm(&path.p);
                self.directions.push(&path.p);
            }
            let t = match task {
                Task::Trial(..) => 1.0,
                Task::Step(shift, _) => f64::from(*shift),
                _ => continue,
            };
            path.step(residual, t, Arc::make_mut(&mut self.nu).column_mut(*j));
        }
    }

    /// The outcome of the batch, once it has ended.
    pub fn verdict(&self) -> Option<Stop> {
        let stops = self.certified.iter().map(|certified| certified.stop);
        (self.next == Next::End).then(|| stops.fold(Stop::Converged, Stop::worse))
    }
}

impl Path {
    /// nu <- nu + t p, projected onto the dual domain.
    fn step(&mut self, residual: &dyn Residual, t: f64, nu: &mut [f64]) {
        if self.p.len() != nu.len() {
            return; // a root that begins with a step has no direction
        }
        axpy(t, &self.p, nu);
        let free = nu.to_vec();
        residual.project_dual(nu);
        self.moved += t.abs() * self.length;
        if free != nu {
            let apart = distance(&free, nu);
            self.moved += apart;
            // Directions end inside of the domain up to rounding.
            self.projected = apart > ROUNDING * norm(nu);
        }
    }
}

/// Keeps the entries whose flag is set.
pub(super) fn retain<T>(all: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    all.retain(|_| keep.next() == Some(&true));
}

/// The direction p of a probe from nu, such that nu + p is inside of the dual domain.
pub(super) fn direction(residual: &dyn Residual, nu: &[f64], probe: &Probe, p: &mut [f64]) {
    let unit = power(probe.unit);
    (p.iter_mut().zip(&probe.q)).for_each(|(p, q)| *p = unit * f64::from(*q));
    let mut end: Vec<f64> = nu.iter().zip(&*p).map(|(nu, p)| nu + p).collect();
    residual.project_dual(&mut end);
    for ((p, end), nu) in p.iter_mut().zip(end).zip(nu) {
        if nu + *p != end {
            *p = end - nu;
        }
    }
}
