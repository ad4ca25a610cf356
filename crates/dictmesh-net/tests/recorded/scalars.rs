//! The control scalars, every one by its name.

use super::common::Plan;
use super::{Read, Story};
use dictmesh::AgentId;

fn is_whole(v: f64) -> bool {
    v >= 0.0 && v.fract() == 0.0
}

fn is_flag(v: f64) -> bool {
    v == 0.0 || v == 1.0
}

/// The trouble of nobody in the rounds of a batch.
const NEVER: f64 = u32::MAX as f64;
/// What an agent that is not informed says of the number of samples.
const NO_OPINION: f64 = -1e18;

/// Every scalar of a frame that is no part of a proof is known by its name and may have this value; and only the rounds of
/// a batch have dual vectors.
pub fn assert_known(frame: &Read, plan: &Plan, members: &[AgentId], story: &Story) {
    let all = &frame.scalars;
    assert!(frame.phase == 2 || frame.dual.is_empty());
    if all.is_empty() && frame.dual.is_empty() {
        return; // that it is alive, the end, or a parent and a public key
    }
    match frame.phase {
        0 => assert_agreement(all, plan, members),
        1 => assert_opening(all, plan, members),
        2 => {
            let [residual, trouble] = all[..] else {
                panic!("{} scalars", all.len());
            };
            let known = || story.residuals[&frame.sample].contains(&residual.to_bits());
            let measured = plan.stopping.tolerance.is_some();
            assert!(residual == 0.0 || measured && (frame.float32 || known()));
            assert_eq!(trouble, NEVER);
        }
        3 => assert_costs(frame, plan, story),
        phase => panic!("phase {phase}"),
    }
}

/// Who is there: the largest distance, the least one with its agent, then for each agent its number, whether it is
/// informed, whether it joins, how many links it has, six samples that it can go on from, and for each the checksum of the
/// state of the rule by which the penalty follows the rounds.
fn assert_agreement(all: &[f64], plan: &Plan, members: &[AgentId]) {
    let largest = members.len() as f64;
    let member = |v: f64| members.iter().any(|id| *id as f64 == v);
    assert!(is_whole(all[0]) && all[0] < largest, "{}", all[0]);
    assert_eq!(all.len() % 16, 3);
    assert!(all[1] == -1.0 || is_whole(all[1]) && all[1] < largest && member(all[2]));
    for record in all[3..].chunks_exact(16) {
        assert!(members.iter().any(|id| *id as f64 == record[0]));
        assert!(is_flag(record[1]) && is_flag(record[2]));
        assert!(is_whole(record[3]) && record[3] < largest, "{record:?}");
        let sample = |v: &f64| *v == -1.0 || is_whole(*v) && *v <= plan.x.len() as f64;
        assert!(record[4..10].iter().all(sample), "{record:?}");
        let sum = |v: &f64| *v == -1.0 || is_whole(*v) && *v <= f64::from(u32::MAX);
        assert!(record[10..].iter().all(sum), "{record:?}");
    }
}

/// How many samples a batch has: the most, the fewest, whether there are none yet; who leaves; whether somebody knocks;
/// whether somebody's numbers are beyond all bounds.
fn assert_opening(all: &[f64], plan: &Plan, members: &[AgentId]) {
    let [most, fewest, pending, leaves, knocks, trouble] = all[..] else {
        panic!("{} scalars", all.len());
    };
    let count = |v: f64| v == NO_OPINION || is_whole(v) && v <= plan.batch as f64;
    assert!(count(most) && (fewest == NO_OPINION || count(-fewest)));
    assert!(is_flag(pending) && is_flag(knocks));
    assert!(leaves == -1.0 || members.iter().any(|id| *id as f64 == leaves));
    assert_eq!(trouble, 0.0);
}

/// Whether somebody's numbers are beyond all bounds, how far neighbours are apart, and the cost of each sample, which is a
/// mean of what the agents have.
fn assert_costs(frame: &Read, plan: &Plan, story: &Story) {
    let all = &frame.scalars;
    assert_eq!(all.len(), 2 + plan.batch);
    assert_eq!(all[0], 0.0);
    assert!((0.0..=2.0).contains(&all[1]), "{}", all[1]);
    let Some(costs) = story.costs.get(&frame.sample) else {
        return;
    };
    let digits = if frame.float32 { 1e-4 } else { 1e-12 };
    for (cost, [least, most]) in all[2..].iter().zip(costs) {
        let slack = digits * (1.0 + least.abs().max(most.abs()));
        assert!((least - slack..=most + slack).contains(cost), "{cost}");
    }
}
