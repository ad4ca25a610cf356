//! Closed forms of the built-in pieces, and the points where their formulas switch branches: 0,
//! exactly gamma, |nu| = 1.

use super::kit::residuals;
use super::{atom_rules, config, number};
use dictmesh::problem::regularizer::{
    soft_threshold, BoxedElasticNet, ElasticNet, NonNegativeElasticNet, Regularizer, ScalarPenalty,
};
use dictmesh::problem::residual::{Huber, Residual, L1};
use dictmesh::problem::{LocalSpec, TaskSpec};
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Spec, Stop, Topology};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config())]

    /// The paper's table: h* = T_gamma(s)^2/(2 delta) and its one-sided form.
    #[test]
    fn the_papers_closed_forms(s in number(), gamma in 0.0..2.0, delta in 0.01..3.0) {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
        let (t, plus) = (soft_threshold(s, gamma), (s - gamma).max(0.0));
        let net = ElasticNet::new(gamma, delta).unwrap();
        prop_assert!(close(net.conjugate(&[s]), t * t / (2.0 * delta)));
        prop_assert!(close(net.coordinate_argmax(s, 0.0), t / delta));
        let one_sided = NonNegativeElasticNet::new(gamma, delta).unwrap();
        prop_assert!(close(one_sided.conjugate(&[s]), plus * plus / (2.0 * delta)));
        prop_assert!(close(one_sided.coordinate_argmax(s, 0.0), plus / delta));
    }
}

/// f(0) = f*(0) = 0, and 0 stays where it is.
#[test]
fn zero_stays_zero() {
    for f in residuals() {
        let zero = [0.0; 3];
        assert_eq!(f.value(&zero), 0.0, "{f:?}");
        assert_eq!(f.conjugate(&zero), 0.0, "{f:?}");
        let mut v = zero;
        f.project_dual(&mut v);
        f.conjugate_prox(2.0, &mut v);
        assert_eq!(v, zero, "{f:?}");
        let mut v = [7.0; 3];
        f.envelope().unwrap().gradient(1.0, 0.5, &zero, &mut v);
        assert_eq!(v, zero, "{f:?}");
        f.envelope().unwrap().hessian(1.0, 0.5, &zero, &mut v);
        assert!(v.iter().all(|d| d.is_finite() && *d >= 0.0), "{f:?}");
    }
    for (set, penalty) in atom_rules() {
        let mut w = [0.0; 3];
        penalty.prox(1.0, &mut w);
        set.project(&mut w);
        set.normalise(&mut w);
        assert_eq!(w, [0.0; 3], "{set:?}");
    }
}

/// The domain is closed: 1 is in it and the next number is not; nu does not determine u there.
#[test]
fn at_one_and_beyond() {
    let (one, beyond) = (1.0, 1.0 + f64::EPSILON);
    let closed: [Box<dyn Residual>; 2] = [Box::new(Huber::new(0.2).unwrap()), Box::new(L1)];
    for f in closed {
        for sign in [1.0, -1.0] {
            assert!(f.conjugate(&[0.5, sign * one]).is_finite(), "{f:?}");
            assert_eq!(f.conjugate(&[0.5, sign * beyond]), f64::INFINITY, "{f:?}");
            let mut v = [0.5, sign * beyond];
            f.project_dual(&mut v);
            assert_eq!(v, [0.5, sign]);
            let mut u = [0.0; 2];
            f.recover(&[0.5, sign], &mut u);
            assert!(u[0].is_finite() && u[1].is_nan(), "{f:?}: {u:?}");
        }
    }
}

#[test]
fn exactly_gamma_is_still_zero() {
    let (gamma, delta) = (0.3, 0.1);
    let next = gamma + f64::EPSILON;
    let list: [Box<dyn Regularizer>; 3] = [
        Box::new(ElasticNet::new(gamma, delta).unwrap()),
        Box::new(NonNegativeElasticNet::new(gamma, delta).unwrap()),
        Box::new(BoxedElasticNet::new(gamma, delta, -1.0, 1.0).unwrap()),
    ];
    for h in list {
        let p = h.scalar(0).unwrap();
        assert_eq!(p.coordinate_argmax(gamma, 0.0), 0.0, "{h:?}");
        assert_eq!(p.coordinate_argmax(-gamma, 0.0), 0.0, "{h:?}");
        assert_eq!(h.conjugate(&[gamma]), 0.0, "{h:?}");
        assert!(p.coordinate_argmax(next, 0.0) > 0.0, "{h:?}");
        assert_eq!(p.coordinate_argmax(0.0, 0.0), 0.0, "{h:?}");
        assert_eq!(h.domain_support(&[0.0], &[1e3]), 0.0, "{h:?}");
        assert_eq!(p.quadratic_piece(0.0), None, "{h:?}");
    }
}

/// lo = hi leaves one point.
#[test]
fn a_box_of_one_point() {
    for at in [-0.5, 0.0, 0.75] {
        let h = BoxedElasticNet::new(0.3, 1.0, at, at).unwrap();
        for s in [-10.0, 0.0, 0.3, 10.0] {
            assert_eq!(h.coordinate_argmax(s, 0.0), at);
            assert_eq!(h.coordinate_argmax(s, 5.0), at);
            assert_eq!(h.domain_support(&[s], &[1e3]), s * at);
            assert_eq!(h.conjugate(&[s]), s * at - h.value_at(at));
        }
        assert_eq!(h.quadratic_piece(at), None);
        assert_eq!(h.value_at(at + 1e-12), f64::INFINITY);
    }
}

fn spec(residual: Spec, regularizer: Spec) -> TaskSpec {
    TaskSpec {
        residual,
        common: LocalSpec {
            regularizer,
            penalty: Default::default(),
            set: Spec::new("unit-ball"),
        },
        own: Default::default(),
    }
}

/// Every residual with every regularizer, as tasks.
fn tasks() -> Vec<TaskSpec> {
    let (gamma, delta) = (0.1, 0.1);
    let regularizers = [
        Spec::new("elastic-net")
            .with("gamma", gamma)
            .with("delta", delta),
        Spec::new("non-negative-elastic-net")
            .with("gamma", gamma)
            .with("delta", delta),
        Spec::new("boxed-elastic-net")
            .with("gamma", gamma)
            .with("delta", delta)
            .with("lo", -0.6)
            .with("hi", 0.9),
    ];
    let residuals = [
        Spec::new("squared-l2"),
        Spec::new("huber").with("eta", 0.2),
        Spec::new("l1"),
        Spec::new("ball").with("sigma", 0.3),
        Spec::new("equality"),
    ];
    residuals
        .iter()
        .flat_map(|f| regularizers.iter().map(|h| spec(f.clone(), h.clone())))
        .collect()
}

fn mesh(spec: &TaskSpec, atoms: &Matrix) -> Mesh {
    Mesh::builder(spec.build().unwrap(), Topology::complete(1).unwrap())
        .build(atoms.rows(), &[atoms.cols()], AtomInit::Given(atoms))
        .unwrap()
}

/// A zero sample costs nothing, has the code 0 and is certified, next to one that is not zero.
#[test]
fn a_zero_sample() {
    let atoms = gaussian(6, 9, &mut stream(1, 0));
    for spec in tasks() {
        let mesh = mesh(&spec, &atoms);
        let mut x = Matrix::zeros(6, 2);
        x.column_mut(1)
            .copy_from_slice(mesh.block(0).atoms().column(2));
        x.column_mut(1).iter_mut().for_each(|x| *x *= 0.5);
        let exact = mesh.exact(&Samples::dense(x).unwrap()).unwrap();
        assert_eq!(
            exact.stop(),
            Stop::Converged,
            "{spec:?}: {:?}",
            exact.certificates
        );
        assert!(exact.codes.column(0).iter().all(|y| *y == 0.0), "{spec:?}");
        assert!(exact.duals.column(0).iter().all(|v| *v == 0.0), "{spec:?}");
        assert_eq!(exact.certificates[0].dual, 0.0);
        assert!(exact.certificates[1].dual > 0.0, "{spec:?}");
    }
}

/// An atom of zeros gets the code 0 and changes nothing for the others; atoms may be repeated.
#[test]
fn a_zero_atom_and_a_repeated_one() {
    let some = gaussian(6, 8, &mut stream(2, 0));
    let mut more = some.clone();
    more.append_columns(&Matrix::zeros(6, 1)).unwrap();
    let mut twice = some.clone();
    twice.append_columns(&some.columns_range(0..1)).unwrap();
    for spec in tasks() {
        let mesh_of = |atoms| mesh(&spec, atoms);
        let plain = mesh_of(&some);
        let w = plain.dictionary();
        let y = Matrix::from_fn(8, 1, |i, _| if i % 3 == 0 { 0.4 } else { 0.0 });
        let x = Samples::dense(w.times(&y)).unwrap();
        let expected = plain.exact(&x).unwrap();
        let got = mesh_of(&more).exact(&x).unwrap();
        assert_eq!(
            got.stop(),
            Stop::Converged,
            "{spec:?}: {:?}",
            got.certificates
        );
        assert_eq!(got.codes.get(8, 0), 0.0, "{spec:?}");
        for i in 0..8 {
            let off = (got.codes.get(i, 0) - expected.codes.get(i, 0)).abs();
            assert!(off < 1e-6, "{spec:?}: {off}");
        }
        let doubled = mesh_of(&twice).exact(&x).unwrap();
        assert_eq!(doubled.stop(), Stop::Converged, "{spec:?}");
        let apart = doubled.codes.get(0, 0) - doubled.codes.get(8, 0);
        assert!(
            apart.abs() < 1e-6,
            "equal atoms share equally: {spec:?}, {apart}"
        );
    }
}
