//! The preparation in a model file.

use crate::preparation::{How, Norm, Numbers, Preparation};
use dictmesh::{AtomInit, Mesh, Model, Task, Topology};
use serde_json::json;

fn model() -> Model {
    let task = Task::sparse_svd(0.1, 0.1).unwrap();
    let mesh = Mesh::builder(task, Topology::path(2).unwrap());
    mesh.build(3, &[1, 1], AtomInit::Random).unwrap().to_model()
}

fn how() -> How {
    How::Numbers(Numbers {
        norm: Norm::L2,
        ..Numbers::default()
    })
}

#[test]
fn it_comes_back_with_a_version() {
    let mut model = model();
    assert_eq!(Preparation::of(&model).unwrap().how, How::default());
    let preparation = Preparation::new(how());
    preparation.store(&mut model).unwrap();
    assert_eq!(model.description.extra["preparation"]["version"], json!(1));
    assert_eq!(Preparation::of(&model).unwrap(), preparation);
}

#[test]
fn files_without_a_version_are_read_and_later_ones_refused() {
    let mut model = model();
    let mut put = |value| {
        let extra = &mut model.description.extra;
        extra.insert("preparation".into(), value);
        Preparation::of(&model)
    };
    let old = json!({"how": {"kind": "numbers", "centre": "none", "norm": "l2"}});
    assert_eq!(put(old).unwrap(), Preparation::new(how()));
    let later = json!({"version": 2, "how": {"kind": "tensors"}});
    let why = put(later).unwrap_err().to_string();
    assert!(
        why.contains("version 2") && why.contains("up to 1"),
        "{why}"
    );
    let damaged = json!({"how": 3});
    assert!(put(damaged).is_err());
}
