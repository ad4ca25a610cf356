//! Rotation must be invisible: the same duals, codes, costs, rounds and bytes. Results of a strategy
//! that rounds its messages are the same within their certified gaps.

use super::*;
use dictmesh::accel::Accels;
use dictmesh::{AtomInit, Stop, Stopping, Topology, Update};

const SIZES: [usize; 6] = [2, 3, 0, 1, 2, 2];

fn pair(residual: &Spec, name: &str, w: &Matrix, rounds: usize) -> [Mesh; 2] {
    [true, false].map(|reduction| {
        Mesh::builder(
            task(residual, elastic_net()),
            Topology::erdos_renyi(6, 0.5, 1).unwrap(),
        )
        .informed(&[1, 2])
        .strategy(named(name))
        .stopping(Stopping::rounds(rounds))
        .accels(if reduction {
            Accels::all()
        } else {
            Accels::none()
        })
        // Adaptive steps are huge at first, and make rounding grow.
        .update(Update::Constant { mu_w: 0.1 })
        .build(w.rows(), &SIZES, AtomInit::Given(w))
        .unwrap()
    })
}

fn apart(a: &Inference, b: &Inference) -> f64 {
    let of = |a: &[Matrix], b: &[Matrix]| {
        (a.iter().zip(b))
            .filter(|(a, _)| !a.as_slice().is_empty())
            .map(|(a, b)| distance(a.as_slice(), b.as_slice()) / norm(b.as_slice()).max(1e-12))
            .fold(0.0, f64::max)
    };
    assert_eq!((a.bytes, a.rounds, a.stop), (b.bytes, b.rounds, b.stop));
    of(&a.duals, &b.duals).max(of(&a.codes, &b.codes))
}

/// Ten atoms, independent or not.
fn dictionaries(rows: usize) -> [(&'static str, Matrix); 3] {
    let plain = atoms(rows, 10, 1);
    let repeated = Matrix::from_fn(rows, 10, |i, q| plain.get(i, q % 4));
    let zero = Matrix::from_fn(rows, 10, |i, q| plain.get(i, q) * (q % 2) as f64);
    [("plain", plain), ("repeated", repeated), ("zero", zero)]
}

/// The same duals and codes after 1, 7 and 100 rounds of each strategy, for every residual.
fn same_rounds(label: &str, w: &Matrix, x: &Samples) {
    for residual in residuals() {
        for name in strategy::GOSSIP {
            let smooth = residual.kind() != "ball";
            if !smooth && (name == "diffusion" || name == "consensus") {
                continue;
            }
            for rounds in [1, 7, 100] {
                let [fast, plain] = pair(&residual, name, w, rounds);
                let off = apart(&fast.infer(x).unwrap(), &plain.infer(x).unwrap());
                assert!(off < 1e-9, "{label} {residual:?} {name} {rounds}: {off:e}");
            }
        }
    }
}

#[test]
fn rotated_rounds_are_the_same_rounds() {
    for (label, w) in dictionaries(60) {
        // In the span of the atoms, mostly outside it, and zero.
        let inside = reachable(&w, 1, 2).to_dense();
        let outside = gaussian(60, 1, &mut stream(7, 7));
        let x = Matrix::from_fn(60, 3, |i, j| [inside.get(i, 0), outside.get(i, 0), 0.0][j]);
        same_rounds(label, &w, &Samples::dense(x).unwrap());
    }
}

/// Sample j has entries of about size `sizes[j]` in every `steps[j]`-th row.
fn sparse(rows: usize, steps: &[usize], sizes: &[f64]) -> Samples {
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for (j, (step, size)) in steps.iter().zip(sizes).enumerate() {
        let drawn = gaussian(rows, 1, &mut stream(j as u64, 3));
        for i in (j..rows).step_by(*step) {
            row.push(i);
            value.push(size * drawn.get(i, 0));
        }
        start.push(row.len());
    }
    Samples::sparse(rows, start, row, value).unwrap()
}

#[test]
fn sparse_samples_are_rotated_beside_their_support() {
    for (label, w) in dictionaries(90) {
        // Overlapping supports; a full one (never rotated), an empty one, and a sample so large
        // that the box is active where the sample is not 0.
        let x = sparse(90, &[9, 7, 1, 90, 11], &[0.3, 0.2, 0.2, 0.0, 5.0]);
        same_rounds(label, &w, &x);
    }
    // More atoms than rows: nothing to rotate.
    let w = atoms(8, 10, 1);
    same_rounds("few rows", &w, &sparse(8, &[4], &[0.5]));
}

/// All atoms overlap in row 0, where the sample is 0; their codes add up there until nu reaches the
/// bound. The rotated rounds must detect it and start again.
#[test]
fn rows_that_reach_the_box_end_the_rotation() {
    let base = atoms(90, 10, 1);
    let w = Matrix::from_fn(90, 10, |i, q| match i {
        0 => 0.3,
        _ => 0.9 * base.get(i, q).abs(),
    });
    let x = sparse(90, &[3], &[3.0]).to_dense();
    let x = Samples::dense(Matrix::from_fn(90, 1, |i, _| match i {
        0 => 0.0,
        _ => x.get(i, 0).abs(),
    }))
    .unwrap();
    for name in strategy::NAMES {
        let [fast, plain] = pair(&Spec::new("huber").with("eta", 0.05), name, &w, 400);
        let (a, b) = (fast.infer(&x).unwrap(), plain.infer(&x).unwrap());
        // The witness that it had to: the box acts outside the support.
        assert!(b.duals.iter().any(|nu| nu.get(0, 0) == -1.0), "{name}");
        assert!(apart(&a, &b) < 1e-12, "{name}");
    }
}

/// Sums of integers in the rotated rows: other rounds, the same result within the certified gaps.
/// `exact` in all rows is the witness of both.
#[test]
fn sums_in_rotated_rows_are_certified_in_all_rows() {
    let huber = Spec::new("huber").with("eta", 0.2);
    let ball = Spec::new("ball").with("sigma", 0.3);
    for (label, w) in dictionaries(90) {
        let reached = reachable(&w, 3, 2);
        let few = sparse(90, &[9, 7, 11], &[0.3, 0.2, 0.1]);
        for (residual, x, curvature) in [
            (&Spec::new("squared-l2"), &reached, 1.0),
            (&Spec::new("squared-l2"), &few, 1.0),
            (&huber, &few, 0.2),
            (&ball, &reached, 0.0),
        ] {
            let what = format!("{label} {residual:?}");
            let [mut fast, mut plain] = pair(residual, "tree", &w, 10);
            let tolerance = Stopping::tolerance(1e-6);
            for mesh in [&mut fast, &mut plain] {
                mesh.set_stopping(tolerance).unwrap();
            }
            let (found, all) = (fast.infer(x).unwrap(), plain.infer(x).unwrap());
            assert_eq!(
                (found.stop, all.stop),
                (Stop::Converged, Stop::Converged),
                "{what}"
            );
            // The witness that rows were rotated: rounding differs.
            assert!(found.duals != all.duals, "{what}");
            // An estimate: slopes and scalars are scaled too, which counts with few rows.
            let ratio = found.bytes as f64 / all.bytes as f64;
            assert!((0.5..4.0).contains(&ratio), "{what}: {ratio} of the bytes");
            let exact = plain.exact(x).unwrap();
            for (j, certified) in found.certified.iter().enumerate() {
                let (optimum, gap) = (exact.certificates[j], certified.gap);
                let missed = (optimum.dual - certified.cost).abs();
                // Agents round their parts of the cost, with and without a rotation.
                let bound = gap + optimum.gap + 1e-8 * optimum.dual.abs();
                assert!(missed <= bound, "{what} {j}: {missed:e} above {bound:e}");
                if curvature > 0.0 {
                    // f* is strongly convex.
                    let nu = exact.duals.column(j);
                    let near = (2.0 * gap / curvature).sqrt() + 1e-9 * norm(nu);
                    let off = distance(found.duals[0].column(j), nu);
                    assert!(off <= near, "{what}: {off:e} above {near:e}");
                }
            }
        }
    }
}

#[test]
fn rotated_runs_stop_alike_and_learn_alike() {
    let w = atoms(90, 10, 1);
    let reached = reachable(&w, 40, 2);
    // Sparse samples of many supports, in batches that are learned together.
    let steps: Vec<usize> = (0..40).map(|j| 5 + j % 4).collect();
    let few = sparse(90, &steps, &[0.4; 40]);
    for (residual, x) in [
        (Spec::new("squared-l2"), &reached),
        (Spec::new("squared-l2"), &few),
        (Spec::new("huber").with("eta", 0.2), &few),
    ] {
        let [mut fast, mut plain] = pair(&residual, "relaxed-admm", &w, 10);
        for mesh in [&mut fast, &mut plain] {
            mesh.set_stopping(Stopping::tolerance(1e-5)).unwrap();
        }
        let (a, b) = (fast.infer(x).unwrap(), plain.infer(x).unwrap());
        assert_eq!(a.stop, Stop::Converged);
        assert!(apart(&a, &b) < 1e-9);
        for mesh in [&mut fast, &mut plain] {
            mesh.learn(x, |_| std::ops::ControlFlow::Continue(()))
                .unwrap();
        }
        let off = error(&fast.dictionary(), &plain.dictionary());
        assert!(off < 1e-9, "{residual:?} {off:e}");
    }
}
