use super::*;
use crate::exchange::Phase;
use std::collections::BTreeSet;

fn tag(epoch: u32, sample: u64, round: u32) -> Tag {
    Tag {
        epoch,
        sample,
        phase: Phase::Inference,
        round,
    }
}

/// The masks of all agents of a graph, as one agreement makes them.
fn agreed(agents: usize, edges: &[(AgentId, AgentId)]) -> Vec<Masks> {
    let mut all: Vec<Masks> = (0..agents).map(|id| Masks::new(id, "run")).collect();
    for (a, b) in edges {
        let (one, other) = (KeyPair::new().unwrap(), KeyPair::new().unwrap());
        let (key_of_one, key_of_other) = (one.public, other.public);
        all[*a].add_edge(*b, one, &key_of_other).unwrap();
        all[*b].add_edge(*a, other, &key_of_one).unwrap();
    }
    all
}

/// Integers of several widths, the same at every agent.
fn part() -> Integers {
    let mut part = Integers::default();
    part.push(1, [0, 1]);
    part.push(13, [5; 40]);
    part.push(37, [-900; 60]);
    part.push(64, [1 << 40; 20]);
    part
}

const EDGES: [(AgentId, AgentId); 5] = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4)];

#[test]
fn masks_cancel_in_the_total_and_all_agents_are_counted() {
    let at = tag(3, 40, 6);
    let all = agreed(5, &EDGES);
    let (mut plain, mut masked) = (part(), part());
    plain.push(COUNT_WIDTH, [1]);
    let one = plain.clone();
    (1..5).for_each(|_| assert!(plain.add(&one)));
    all[0].hide(at, &mut masked).unwrap();
    assert_ne!(masked, one);
    for masks in &all[1..] {
        let mut own = part();
        masks.hide(at, &mut own).unwrap();
        assert!(masked.add(&own));
    }
    assert_eq!(masked, plain);
    all[2].check_count(at, &masked, 5).unwrap();
    // One part less, and one more.
    let error = all[2].check_count(at, &masked, 6).unwrap_err();
    assert!(error.to_string().contains("counts 5 agents"), "{error}");
}

#[test]
fn a_part_that_is_missing_or_masked_for_another_sum_is_found() {
    let at = tag(3, 40, 6);
    let all = agreed(5, &EDGES);
    for wrong in [
        None,
        Some(tag(3, 40, 8)),
        Some(tag(4, 40, 6)),
        Some(tag(3, 41, 6)),
    ] {
        let mut total = part();
        all[0].hide(at, &mut total).unwrap();
        for masks in &all[1..4] {
            let mut own = part();
            masks.hide(at, &mut own).unwrap();
            assert!(total.add(&own));
        }
        if let Some(wrong) = wrong {
            let mut own = part();
            all[4].hide(wrong, &mut own).unwrap();
            assert!(total.add(&own));
        }
        assert!(all[2].check_count(at, &total, 5).is_err(), "{wrong:?}");
    }
}

/// Pairs of keys and nonces over agents, agreements, batches and sums.
#[test]
fn no_key_and_nonce_occur_twice() {
    let mut seen = BTreeSet::new();
    let mut derived = 0;
    for _restart in 0..4 {
        let all = agreed(5, &EDGES);
        for (epoch, sample, round) in (0..3).flat_map(|e| {
            // An epoch may begin at the same sample, after a restart also with the same number.
            (0..3).flat_map(move |s| (0..3).map(move |r| (e, 10 * s, 2 * r)))
        }) {
            let at = tag(epoch, sample, round);
            for (a, b) in EDGES {
                let of = |id: AgentId, to: AgentId| {
                    let edge = all[id].edges.iter().find(|edge| edge.neighbour == to);
                    edge.unwrap().key(id, at).unwrap()
                };
                assert_eq!(of(a, b), of(b, a));
                assert!(seen.insert((of(a, b), round)));
                derived += 1;
            }
        }
    }
    assert_eq!((derived, seen.len()), (4 * 27 * 5, 4 * 27 * 5));
}

/// One more exchange would begin again with the nonces of the batch.
#[test]
fn exchanges_end_before_their_numbers_repeat() {
    let all = agreed(2, &[(0, 1)]);
    let mut last = part();
    all[0].hide(tag(1, 0, u32::MAX - 1), &mut last).unwrap();
    let mut beyond = part();
    let error = all[0].hide(tag(1, 0, u32::MAX), &mut beyond).unwrap_err();
    assert!(
        error.to_string().contains("numbers of exchanges"),
        "{error}"
    );
    assert_eq!(beyond, part(), "nothing is masked");
}

#[test]
fn keys_that_are_no_keys_are_refused_with_the_name_of_their_sender() {
    for (wrong, said) in [
        (vec![], "no public key"),
        (vec![1; 31], "no public key"),
        (vec![0; 32], "not valid"), // of small order: every shared secret would be 0
    ] {
        let mut masks = Masks::new(0, "run");
        let error = masks
            .add_edge(7, KeyPair::new().unwrap(), &wrong)
            .unwrap_err();
        let named = matches!(error, Error::Protocol { from: 7, .. });
        assert!(named && error.to_string().contains(said), "{error}");
    }
}

/// Pearson's statistic of the bytes of many masked messages with the same content.
#[test]
fn masked_messages_are_uniform() {
    let mut counts = [0_u64; 256];
    let all = agreed(2, &[(0, 1)]);
    for sample in 0..200 {
        let mut part = Integers::default();
        part.push(40, [123; 96]);
        all[1].hide(tag(1, sample, 0), &mut part).unwrap();
        part.pack()
            .iter()
            .for_each(|byte| counts[usize::from(*byte)] += 1);
    }
    let total: u64 = counts.iter().sum();
    let expected = total as f64 / 256.0;
    let apart = counts.iter().map(|count| *count as f64 - expected);
    let statistic = apart.map(|v| v * v).sum::<f64>() / expected;
    // 255 degrees of freedom: mean 255, deviation 22.6; 6 deviations to either side.
    assert!((119.0..391.0).contains(&statistic), "{statistic}");
}
