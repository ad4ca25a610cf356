//! Every byte that leaves an agent, read by the format's description and not by the program's own decoder: tags, dual
//! vectors and control scalars, and nothing else; over gRPC hand-shakes too, see `hand_shakes.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
mod hand_shakes;
mod runs;
mod scalars;
mod tap;

use common::Plan;
use dictmesh::network::relative_change;
use dictmesh::strategy;
use dictmesh::AgentId;
use dictmesh::Spec;
use dictmesh::{Matrix, Mesh, Stop, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::Continue;
use tap::{record, Tap};

/// A frame as the table in codec.rs describes it: phase, sample, round, scalars, dual vectors.
struct Read {
    float32: bool,
    phase: u8,
    sample: u64,
    round: u32,
    scalars: Vec<f64>,
    dual: Vec<f64>,
}

fn read(bytes: &[u8]) -> Read {
    let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let numbers = |from: usize, count: usize| -> Vec<f64> {
        let part = bytes[from..from + 8 * count].chunks_exact(8);
        part.map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect()
    };
    assert_eq!((&bytes[..4], bytes[7]), (&b"dmf2"[..], 0));
    assert!(bytes[4] < 2 && bytes[6] < 2, "single precision; asks");
    let (float32, scalars, dual) = (bytes[4] == 1, four(32) as usize, four(36) as usize);
    let (from, width) = (44 + 8 * scalars, if float32 { 4 } else { 8 });
    let opaque = four(40) as usize;
    // The parent in the tree and a public key, in the last round of an agreement.
    assert!(
        opaque == 0 || (bytes[5], opaque) == (0, 8 + 32),
        "{opaque} bytes"
    );
    let to = from + width * dual;
    assert_eq!(bytes.len(), to + opaque, "every byte has its place");
    let single = |b: &[u8]| f64::from(f32::from_le_bytes(b.try_into().unwrap()));
    Read {
        float32,
        phase: bytes[5],
        sample: u64::from_le_bytes(bytes[16..24].try_into().unwrap()),
        round: four(12),
        scalars: numbers(44, scalars),
        dual: match float32 {
            true => bytes[from..to].chunks_exact(4).map(single).collect(),
            false => numbers(from, dual),
        },
    }
}

/// What agents may say and what not, from the mesh in one process.
#[derive(Default)]
struct Story {
    /// psi or nu of every batch, round and agent.
    duals: BTreeMap<(u64, u32, AgentId), Vec<f64>>,
    /// All atoms and codes there ever were, as bits.
    private: BTreeSet<u64>,
    /// The residuals of all agents in all rounds of a batch, as bits.
    residuals: BTreeMap<u64, BTreeSet<u64>>,
    /// The least and the largest -J_k of any agent for each sample of a batch; none where no code can meet a sample.
    costs: BTreeMap<u64, Vec<[f64; 2]>>,
}

impl Story {
    fn keep_secret<'a>(&mut self, numbers: impl IntoIterator<Item = &'a f64>) {
        let numbers = numbers.into_iter().filter(|v| v.abs() > 1e-9);
        self.private.extend(numbers.map(|v| v.abs().to_bits()));
    }

    /// `rounds` rounds of the batch from this sample, be they needed or not.
    fn tell_rounds(&mut self, mesh: &Mesh, x: &dictmesh::Samples, from: u64, rounds: u32) {
        let sums = mesh.strategy().solves_alone(); // the strategies that add up what neighbours sent
        let mut run = mesh.run(x).unwrap();
        let mut before: Vec<Matrix> = run.duals().cloned().collect();
        for round in 0..rounds {
            run.round();
            let sent: Vec<Vec<f64>> = run.sent().map(|sent| sent.array().to_vec()).collect();
            let duals: Vec<Matrix> = run.duals().cloned().collect();
            for (k, nu) in duals.iter().enumerate() {
                let around = mesh.topology().neighbours(k);
                let mut sum = vec![0.0; nu.as_slice().len()];
                dictmesh::network::combine(around.iter().map(|l| (1.0, &sent[*l][..])), &mut sum);
                let residual =
                    relative_change(nu, &before[k], sums.then_some((around.len(), &sum[..])));
                let known = self.residuals.entry(from).or_default();
                known.insert(residual.to_bits());
            }
            for (k, sent) in sent.into_iter().enumerate() {
                self.duals.insert((from, round, k), sent);
            }
            before = duals;
        }
    }

    fn tell_costs(&mut self, found: &dictmesh::mesh::Inference, from: u64) {
        if found.stop == Stop::Infeasible {
            return;
        }
        let each = (0..found.local_costs[0].len()).map(|j| {
            let own = found.local_costs.iter().map(|costs| -costs[j]);
            let least = own.clone().fold(f64::INFINITY, f64::min);
            [least, own.fold(f64::NEG_INFINITY, f64::max)]
        });
        self.costs.insert(from, each.collect());
    }
}

/// The same run in one process from this mesh on, which is changed as it was where it was.
fn story(plan: &Plan, mut mesh: Mesh, rounds: u32, changed: impl Fn(usize, &mut Mesh)) -> Story {
    let mut story = Story::default();
    for from in (0..plan.x.len()).step_by(plan.batch) {
        changed(from, &mut mesh);
        let x = plan.x.range(from..(from + plan.batch).min(plan.x.len()));
        story.tell_rounds(&mesh, &x, from as u64, rounds);
        let found = mesh.infer(&x).unwrap();
        story.tell_costs(&found, from as u64);
        for k in 0..mesh.agents() {
            story.keep_secret(mesh.block(k).atoms().as_slice());
            story.keep_secret(found.codes[k].as_slice());
        }
        mesh.learn(&x, |_| Continue(())).unwrap();
    }
    story
}

/// Without any change.
fn in_one_process(plan: &Plan, rounds: u32) -> Story {
    story(plan, plan.mesh(false), rounds, |_, _| {})
}

/// No number of an atom or a code, of any agent at any time, is at any place, aligned or not.
fn assert_nothing_private(bytes: &[u8], private: &BTreeSet<u64>, what: &str) {
    for (at, eight) in bytes.windows(8).enumerate() {
        let bits = u64::from_le_bytes(eight.try_into().unwrap());
        let bits = f64::from_bits(bits).abs().to_bits();
        assert!(
            !private.contains(&bits),
            "{what} sent a private number at {at}"
        );
    }
}

/// A ring of four with a chord.
fn plan(strategy: &str) -> Plan {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
    let mut plan = Plan::new(Topology::from_edges(4, &edges).unwrap(), 8, 12);
    plan.strategy = Spec::new(strategy);
    plan.batch = 4;
    plan
}

#[test]
fn only_tags_dual_vectors_and_control_scalars_leave_an_agent() {
    for strategy in strategy::GOSSIP {
        let (plan, rounds) = (plan(strategy), 12); // as the plan has it
        let story = in_one_process(&plan, rounds);
        assert!(story.private.len() > 100);
        let mut seen = 0;
        for (k, told) in record(&plan, &plan.mesh(false), Tap::default())
            .iter()
            .enumerate()
        {
            for bytes in &told.sent {
                let frame = read(bytes);
                scalars::assert_known(&frame, &plan, &[0, 1, 2, 3], &story);
                if frame.phase == 2 {
                    let known = &story.duals[&(frame.sample, frame.round, k)];
                    assert_eq!(
                        frame.dual, *known,
                        "{strategy}: psi or nu, and nothing else"
                    );
                    seen += 1;
                }
                assert_nothing_private(bytes, &story.private, &format!("{strategy}: agent {k}"));
            }
        }
        // Each of 5 edges twice, in 3 batches of 12 rounds.
        assert_eq!(seen, 10 * 3 * rounds as usize, "{strategy}");
    }
}
