//! What a checkpoint is good for: the settings it was learned with, and programs of its time.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{Plan, Running, Started};
use dictmesh::problem::TaskSpec;
use dictmesh::strategy::PenaltyRule;
use dictmesh::Spec;
use dictmesh::{Mesh, Stopping, Topology};
use dictmesh_net::agent::{AgentSettings, Outcome, Policy};
use dictmesh_net::memory::Hub;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::time::Duration;

fn plan() -> Plan {
    let mut plan = Plan::new(Topology::path(2).unwrap(), 5, 12);
    plan.stopping = Stopping::rounds(6);
    plan
}

type Change = fn(&mut AgentSettings);

fn start(plan: &Plan, mesh: &Mesh, at: &Path, change: Change) -> Vec<Running> {
    let hub = Hub::new(1);
    let each = (0..2).map(|k| {
        let mut started = Started::new(plan, mesh, k).in_directory(at);
        started.settings.linger = Duration::from_secs(1);
        change(&mut started.settings);
        started.start(&hub)
    });
    each.collect()
}

/// Agents that were killed when they had learned some samples.
fn killed(plan: &Plan, mesh: &Mesh, at: &Path) {
    let agents = start(plan, mesh, at, |_| {});
    agents[1].until(5);
    agents.into_iter().for_each(Running::kill);
}

fn assert_undisturbed(plan: &Plan, mesh: &Mesh, agents: Vec<Running>) {
    let mut mesh = mesh.clone();
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        let done = agent.wait().unwrap();
        assert_eq!(done.outcome, Outcome::Ended);
        assert_eq!(done.atoms, *mesh.block(k).atoms());
    }
}

/// Neighbours with the same new settings agree with each other, but not with what they have learned.
#[test]
fn settings_that_changed_everywhere_are_refused_by_name() {
    let (plan, place) = (plan(), tempfile::tempdir().unwrap());
    let mesh = plan.mesh(false);
    killed(&plan, &mesh, place.path());
    let changes: [(Change, &[&str]); 6] = [
        (|s| s.batch = 3, &["batch was 1 and is now 3"]),
        (
            |s| s.task = TaskSpec::sparse_svd(0.07, 0.1),
            &["task was", "0.05", "and is now", "0.07"],
        ),
        (
            |s| s.strategy = Spec::new("diffusion").with("mu", 0.01),
            &["strategy was", "and is now diffusion (mu 0.01)"],
        ),
        (
            |s| s.stopping = Stopping::rounds(7),
            &["stopping was", "6", "7"],
        ),
        (|s| s.update = None, &["update was", "and is now none"]),
        (
            |s| {
                let own = TaskSpec::sparse_svd(0.09, 0.1).common;
                s.task.own.insert(s.id, own);
            },
            &["own task was none and is now", "0.09"],
        ),
    ];
    for (change, words) in changes {
        for agent in start(&plan, &mesh, place.path(), change) {
            let said = agent.wait().unwrap_err().to_string();
            let (restore, remove) = ("Restore them", "remove the state directories");
            for word in words.iter().chain(&[restore, remove]) {
                assert!(said.contains(word), "{word} in {said}");
            }
            let one = said.matches(" is now ").count() == 1;
            assert!(one, "only what differs: {said}");
        }
    }
    // Who is waited for changes nothing that is learned, and nothing was lost by the attempts.
    let agents = start(&plan, &mesh, place.path(), |s| {
        s.policy = Policy::GoOn {
            deadline: Duration::from_secs(60),
        };
    });
    assert_undisturbed(&plan, &mesh, agents);
}

/// Two neighbours that do not agree at their first start are corrected and started again.
#[test]
fn settings_may_change_before_anything_is_learned() {
    let (plan, place) = (plan(), tempfile::tempdir().unwrap());
    let mesh = plan.mesh(false);
    let hub = Hub::new(1);
    let mut alone = Started::new(&plan, &mesh, 1).in_directory(place.path());
    alone.settings.batch = 4;
    let running = alone.start(&hub);
    let file = place.path().join(format!("agent-1/checkpoint-{:020}", 0));
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while !file.exists() {
        assert!(std::time::Instant::now() < until);
        std::thread::sleep(Duration::from_millis(1));
    }
    running.kill();
    let agents = start(&plan, &mesh, place.path(), |_| {});
    assert_undisturbed(&plan, &mesh, agents);
}

fn eight(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// The checkpoint of an agent with atoms as a program of another version would have written it: version 4 with
/// fewer numbers of the penalty's rule, up to version 3
/// without the state of the penalty's rule, up to version 2 with W'W behind the atoms, and version 1 did not name the
/// settings.
fn of_version(bytes: &[u8], version: u32) -> Vec<u8> {
    let mut body = bytes[20..].to_vec();
    let settings = 8 + eight(&body, 0) + 8; // behind the run's name and the agent's number
    let mut behind = settings + 8;
    for _ in 0..2 * eight(&body, settings) {
        behind += 8 + eight(&body, behind);
    }
    if version < 5 {
        let penalty = 8 + 8 * PenaltyRule::default().to_numbers().len();
        body.truncate(body.len() - penalty);
    }
    if version == 4 {
        body.extend([12_u64; 13].into_iter().flat_map(u64::to_le_bytes));
    }
    if version < 3 {
        let mut atoms = behind + 3 * 8;
        for _ in 0..2 {
            atoms += 8 + 8 * eight(&body, atoms); // the neighbours
        }
        let (rows, entries) = (eight(&body, atoms), eight(&body, atoms + 8));
        let n = entries / rows;
        let gram = [n, n * n].into_iter().chain(vec![0; n * n]);
        let gram: Vec<u8> = gram.flat_map(|v| (v as u64).to_le_bytes()).collect();
        let at = atoms + 16 + 8 * entries;
        body.splice(at..at, gram);
    }
    if version == 1 {
        body.drain(settings..behind);
    }
    let mut out = b"dmcp".to_vec();
    out.extend(version.to_le_bytes());
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(crc32fast::hash(&body).to_le_bytes());
    out.extend(body);
    out
}

fn rewrite(place: &Path, version: u32) {
    for k in 0..2 {
        for file in std::fs::read_dir(place.join(format!("agent-{k}"))).unwrap() {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, of_version(&bytes, version)).unwrap();
        }
    }
}

#[test]
fn versions_before_are_gone_on_from_and_a_later_one_is_refused() {
    for version in [1, 2, 3, 4] {
        let (plan, place) = (plan(), tempfile::tempdir().unwrap());
        let mesh = plan.mesh(false);
        killed(&plan, &mesh, place.path());
        rewrite(place.path(), 6);
        for agent in start(&plan, &mesh, place.path(), |_| {}) {
            let said = agent.wait().unwrap_err().to_string();
            let words = "of version 6, and this program reads 1 to 5";
            assert!(said.contains(words), "{said}");
        }
        rewrite(place.path(), version);
        assert_undisturbed(&plan, &mesh, start(&plan, &mesh, place.path(), |_| {}));
    }
}
