//! Masks hide the parts of sums on the wire, cancel in the total and are never used twice.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use bytes::Bytes;
use common::{summing, Plan, Running, Started};
use dictmesh::{Mesh, Spec, Topology};
use dictmesh_net::agent::{Event, Outcome};
use dictmesh_net::codec::HEADER;
use dictmesh_net::memory::{Faults, Hub};
use dictmesh_net::Error;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

fn plan(topology: Topology, strategy: &str, samples: usize) -> Plan {
    let mut plan = summing::plan(topology, 6, samples);
    plan.strategy = Spec::new(strategy);
    plan.batch = 3;
    plan
}

/// All agents of a plan, each changed before it starts.
fn start(plan: &Plan, mesh: &Mesh, hub: &Hub, change: impl Fn(&mut Started)) -> Vec<Running> {
    let agents = (0..plan.topology.agents()).map(|k| {
        let mut agent = Started::new(plan, mesh, k);
        change(&mut agent);
        agent
    });
    let agents: Vec<Started> = agents.collect();
    agents.into_iter().map(|agent| agent.start(hub)).collect()
}

#[test]
fn results_with_and_without_masks_are_bit_identical() {
    for topology in [
        Topology::path(4).unwrap(),
        Topology::ring(5).unwrap(),
        Topology::complete(6).unwrap(),
    ] {
        let plan = plan(topology, "summing", 15);
        let mut mesh = plan.mesh(false);
        let both = [true, false].map(|masks| {
            let agents = start(&plan, &mesh, &Hub::new(0), |a| a.settings.masks = masks);
            let done = agents.into_iter().map(|agent| agent.wait().unwrap());
            done.collect::<Vec<_>>()
        });
        mesh.learn(&plan.x, |_| Continue(())).unwrap();
        for (k, (with, without)) in both[0].iter().zip(&both[1]).enumerate() {
            assert_eq!(with.atoms, without.atoms, "{k}");
            assert_eq!(with.codes, without.codes, "{k}");
            assert_eq!(with.atoms, *mesh.block(k).atoms(), "{k}");
        }
    }
}

static SAID: Mutex<Vec<Bytes>> = Mutex::new(Vec::new());

/// Records what a leaf sends in batches.
fn record(bytes: Bytes) -> Bytes {
    if bytes[5] == 2 {
        SAID.lock().unwrap().push(bytes.clone());
    }
    bytes
}

/// The leaf 0 of the path 0 - 1 - 2 sends the same integers in every sum, through restarts of
/// itself and of the others over links that lose frames. Two equal masked messages would
/// show that a mask was used twice.
#[test]
fn a_leaf_sends_uniform_bytes_and_no_mask_twice() {
    let plan = plan(Topology::path(3).unwrap(), "constant", 400);
    let mesh = plan.mesh(false);
    let directory = tempfile::tempdir().unwrap();
    let hub = Hub::new(3);
    hub.set_faults(Faults {
        loss: 0.02,
        duplicates: 0.02,
        delay: Duration::from_micros(100),
    });
    let at = |k: usize, directory: &Path| {
        let mut agent = Started::new(&plan, &mesh, k).in_directory(directory);
        if k == 0 {
            agent.says = record;
        }
        agent.settings.linger = Duration::from_secs(1);
        agent.start(&hub)
    };
    let mut agents: Vec<Running> = (0..3).map(|k| at(k, directory.path())).collect();
    for (turn, victim) in [0, 1, 0, 2, 1, 0, 1, 0].into_iter().enumerate() {
        agents[(victim + 1) % 3].until(30 * (turn as u64 + 1));
        assert!(agents.remove(victim).dies_after(turn as i64 * 7), "ended");
        agents.insert(victim, at(victim, directory.path()));
    }
    for agent in agents {
        assert_eq!(agent.wait().unwrap().outcome, Outcome::Ended);
    }
    let said = std::mem::take(&mut *SAID.lock().unwrap());
    // Messages by incarnation, epoch, round and sample.
    let mut messages: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut resent = 0;
    for frame in &said {
        let (key, content) = (frame[8..32].to_vec(), frame[HEADER..].to_vec());
        if let Some(before) = messages.insert(key, content.clone()) {
            assert_eq!(before, content, "a resent message differs");
            resent += 1;
        }
    }
    assert!(
        messages.len() > 400 && resent > 5,
        "{} {resent}",
        messages.len()
    );
    let mut distinct: Vec<&Vec<u8>> = messages.values().collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), messages.len(), "a mask was used twice");
    // Sums were begun again for the same sample and exchange, in another epoch or process.
    let mut sums: Vec<&[u8]> = messages.keys().map(|key| &key[4..16]).collect();
    sums.sort_unstable();
    sums.dedup();
    assert!(sums.len() < messages.len(), "no batch was begun again");
    // Pearson's statistic over bytes, the last of each message aside: it is filled up with zeros.
    let mut counts = [0_u64; 256];
    for message in messages.values() {
        let full = &message[..message.len() - 1];
        full.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    }
    let expected = counts.iter().sum::<u64>() as f64 / 256.0;
    let apart = counts.iter().map(|count| *count as f64 - expected);
    let statistic = apart.map(|v| v * v).sum::<f64>() / expected;
    // 255 degrees of freedom: mean 255, deviation 22.6; 6 deviations to either side.
    assert!((119.0..391.0).contains(&statistic), "{statistic}");
    println!(
        "{} messages, {resent} resent, statistic {statistic:.0}",
        messages.len()
    );
}

static LEAVES: Mutex<Vec<Bytes>> = Mutex::new(Vec::new());

/// The ring 0 - 1 - 2 - 3 - 0 has the root 0 and the leaves 2 and 3 of its tree, whose edge the tree
/// does not use. Links are cut and healed while agents are killed and restarted, the root too. The
/// frames of the leaves show their attempts: epochs rise within a process and positions within an
/// epoch, a resent frame is identical, and no two sums have the same masks.
#[test]
fn attempts_rise_and_no_mask_is_used_twice_over_reconnected_links() {
    let plan = plan(Topology::ring(4).unwrap(), "constant", 240);
    let mesh = plan.mesh(false);
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(8));
    // Most of the time of a batch passes on the links, so that agents die in mid-batch.
    hub.set_faults(Faults {
        delay: Duration::from_millis(1),
        ..Faults::default()
    });
    let at = |k: usize| {
        let mut agent = Started::new(&plan, &mesh, k).in_directory(directory.path());
        if k >= 2 {
            agent.says = |bytes| {
                if bytes[5] == 2 {
                    LEAVES.lock().unwrap().push(bytes.clone());
                }
                bytes
            };
        }
        agent.start(&hub)
    };
    let mut agents: Vec<Running> = (0..4).map(at).collect();
    let links = [(1, 2), (2, 3), (0, 3), (0, 1)];
    for (turn, (a, b)) in links.into_iter().cycle().take(12).enumerate() {
        agents[(turn + 1) % 4].until(15 * (turn as u64 + 1));
        hub.cut(a, b);
        let victim = (turn % 2 == 0).then_some(turn / 2 % 4);
        if let Some(k) = victim {
            assert!(agents.remove(k).dies_after(turn as i64), "ended");
        }
        std::thread::sleep(Duration::from_millis(30));
        hub.heal(a, b);
        if let Some(k) = victim {
            agents.insert(k, at(k));
        }
    }
    for agent in agents {
        assert_eq!(agent.wait().unwrap().outcome, Outcome::Ended);
    }
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    // By incarnation: (epoch, sample, exchange), and the bytes of each.
    let mut attempts: BTreeMap<u64, Vec<(u64, u64, u64)>> = BTreeMap::new();
    let mut messages: BTreeMap<(u64, (u64, u64, u64)), Bytes> = BTreeMap::new();
    let mut resent = 0;
    for frame in LEAVES.lock().unwrap().iter() {
        let field = |from: usize, to: usize| number(&frame[from..to]);
        let incarnation = field(24, 32);
        let sum = (field(8, 12), field(16, 24), field(12, 16));
        let content = frame.slice(HEADER..);
        match messages.insert((incarnation, sum), content.clone()) {
            Some(before) => {
                assert_eq!(before, content, "a resent message differs: {sum:?}");
                resent += 1;
            }
            None => attempts.entry(incarnation).or_default().push(sum),
        }
    }
    let mut repeated = BTreeSet::new();
    for sums in attempts.values() {
        assert!(sums.is_sorted(), "an attempt was named twice: {sums:?}");
        repeated.extend(
            sums.iter()
                .map(|(_, sample, exchange)| (*sample, *exchange)),
        );
    }
    let distinct: BTreeSet<&Bytes> = messages.values().collect();
    assert_eq!(distinct.len(), messages.len(), "a mask was used twice");
    // Each leaf once, and more where a batch was begun again.
    assert!(
        messages.len() > 2 * repeated.len(),
        "no batch was begun again"
    );
    assert!(attempts.len() > 2, "no leaf was restarted");
    println!(
        "{} messages, {resent} resent, {} processes",
        messages.len(),
        attempts.len()
    );
}

/// A bit of the count, the last 64 bits before the filling, changes on the way.
#[test]
fn a_wrong_count_fails_the_attempt_with_its_reason() {
    let plan = plan(Topology::path(3).unwrap(), "summing", 6);
    let mesh = plan.mesh(false);
    let mut agents = start(&plan, &mesh, &Hub::new(0), |agent| {
        if agent.settings.id == 0 {
            agent.says = |bytes| {
                let mut wrong = bytes.to_vec();
                if bytes[5] == 2 {
                    let at = wrong.len() - 4;
                    wrong[at] ^= 1;
                }
                wrong.into()
            };
        }
    });
    let error = agents.remove(1).wait().unwrap_err();
    assert!(matches!(error, Error::Count { agents: 3, .. }), "{error}");
    let words = error.to_string();
    assert!(
        words.contains("round 0 at sample 0: the sum counts"),
        "{words}"
    );
    agents.into_iter().for_each(Running::stop);
}

#[test]
fn masks_at_one_agent_only_are_refused_by_name() {
    let plan = plan(Topology::path(2).unwrap(), "summing", 6);
    let mesh = plan.mesh(false);
    let agents = start(&plan, &mesh, &Hub::new(0), |agent| {
        agent.settings.masks = agent.settings.id == 0;
    });
    for (agent, said) in agents.into_iter().zip([
        "agent 1 does not keep the protocol: it sent no public key",
        "agent 0 does not keep the protocol: it sent a public key, but masks are off",
    ]) {
        let error = agent.wait().unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    // Between processes the hand-shake names the setting.
    let named = |settings: dictmesh_net::agent::AgentSettings| {
        let masks = settings
            .agreed()
            .into_iter()
            .find(|(name, _)| name == "masks");
        masks.unwrap().1
    };
    assert_eq!(named(plan.settings(&mesh, 0)), "true");
}

#[test]
fn an_agent_with_one_neighbour_says_that_it_is_visible_to_it() {
    let plan = plan(Topology::path(3).unwrap(), "summing", 6);
    let agents = start(&plan, &plan.mesh(false), &Hub::new(0), |_| {});
    let events: Vec<_> = agents.iter().map(|agent| agent.events.clone()).collect();
    agents
        .into_iter()
        .for_each(|agent| drop(agent.wait().unwrap()));
    for (k, events) in events.iter().enumerate() {
        let events = events.lock().unwrap();
        let visible = events
            .iter()
            .filter(|e| matches!(e, Event::Visible { to: 1 }));
        assert_eq!(visible.count(), usize::from(k != 1), "{k}");
    }
}
