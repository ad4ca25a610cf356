//! Files that are not right are refused in words.

use super::*;

/// The why of a refusal that names the path.
pub fn refusal(bytes: &[u8]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some model");
    fs::write(&path, bytes).unwrap();
    let error = Model::load(&path).unwrap_err();
    assert!(error.to_string().contains("some model"), "{error}");
    let Error::Model { path: named, why } = error else {
        panic!("{error:?}");
    };
    assert_eq!(named, path);
    assert!(Model::from_bytes(bytes).is_err());
    why
}

/// A file whose header was changed by `edit`, with a matching checksum.
pub fn with_header(bytes: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    sealed(&unsealed(bytes, edit))
}

/// The bytes with the checksum of their content, computed from the description of the format.
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    unsealed(bytes, |header| {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let mut sum = crc32fast::Hasher::new();
        if let Some(metadata) = header["__metadata__"].as_object_mut() {
            metadata.remove("checksum");
        }
        sum.update(header.to_string().as_bytes());
        sum.update(&bytes[8 + length..]);
        header["__metadata__"]["checksum"] = json!(format!("{:08x}", sum.finalize()));
    })
}

/// A file whose header was changed by `edit`.
fn unsealed(bytes: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    edit(&mut header);
    let text = header.to_string();
    let mut out = (text.len() as u64).to_le_bytes().to_vec();
    out.extend(text.as_bytes());
    out.extend(&bytes[8 + length..]);
    out
}

fn with_description(bytes: &[u8], edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    with_header(bytes, |header| {
        let text = &mut header["__metadata__"]["description"];
        let mut description: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        edit(&mut description);
        *text = Value::String(description.to_string());
    })
}

#[test]
fn a_newer_file_says_so_and_a_newer_minor_one_opens() {
    let model = learned().to_model();
    let bytes = model.to_bytes().unwrap();
    let version = |v: &str| {
        with_header(&bytes, |header| {
            header["__metadata__"]["version"] = json!(v);
            if v == "2" {
                // The content of a newer file is unspecified.
                header["__metadata__"]["description"] = json!("?");
            }
        })
    };
    let why = refusal(&version("2"));
    assert!(why.contains("version 2") && why.contains("up to 1") && why.contains("upgrade"));
    for odd in ["0", "", "one", "-1", "1x"] {
        assert!(refusal(&version(odd)).contains("version"), "{odd}");
    }
    // Additions: a field, a tensor without entries, a metadata entry.
    let newer = with_header(&version("1.7"), |header| {
        header["agent.0.momentum"] = json!({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]});
        header["__metadata__"]["note"] = json!("new");
    });
    let newer = with_description(&newer, |d| {
        d["colour"] = json!({"deep": [1, 2]});
        d["progress"]["hours"] = json!(3);
    });
    assert_eq!(Model::from_bytes(&newer).unwrap(), model);
}

#[test]
fn foreign_and_damaged_files_are_refused_in_words() {
    let bytes = learned().to_model().to_bytes().unwrap();
    assert!(refusal(b"").contains("empty"));
    for foreign in [
        &b"PK\x03\x04"[..],
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}",
        b"a,b,c\n1,2,3\n",
        &[0; 100],
        &[0xff; 100],
        b"{\"json\": 1}",
    ] {
        assert!(refusal(foreign).contains("not a safetensors file"));
    }
    let other = b"<\x00\x00\x00\x00\x00\x00\x00{\"test\":{\"dtype\":\"I32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    assert!(refusal(other).contains("not a dictmesh model"));
    let renamed = with_header(&bytes, |h| h["__metadata__"]["format"] = json!("pt"));
    assert!(refusal(&renamed).contains("not a dictmesh model"));
    // Cut anywhere.
    for length in 9..bytes.len() {
        assert!(refusal(&bytes[..length]).contains("cut short"), "{length}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(refusal(&longer).contains("1 more"));
    // A header that claims to be as long as no file is.
    for claim in [u64::MAX, 1 << 62, 100_000_001] {
        let mut huge = bytes.clone();
        huge[..8].copy_from_slice(&claim.to_le_bytes());
        assert!(refusal(&huge).contains("not a safetensors file"));
    }
    let without = unsealed(&bytes, |h| {
        h["__metadata__"]
            .as_object_mut()
            .unwrap()
            .remove("checksum");
    });
    assert!(refusal(&without).contains("no \"checksum\""));
    let bare = with_header(&bytes, |h| {
        h["__metadata__"]
            .as_object_mut()
            .unwrap()
            .remove("description");
    });
    assert!(refusal(&bare).contains("description"));
}

#[test]
fn tensors_that_do_not_fit_are_refused_by_name() {
    let bytes = learned().to_model().to_bytes().unwrap();
    let edited = |name: &str, field: &str, value: Value| {
        refusal(&with_header(&bytes, |header| header[name][field] = value))
    };
    let why = edited("agent.0.atoms", "dtype", json!("I64"));
    assert!(
        why.contains("agent.0.atoms") && why.contains("I64") && why.contains("F64"),
        "{why}"
    );
    let why = edited("agent.0.atoms", "shape", json!([ROWS, 2]));
    assert!(
        why.contains("agent.0.atoms") && why.contains("[number of atoms, 6]"),
        "{why}"
    );
    for shape in [json!([12]), json!([2, 3, 2]), json!([1, 12])] {
        let why = edited("agent.0.atoms", "shape", shape);
        assert!(why.contains("agent.0.atoms"), "{why}");
    }
    let why = edited("agent.3.samples", "shape", json!([1, 3]));
    assert!(
        why.contains("agent.3.samples") && why.contains("[3]"),
        "{why}"
    );
    // Sizes whose product overflows, and offsets beyond everything.
    edited("agent.0.atoms", "shape", json!([1u64 << 61, 8]));
    edited("agent.0.atoms", "data_offsets", json!([0, u64::MAX]));
    edited("agent.0.atoms", "data_offsets", json!([96, 0]));
    // A renamed tensor leaves its block incomplete.
    let why = refusal(&with_header(&bytes, |header| {
        let entry = header.as_object_mut().unwrap().remove("agent.3.energy");
        header["other"] = entry.unwrap();
    }));
    assert!(why.contains("agent.3.energy"), "{why}");
    // A block of an agent there is not.
    let why = refusal(&with_header(&bytes, |header| {
        for what in ["atoms", "energy", "samples"] {
            let entry = header
                .as_object_mut()
                .unwrap()
                .remove(&format!("agent.3.{what}"));
            header[format!("agent.9.{what}")] = entry.unwrap();
        }
    }));
    assert!(why.contains("agent = 9"), "{why}");
}

#[test]
fn descriptions_that_do_not_hold_together_are_refused() {
    let bytes = learned().to_model().to_bytes().unwrap();
    let cases: Vec<(&str, Value, &str)> = vec![
        ("agents", json!(5), "cannot be reached"),
        ("agents", json!(3), "edges"),
        ("agents", json!(0), "agents"),
        ("agents", json!(1_000_000), "needs more than"),
        ("agents", json!(u64::MAX), "needs more than"),
        ("edges", json!([[0, 1], [1, 2]]), "needs more than"),
        ("edges", json!([[0, 1], [1, 2], [0, 2]]), "reached"),
        ("edges", json!([[0, 1], [1, 2], [2, 2]]), "different"),
        ("rows", json!(7), "[number of atoms, 7]"),
        ("rows", json!(0), "agent.0.atoms"),
        ("batch", json!(0), "batch"),
        ("informed", json!([]), "informed"),
        ("informed", json!([4]), "informed"),
        ("feature_names", json!(["a"]), "feature names"),
        ("stopping", json!({"rounds": 0}), "rounds"),
        ("strategy", json!({"kind": "diffusion", "mu": -1}), "mu"),
        ("strategy", json!({"kind": "telepathy"}), "telepathy"),
        ("weights", json!({"given": [[1.0]]}), "combination matrix"),
        ("seed", json!(-1), "description"),
        (
            "progress",
            json!({"blocks_learned": 1, "samples_learned": u64::MAX, "draws": 1}),
            "samples_learned",
        ),
    ];
    for (field, value, word) in cases {
        let why = refusal(&with_description(&bytes, |d| d[field] = value.clone()));
        assert!(why.contains(word), "{field} = {value}: {why}");
    }
    let why = refusal(&with_description(&bytes, |d| {
        d["task"]["common"]["regularizer"]["delta"] = json!(-1);
    }));
    assert!(why.contains("delta"), "{why}");
}
