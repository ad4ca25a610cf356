//! Scores that a model keeps, and thresholds by them.

use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Error, Mesh, Samples, Task, Topology};
use dictmesh_apps::calibration::{choose, learned_scores, Calibration, ThresholdFrom, KEPT_SCORES};
use dictmesh_apps::coding::{code, scores, CodeStats, Method};
use dictmesh_apps::novelty::Threshold;
use std::ops::ControlFlow;

fn learned() -> (Mesh, Samples) {
    let x = Samples::dense(gaussian(6, 2300, &mut stream(1, 0))).unwrap();
    let mesh = Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::ring(4).unwrap(),
    )
    .build(6, &[2; 4], AtomInit::Samples(&x))
    .unwrap();
    (mesh, x)
}

/// The scores of every third sample, in whatever parts they come.
#[test]
fn scores_are_evenly_spaced_and_do_not_depend_on_parts() {
    let (mesh, x) = learned();
    let every = |parts: usize| {
        let starts = (0..x.len()).step_by(parts);
        let parts = starts.map(|from| Ok::<_, Error>(x.range(from..(from + parts).min(x.len()))));
        let go = &mut |_, _| ControlFlow::Continue(());
        learned_scores(&mesh, parts, x.len(), go).unwrap().scores
    };
    let kept = every(2300);
    assert_eq!(kept.len(), 767);
    let third: Vec<usize> = (0..2300).step_by(3).collect();
    let expected = scores(&mesh, &x.select(&third), Method::Exact).unwrap();
    assert_eq!(kept, expected.scores);
    for parts in [1, 7, 256, 1000] {
        let in_parts = every(parts);
        assert_eq!(in_parts.len(), kept.len());
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * b.abs();
        assert!(in_parts.iter().zip(&kept).all(close), "{parts}");
    }
    let parts = std::iter::once(Ok::<_, Error>(x.clone()));
    let none = learned_scores(&mesh, parts, x.len(), &mut |_, _| ControlFlow::Break(()));
    assert!(none.unwrap().scores.is_empty());
}

#[test]
fn a_model_keeps_the_last_thousand_and_gives_them_back() {
    let (mesh, _) = learned();
    let all: Vec<f64> = (0..1500)
        .map(|i| f64::from(i * 7 % 1500) + 1.0 / 3.0)
        .collect();
    let mut model = mesh.to_model();
    assert_eq!(Calibration::of(&model), None);
    assert_eq!(Calibration::new(&[]), None);
    let kept = Calibration::new(&all).unwrap();
    assert_eq!(kept.scores().len(), KEPT_SCORES);
    assert!(kept.scores().is_sorted());
    kept.store(&mut model);
    assert_eq!(Calibration::of(&model), Some(kept.clone()));

    let quantile = Threshold::Quantile(1.0);
    let largest = kept.scores()[KEPT_SCORES - 1];
    let (chi, from) = choose(quantile, Some(&kept), &[1e9], 0.0);
    assert_eq!(from, ThresholdFrom::Model);
    assert!((chi.unwrap() / largest - 1.0).abs() < 1e-8);
    let (chi, from) = choose(quantile, None, &[2.0, 1.0], 0.5);
    assert_eq!((chi, from), (Some(3.0), ThresholdFrom::Samples));
    assert_eq!(choose(quantile, None, &[], 0.0).0, None);
    let (chi, from) = choose(Threshold::Given(5.0), Some(&kept), &[], 0.0);
    assert_eq!((chi, from), (Some(5.0), ThresholdFrom::Given));
}

#[test]
fn codes_and_scores_agree_between_methods() {
    let (mut mesh, x) = learned();
    mesh.set_stopping(dictmesh::Stopping::tolerance(1e-7))
        .unwrap();
    let x = x.range(0..40);
    let exact = scores(&mesh, &x, Method::Exact).unwrap();
    let by_mesh = scores(&mesh, &x, Method::Mesh).unwrap();
    for (a, b) in exact.scores.iter().zip(&by_mesh.scores) {
        assert!((a - b).abs() < 1e-5 * a.abs(), "{a} {b}");
    }
    let mut stats = CodeStats::of_each(mesh.atoms());
    let mut sums = CodeStats::none(mesh.atoms());
    for range in [0..13, 13..40] {
        let coded = code(&mesh, &x.range(range), Method::Exact).unwrap();
        stats.add(&coded);
        sums.add(&coded);
    }
    assert_eq!((stats.samples, stats.costs.len()), (40, 40));
    let used: usize = stats.uses.iter().map(|n| *n as usize).sum();
    assert_eq!(stats.nonzeros.iter().sum::<usize>(), used);
    assert!(stats.gap.unwrap() < 1e-9);
    let mean = stats.costs.iter().sum::<f64>() / 40.0;
    assert!((sums.mean_cost() - mean).abs() < 1e-12 * mean);
    assert_eq!(sums.mean_nonzeros(), used as f64 / 40.0);
    assert!(sums.costs.is_empty() && sums.nonzeros.is_empty());
}
