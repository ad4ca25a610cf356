//! Pieces that the library does not have, added from outside: coded, learned, certified, saved and
//! loaded. Also the built-in pieces that need no closed forms.

#![allow(clippy::unwrap_used)]

use dictmesh::exact;
use dictmesh::laws;
use dictmesh::problem::regularizer::{GroupElasticNet, Groups, WeightedElasticNet};
use dictmesh::problem::residual::{Ball, Equality, Huber, SquaredL2, L1};
use dictmesh::problem::{AtomSet, IntoPiece, Registry, Regularizer, Residual, Task};
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Model, Samples, Spec, Stop, Stopping, Topology};
use std::ops::ControlFlow::Continue;
use std::sync::Arc;

/// f(u) = sum log cosh(u_m): no closed form of its envelope, and f* is not quadratic.
#[derive(Debug)]
struct LogCosh;

impl Residual for LogCosh {
    fn spec(&self) -> Spec {
        Spec::new("log-cosh")
    }

    fn value(&self, u: &[f64]) -> f64 {
        let one = |u: &f64| u.abs() + (-2.0 * u.abs()).exp().ln_1p() - std::f64::consts::LN_2;
        u.iter().map(one).sum()
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        let term = |v: f64| if v > 0.0 { 0.5 * v * v.ln() } else { 0.0 };
        match nu.iter().all(|v| v.abs() <= 1.0) {
            true => nu.iter().map(|v| term(1.0 + v) + term(1.0 - v)).sum(),
            false => f64::INFINITY,
        }
    }

    fn project_dual(&self, nu: &mut [f64]) {
        nu.iter_mut().for_each(|v| *v = v.clamp(-1.0, 1.0));
    }

    /// v = tanh(u) with tanh(u) + tau u = nu.
    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        // Newton steps from nu/(1 + tau), where the left side is below nu. tanh is concave for
        // positive u, so that the steps never pass the root.
        for v in nu {
            let (sign, nu) = (v.signum(), v.abs());
            let mut u = nu / (1.0 + tau);
            for _ in 0..60 {
                let t = u.tanh();
                let step = (nu - t - tau * u) / (1.0 - t * t + tau);
                u += step;
                if step <= 1e-16 * u {
                    break;
                }
            }
            *v = sign * u.tanh();
        }
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        for (u, nu) in u.iter_mut().zip(nu) {
            *u = if nu.abs() < 1.0 { nu.atanh() } else { f64::NAN };
        }
    }

    fn conjugate_curvature(&self) -> f64 {
        1.0
    }
}

/// h(y) = gamma |y|_inf + delta/2 |y|^2: its prox is y less the projection onto the l1 ball.
#[derive(Debug)]
struct Peak {
    gamma: f64,
    delta: f64,
}

impl Regularizer for Peak {
    fn spec(&self) -> Spec {
        Spec::new("peak")
            .with("gamma", self.gamma)
            .with("delta", self.delta)
    }

    fn value(&self, y: &[f64]) -> f64 {
        let square: f64 = y.iter().map(|y| y * y).sum();
        self.gamma * y.iter().fold(0.0, |m: f64, y| m.max(y.abs())) + 0.5 * self.delta * square
    }

    fn argmax(&self, kappa: f64, s: &mut [f64]) {
        // The largest entries are cut at the level t where they lose gamma together.
        let lost = |t: f64| s.iter().map(|s| (s.abs() - t).max(0.0)).sum::<f64>();
        let (mut lo, mut hi) = (0.0, s.iter().fold(0.0, |m: f64, s| m.max(s.abs())));
        if lost(0.0) <= self.gamma {
            return s.fill(0.0);
        }
        for _ in 0..200 {
            let t = 0.5 * (lo + hi);
            match lost(t) > self.gamma {
                true => lo = t,
                false => hi = t,
            }
        }
        let scale = 1.0 / (self.delta + kappa);
        s.iter_mut().for_each(|s| *s = s.clamp(-hi, hi) * scale);
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }
}

/// { w : |w_i| <= 1/2 }.
#[derive(Clone, Copy, Debug)]
struct Cube;

impl AtomSet for Cube {
    fn spec(&self) -> Spec {
        Spec::new("cube")
    }

    fn project(&self, w: &mut [f64]) {
        w.iter_mut().for_each(|w| *w = w.clamp(-0.5, 0.5));
    }

    fn contains(&self, w: &[f64], tolerance: f64) -> bool {
        w.iter().all(|w| w.abs() <= 0.5 + tolerance)
    }
}

fn registry() -> Registry {
    Registry::default()
        .with_residual("log-cosh", |_| Ok(LogCosh))
        .with_regularizer("peak", |spec| {
            Ok(Peak {
                gamma: spec.required("gamma")?,
                delta: spec.required("delta")?,
            })
        })
        .with_set("cube", |_| Ok(Cube))
}

fn own_task() -> Task {
    Task::new(LogCosh)
        .regularizer(Peak {
            gamma: 0.2,
            delta: 0.3,
        })
        .atoms(Cube)
}

fn samples(m: usize, count: usize) -> Samples {
    Samples::dense(gaussian(m, count, &mut stream(5, 0))).unwrap()
}

#[test]
fn pieces_from_outside_keep_the_laws() {
    laws::residual(&LogCosh).unwrap();
    let peak = Peak {
        gamma: 0.5,
        delta: 0.3,
    };
    laws::regularizer(&peak, 4).unwrap();
    laws::atom_set(&Cube).unwrap();
}

/// The kit finds what is wrong with a piece.
#[test]
fn the_laws_can_fail() {
    #[derive(Debug)]
    struct Wrong;
    impl AtomSet for Wrong {
        fn spec(&self) -> Spec {
            Spec::new("wrong")
        }
        fn project(&self, w: &mut [f64]) {
            w.iter_mut().for_each(|w| *w = w.clamp(-0.5, 0.4));
        }
        fn contains(&self, w: &[f64], tolerance: f64) -> bool {
            Cube.contains(w, tolerance)
        }
    }
    let error = laws::atom_set(&Wrong).unwrap_err();
    assert!(error.contains("project"), "{error}");
    let convex = Peak {
        gamma: 0.5,
        delta: -1.0,
    };
    assert!(laws::regularizer(&convex, 3).is_err());
}

#[test]
fn pieces_from_outside_code_learn_certify_save_and_load() {
    let x = samples(8, 6);
    let mut mesh = Mesh::builder(own_task(), Topology::ring(3).unwrap())
        .stopping(Stopping::rounds(100))
        .update(dictmesh::Update::Constant { mu_w: 0.2 })
        .build(8, &[3, 2, 2], AtomInit::Random)
        .unwrap();
    mesh.learn(&x, |_| Continue(())).unwrap();
    let exact = mesh.exact(&x).unwrap();
    assert_eq!(exact.stop(), Stop::Converged, "{:?}", exact.certificates);
    assert!(exact.relative_gap() <= exact::TOLERANCE);
    let found = mesh.infer(&x).unwrap();
    for nu in &found.duals {
        let apart = nu.as_slice().iter().zip(exact.duals.as_slice());
        assert!(apart.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-3);
    }
    let bytes = mesh.to_model().to_bytes().unwrap();
    let model = Model::from_bytes_with(&bytes, &registry().into()).unwrap();
    let again = Mesh::from_model_with(&model, &registry().into()).unwrap();
    assert_eq!(again.dictionary(), mesh.dictionary());
    assert_eq!(again.exact(&x).unwrap().codes, exact.codes);
    // A program without these pieces names the first that it misses.
    for error in [
        Model::from_bytes(&bytes).unwrap_err().to_string(),
        Mesh::from_model(&model).err().unwrap().to_string(),
    ] {
        assert!(error.contains("log-cosh"), "{error}");
    }
}

fn residuals() -> Vec<Arc<dyn Residual>> {
    vec![
        SquaredL2.into_piece(),
        Huber::new(0.3).unwrap().into_piece(),
        L1.into_piece(),
        Ball::new(0.4).unwrap().into_piece(),
        Equality.into_piece(),
        LogCosh.into_piece(),
    ]
}

/// Every residual with regularizers that are not one scalar penalty, within a relative gap of
/// 1e-10.
#[test]
fn groups_and_weights_are_certified() {
    let (m, k) = (10, 12);
    let regularizers: Vec<Arc<dyn Regularizer>> = vec![
        GroupElasticNet::new(0.1, 0.2, Groups::Equal(3))
            .unwrap()
            .into_piece(),
        GroupElasticNet::new(0.3, 0.1, Groups::Sizes(vec![1, 4, 5, 2]))
            .unwrap()
            .into_piece(),
        WeightedElasticNet::new((0..k).map(|q| 0.05 * q as f64).collect(), 0.2, false)
            .unwrap()
            .into_piece(),
    ];
    let w = gaussian(m, k, &mut stream(1, 0));
    for residual in residuals() {
        for regularizer in &regularizers {
            let task = Task::new(residual.clone()).regularizer(regularizer.clone());
            let mesh = Mesh::builder(task, Topology::ring(1).unwrap())
                .build(m, &[k], AtomInit::Given(&w))
                .unwrap();
            // Reachable, so that equality can be met; some coefficients are 0.
            let y = gaussian(k, 3, &mut stream(2, 0));
            let x = Samples::dense(mesh.dictionary().times(&y)).unwrap();
            let exact = mesh.exact(&x).unwrap();
            let label = format!("{residual:?} {regularizer:?}: {:?}", exact.certificates);
            assert_eq!(exact.stop(), Stop::Converged, "{label}");
            assert!(exact.relative_gap() <= exact::TOLERANCE, "{label}");
        }
    }
}

/// For orthonormal atoms and the squared residual, the code is the prox of h at W'x: a closed form.
#[test]
fn groups_agree_with_the_closed_form() {
    let w = Matrix::from_fn(6, 6, |i, j| f64::from(u8::from(i == j)));
    let h = GroupElasticNet::new(0.4, 0.25, Groups::Equal(2)).unwrap();
    let x = samples(6, 5);
    let mut expected = x.to_dense();
    (0..5).for_each(|j| h.argmax(1.0, expected.column_mut(j)));
    let mesh = Mesh::builder(
        Task::new(SquaredL2).regularizer(h),
        Topology::path(3).unwrap(),
    )
    .build(6, &[2, 2, 2], AtomInit::Given(&w))
    .unwrap();
    let codes = mesh.exact(&x).unwrap().codes;
    for (found, expected) in codes.as_slice().iter().zip(expected.as_slice()) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }
    assert!(codes.as_slice().contains(&0.0) || expected.as_slice().iter().all(|y| *y != 0.0));
}

/// A mesh refuses blocks that groups do not tile, when it is built and when it grows.
#[test]
fn a_group_stays_at_one_agent() {
    let h = || GroupElasticNet::new(0.4, 0.25, Groups::Equal(2)).unwrap();
    let build = |sizes: &[usize]| {
        Mesh::builder(
            Task::new(SquaredL2).regularizer(h()),
            Topology::path(2).unwrap(),
        )
        .build(4, sizes, AtomInit::Random)
    };
    assert!(build(&[3, 1]).is_err());
    let mut mesh = build(&[4, 2]).unwrap();
    assert!(mesh.add_atoms(0, 1, AtomInit::Random).is_err());
    mesh.add_atoms(0, 2, AtomInit::Random).unwrap();
}

/// The only code of x = (0, 1) has coefficients of 1e6, above the reach of 1e4. The exact solver
/// once returned it as solved, while the mesh returned `Infeasible`.
#[test]
fn exact_and_mesh_agree_on_what_is_out_of_reach() {
    let w = Matrix::from_columns(2, &[[1.0, 0.0], [1.0, 1e-6]]).unwrap();
    let x = Samples::dense_from_columns(2, &[[0.0, 1.0]]).unwrap();
    let constraints: [Arc<dyn Residual>; 2] =
        [Equality.into_piece(), Ball::new(0.1).unwrap().into_piece()];
    for residual in constraints {
        let task = Task::new(residual.clone());
        let mesh = Mesh::builder(task, Topology::complete(2).unwrap())
            .build(2, &[1, 1], AtomInit::Given(&w))
            .unwrap();
        let found = mesh.infer(&x).unwrap().stop;
        assert_eq!(found, Stop::Infeasible, "{residual:?}");
        assert_eq!(mesh.exact(&x).unwrap().stop(), found, "{residual:?}");
    }
}

/// f is 0 where all |u_m| <= eps and infinite elsewhere: its domain is no ball.
#[derive(Debug)]
struct InfinityBall {
    eps: f64,
}

impl Residual for InfinityBall {
    fn spec(&self) -> Spec {
        Spec::new("infinity-ball").with("eps", self.eps)
    }

    fn value(&self, u: &[f64]) -> f64 {
        // The projection lands on the bound up to rounding.
        let within = |u: &f64| u.abs() <= self.eps * (1.0 + 1e-12);
        if u.iter().all(within) {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        self.eps * nu.iter().map(|v| v.abs()).sum::<f64>()
    }

    fn project_dual(&self, _nu: &mut [f64]) {}

    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        for v in nu {
            *v = v.signum() * (v.abs() - tau * self.eps).max(0.0);
        }
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        for (u, v) in u.iter_mut().zip(nu) {
            *u = if *v == 0.0 {
                f64::NAN
            } else {
                self.eps * v.signum()
            };
        }
    }

    fn violation(&self, u: &[f64]) -> f64 {
        let beyond = u.iter().map(|u| (u.abs() - self.eps).max(0.0).powi(2));
        beyond.sum::<f64>().sqrt()
    }

    fn can_be_infeasible(&self) -> bool {
        true
    }
}

#[test]
fn an_indicator_of_any_convex_set_is_certified() {
    let x = samples(6, 3);
    let mesh = Mesh::builder(
        Task::new(InfinityBall { eps: 0.05 }),
        Topology::ring(3).unwrap(),
    )
    .build(6, &[4; 3], AtomInit::Random)
    .unwrap();
    for certificate in mesh.exact(&x).unwrap().certificates {
        assert_eq!(certificate.stop, Stop::Converged, "{certificate:?}");
    }
}
