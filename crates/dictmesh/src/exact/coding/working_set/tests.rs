//! Codes on demand against those of the stored Gram matrix.

use super::*;
use crate::exact::coding::ScratchPool;
use crate::problem::regularizer::{
    BoxedElasticNet, ElasticNet, NonNegativeElasticNet, Regularizer,
};
use crate::problem::residual::{Ball, Equality, Huber, Residual, SquaredL2, L1};
use crate::random::{gaussian, stream};
use dictmesh_kernels::matrix::distance;

const M: usize = 20;
const N: usize = 90;
const SAMPLES: usize = 7;

/// W, and samples that codes within the box below represent exactly.
fn data() -> (Matrix, Matrix) {
    let mut w = gaussian(M, N, &mut stream(1, 0));
    for q in 0..N {
        let length = norm(w.column(q));
        w.column_mut(q).iter_mut().for_each(|w| *w /= length);
    }
    let drawn = gaussian(N, SAMPLES, &mut stream(2, 0));
    let y = Matrix::from_fn(N, SAMPLES, |q, j| match q % 7 {
        0 => drawn.get(q, j).abs().min(0.5),
        _ => 0.0,
    });
    let c = w.times(&y);
    (w, c)
}

fn for_each_problem(work: impl Fn(&Coding, &Coding, &Matrix, String)) {
    let (w, c) = data();
    let gram = w.transpose_times(&w);
    let hs: [&dyn Regularizer; 5] = [
        &ElasticNet::new(0.1, 0.1).unwrap(),
        &ElasticNet::new(0.0, 0.3).unwrap(), // no entry is 0
        &NonNegativeElasticNet::new(0.1, 0.1).unwrap(),
        &BoxedElasticNet::new(0.1, 0.1, -0.7, 0.8).unwrap(),
        &BoxedElasticNet::new(0.1, 0.1, 0.01, 0.8).unwrap(), // 0 is not allowed
    ];
    let residuals: [(&dyn Residual, f64); 7] = [
        (&SquaredL2, 0.0),
        (&SquaredL2, 0.7),
        (&Huber::new(0.2).unwrap(), 0.0),
        (&L1, 0.2),
        (&L1, 0.0),
        (&Ball::new(0.3).unwrap(), 0.0),
        (&Equality, 0.0),
    ];
    for h in hs {
        for (residual, q) in residuals {
            let (blocks, mut scalars) = ([(N, h)], Vec::new());
            CodePenalty::collect_scalars(&blocks, &mut scalars);
            let stored = Coding {
                residual,
                h: CodePenalty {
                    blocks: &blocks,
                    scalars: &scalars,
                },
                atoms: (&w).into(),
                gram: Some(&gram),
                s: 1.0,
                q,
                interrupt: None,
                batching: Batching::SideBySide,
            };
            let on_demand = Coding {
                gram: None,
                ..stored
            };
            let label = format!("{} {h:?}, q = {q}", residual.name());
            work(&stored, &on_demand, &c, label);
        }
    }
}

fn solved(problem: &Coding, c: &Matrix) -> (Matrix, Matrix, Stop) {
    let mut y = Matrix::zeros(N, SAMPLES);
    (0..SAMPLES).for_each(|j| problem.h.argmax(0.0, y.column_mut(j)));
    let mut v = Matrix::zeros(M, SAMPLES);
    let pool = ScratchPool::default();
    let stop = problem.solve_batch(c, None, &mut y, &mut v, &pool.of(1));
    (y, v, stop)
}

#[test]
fn on_demand_finds_what_the_stored_gram_matrix_gives() {
    for_each_problem(|stored, on_demand, c, label| {
        let (y, v, stop) = solved(stored, c);
        let (own_y, own_v, own_stop) = solved(on_demand, c);
        assert_eq!(own_stop, stop, "{label}");
        // Where f* is flat both are proximal point methods that end at different points.
        let near = if stored.q > 0.0 || stored.residual.conjugate_curvature() > 0.0 {
            1e-10
        } else {
            1e-6
        };
        for j in 0..SAMPLES {
            let far = distance(y.column(j), own_y.column(j)) / norm(y.column(j)).max(1e-3);
            assert!(far < near, "{label}: y of {j} {far:e}");
            let far = distance(v.column(j), own_v.column(j)) / norm(v.column(j)).max(1e-3);
            assert!(far < near, "{label}: v of {j} {far:e}");
        }
    });
}

#[test]
fn codes_with_more_entries_than_a_set_are_found_by_blocks() {
    for_each_problem(|stored, on_demand, c, label| {
        if stored.q + stored.residual.conjugate_curvature() == 0.0 {
            return;
        }
        let (known, ..) = solved(stored, c);
        let (mut y, mut v) = (vec![0.0; N * SAMPLES], vec![0.0; M * SAMPLES]);
        (y.chunks_exact_mut(N)).for_each(|y| stored.h.argmax(0.0, y));
        let mut s = vec![0.0; N * SAMPLES];
        let (pool, mut stops) = (ScratchPool::default(), Vec::new());
        let given = Targets {
            c: c.as_slice(),
            share: None,
        };
        let ended = |stop| stops.push(stop);
        let own = Some(&mut s[..]);
        solve_within(
            24,
            on_demand,
            given,
            &mut y,
            &mut v,
            own,
            &pool.of(1),
            ended,
        );
        assert_eq!(stops.len(), SAMPLES);
        for (j, known) in known.columns().enumerate() {
            if stops[j] != Stop::Converged {
                // With outliers and dense codes, blocks exceed the limit of turns.
                let squared = on_demand.residual.name() == SquaredL2.name();
                assert!(stops[j] == Stop::RoundLimit && !squared, "{label}: {j}");
                continue;
            }
            let far = distance(known, &y[j * N..][..N]) / norm(known).max(1e-3);
            assert!(far < 1e-7, "{label}: {j} {far:e}");
        }
        let mut after = vec![0.0; N];
        on_demand.correlate(&v[..M], &mut after);
        assert!(distance(&after, &s[..N]) < 1e-12, "{label}");
    });
}

#[test]
fn non_finite_and_interrupted_samples_are_reported() {
    let (w, mut c) = data();
    c.column_mut(1)[3] = f64::NAN;
    let h: &dyn Regularizer = &ElasticNet::new(0.1, 0.1).unwrap();
    let flag = std::sync::atomic::AtomicBool::new(false);
    let (blocks, mut scalars) = ([(N, h)], Vec::new());
    CodePenalty::collect_scalars(&blocks, &mut scalars);
    let problem = Coding {
        residual: &SquaredL2,
        h: CodePenalty {
            blocks: &blocks,
            scalars: &scalars,
        },
        atoms: (&w).into(),
        gram: None,
        s: 1.0,
        q: 0.0,
        interrupt: Some(&flag),
        batching: Batching::SideBySide,
    };
    let stops = || {
        let (mut y, mut v) = (vec![0.0; N * SAMPLES], vec![0.0; M * SAMPLES]);
        let (pool, mut stops) = (ScratchPool::default(), Vec::new());
        let given = Targets {
            c: c.as_slice(),
            share: None,
        };
        let ended = |stop| stops.push(stop);
        solve(&problem, given, &mut y, &mut v, None, &pool.of(1), ended);
        stops
    };
    let mut expected = [Stop::Converged; SAMPLES];
    expected[1] = Stop::Diverged;
    assert_eq!(stops(), expected);
    flag.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(stops(), [Stop::Interrupted; SAMPLES]);
}
