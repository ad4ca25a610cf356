//! Agents are lost, leave and join, by every strategy with the constants that `mesh init` would choose: the others go on
//! to the right codes, or the run ends with a reason, or its batches say that they met no tolerance. Never wrong numbers in silence.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{Done, Dripping, Plan, Running, Started};
use dictmesh::{strategy, Spec};
use dictmesh::{AtomInit, Matrix, Mesh, Stop, Stopping, Topology, Update};
use dictmesh_net::agent::{Neighbour, Outcome, Policy};
use dictmesh_net::config::{self, Agreed};
use dictmesh_net::memory::Hub;
use dictmesh_net::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Samples, all and those there are before somebody comes or goes.
const ALL: usize = 40;
const FIRST: usize = 20;

/// A ring of five, which without one of them is a path, and bipartite.
fn plan(strategy: &str, policy: config::Policy) -> Plan {
    let mut plan = Plan::new(Topology::ring(5).unwrap(), 5, ALL);
    plan.stopping = Stopping {
        tolerance: Some(1e-6),
        rounds: 20_000,
    };
    plan.batch = 10;
    plan.informed = vec![0, 2];
    let agreed = Agreed {
        rows: plan.rows,
        batch: plan.batch,
        block: None,
        weights: plan.rule.clone(),
        score: true,
        float32: false,
        masks: true,
        task: plan.task.clone(),
        strategy: Spec::new(strategy),
        stopping: plan.stopping,
        update: Update::default(),
    };
    let agreed = agreed.resolved(&plan.topology, &plan.sizes, policy);
    plan.strategy = agreed.unwrap().strategy;
    plan
}

/// Agents that only code, so that their last codes can be held against atoms that are known.
struct Coding {
    plan: Plan,
    mesh: Mesh,
    hub: Hub,
    there: Arc<AtomicUsize>,
    agents: Vec<Running>,
}

impl Coding {
    /// All agents of the plan, who are through with the first samples. Agents 1 and 3 expect a sixth if it `joins`.
    fn started(plan: Plan, policy: Policy, joins: bool) -> Self {
        let mut coding = Coding {
            mesh: plan.mesh(false),
            hub: Hub::new(0),
            there: Arc::new(AtomicUsize::new(FIRST)),
            agents: Vec::new(),
            plan,
        };
        for k in 0..coding.plan.topology.agents() {
            let mut agent = coding.agent(k);
            agent.settings.policy = policy;
            if joins && [1, 3].contains(&k) {
                let newcomer = Neighbour { id: 5, joins: true };
                agent.settings.neighbours.push(newcomer);
            }
            coding.agents.push(agent.start(&coding.hub));
        }
        let last = (FIRST - coding.plan.batch) as u64;
        coding.agents.iter().for_each(|agent| agent.until(last));
        coding
    }

    fn agent(&self, k: usize) -> Started {
        let mut agent = Started::new(&self.plan, &self.mesh, k);
        agent.settings.update = None;
        if self.plan.informed.contains(&k) {
            let (all, there) = (self.plan.x.clone(), self.there.clone());
            agent.source = Some(Box::new(Dripping { all, there }));
        }
        agent
    }

    /// The others go on, and are right or say why not; whether they are right.
    fn goes_on(self, what: &str) -> bool {
        self.there.store(ALL, Ordering::Relaxed);
        let last = self.plan.x.range(ALL - self.plan.batch..ALL);
        let found = self.mesh.infer(&last).unwrap();
        let exact = self.mesh.exact(&last).unwrap();
        let (mut right, mut first) = (Vec::new(), 0);
        for (k, agent) in self.agents.into_iter().enumerate() {
            let events = agent.events.clone();
            let done: Result<Done, Error> = agent.wait();
            let done = done.unwrap();
            let batches = common::batches(&events.lock().unwrap());
            right.push(batches.iter().all(|b| b.stop == Stop::Converged));
            if done.outcome == Outcome::Diverged {
                assert!(done.diverged.contains("diverged"), "{what} {k}");
                assert!(!right[k], "{what} {k}");
                continue;
            }
            assert_eq!((done.outcome, done.position), (Outcome::Ended, ALL as u64));
            // A batch that goes around for ever says that it met no tolerance.
            let said = |stop| [Stop::Converged, Stop::RoundLimit].contains(&stop);
            assert!(batches.iter().all(|b| said(b.stop)), "{what} {k}");
            if batches.last().is_none_or(|b| b.stop != Stop::Converged) {
                continue;
            }
            assert_eq!(done.codes, found.codes[k], "{what} {k}");
            let atoms = done.codes.rows();
            // The two others have a bias, which the mesh in one process has too.
            if !what.starts_with("diffusion") && !what.starts_with("consensus") {
                let own = |i, j| exact.codes.get(first + i, j) - done.codes.get(i, j);
                let apart = Matrix::from_fn(atoms, last.len(), own);
                let most = apart.as_slice().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                assert!(most < 1e-3, "{what} {k}: {most:e} from the exact codes");
            }
            first += atoms;
        }
        assert!(right.iter().all(|r| *r == right[0]), "{what}: {right:?}");
        right[0]
    }
}

/// Under `go-on` steps are chosen for whatever a loss leaves.
#[test]
fn a_loss_is_stood_by_every_strategy() {
    for name in strategy::NAMES {
        let deadline = Duration::from_millis(500);
        let plan = plan(name, config::Policy::GoOn);
        let mut coding = Coding::started(plan, Policy::GoOn { deadline }, false);
        coding.agents.pop().unwrap().kill();
        coding
            .agents
            .iter()
            .for_each(|agent| agent.until_members(4));
        coding.mesh.remove_agent(4).unwrap();
        assert!(coding.goes_on(name), "{name}: the others diverged");
    }
}

/// Under `wait` they are chosen for the mesh as it is. `mesh leave` refuses what they do not stand (`config/steps.rs`);
/// whoever leaves unchecked ends the run, with a reason.
#[test]
fn a_leave_is_stood_or_ends_the_run_with_a_reason() {
    for name in strategy::NAMES {
        let mut coding = Coding::started(plan(name, config::Policy::Wait), Policy::Wait, false);
        coding.agents[4]
            .control
            .leave
            .store(true, Ordering::Relaxed);
        let left = coding.agents.pop().unwrap().wait().unwrap();
        assert_eq!(left.outcome, Outcome::Left);
        coding.mesh.remove_agent(4).unwrap();
        assert_eq!(coding.goes_on(name), name != "jacobi-admm", "{name}");
    }
}

/// The same with rounds that nobody measures, as there is no tolerance: what ran away is seen after them.
#[test]
fn fixed_rounds_that_run_away_end_the_run_with_a_reason() {
    let mut plan = plan("jacobi-admm", config::Policy::Wait);
    plan.stopping = Stopping::rounds(3000);
    let mut coding = Coding::started(plan, Policy::Wait, false);
    coding.agents[4]
        .control
        .leave
        .store(true, Ordering::Relaxed);
    coding.agents.pop().unwrap().wait().unwrap();
    coding.there.store(ALL, Ordering::Relaxed);
    for agent in coding.agents {
        let done = agent.wait().unwrap();
        assert_eq!(done.outcome, Outcome::Diverged);
        assert!(done.diverged.contains("diverged"));
    }
}

/// One with as many atoms as others, and one with many more. Where the step is known to stand it, the codes are right;
/// where it is not, `mesh add` would refuse the newcomer, and the run says what becomes of it.
#[test]
fn a_newcomer_is_stood_or_ends_the_run_with_a_reason() {
    for (name, atoms) in strategy::NAMES.into_iter().flat_map(|n| [(n, 2), (n, 60)]) {
        let mut coding = Coding::started(plan(name, config::Policy::Wait), Policy::Wait, true);
        let own = Matrix::from_fn(5, atoms, |i, j| ((1 + i * i + 3 * j) as f64).sin() / 2.3);
        let mut newcomer = coding.agent(0);
        newcomer.settings.id = 5;
        newcomer.settings.joins = true;
        newcomer.settings.neighbours = [1, 3].map(|id| Neighbour { id, joins: false }).to_vec();
        (newcomer.atoms, newcomer.source) = (own.clone(), None);
        coding.agents.push(newcomer.start(&coding.hub));
        coding
            .agents
            .iter()
            .for_each(|agent| agent.until_members(6));
        coding
            .mesh
            .add_agent(&[1, 3], atoms, AtomInit::Given(&own), false, None)
            .unwrap();
        let step = dictmesh::strategy::build(&coding.plan.strategy)
            .unwrap()
            .step(&coding.mesh.shared_constants());
        let stands = step.is_none_or(|(mu, largest)| mu <= largest);
        let right = coding.goes_on(name);
        println!("{name}, a newcomer with {atoms} atoms: stands {stands}, right {right}");
        assert!(right || !stands, "{name}: {atoms} atoms");
    }
}
