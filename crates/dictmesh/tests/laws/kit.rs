//! The list of all built-in residuals, regularizers and atom sets, and the laws over it.

use dictmesh::laws;
use dictmesh::problem::{AtomSet, Registry, Residual};
use dictmesh::Spec;
use std::sync::Arc;

/// Coefficients of the regularizers below.
const N: usize = 6;

/// Every residual; one line each, or more for other parameters.
fn residual_specs() -> Vec<Spec> {
    vec![
        Spec::new("squared-l2"),
        Spec::new("huber").with("eta", 0.2),
        Spec::new("huber").with("eta", 3.0),
        Spec::new("l1"),
        Spec::new("ball").with("sigma", 0.5),
        Spec::new("ball").with("sigma", 4.0),
        Spec::new("equality"),
    ]
}

fn net(kind: &str, gamma: f64, delta: f64) -> Spec {
    Spec::new(kind).with("gamma", gamma).with("delta", delta)
}

fn boxed(gamma: f64, delta: f64, lo: Option<f64>, hi: Option<f64>) -> Spec {
    let net = net("boxed-elastic-net", gamma, delta);
    net.with_some("lo", lo).with_some("hi", hi)
}

/// Every regularizer; one line each, or more for other parameters.
fn regularizer_specs() -> Vec<Spec> {
    let weighted = |delta: f64| {
        let weights = vec![0.0, 0.1, 0.2, 0.3, 1.0, 3.0];
        net("weighted-elastic-net", 0.0, delta).with("gamma", weights)
    };
    vec![
        net("elastic-net", 0.1, 0.1),
        net("elastic-net", 0.0, 2.0),
        net("elastic-net", 1.0, 0.01),
        net("non-negative-elastic-net", 0.05, 0.1),
        net("non-negative-elastic-net", 0.0, 1.0),
        net("non-negative-elastic-net", 1.0, 0.5),
        boxed(0.1, 0.1, Some(-0.7), Some(0.8)),
        boxed(0.0, 0.3, Some(0.0), Some(1.0)),
        boxed(0.5, 0.2, Some(0.25), Some(2.0)),
        boxed(0.5, 0.2, Some(-3.0), Some(-0.5)),
        boxed(0.3, 1.0, Some(0.75), Some(0.75)),
        boxed(0.3, 1.0, Some(0.0), Some(0.0)),
        boxed(0.2, 0.5, None, Some(0.4)),
        boxed(0.2, 0.5, Some(1.5), None),
        boxed(0.2, 0.5, None, None),
        weighted(0.2),
        weighted(0.5).with("non_negative", true),
        net("group-elastic-net", 0.3, 0.2).with("group", 2),
        net("group-elastic-net", 0.5, 0.1).with("group", vec![1, 3, 2]),
    ]
}

/// Every built-in residual.
pub fn residuals() -> Vec<Arc<dyn Residual>> {
    let registry = Registry::default();
    let build = |spec: &Spec| registry.residuals().build(spec).unwrap();
    residual_specs().iter().map(build).collect()
}

/// Every built-in atom set; none has parameters.
pub fn sets() -> Vec<Arc<dyn AtomSet>> {
    let registry = Registry::default();
    let build = |name: &str| registry.sets().build(&Spec::new(name)).unwrap();
    registry.sets().names().map(build).collect()
}

fn assert_covers<'a>(listed: &[Spec], names: impl Iterator<Item = &'a str>) {
    for name in names {
        assert!(
            listed.iter().any(|spec| spec.kind() == name),
            "{name} is not in the list"
        );
    }
}

#[test]
fn every_residual_keeps_the_laws() {
    let registry = Registry::default();
    assert_covers(&residual_specs(), registry.residuals().names());
    for spec in residual_specs() {
        let f = registry.residuals().build(&spec).unwrap();
        laws::residual(&*f).unwrap_or_else(|broken| panic!("{spec}: {broken}"));
        assert_eq!(f.spec(), spec);
    }
}

#[test]
fn every_regularizer_keeps_the_laws() {
    let registry = Registry::default();
    assert_covers(&regularizer_specs(), registry.regularizers().names());
    for spec in regularizer_specs() {
        let h = registry.regularizers().build(&spec).unwrap();
        laws::regularizer(&*h, N).unwrap_or_else(|broken| panic!("{spec}: {broken}"));
        assert_eq!(h.spec(), spec);
    }
}

#[test]
fn every_atom_set_keeps_the_laws() {
    let registry = Registry::default();
    for (set, name) in sets().iter().zip(registry.sets().names()) {
        laws::atom_set(&**set).unwrap_or_else(|broken| panic!("{name}: {broken}"));
        assert_eq!(set.spec(), Spec::new(name));
    }
}

/// What the first files hold: sets by name alone, null for an open end of a box.
#[test]
fn descriptions_of_the_first_files_are_read() {
    let text = r#"{"residual": {"kind": "huber", "eta": 0.2}, "common": {"regularizer":
        {"kind": "boxed-elastic-net", "gamma": 1, "delta": 0.1, "lo": null, "hi": 2.5},
        "penalty": {"kind": "l1", "beta": 0.5}, "set": "non-negative-unit-ball"}, "own": {"2":
        {"regularizer": {"kind": "elastic-net", "gamma": 0.25, "delta": 0.5}}}}"#;
    let spec: dictmesh::problem::TaskSpec = serde_json::from_str(text).unwrap();
    let task = spec.build().unwrap();
    assert!(task.common().set().is_non_negative());
    assert_eq!(task.local(2).spec().set, Spec::new("unit-ball"));
    let written = serde_json::to_value(task.spec()).unwrap();
    assert_eq!(written["common"]["set"], "non-negative-unit-ball");
    assert_eq!(written["common"]["regularizer"]["hi"], 2.5);
    assert_eq!(written["own"]["2"]["regularizer"]["kind"], "elastic-net");
}
