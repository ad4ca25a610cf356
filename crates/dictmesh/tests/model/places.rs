//! Nothing wrong is written, and nothing is left behind where writing fails.

use super::refusals::{refusal, sealed};
use super::*;
use std::sync::Arc;

#[test]
fn numbers_that_no_mesh_has_are_neither_read_nor_written() {
    let model = learned().to_model();
    let good = model.to_bytes().unwrap();
    let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let mut raw = good.clone();
    raw[8 + length..16 + length].copy_from_slice(&f64::NAN.to_le_bytes());
    assert!(refusal(&sealed(&raw)).contains("row 0 of atom 0 of agent 0"));

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model");
    fs::write(&path, &good).unwrap();
    type Break = (fn(&mut Model), &'static str);
    let breaks: Vec<Break> = vec![
        (
            |m| Arc::make_mut(&mut m.blocks[0].atoms).as_mut_slice()[3] = f64::INFINITY,
            "finite",
        ),
        (
            |m| Arc::make_mut(&mut m.blocks[0].atoms).as_mut_slice()[3] = 2.0,
            "set",
        ),
        (|m| m.blocks[0].energy[0] = -1.0, "energy"),
        (|m| m.blocks[0].energy[0] = f64::NAN, "energy"),
        (|m| m.blocks[0].energy.clear(), "energies"),
        (|m| m.blocks[0].samples[1] = u64::MAX, "samples"),
        (|m| m.blocks.swap(0, 1), "order"),
        (|m| m.blocks.clear(), "block"),
        (
            |m| m.description.update = Update::Constant { mu_w: f64::NAN },
            "finite",
        ),
        (|m| m.description.rows = 5, "rows"),
        (
            |m| {
                let mut deep = Value::Null;
                (0..200).for_each(|_| deep = json!([deep.take()]));
                m.description.extra.insert("deep".to_string(), deep);
            },
            "nested",
        ),
    ];
    for (spoil, word) in breaks {
        let mut bad = model.clone();
        spoil(&mut bad);
        let error = bad.save(&path).unwrap_err();
        assert!(matches!(error, Error::Model { .. }));
        assert!(error.to_string().contains(word), "{word}: {error}");
        assert!(bad.to_bytes().is_err());
        // What was there is still there, and alone.
        assert_eq!(fs::read(&path).unwrap(), good);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
    // An energy that overflowed is a number a mesh can have.
    let mut large = model;
    large.blocks[0].energy[0] = f64::INFINITY;
    assert_eq!(
        Model::from_bytes(&large.to_bytes().unwrap()).unwrap(),
        large
    );
}

#[test]
fn a_place_that_cannot_be_written_is_named_and_left_alone() {
    let model = learned().to_model();
    let directory = tempfile::tempdir().unwrap();
    let io = |path: &Path| match model.save(path).unwrap_err() {
        Error::Io { path, .. } => path,
        error => panic!("{error:?}"),
    };
    let entries = || fs::read_dir(directory.path()).unwrap().count();
    let nowhere = directory.path().join("nowhere");
    assert_eq!(io(&nowhere.join("model")), nowhere);
    let folder = directory.path().join("folder");
    fs::create_dir(&folder).unwrap();
    assert_eq!(io(&folder), folder);
    assert_eq!(entries(), 1);
    assert!(fs::read_dir(&folder).unwrap().next().is_none());

    for (path, word) in [(&nowhere, "nowhere"), (&folder, "regular file")] {
        let error = Model::load(path).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        // As any file: what the umask leaves.
        let (plain, path) = (directory.path().join("plain"), directory.path().join("m"));
        fs::write(&plain, b"").unwrap();
        model.save(&path).unwrap();
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
        // The administrator may write everywhere.
        if fs::write(folder.join("probe"), b"").is_err() {
            assert_eq!(io(&folder.join("model")), folder);
            assert!(fs::read_dir(&folder).unwrap().next().is_none());
        }
    }
}
