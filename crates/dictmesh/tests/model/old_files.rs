//! Files of version 1 of the format keep their meaning: they load, and give the codes that the
//! program that wrote them gave.
//!
//! Each `NAME.json` in `tests/files/v1` holds samples, their exact codes, and the codes and costs
//! that the mesh infers with its own stopping rule. The model is in `NAME.model`, or in one file
//! per agent: `NAME.0.model`, `NAME.1.model`, and so on. Do not rewrite these files: a new version
//! of the format gets its own directory.

use dictmesh::{Matrix, Mesh, Model, Samples};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Lists of lists have one list a sample.
#[derive(Deserialize)]
struct Expected {
    samples: Vec<Vec<f64>>,
    exact: Vec<Vec<f64>>,
    inferred: Vec<Vec<f64>>,
    costs: Vec<f64>,
}

/// Each name with the files of its model.
fn cases() -> Vec<(String, Expected, Vec<PathBuf>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/v1");
    let entries = fs::read_dir(&directory).unwrap();
    let mut files: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let names = files.iter().filter_map(|file| file.strip_suffix(".json"));
    let cases = names.map(|name| {
        let json = fs::read_to_string(directory.join(format!("{name}.json"))).unwrap();
        let of_model = |file: &&String| {
            let rest = file.strip_prefix(name).unwrap_or("");
            rest.starts_with('.') && rest.ends_with(".model")
        };
        let models = files.iter().filter(of_model);
        let paths = models.map(|file| directory.join(file)).collect();
        (
            name.to_string(),
            serde_json::from_str(&json).unwrap(),
            paths,
        )
    });
    cases.collect()
}

fn load(paths: &[PathBuf]) -> Model {
    let parts = paths.iter().map(|path| Model::load(path).unwrap());
    Model::join(parts.collect()).unwrap()
}

/// Relative to the largest number of each sample.
fn assert_near<'a>(
    what: &str,
    found: impl Iterator<Item = &'a [f64]>,
    expected: &[Vec<f64>],
    tolerance: f64,
) {
    let found: Vec<&[f64]> = found.collect();
    assert_eq!(found.len(), expected.len(), "{what}: number of samples");
    for (j, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "{what}: sample {j}");
        let scale = expected.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * scale;
        assert!(
            found.iter().zip(expected).all(near),
            "{what}: sample {j} has {found:?}; it must have {expected:?} within {tolerance:e}"
        );
    }
}

#[test]
fn files_of_version_1_give_the_same_codes() {
    let cases = cases();
    assert_eq!(cases.len(), 12);
    for (name, expected, paths) in cases {
        let mesh = Mesh::from_model(&load(&paths)).unwrap();
        let x = Matrix::from_columns(mesh.rows(), &expected.samples).unwrap();
        let x = Samples::dense(x).unwrap();
        let exact = mesh.exact(&x).unwrap().codes;
        let what = format!("{name}, exact codes");
        assert_near(&what, exact.columns(), &expected.exact, 1e-9);
        let found = mesh.infer(&x).unwrap();
        let codes = found.stacked_codes();
        let what = format!("{name}, inferred codes");
        assert_near(&what, codes.columns(), &expected.inferred, 1e-6);
        let what = format!("{name}, costs");
        let costs = std::iter::once(&found.costs[..]);
        assert_near(&what, costs, &[expected.costs], 1e-6);
    }
}

#[test]
fn files_of_version_1_are_saved_and_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    for (name, _, paths) in cases() {
        let mut model = load(&paths);
        model.save(&path).unwrap();
        let again = Model::load(&path).unwrap();
        // Saving fills in the program that wrote the file.
        model.description.written_by = again.description.written_by.clone();
        assert_eq!(again, model, "{name}");
    }
}
