//! The ROC curve against values by hand and a count of all pairs.

use dictmesh::random::{gaussian, stream};
use dictmesh_apps::roc::{auc, roc, RocPoint};

/// By hand: positives 3, 2, 2; negatives 2, 1. Pairs: 3>2, 3>1, 2=2, 2>1, 2=2, 2>1 = 5 of 6.
#[test]
fn a_curve_with_ties_as_by_hand() {
    let curve = roc(
        &[2.0, 3.0, 1.0, 2.0, 2.0],
        &[true, true, false, false, true],
    )
    .unwrap();
    let point = |threshold, false_alarm, detection| RocPoint {
        threshold,
        false_alarm,
        detection,
    };
    assert_eq!(
        curve.points,
        [
            point(f64::INFINITY, 0.0, 0.0),
            point(3.0, 0.0, 1.0 / 3.0),
            point(2.0, 0.5, 1.0),
            point(1.0, 1.0, 1.0),
        ]
    );
    assert_eq!(curve.auc(), 5.0 / 6.0);
}

#[test]
fn perfect_reversed_and_constant_scores() {
    let labels = [true, false, true, false];
    assert_eq!(auc(&[3.0, 1.0, 2.0, 0.0], &labels).unwrap(), 1.0);
    assert_eq!(auc(&[0.0, 2.0, 1.0, 3.0], &labels).unwrap(), 0.0);
    assert_eq!(auc(&[7.0; 4], &labels).unwrap(), 0.5);
    assert_eq!(auc(&[0.0, -0.0, 0.0, -0.0], &labels).unwrap(), 0.5);
    let huge = [f64::INFINITY, 1.0, 2.0, f64::NEG_INFINITY];
    assert_eq!(auc(&huge, &labels).unwrap(), 1.0);
}

#[test]
fn the_area_is_the_pair_count_and_the_trapezoids() {
    let mut rng = stream(1, 0);
    for n in 2..60 {
        // Few different values: many ties.
        let drawn = gaussian(n, 2, &mut rng);
        let scores: Vec<f64> = drawn.column(0).iter().map(|v| (2.0 * v).round()).collect();
        let mut labels: Vec<bool> = drawn.column(1).iter().map(|v| *v > 0.0).collect();
        (labels[0], labels[1]) = (true, false);
        let (mut pairs, mut wins) = (0.0, 0.0);
        for i in (0..n).filter(|i| labels[*i]) {
            for j in (0..n).filter(|j| !labels[*j]) {
                pairs += 1.0;
                wins += if scores[i] > scores[j] {
                    1.0
                } else if scores[i] == scores[j] {
                    0.5
                } else {
                    0.0
                };
            }
        }
        let curve = roc(&scores, &labels).unwrap();
        assert_eq!(curve.auc(), wins / pairs);
        let area: f64 = curve
            .points
            .windows(2)
            .map(|p| {
                (p[1].false_alarm - p[0].false_alarm) * (p[1].detection + p[0].detection) / 2.0
            })
            .sum();
        assert!((area - curve.auc()).abs() < 1e-12);
    }
}

#[test]
fn what_has_no_curve_is_refused() {
    assert!(roc(&[1.0, 2.0], &[true, true]).is_err());
    assert!(roc(&[1.0, 2.0], &[false, false]).is_err());
    assert!(roc(&[], &[]).is_err());
    assert!(roc(&[1.0], &[true, false]).is_err());
    assert!(roc(&[f64::NAN, 1.0], &[true, false]).is_err());
}
