//! Novelty: a stream of topics in which new ones appear.

use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Norm, Samples, Stop, Stopping, Topology};
use dictmesh_apps::coding::Method;
use dictmesh_apps::novelty::{
    block_roc, explain, Agreement, ExplainOptions, Growth, Join, Novelty, NoveltyDetector,
    StepEvent, Threshold,
};
use dictmesh_apps::roc::auc;
use std::ops::ControlFlow;

const TERMS: usize = 120;

/// A document: absolute Gaussian counts on the terms of its topic (12 of 120, each topic its own)
/// and on a few terms that all topics share, plus a little of everything; norm 1.
fn documents(topics: &[usize], seed: u64) -> Samples {
    let draws = gaussian(TERMS, topics.len(), &mut stream(seed, 0));
    let x = Matrix::from_fn(TERMS, topics.len(), |i, j| {
        let own = i / 12 == topics[j];
        let shared = i >= TERMS - 12;
        let level = if own {
            1.0
        } else if shared {
            0.5
        } else {
            0.1
        };
        level * draws.get(i, j).abs()
    });
    Samples::dense(x).unwrap().normalised(Norm::L2)
}

/// Blocks of 60 documents: topics 0 to 3 from the start, topic 4 first in block 3 (15 documents).
fn block(s: usize) -> (Samples, Vec<bool>) {
    let topics: Vec<usize> = (0..60)
        .map(|j| if s >= 3 && j % 4 == 0 { 4 } else { j % 7 % 4 })
        .collect();
    let novel = topics.iter().map(|t| s == 3 && *t == 4).collect();
    (documents(&topics, 100 + s as u64), novel)
}

fn go(_: StepEvent<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn small(settings: Novelty) -> Novelty {
    Novelty {
        agents: 5,
        growth: Growth::Agents {
            count: 3,
            atoms_each: 1,
        },
        ..settings
    }
}

/// The area under the curve in block 3, where topic 4 is new, and the settings' detector then.
fn area_at_block_3(settings: &Novelty) -> (f64, NoveltyDetector) {
    let mut detector = settings.build(&block(0).0).unwrap();
    let mut area = f64::NAN;
    for s in 0..4 {
        let (x, novel) = block(s);
        let step = detector.process(&x, go).unwrap();
        assert_eq!(step.number, s);
        assert_eq!(step.judged.is_some(), s > 0);
        if s == 3 {
            area = auc(&step.judged.unwrap().scoring.scores, &novel).unwrap();
        }
    }
    (area, detector)
}

#[test]
fn a_new_topic_is_found_by_a_mesh_that_grows() {
    let settings = small(Novelty::default());
    let (area, detector) = area_at_block_3(&settings);
    println!("default: AUC {area:.4} at the block of the new topic");
    assert!(area > 0.95, "{area}");
    assert_eq!(detector.mesh().agents(), 5 + 3 * 3);
    // By now it is familiar: its documents look like any other's.
    let (next, _) = block(4);
    let old: Vec<bool> = (0..60).map(|j| j % 4 == 0).collect();
    let area = auc(&detector.score(&next).unwrap(), &old).unwrap();
    println!("default: AUC {area:.4} for the same topic a block later");
    assert!(area < 0.8, "{area}");
}

#[test]
fn growth_by_atoms_and_complete_graphs_find_it_too() {
    let by_atoms = Novelty {
        growth: Growth::Atoms { count: 3 },
        ..small(Novelty::default())
    };
    let (area, detector) = area_at_block_3(&by_atoms);
    assert!(area > 0.95, "{area}");
    let sizes: Vec<usize> = (0..5).map(|k| detector.mesh().block(k).len()).collect();
    assert_eq!(sizes, [3, 3, 3, 3, 2]);

    let complete = Novelty {
        join: Join::Everybody,
        ..small(Novelty::default())
    };
    let (area, detector) = area_at_block_3(&complete);
    assert!(area > 0.95, "{area}");
    let topology = detector.mesh().topology();
    assert!((0..14).all(|k| topology.degree(k) == 13));
}

#[test]
fn a_block_is_scored_before_it_is_learned() {
    let mut detector = small(Novelty::default()).build(&block(0).0).unwrap();
    for s in 0..3 {
        detector.process(&block(s).0, go).unwrap();
    }
    let (x, novel) = block(3);
    let before = detector.score(&x).unwrap();
    let mut heard = 0;
    let step = detector
        .process(&x, |event| {
            heard += usize::from(matches!(event, StepEvent::Learned { .. }));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(heard, 18, "three passes of batches of ten");
    assert_eq!(step.judged.unwrap().scoring.scores, before);
    // Scoring it now would leak: the new topic has been learned.
    let after = detector.score(&x).unwrap();
    let mean = |s: &[f64]| {
        let new = (0..60).filter(|i| novel[*i]);
        new.map(|i| s[i]).sum::<f64>() / 15.0
    };
    println!(
        "novel: {:.3} before, {:.3} after",
        mean(&before),
        mean(&after)
    );
    assert!(mean(&after) < 0.7 * mean(&before));
}

/// The score is N g: agents that join must not rescale it.
#[test]
fn thresholds_survive_growth() {
    for start in [AtomInit::Random, AtomInit::Samples(&block(2).0)] {
        let diffusion = Agreement::Diffusion {
            mu_g: 0.002,
            rounds: 5000,
        };
        for (method, agreement) in [
            (Method::Exact, Agreement::Average),
            (Method::Mesh, Agreement::Average),
            (Method::Mesh, diffusion),
        ] {
            let settings = Novelty {
                method,
                agreement,
                ..Novelty::default()
            };
            let mut detector = settings.build(&block(0).0).unwrap();
            detector.process(&block(0).0, go).unwrap();
            let familiar = block(1).0.range(0..20);
            let before = detector.score(&familiar).unwrap();
            let growth = Growth::Agents {
                count: 10,
                atoms_each: 1,
            };
            detector.grow(growth, start).unwrap();
            assert_eq!(detector.mesh().agents(), 20);
            let after = detector.score(&familiar).unwrap();
            let mut ratios: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a / b).collect();
            ratios.sort_by(f64::total_cmp);
            println!(
                "{method:?}, {agreement:?}: ratios {:.3} .. {:.3}",
                ratios[0], ratios[19]
            );
            // More atoms never cost more, and few documents are like one that starts an atom.
            assert!(ratios[19] < 1.02 && ratios[10] > 0.8, "{ratios:?}");
        }
    }
}

#[test]
fn scores_are_the_certified_cost_whatever_the_batch() {
    let settings = Novelty {
        method: Method::Mesh,
        stopping: dictmesh::Stopping::tolerance(1e-6),
        ..small(Novelty::default())
    };
    let mut detector = settings.build(&block(0).0).unwrap();
    detector.process(&block(0).0, go).unwrap();
    let x = block(1).0.range(0..21);
    let scoring = detector.scoring(&x, go).unwrap();
    assert_eq!(scoring.stop, Stop::Converged);
    let exact = detector.mesh().exact(&x).unwrap();
    for (score, certificate) in scoring.scores.iter().zip(&exact.certificates) {
        assert!((score / certificate.dual - 1.0).abs() < 1e-5);
    }
}

#[test]
fn the_papers_settings_run() {
    for (name, settings, mu_above) in [
        ("p = .5", Novelty::paper(), false),
        ("fully connected", Novelty::paper_fully_connected(), true),
    ] {
        let settings = small(settings);
        let (area, detector) = area_at_block_3(&settings);
        println!("paper, {name}: AUC {area:.4}");
        assert!(area > 0.7, "{area}");
        // mu = .5 is over the bound of the paper's own table.
        assert_eq!(!detector.mesh().warnings().is_empty(), mu_above);
    }
}

#[test]
fn thresholds_come_from_the_past() {
    let quantile = Threshold::Quantile(0.75);
    assert_eq!(quantile.choose(&[], 0.0), None);
    // Slightly above the score that sets it: that sample is not novel, even if rounding raises its
    // score.
    let is_just_above = |chosen: Option<f64>, score: f64| {
        let chosen = chosen.unwrap();
        assert!(chosen > score + 1e-13 * score.abs() && chosen < score + 1e-8 * score.abs());
    };
    is_just_above(quantile.choose(&[4.0, 1.0, 3.0, 2.0], 0.0), 3.0);
    is_just_above(Threshold::Quantile(0.0).choose(&[4.0, 1.0], 0.0), 1.0);
    is_just_above(Threshold::Quantile(1.0).choose(&[4.0, 1.0], 0.0), 4.0);
    is_just_above(Threshold::Quantile(1.0).choose(&[-4.0, -1.0], 0.0), -1.0);
    assert_eq!(Threshold::Given(2.0).choose(&[], 0.0), Some(2.0));
    // Above by the error of the scores, and at the requested rank: .55 * 100 is a little more than
    // 55.
    assert_eq!(quantile.choose(&[4.0, 1.0, 3.0, 2.0], 0.01), Some(3.03));
    let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
    is_just_above(Threshold::Quantile(1.0 - 0.45).choose(&hundred, 0.0), 55.0);

    let (_, detector) = area_at_block_3(&small(Novelty::default()));
    let mut again = small(Novelty::default()).build(&block(0).0).unwrap();
    for s in 0..3 {
        again.process(&block(s).0, go).unwrap();
    }
    let step = again.process(&block(3).0, go).unwrap();
    let novel = step.judged.unwrap().novel;
    let found = novel.iter().filter(|i| *i % 4 == 0).count();
    let false_alarms = novel.len() - found;
    println!("threshold at .95: {found} of 15 found, {false_alarms} false alarms of 45");
    assert!(found >= 12 && false_alarms <= 9);
    // A detector around the same mesh, as if from a file, chooses the same threshold.
    let past = again.reference_scores().to_vec();
    let threshold = again.threshold();
    let mut loaded =
        NoveltyDetector::around(again.mesh().clone(), again.settings().clone()).unwrap();
    assert_eq!(loaded.threshold(), None);
    loaded.set_reference_scores(past);
    assert_eq!(loaded.threshold(), threshold);
    // Same seed, same detector.
    assert_eq!(again.mesh().dictionary(), detector.mesh().dictionary());
}

/// `around` takes the stopping rule of the mesh. The margin of the threshold once was that of the
/// settings.
#[test]
fn the_margin_of_a_threshold_is_the_tolerance_of_the_mesh() {
    let mesh = |tolerance| {
        let settings = Novelty {
            stopping: Stopping::tolerance(tolerance),
            ..small(Novelty::default())
        };
        settings.build(&block(0).0).unwrap().into_mesh()
    };
    let threshold = |mesh: Mesh, stopping, method| {
        let settings = Novelty {
            stopping,
            method,
            ..small(Novelty::default())
        };
        let mut detector = NoveltyDetector::around(mesh, settings).unwrap();
        detector.set_reference_scores(vec![1.0]);
        detector.threshold().unwrap()
    };
    let wide = Stopping::tolerance(0.25);
    assert_eq!(threshold(mesh(0.01), wide, Method::Mesh), 1.01);
    let rounds = Stopping::rounds(5);
    assert_eq!(threshold(mesh(0.01), rounds, Method::Mesh), 1.01);
    assert_eq!(threshold(mesh(0.01), wide, Method::Exact), 1.0 + 1e-9);
}

/// Around a mesh with relays and uninformed agents, growth respects both.
#[test]
fn a_mesh_of_ones_own_can_be_used() {
    let x = block(0).0;
    let task = Novelty::default().task.build().unwrap();
    let mesh = Mesh::builder(task, Topology::ring(4).unwrap())
        .informed(&[1, 2])
        .build(TERMS, &[2, 0, 2, 1], AtomInit::Samples(&x))
        .unwrap();
    let settings = Novelty {
        growth: Growth::Atoms { count: 2 },
        threshold: Threshold::Given(0.5),
        join: Join::Random { p: 0.0 },
        ..Novelty::default()
    };
    let mut detector = NoveltyDetector::around(mesh, settings).unwrap();
    assert!(detector.process(&x, go).unwrap().judged.is_none());
    let step = detector.process(&block(1).0, go).unwrap();
    assert_eq!((step.agents, step.atoms), (4, 7));
    assert!(detector.mesh().block(1).is_empty());
    let growth = Growth::Agents {
        count: 3,
        atoms_each: 2,
    };
    detector.grow(growth, AtomInit::Random).unwrap();
    assert_eq!((detector.mesh().agents(), detector.mesh().atoms()), (7, 13));
    assert!((4..7).all(|k| !detector.mesh().is_informed(k)));
    // p = 0 still joins each by one edge.
    assert_eq!(detector.mesh().topology().edges().len(), 4 + 3);
}

#[test]
fn breaking_off_ends_the_block() {
    let settings = Novelty {
        passes: 3,
        ..small(Novelty::default())
    };
    let mut detector = settings.build(&block(0).0).unwrap();
    let mut heard = 0;
    detector
        .learn(&block(0).0, |_| {
            heard += 1;
            if heard == 7 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    assert_eq!(heard, 7);
}

/// A step is its two halves, whoever calls them; a judgement leaves the detector unchanged.
#[test]
fn a_step_is_a_judgement_and_its_absorption() {
    let settings = small(Novelty::default());
    let mut whole = settings.build(&block(0).0).unwrap();
    let mut halves = whole.clone();
    for s in 0..3 {
        let x = block(s).0;
        let step = whole.process(&x, go).unwrap();
        let judged = halves.judge(&x, go).unwrap();
        assert_eq!(halves.judge(&x, go).unwrap(), judged);
        if let Some(judged) = &judged {
            let top = judged.most_novel(5);
            let lowest = judged.scoring.scores[top[4]];
            let above = judged.scoring.scores.iter().filter(|s| **s > lowest);
            assert_eq!(above.count(), 4);
            assert!(judged.scoring.largest_gap().unwrap() < 1e-9);
        }
        assert_eq!(halves.absorb(&x, judged, go).unwrap(), step);
    }
    assert_eq!(whole.mesh().dictionary(), halves.mesh().dictionary());
}

#[test]
fn breaking_off_while_scoring_learns_nothing() {
    let mut detector = small(Novelty::default()).build(&block(0).0).unwrap();
    detector.process(&block(0).0, go).unwrap();
    let before = detector.clone();
    let stop = |_: StepEvent<'_>| ControlFlow::Break(());
    let step = detector.process(&block(1).0, stop).unwrap();
    assert_eq!(step.learning, Stop::Interrupted);
    assert_eq!(detector.mesh().dictionary(), before.mesh().dictionary());
    assert_eq!(detector.reference_scores(), before.reference_scores());
    let again = detector.process(&block(1).0, go).unwrap();
    assert_eq!(again.number, 1);
}

/// The explanation of x has x's exact code and the largest entries of x - W y, by the exact code
/// and by that of the mesh.
#[test]
fn an_explanation_is_the_exact_code_and_its_residual() {
    let settings = Novelty {
        stopping: Stopping::tolerance(1e-8),
        ..small(Novelty::default())
    };
    let (_, detector) = area_at_block_3(&settings);
    let (mesh, x) = (detector.mesh(), block(5).0.range(0..8));
    let name = |row: usize| format!("term {row}");
    let told = |method| {
        let options = ExplainOptions {
            method,
            atoms: 3,
            terms: 120,
        };
        explain(mesh, &x, &options, &name).unwrap()
    };
    let exact = mesh.exact(&x).unwrap();
    let w = mesh.dictionary();
    let all = told(Method::Exact);
    for (j, why) in all.iter().enumerate() {
        assert_eq!(why.score, exact.certificates[j].dual);
        let y = exact.codes.column(j);
        for atom in &why.atoms {
            assert_eq!(atom.weight, y[atom.atom]);
            assert!(atom.terms.windows(2).all(|t| t[0].weight >= t[1].weight));
        }
        let weights: Vec<f64> = why.atoms.iter().map(|a| a.weight).collect();
        let larger = y.iter().filter(|y| **y > weights[2]).count();
        assert_eq!(larger, 2, "the three largest of {y:?}");
        let expressed = w.times(&exact.codes);
        let mut residual: Vec<f64> = expressed.column(j).iter().map(|v| -v).collect();
        x.add_scaled(j, 1.0, &mut residual);
        assert_eq!(why.unexplained.len(), 120);
        for term in &why.unexplained {
            let row: usize = term.name["term ".len()..].parse().unwrap();
            assert_eq!(term.weight, residual[row]);
        }
        let sizes: Vec<f64> = why.unexplained.iter().map(|t| t.weight.abs()).collect();
        assert!(sizes.is_sorted_by(|a, b| a >= b));
    }
    for (exact, mesh) in all.iter().zip(told(Method::Mesh)) {
        assert_eq!(exact.atoms[0].atom, mesh.atoms[0].atom);
        assert!((exact.score - mesh.score).abs() < 1e-6 * exact.score);
    }
    let few = explain(mesh, &x, &ExplainOptions::default(), &name).unwrap();
    assert!(few.iter().all(|why| why.unexplained.len() == 6));
    assert!(few.iter().all(|why| why.atoms.len() <= 2));
}

#[test]
fn a_block_has_a_curve_if_it_has_both_kinds() {
    let both = block_roc(&[0.1, 0.9], &[false, true]).unwrap();
    assert_eq!(both.unwrap().auc(), 1.0);
    assert_eq!(block_roc(&[0.1, 0.9], &[true, true]).unwrap(), None);
    assert_eq!(block_roc(&[], &[]).unwrap(), None);
}

#[test]
fn bad_settings_are_refused() {
    let x = block(0).0;
    let refused = |settings: Novelty| assert!(settings.build(&x).is_err(), "{settings:?}");
    let default = Novelty::default;
    refused(Novelty {
        agents: 0,
        ..default()
    });
    refused(Novelty {
        atoms_each: 0,
        ..default()
    });
    refused(Novelty {
        passes: 0,
        ..default()
    });
    refused(Novelty {
        score_batch: 0,
        ..default()
    });
    refused(Novelty {
        threshold: Threshold::Quantile(1.5),
        ..default()
    });
    refused(Novelty {
        threshold: Threshold::Given(f64::NAN),
        ..default()
    });
    refused(Novelty {
        join: Join::Random { p: -0.1 },
        ..default()
    });
    let mut detector = default().build(&x).unwrap();
    let none = Growth::Agents {
        count: 1,
        atoms_each: 0,
    };
    assert!(detector.grow(none, AtomInit::Random).is_err());
}

#[test]
fn normalising_keeps_zeros_and_survives_huge_entries() {
    let x = Samples::dense_from_columns(2, &[[3e200, 4e200], [0.0, 0.0], [0.0, 1e-300]]).unwrap();
    let unit = x.normalised(Norm::L2).to_dense();
    assert!((unit.get(0, 0) - 0.6).abs() < 1e-15 && (unit.get(1, 0) - 0.8).abs() < 1e-15);
    assert_eq!(unit.column(1), [0.0, 0.0]);
    assert_eq!(unit.column(2), [0.0, 1.0]);
}
