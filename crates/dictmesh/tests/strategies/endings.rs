//! How runs end: to a tolerance, at the limit, diverged, infeasible.

use super::*;
use dictmesh::{Start, Stop, Stopping, Topology};

fn mesh(task: Task, strategy: StrategySpec, stopping: Stopping, w: &Matrix) -> Mesh {
    Mesh::builder(task, Topology::erdos_renyi(6, 0.5, 1).unwrap())
        .informed(&[0, 2])
        .strategy(strategy)
        .stopping(stopping)
        .build(w.rows(), &[2; 6], Start::Given(w))
        .unwrap()
}

#[test]
fn the_tolerance_is_the_error() {
    let w = atoms(10, 12, 1);
    let x = reachable(&w, 4, 2);
    for residual in &residuals()[..2] {
        for tolerance in [1e-2, 1e-4, 1e-7] {
            for name in ["relaxed-admm", "exact-diffusion"] {
                let mesh = mesh(
                    task(residual, elastic_net()),
                    named(name),
                    Stopping::tolerance(tolerance),
                    &w,
                );
                let found = mesh.infer(&x).unwrap();
                assert_eq!(found.stop, Stop::Converged, "{residual:?} {name}");
                let (nu, ..) = errors(&mesh, &x, &found);
                println!("{residual:?} {name} {tolerance:.0e}: {nu:.1e}");
                // An estimate: right to a factor of a few.
                assert!(nu <= 3.0 * tolerance, "{name} at {tolerance:e}: {nu:e}");
            }
        }
    }
}

#[test]
fn a_step_far_too_large_diverges_and_says_so() {
    let w = atoms(10, 12, 1);
    let x = reachable(&w, 2, 2);
    let task = task(&ResidualSpec::SquaredL2, elastic_net());
    for stopping in [Stopping::tolerance(1e-4), Stopping::rounds(2000)] {
        let strategy = StrategySpec::Diffusion { mu: Some(50.0) };
        let found = mesh(task.clone(), strategy, stopping, &w)
            .infer(&x)
            .unwrap();
        assert_eq!(found.stop, Stop::Diverged);
    }
}

#[test]
fn a_constraint_that_no_code_meets_is_infeasible() {
    // Twelve atoms in the first eight of ten rows; the sample has something in the last.
    let full = atoms(10, 12, 1);
    let w = Matrix::from_fn(10, 12, |i, q| if i < 8 { full.get(i, q) } else { 0.0 });
    let mut x = reachable(&w, 2, 2).to_dense();
    x.column_mut(1)[9] = 1.0;
    let x = Samples::dense(x).unwrap();
    for residual in [ResidualSpec::Equality, ResidualSpec::Ball { sigma: 0.5 }] {
        for regularizer in [
            elastic_net(),
            RegularizerSpec::NonNegativeElasticNet {
                gamma: 0.1,
                delta: 0.3,
            },
            RegularizerSpec::BoxedElasticNet {
                gamma: 0.1,
                delta: 0.3,
                lo: Some(-3.0),
                hi: Some(3.0),
            },
        ] {
            let task = task(&residual, regularizer);
            for name in ["relaxed-admm", "exact-diffusion"] {
                let stopping = Stopping::tolerance(1e-6);
                let mesh = mesh(task.clone(), named(name), stopping, &w);
                let exact = mesh.exact(&x).unwrap();
                assert_eq!(exact.certificates[0].stop, Stop::Converged);
                assert_eq!(exact.certificates[1].stop, Stop::Infeasible);
                let found = mesh.infer(&x).unwrap();
                println!("{residual:?} {name}: {} rounds", found.rounds);
                assert_eq!(found.stop, Stop::Infeasible, "{residual:?} {name}");
                assert_eq!(found.infeasible, [1]);
            }
        }
    }
}

/// Duplicated columns and a tiny component make feasible samples look hard; they must not be refused.
#[test]
fn a_feasible_constraint_is_never_called_infeasible() {
    for seed in 0..10 {
        let w = atoms(6, 12, seed);
        let x = reachable(&w, 2, seed);
        for residual in [ResidualSpec::Equality, ResidualSpec::Ball { sigma: 1e-3 }] {
            let task = task(&residual, elastic_net());
            let mesh = mesh(task, named("relaxed-admm"), Stopping::tolerance(1e-6), &w);
            assert_eq!(
                mesh.exact(&x).unwrap().stop(),
                Stop::Converged,
                "seed {seed}"
            );
            assert_eq!(mesh.infer(&x).unwrap().stop, Stop::Converged, "seed {seed}");
        }
    }
}
