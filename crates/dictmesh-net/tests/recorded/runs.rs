//! The same for runs that measure when to stop, speak in single precision, prove that no code meets a constraint, grow and
//! shrink.

use super::common::{Dripping, Plan};
use super::tap::{Tap, Told};
use super::{
    assert_nothing_private, in_one_process, plan, read, record, scalars, story, Read, Story,
};
use dictmesh::random::{gaussian, stream};
use dictmesh::AgentId;
use dictmesh::{strategy, Spec};
use dictmesh::{AtomInit, Matrix, Samples, Stop, Stopping, Topology, Update};
use dictmesh_net::agent::{Event, Neighbour};
use dictmesh_net::memory::Hub;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// The frames of an agent, each once, in the order of its rounds.
fn frames(told: &Told) -> BTreeMap<(u64, u8, u32), Vec<Read>> {
    let mut all: BTreeMap<_, Vec<Read>> = BTreeMap::new();
    for bytes in told.sent.iter().collect::<BTreeSet<_>>() {
        let frame = read(bytes);
        let at = (frame.sample, frame.phase, frame.round);
        all.entry(at).or_default().push(frame);
    }
    all
}

/// Every frame of agent `k` is known, every dual vector is psi or nu of its round; how many of these there were.
fn assert_all_known(
    k: AgentId,
    told: &Told,
    plan: &Plan,
    members: &[AgentId],
    story: &Story,
) -> usize {
    let mut seen = 0;
    for frame in frames(told).into_values().flatten() {
        scalars::assert_known(&frame, plan, members, story);
        if frame.phase == 2 {
            let known = &story.duals[&(frame.sample, frame.round, k)];
            assert_eq!(frame.dual, known.as_slice(), "agent {k}");
            seen += 1;
        }
    }
    for bytes in &told.sent {
        assert_nothing_private(bytes, &story.private, &format!("agent {k}"));
    }
    seen
}

#[test]
fn runs_that_measure_when_to_stop_tell_the_largest_residual_and_nothing_else() {
    for strategy in strategy::GOSSIP {
        let mut plan = plan(strategy);
        plan.stopping = Stopping {
            tolerance: Some(1e-2),
            rounds: 300,
        };
        let story = in_one_process(&plan, 300);
        let all = record(&plan, &plan.mesh(false), Tap::default());
        let residual = |bytes: &Vec<u8>| {
            Some(read(bytes))
                .filter(|f| f.phase == 2)
                .map(|f| f.scalars[0])
        };
        assert!(all[0].sent.iter().filter_map(residual).any(|r| r > 0.0));
        for (k, told) in all.iter().enumerate() {
            let seen = assert_all_known(k, told, &plan, &[0, 1, 2, 3], &story);
            assert!(seen >= 60, "{strategy} {k}: {seen}");
        }
    }
}

/// Rounded numbers are another run's, so that its own atoms and codes are looked for.
#[test]
fn in_single_precision_too() {
    for strategy in strategy::GOSSIP {
        let plan = plan(strategy);
        let (story, mesh) = (in_one_process(&plan, 12), plan.mesh(false));
        let tap = Tap {
            float32: true,
            ..Tap::default()
        };
        let all = record(&plan, &mesh, tap);
        let mut own = Story::default();
        for (k, told) in all.iter().enumerate() {
            own.keep_secret(mesh.block(k).atoms().as_slice());
            own.keep_secret(told.atoms.as_slice());
            own.keep_secret(told.codes.as_slice());
        }
        let single = |v: f64| (v as f32).abs().to_bits();
        let rounded: BTreeSet<u32> = own
            .private
            .iter()
            .map(|v| single(f64::from_bits(*v)))
            .collect();
        for (k, told) in all.iter().enumerate() {
            for frame in frames(told).into_values().flatten() {
                assert!(frame.float32);
                scalars::assert_known(&frame, &plan, &[0, 1, 2, 3], &story);
                assert!(frame.dual.iter().all(|v| !rounded.contains(&single(*v))));
                if frame.phase == 2 {
                    let known = &story.duals[&(frame.sample, frame.round, k)];
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-4;
                    let each = frame.dual.iter().zip(known.as_slice());
                    assert!(
                        frame.dual.len() == 32 && each.clone().all(near),
                        "{strategy} {k}"
                    );
                }
            }
            for bytes in &told.sent {
                assert_nothing_private(bytes, &own.private, &format!("{strategy}: agent {k}"));
            }
        }
    }
}

/// Whether this sample was learned.
fn through(sample: u64) -> impl Fn(&[Event]) -> bool {
    let is = move |event: &Event| matches!(event, Event::Batch(batch) if batch.position == sample);
    move |events| events.iter().any(is)
}

/// Whether so many agents agreed.
fn agreed_by(agents: usize) -> impl Fn(&[Event]) -> bool {
    let is = move |event: &Event| matches!(event, Event::Agreed(agreed) if agreed.members.len() == agents);
    move |events| events.iter().any(is)
}

/// Agent 4 comes in with two atoms and leaves again.
#[test]
fn a_join_and_a_leave_tell_who_is_there_and_nothing_else() {
    let mut plan = plan("relaxed-admm");
    plan.strategy = (strategy::build(&plan.strategy).unwrap())
        .resolve(&plan.mesh(false).shared_constants())
        .unwrap()
        .spec();
    plan.x = super::common::samples(8, 24, 7);
    let (mesh, hub, there) = (plan.mesh(false), Hub::new(0), Arc::new(AtomicUsize::new(8)));
    let tap = Tap {
        resend: Duration::from_millis(20),
        ..Tap::default()
    };
    let start = |k: AgentId| {
        let mut settings = plan.settings(&mesh, k);
        if [1, 2].contains(&k) {
            settings.neighbours.push(Neighbour { id: 4, joins: true });
        }
        let (all, there) = (plan.x.clone(), there.clone());
        let source = (k == 0).then(|| Box::new(Dripping { all, there }) as _);
        tap.start(settings, mesh.block(k).atoms().clone(), source, &hub)
    };
    let mut agents: Vec<_> = (0..4).map(start).collect();
    agents
        .iter()
        .for_each(|agent| agent.until("sample 4", through(4)));
    let own = gaussian(8, 2, &mut stream(5, 0));
    let own = Matrix::from_fn(8, 2, |i, j| 0.3 * own.get(i, j));
    let mut settings = plan.settings(&mesh, 0);
    (settings.id, settings.joins) = (4, true);
    settings.neighbours = [1, 2].map(|id| Neighbour { id, joins: false }).to_vec();
    agents.push(tap.start(settings, own.clone(), None, &hub));
    agents
        .iter()
        .for_each(|agent| agent.until("the newcomer", agreed_by(5)));
    there.store(16, Ordering::Relaxed);
    agents
        .iter()
        .for_each(|agent| agent.until("sample 12", through(12)));
    agents[4].control.leave.store(true, Ordering::Relaxed);
    let left = agents.pop().unwrap().wait();
    there.store(24, Ordering::Relaxed);
    let mut all: Vec<Told> = agents.into_iter().map(|agent| agent.wait()).collect();
    all.push(left);
    let story = story(&plan, mesh.clone(), 12, |from, mesh| match from {
        8 => drop(
            mesh.add_agent(&[1, 2], 2, AtomInit::Given(&own), false, None)
                .unwrap(),
        ),
        16 => mesh.remove_agent(4).unwrap(),
        _ => {}
    });
    let seen =
        |(k, told): (usize, &Told)| assert_all_known(k, told, &plan, &[0, 1, 2, 3, 4], &story);
    let seen: Vec<usize> = all.iter().enumerate().map(seen).collect();
    assert_eq!(
        seen,
        [72, 72, 72, 72, 24],
        "6 batches of 12 rounds, and 2 of the newcomer"
    );
}

/// A run in which no atom has anything in the last row, but a sample has.
fn infeasible(residual: Spec) -> (Plan, Matrix) {
    let mut plan = plan("relaxed-admm");
    (plan.rows, plan.batch, plan.sizes, plan.informed) = (4, 2, vec![2; 4], vec![1, 3]);
    plan.topology = Topology::ring(4).unwrap();
    plan.task.residual = residual;
    plan.update = Update::Constant { mu_w: 0.01 };
    plan.stopping = Stopping {
        tolerance: Some(1e-3),
        rounds: 2000,
    };
    let drawn = gaussian(4, 8, &mut stream(3, 0));
    let entry = |i, q| if i == 3 { 0.0 } else { 0.4 * drawn.get(i, q) };
    let atoms = Matrix::from_fn(4, 8, entry);
    let part = |q: usize, by: f64| -> Vec<f64> { atoms.column(q).iter().map(|v| by * v).collect() };
    let beyond = vec![0.0, 0.1, 0.0, 0.5];
    let x = [beyond, part(0, 1.0), part(1, 0.5), part(0, 0.7)];
    plan.x = Samples::dense_from_columns(4, &x).unwrap();
    (plan, atoms)
}

/// Rounds of the strategy have two scalars. Those of a proof have a flag and |x| of each sample, with the drift of the first
/// informed agent; or for each agent a flag and two numbers a sample, b_k'd and the sup of d'W_k y_k.
#[test]
fn a_proof_that_no_code_meets_a_constraint_tells_the_sizes_of_samples_too() {
    for residual in [Spec::new("equality"), Spec::new("ball").with("sigma", 0.05)] {
        let (plan, atoms) = infeasible(residual);
        let builder = plan
            .builder()
            .accels(dictmesh::accel::Accels::parse("lanes").unwrap());
        let mesh = builder
            .build(4, &plan.sizes, AtomInit::Given(&atoms))
            .unwrap();
        let first = mesh.infer(&plan.x.range(0..2)).unwrap();
        assert_eq!(first.stop, Stop::Infeasible);
        let mut story = story(&plan, mesh.clone(), 2000, |_, _| {});
        let all = record(&plan, &mesh, Tap::default());
        all.iter()
            .for_each(|told| story.keep_secret(told.codes.as_slice()));
        let mut proofs = 0;
        for (k, told) in all.iter().enumerate() {
            let mut rounds: BTreeMap<u64, u32> = BTreeMap::new();
            for ((sample, phase, _), frame) in frames(told) {
                let [frame] = &frame[..] else {
                    assert!(phase != 2, "one frame a round");
                    continue;
                };
                let round = rounds.entry(sample).or_default();
                match (phase, frame.scalars.len()) {
                    (2, 2) => {
                        scalars::assert_known(frame, &plan, &[0, 1, 2, 3], &story);
                        assert_eq!(frame.dual, story.duals[&(sample, *round, k)].as_slice());
                        *round += 1;
                    }
                    (2, _) => {
                        assert_proof(frame, &plan, &story, *round);
                        proofs += 1;
                    }
                    _ => scalars::assert_known(frame, &plan, &[0, 1, 2, 3], &story),
                }
            }
            for bytes in &told.sent {
                assert_nothing_private(bytes, &story.private, &format!("agent {k}"));
            }
        }
        assert!(
            proofs >= 16,
            "{proofs}: each of 4 agents in two floods of two rounds"
        );
    }
}

/// A frame of a proof after so many rounds.
fn assert_proof(frame: &Read, plan: &Plan, story: &Story, rounds: u32) {
    let nu = |round: u32| story.duals[&(frame.sample, round, 1)].as_slice();
    let before = (rounds > 1).then(|| nu(rounds - 2));
    let old = |i: usize| before.map_or(0.0, |nu| nu[i]);
    let drift: Vec<f64> = (0..8).map(|i| nu(rounds - 1)[i] - old(i)).collect();
    let at = |j: usize| frame.sample as usize + j;
    if let [flag, first, second] = frame.scalars[..] {
        let expected = if flag == 1.0 { drift } else { vec![0.0; 8] };
        assert_eq!(frame.dual, expected, "how far nu moved");
        for (j, size) in [first, second].into_iter().enumerate() {
            assert!(size == 0.0 || size == plan.x.norm(at(j)), "|x|");
        }
        return;
    }
    assert_eq!((frame.scalars.len(), frame.dual.len()), (4 * 5, 0));
    let x = plan.x.to_dense();
    for (k, entry) in frame.scalars.chunks_exact(5).enumerate() {
        if entry[0] == 0.0 {
            assert_eq!(entry, [0.0; 5], "not heard of yet");
            continue;
        }
        for j in 0..2 {
            let (seen, support) = (entry[1 + 2 * j], entry[2 + 2 * j]);
            let d = &drift[4 * j..4 * (j + 1)];
            let inner: f64 = x.column(at(j)).iter().zip(d).map(|(x, d)| x * d).sum();
            let share = if plan.informed.contains(&k) { 0.5 } else { 0.0 };
            assert!((seen - share * inner).abs() <= 1e-12, "b_k'd of agent {k}");
            assert!(
                support >= 0.0 && support.is_finite(),
                "the sup of agent {k}"
            );
        }
    }
}
