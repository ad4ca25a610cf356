//! Built-in atom sets with penalties: the exact prox of both together, and initial atoms.

use super::kit::sets;
use super::{atom_rules, config, dot, norm, plus, vectors};
use dictmesh::problem::atoms::{AtomPenalty, AtomSet, UnitBall};
use proptest::prelude::*;

/// The nearest atom of the set.
fn projected(set: &dyn AtomSet, w: &[f64]) -> Vec<f64> {
    let mut p = w.to_vec();
    set.project(&mut p);
    p
}

/// Points of the set worth trying against `p`: a random one, one near p, 0 and a corner.
fn rivals(set: &dyn AtomSet, p: &[f64], random: &[f64], t: f64) -> Vec<Vec<f64>> {
    let mut list = vec![
        projected(set, random),
        projected(set, &plus(p, t, random)),
        projected(set, &plus(p, 1e-3 * t, random)),
        vec![0.0; p.len()],
        p.iter().map(|p| 0.9 * p).collect(),
    ];
    for i in 0..p.len() {
        let mut corner = vec![0.0; p.len()];
        corner[i] = 1.0;
        list.push(corner);
    }
    list
}

proptest! {
    #![proptest_config(config())]

    /// The prox of the penalty and then the projection minimise step h_W(w) + |w - v|^2/2 over the
    /// set.
    #[test]
    fn prox_then_projection_is_the_exact_prox_of_both(
        v in vectors(2),
        step in prop::sample::select(vec![1e-3, 0.1, 1.0, 5.0]),
        t in -1.0..1.0,
    ) {
        for (set, penalty) in atom_rules() {
            let from = &v[0];
            let mut p = from.clone();
            penalty.prox(step, &mut p);
            set.project(&mut p);
            let away = |w: &[f64]| norm(&plus(w, -1.0, from));
            let cost = |w: &[f64]| step * penalty.value(w) + 0.5 * away(w).powi(2);
            let best = cost(&p);
            for z in rivals(&*set, &p, &v[1], t) {
                // Strongly convex with modulus 1: the minimiser leads by half the squared distance.
                let lead = cost(&z) - best - 0.5 * norm(&plus(&z, -1.0, &p)).powi(2);
                prop_assert!(lead >= -1e-11 * (1.0 + best), "{set:?} {penalty:?} {from:?}: {lead}");
            }
        }
    }

    /// The prox alone is the prox: the same law without a set.
    #[test]
    fn the_penaltys_prox_beats_everything_else(v in vectors(2), step in 1e-3..5.0, t in -1.0..1.0) {
        for (_, penalty) in atom_rules() {
            let mut p = v[0].clone();
            penalty.prox(step, &mut p);
            let away = |w: &[f64]| norm(&plus(w, -1.0, &v[0]));
            let cost = |w: &[f64]| step * penalty.value(w) + 0.5 * away(w).powi(2);
            for z in [v[1].clone(), plus(&p, t, &v[1]), plus(&p, 1e-3 * t, &v[1]), v[0].clone()] {
                let lead = cost(&z) - cost(&p) - 0.5 * norm(&plus(&z, -1.0, &p)).powi(2);
                prop_assert!(lead >= -1e-11 * (1.0 + cost(&p)), "{penalty:?}: {lead}");
            }
        }
    }

    /// A normalised atom is on the boundary of the set, in the direction of the given vector (of
    /// its positive part, in a non-negative set); 0 stays 0.
    #[test]
    fn normalising_goes_to_the_boundary(
        v in vectors(1),
        scale in prop::sample::select(vec![1e-200, 1.0, 1e200]),
    ) {
        for set in sets() {
            let kept = |v: &f64| if set.is_non_negative() { v.max(0.0) } else { *v };
            let from: Vec<f64> = v[0].iter().map(kept).collect();
            let mut w: Vec<f64> = v[0].iter().map(|v| scale * v).collect();
            set.normalise(&mut w);
            prop_assert!(set.contains(&w, 1e-14), "{set:?} {w:?}");
            if norm(&from) == 0.0 {
                prop_assert_eq!(norm(&w), 0.0);
                continue;
            }
            let out: Vec<f64> = w.iter().map(|w| 1.001 * w).collect();
            prop_assert!(!set.contains(&out, 1e-4), "{set:?}: {w:?} is not on the boundary");
            let cosine = dot(&w, &from) / (norm(&w) * norm(&from));
            prop_assert!(cosine > 1.0 - 1e-12, "{set:?}: {from:?} -> {w:?}");
        }
    }
}

/// The other order, projection and then prox, is not the exact prox: the law above can fail.
#[test]
fn the_reverse_order_would_fail_the_law() {
    let (set, penalty) = (UnitBall, AtomPenalty::L1 { beta: 0.5 });
    let from = [3.0, 1.0];
    let (mut right, mut wrong) = (from, from);
    penalty.prox(1.0, &mut right);
    set.project(&mut right);
    set.project(&mut wrong);
    penalty.prox(1.0, &mut wrong);
    let cost = |w: &[f64]| penalty.value(w) + 0.5 * norm(&plus(w, -1.0, &from)).powi(2);
    assert!(cost(&right) < cost(&wrong) - 0.1);
}
