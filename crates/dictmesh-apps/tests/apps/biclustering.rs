//! Biclustering: planted layers, against the sparse SVD, and on the lung data where it is at hand.

use dictmesh::random::{gaussian, stream};
use dictmesh::{Matrix, Samples, Stop, Update};
use dictmesh_apps::biclustering::{classify_rows, Bicluster, Biclustering, Method, Prepare};
use dictmesh_apps::progress::silent;
use dictmesh_apps::ssvd::SparseSvd;
use std::ops::ControlFlow;
use std::path::PathBuf;

fn go(_: &dictmesh::mesh::Event) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// 40 x 200 noise of deviation .05 and two layers: rows 0..8 with columns 0..40, and rows 10..16
/// with columns 60..85. In both, rows alternate in sign, so that the columns have mean zero.
fn planted() -> Matrix {
    let mut x = gaussian(40, 200, &mut stream(1, 0));
    x.as_mut_slice().iter_mut().for_each(|v| *v *= 0.05);
    let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    for j in 0..40 {
        (0..8).for_each(|i| x.column_mut(j)[i] += 2.0 * sign(i));
    }
    for j in 60..85 {
        (10..16).for_each(|i| x.column_mut(j)[i] -= 1.5 * sign(i));
    }
    x
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn are_the_planted_ones(layers: &[Bicluster]) {
    let range = |a: usize, b: usize| (a..b).collect::<Vec<_>>();
    assert_eq!(layers[0].rows(), range(0, 8));
    assert_eq!(layers[0].columns(), range(0, 40));
    assert_eq!(layers[1].rows(), range(10, 16));
    assert_eq!(layers[1].columns(), range(60, 85));
}

#[test]
fn planted_layers_come_back_and_agree_with_the_sparse_svd() {
    let x = planted();
    for prepare in [Prepare::Nothing, Prepare::Centre] {
        let settings = Biclustering {
            layers: 2,
            beta: 0.05,
            prepare,
            ..Biclustering::default()
        };
        let found = settings.run(&x, go).unwrap();
        assert_eq!(found.stop, Stop::Converged);
        are_the_planted_ones(&found.layers);
        let baseline = SparseSvd {
            layers: 2,
            lambda: 0.5,
            beta: 0.5,
            ..SparseSvd::default()
        };
        let baseline = baseline.run(&x).unwrap();
        for (mesh, svd) in found.layers.iter().zip(&baseline) {
            let (w, y) = (cosine(&mesh.w, &svd.w), cosine(&mesh.y, &svd.y));
            println!("{prepare:?}: cosine of w {w:.5}, of y {y:.5}");
            assert!(w > 0.999 && y > 0.99);
        }
    }
}

#[test]
fn the_restart_with_the_lowest_objective_is_kept() {
    let x = planted();
    let settings = Biclustering {
        layers: 2,
        restarts: 4,
        passes: 3,
        rest: 0.0,
        ..Biclustering::default()
    };
    let mut updates = 0;
    let found = settings
        .run(&x, |_| {
            updates += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(updates, 4 * 3);
    assert_eq!(found.objectives.len(), 4);
    let lowest = found
        .objectives
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    assert_eq!(found.objective, lowest);

    // It is the paper's objective, here computed from the layers themselves.
    let prepared = settings.prepare.apply(&x);
    let mut cost = 0.0;
    for j in 0..200 {
        let mut u = prepared.column(j).to_vec();
        for layer in &found.layers {
            let y = layer.y[j];
            (0..40).for_each(|i| u[i] -= layer.w[i] * y);
            cost += settings.gamma * y.abs() + settings.delta / 2.0 * y * y;
        }
        cost += u.iter().map(|u| u * u).sum::<f64>() / 2.0;
    }
    let l1: f64 = found
        .layers
        .iter()
        .flat_map(|l| &l.w)
        .map(|w| w.abs())
        .sum();
    let objective = cost / 200.0 + settings.beta * l1;
    assert!((found.objective / objective - 1.0).abs() < 1e-3);

    // Breaking off returns what is there.
    let found = settings.run(&x, |_| ControlFlow::Break(())).unwrap();
    assert_eq!(found.objectives.len(), 1);
}

/// 40 x 3,000: three groups of 1,000 columns, each with eight rows of its own in noise of this
/// deviation. A column's group is its number divided by 1,000.
fn three_groups(deviation: f64) -> Matrix {
    let mut x = gaussian(40, 3000, &mut stream(5, 0));
    x.as_mut_slice().iter_mut().for_each(|v| *v *= deviation);
    for j in 0..3000 {
        let first = j / 1000 * 10;
        for i in first..first + 8 {
            x.column_mut(j)[i] += if i.is_multiple_of(2) { 2.0 } else { -2.0 };
        }
    }
    x
}

/// In sorted columns, an atom is almost idle in the batches of the other groups. Its step, and with
/// it the threshold of the penalty, grew there by 1/c per batch until the atom was zero for good.
/// An atom whose own columns come later was zero after one batch: hence `shuffle`.
#[test]
fn layers_are_found_in_any_order_of_the_columns() {
    let draw = gaussian(3000, 1, &mut stream(6, 0));
    let mut order: Vec<usize> = (0..3000).collect();
    order.sort_by(|a, b| draw.get(*a, 0).total_cmp(&draw.get(*b, 0)));
    let settings = Biclustering {
        layers: 3,
        ..Biclustering::default()
    };
    let planted: Vec<Vec<usize>> = (0..3).map(|g| (10 * g..10 * g + 8).collect()).collect();
    let mut failed = Vec::new();
    for deviation in [0.2, 0.7] {
        let sorted = three_groups(deviation);
        let shuffled = Matrix::from_fn(40, 3000, |i, j| sorted.get(i, order[j]));
        for (name, x) in [("shuffled", &shuffled), ("sorted", &sorted)] {
            let found = settings.run(x, go).unwrap();
            let rows = |layer: &Bicluster| {
                let mut rows = layer.main_rows();
                rows.sort_unstable();
                rows
            };
            let mut groups: Vec<Vec<usize>> = found.layers.iter().map(rows).collect();
            groups.sort();
            println!(
                "{name}, noise {deviation}: objectives {:.4?}",
                found.objectives
            );
            if groups != planted {
                failed.push(format!("{name}, noise {deviation}: {groups:?}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The starts of seed 1 were once those of seed 0 shifted by one, so that ten seeds gave little
/// more than one.
#[test]
fn seeds_beside_each_other_share_no_start() {
    let x = Samples::dense(planted()).unwrap();
    let start = |seed: u64, restart: usize| {
        let settings = Biclustering {
            seed,
            ..Biclustering::default()
        };
        settings.mesh(&x, restart).unwrap().dictionary()
    };
    let all: Vec<Matrix> = (0..4)
        .flat_map(|seed| (0..3).map(move |restart| (seed, restart)))
        .map(|(seed, restart)| start(seed, restart))
        .collect();
    for (a, one) in all.iter().enumerate() {
        assert!(all[..a].iter().all(|other| other != one), "start {a}");
    }
    assert_eq!(start(2, 1), all[7]);
}

/// The constants of the paper, T_{mu_w beta} and one pass of one column at a time. The soft
/// threshold it prints, T_beta, takes .01 off each entry at each of 200 updates: no atom would be
/// left.
#[test]
fn the_papers_settings_run() {
    let (paper, x) = (Biclustering::paper(), planted());
    // mu = .01 is just over the paper's own bound while the atoms have norm 1.
    let mesh = paper.mesh(&Samples::dense(x.clone()).unwrap(), 0).unwrap();
    assert!(!mesh.warnings().is_empty());
    let found = paper.run(&x, go).unwrap();
    assert_eq!(found.stop, Stop::RoundLimit);
    assert!(found.layers.iter().all(|layer| !layer.rows().is_empty()));
    // One pass with mu_w = 5e-3 from a random start finds the larger layer (40 columns) in one
    // atom. The other, of 25 columns, would need more of them.
    let share = found.layers.iter().map(|layer| {
        let inside: f64 = layer.w[0..8].iter().map(|w| w * w).sum();
        inside / layer.w.iter().map(|w| w * w).sum::<f64>()
    });
    let best = share.fold(0.0, f64::max);
    println!("paper: {best:.3} of an atom lies in the rows of the larger layer");
    assert!(best > 0.9);
}

#[test]
fn preparing_centres_and_scales_each_column() {
    let x = Matrix::from_columns(4, &[[1.0, 2.0, 3.0, 6.0], [7.7; 4]]).unwrap();
    assert_eq!(Prepare::Nothing.apply(&x), x);
    let centred = Prepare::Centre.apply(&x);
    assert_eq!(centred.column(0), [-2.0, -1.0, 0.0, 3.0]);
    let standard = Prepare::Standardise.apply(&x);
    let squares: f64 = standard.column(0).iter().map(|v| v * v).sum();
    assert!((squares - 4.0).abs() < 1e-12);
    assert_eq!(standard.column(1), [0.0; 4]);
}

#[test]
fn bad_settings_are_refused() {
    let x = planted();
    let refused = |settings: Biclustering| assert!(settings.run(&x, go).is_err(), "{settings:?}");
    let default = Biclustering::default;
    refused(Biclustering {
        layers: 0,
        ..default()
    });
    // More than any graph has: refused before memory for their atoms is taken.
    for layers in [1 << 40, usize::MAX] {
        refused(Biclustering {
            layers,
            ..default()
        });
    }
    refused(Biclustering {
        batch: 0,
        ..default()
    });
    refused(Biclustering {
        passes: 0,
        ..default()
    });
    refused(Biclustering {
        restarts: 0,
        ..default()
    });
    refused(Biclustering {
        rest: -1.0,
        ..default()
    });
    refused(Biclustering {
        delta: 0.0,
        ..default()
    });
    refused(Biclustering {
        beta: f64::NAN,
        ..default()
    });
    refused(Biclustering {
        update: Update::Constant { mu_w: 0.0 },
        ..default()
    });
    assert!(default().run(&Matrix::zeros(0, 3), go).is_err());
    assert!(default().run(&Matrix::zeros(3, 0), go).is_err());
    let mut hole = planted();
    hole.column_mut(3)[2] = f64::NAN;
    assert!(default().run(&hole, go).is_err());
}

/// 56 patients of four classes in the coordinates w_k |y_k|: k-means finds the classes, although no
/// label was ever looked at.
#[test]
fn lung_patients_fall_into_their_classes() {
    let data = std::env::var_os("DICTMESH_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(data.join("lung.csv")) else {
        println!(
            "skipped: no lung.csv in {} (set DICTMESH_DATA)",
            data.display()
        );
        return;
    };
    let mut labels = Vec::new();
    let mut patients: Vec<Vec<f64>> = Vec::new();
    for line in text.lines() {
        let (label, genes) = line.split_once(',').unwrap();
        let genes: Result<Vec<f64>, _> = genes.split(',').map(str::parse).collect();
        // A first line may hold names.
        if let Ok(genes) = genes {
            labels.push(label.to_string());
            patients.push(genes);
        }
    }
    let x = Matrix::from_fn(patients.len(), 1000, |i, j| patients[i][5 * j]);
    let found = Biclustering::default().run(&x, go).unwrap();
    let weighted = errors(&found.row_coordinates(true), &labels);
    let plain = errors(&found.row_coordinates(false), &labels);
    println!("lung, every fifth gene: {weighted} of 56 misplaced weighted by |y_k|, {plain} plain");
    assert!(weighted <= 4);
}

/// Patients whose class is not their cluster's most frequent one; 4-means, the best of 50 starts by
/// its own cost.
fn errors(x: &Matrix, labels: &[String]) -> usize {
    let (n, d) = (x.rows(), x.cols());
    let point = |i: usize| (0..d).map(|k| x.get(i, k)).collect::<Vec<f64>>();
    let distance =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum() };
    let mut best = (f64::INFINITY, vec![0; n]);
    for start in 0..50 {
        let draw = gaussian(n, 1, &mut stream(start, 0));
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| draw.get(*a, 0).total_cmp(&draw.get(*b, 0)));
        let mut centres: Vec<Vec<f64>> = order[..4].iter().map(|i| point(*i)).collect();
        let mut cluster = vec![0; n];
        for _ in 0..50 {
            for i in 0..n {
                let to = |q: &usize| distance(&point(i), &centres[*q]);
                cluster[i] = (0..4).min_by(|a, b| to(a).total_cmp(&to(b))).unwrap();
            }
            for q in 0..4 {
                let members: Vec<usize> = (0..n).filter(|i| cluster[*i] == q).collect();
                for k in 0..d {
                    let sum: f64 = members.iter().map(|i| x.get(*i, k)).sum();
                    centres[q][k] = sum / members.len().max(1) as f64;
                }
            }
        }
        let cost = (0..n)
            .map(|i| distance(&point(i), &centres[cluster[i]]))
            .sum();
        if cost < best.0 {
            best = (cost, cluster);
        }
    }
    let right: usize = (0..4)
        .map(|q| {
            let members = || (0..n).filter(|i| best.1[*i] == q);
            let same = |i: usize| members().filter(|j| labels[*j] == labels[i]).count();
            members().map(same).max().unwrap_or(0)
        })
        .sum();
    n - right
}

/// Both methods by one entry, and the rows named by the layers that they are in.
#[test]
fn rows_of_planted_layers_get_their_class() {
    let x = planted();
    let class = |i: usize| match i {
        0..8 => "first",
        10..16 => "second",
        _ => "rest",
    };
    let labels: Vec<String> = (0..40).map(|i| class(i).to_string()).collect();
    let sparse = SparseSvd {
        layers: 2,
        lambda: 0.5,
        beta: 0.5,
        ..SparseSvd::default()
    };
    let agents = Biclustering {
        layers: 2,
        beta: 0.05,
        prepare: Prepare::Nothing,
        ..Biclustering::default()
    };
    for method in [
        Method::SparseSvd(sparse, Prepare::Nothing),
        Method::Diffusion(agents),
    ] {
        let found = method.run(&x, &mut silent).unwrap();
        are_the_planted_ones(&found.layers);
        assert_eq!(found.prepared, x);
        // Rows alternate in sign: the halves of a layer lie apart, and k-means cannot join them.
        let sizes: Vec<Bicluster> = (found.layers.iter().cloned())
            .map(|mut layer| {
                layer.w.iter_mut().for_each(|w| *w = w.abs());
                layer
            })
            .collect();
        let classes = classify_rows(&sizes, &labels, 0).unwrap();
        assert_eq!(classes.class, labels);
        assert!(classes.misclassified.is_empty());
        let few = classify_rows(&sizes, &labels[..3], 0)
            .unwrap_err()
            .to_string();
        assert!(few.contains("labels of the rows"), "{few}");
    }
}

#[test]
fn too_many_restarts_are_refused_and_a_break_ends_the_run() {
    let endless = Biclustering {
        restarts: 1_000_000_000_000,
        ..Biclustering::default()
    };
    let refused = endless.run(&planted(), go).unwrap_err().to_string();
    assert!(refused.contains("must be 1 to 1000"), "{refused}");
    let method = Method::Diffusion(Biclustering::default());
    let ended = method.run(&planted(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(ended, Err(dictmesh::Error::Interrupted)));
}
