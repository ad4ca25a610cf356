//! The public test kit over every registered piece.

use dictmesh::laws;
use dictmesh::problem::Registry;
use dictmesh::Spec;

/// Coefficients of the regularizers below.
const N: usize = 6;

fn net(kind: &str, gamma: f64) -> Spec {
    Spec::new(kind).with("gamma", gamma).with("delta", 0.2)
}

/// Every residual; one line each.
fn residuals() -> Vec<Spec> {
    vec![
        Spec::new("squared-l2"),
        Spec::new("huber").with("eta", 0.2),
        Spec::new("l1"),
        Spec::new("ball").with("sigma", 0.5),
        Spec::new("equality"),
    ]
}

/// Every regularizer; one line each.
fn regularizers() -> Vec<Spec> {
    let weights = vec![0.0, 0.1, 0.2, 0.3, 1.0, 3.0];
    vec![
        net("elastic-net", 0.3),
        net("non-negative-elastic-net", 0.3),
        net("boxed-elastic-net", 0.3)
            .with("lo", -0.5)
            .with("hi", 2.0),
        net("weighted-elastic-net", 0.0).with("gamma", weights.clone()),
        net("weighted-elastic-net", 0.0)
            .with("gamma", weights)
            .with("non_negative", true),
        net("group-elastic-net", 0.3).with("group", 2),
        net("group-elastic-net", 0.5).with("group", vec![1, 3, 2]),
    ]
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
    assert_covers(&residuals(), registry.residuals().names());
    for spec in residuals() {
        let f = registry.residuals().build(&spec).unwrap();
        laws::residual(&*f).unwrap_or_else(|broken| panic!("{spec}: {broken}"));
        assert_eq!(f.spec(), spec);
    }
}

#[test]
fn every_regularizer_keeps_the_laws() {
    let registry = Registry::default();
    assert_covers(&regularizers(), registry.regularizers().names());
    for spec in regularizers() {
        let h = registry.regularizers().build(&spec).unwrap();
        laws::regularizer(&*h, N).unwrap_or_else(|broken| panic!("{spec}: {broken}"));
        assert_eq!(h.spec(), spec);
    }
}

#[test]
fn every_atom_set_keeps_the_laws() {
    let registry = Registry::default();
    for name in registry.sets().names() {
        let set = registry.sets().build(&Spec::new(name)).unwrap();
        laws::atom_set(&*set).unwrap_or_else(|broken| panic!("{name}: {broken}"));
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
