//! Rotation must be invisible: the same duals, codes, costs, rounds and bytes.

use super::*;
use dictmesh::{Start, Stop, Stopping, Topology};

fn pair(residual: &ResidualSpec, name: &str, w: &Matrix, rounds: usize) -> [Mesh; 2] {
    [true, false].map(|reduction| {
        Mesh::builder(
            task(residual, elastic_net()),
            Topology::erdos_renyi(6, 0.5, 1).unwrap(),
        )
        .informed(&[1, 2])
        .strategy(named(name))
        .stopping(Stopping::rounds(rounds))
        .reduction(reduction)
        .build(w.rows(), &[2, 3, 0, 1, 2, 2], Start::Given(w))
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
    assert_eq!(a.bytes, b.bytes);
    of(&a.duals, &b.duals).max(of(&a.codes, &b.codes))
}

#[test]
fn rotated_rounds_are_the_same_rounds() {
    let plain = atoms(60, 10, 1);
    let dictionaries = [
        ("plain", plain.clone()),
        // Rank-deficient: repeated and zero atoms.
        (
            "repeated",
            Matrix::from_fn(60, 10, |i, q| plain.get(i, q % 4)),
        ),
        (
            "zero",
            Matrix::from_fn(60, 10, |i, q| plain.get(i, q) * (q % 2) as f64),
        ),
    ];
    for (label, w) in dictionaries {
        // In the span of the atoms, mostly outside it, and zero.
        let inside = reachable(&w, 1, 2).to_dense();
        let outside = gaussian(60, 1, &mut stream(7, 7));
        let x = Matrix::from_fn(60, 3, |i, j| [inside.get(i, 0), outside.get(i, 0), 0.0][j]);
        let x = Samples::dense(x).unwrap();
        for residual in residuals() {
            for name in StrategySpec::NAMES {
                let smooth = !matches!(residual, ResidualSpec::Ball { .. });
                if !smooth && (name == "diffusion" || name == "consensus") {
                    continue;
                }
                for rounds in [1, 7, 100] {
                    let [fast, plain] = pair(&residual, name, &w, rounds);
                    let off = apart(&fast.infer(&x).unwrap(), &plain.infer(&x).unwrap());
                    assert!(off < 1e-9, "{label} {residual:?} {name} {rounds}: {off:e}");
                }
            }
        }
    }
}

#[test]
fn rotated_runs_stop_alike_and_learn_alike() {
    let w = atoms(60, 10, 1);
    let x = reachable(&w, 40, 2);
    let [mut fast, mut plain] = pair(&ResidualSpec::SquaredL2, "relaxed-admm", &w, 10);
    for mesh in [&mut fast, &mut plain] {
        mesh.set_stopping(Stopping::tolerance(1e-5)).unwrap();
    }
    let (a, b) = (fast.infer(&x).unwrap(), plain.infer(&x).unwrap());
    assert_eq!((a.stop, a.rounds), (Stop::Converged, b.rounds));
    for mesh in [&mut fast, &mut plain] {
        mesh.learn(&x, |_| std::ops::ControlFlow::Continue(()))
            .unwrap();
    }
    let off = error(&fast.dictionary(), &plain.dictionary());
    assert!(off < 1e-9, "{off:e}");
}
