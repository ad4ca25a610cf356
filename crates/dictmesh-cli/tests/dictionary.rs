//! A dictionary that the caller gives, instead of one that is learned.
#![allow(clippy::unwrap_used)]

mod common;

use common::{ok_words as ok, run_words as run};

/// Four atoms of length 1 on pairs of features, as rows.
fn atoms() -> Vec<Vec<f64>> {
    let entry = |q: usize, i: usize| if i / 2 == q { 0.5_f64.sqrt() } else { 0.0 };
    let atom = |q| (0..8).map(|i| entry(q, i)).collect();
    (0..4).map(atom).collect()
}

fn csv(rows: &[Vec<f64>]) -> String {
    let line = |row: &Vec<f64>| {
        let fields: Vec<String> = row.iter().map(f64::to_string).collect();
        fields.join(",") + "\n"
    };
    rows.iter().map(line).collect()
}

#[test]
fn given_atoms_are_kept_and_used() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let write = |name: &str, rows: &[Vec<f64>]| std::fs::write(at.join(name), csv(rows)).unwrap();
    let atoms = atoms();
    let columns: Vec<Vec<f64>> = (0..8)
        .map(|i| atoms.iter().map(|atom| atom[i]).collect())
        .collect();
    let samples: Vec<Vec<f64>> = (0..12)
        .map(|j| atoms[j % 4].iter().map(|v| 3.0 * v).collect())
        .collect();
    write("rows.csv", &atoms);
    write("columns.csv", &columns);
    write("x.csv", &samples);
    let model = |dictionary: &str, output: &str| {
        let line = format!(
            "learn x.csv --dictionary {dictionary} --passes 0 --gamma 0.1 --delta 0.1 --header no -o {output}"
        );
        let said = ok(at, &line.split(' ').collect::<Vec<_>>());
        assert!(said.contains("the atoms are as given"), "{said}");
    };
    model("rows.csv", "rows.model");
    model("columns.csv", "columns.model");
    // The code of 3 w under the elastic net is (3 - gamma) / (1 + delta), so that its cost is known.
    let y: f64 = (3.0 - 0.1) / 1.1;
    let cost = 0.5 * (3.0 - y).powi(2) + 0.1 * y + 0.05 * y * y;
    for name in ["rows.model", "columns.model"] {
        let scores = ok(at, &["score", name, "x.csv", "--json", "--quiet"]);
        assert_eq!(scores.lines().count(), 12, "{scores}");
        for line in scores.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let score = line["score"].as_f64().unwrap();
            assert!((score - cost).abs() < 1e-3 * cost, "{score} is not {cost}");
        }
    }
    let refused = |line: &str| {
        let out = run(at, &line.split(' ').collect::<Vec<_>>());
        assert!(!out.status.success(), "{line}");
        String::from_utf8(out.stderr).unwrap()
    };
    write("short.csv", &[vec![1.0, 2.0, 3.0]]);
    let said = refused("learn x.csv --dictionary short.csv --header no -o m");
    assert!(
        said.contains("short.csv: a matrix of 1 x 3; expected atoms of 8 numbers"),
        "{said}"
    );
    let said = refused("learn x.csv --dictionary rows.csv --atoms 5 --header no -o m");
    assert!(said.contains("--atoms 5: rows.csv has 4 atoms"), "{said}");
    let said = refused("learn x.csv --passes 0 --header no -o m");
    assert!(said.contains("--passes 0"), "{said}");
    let said = refused("learn x.csv --dictionary rows.csv --passes 0 --report r --header no -o m");
    assert!(said.contains("--report"), "{said}");
}

/// Standard input shows by its first line that it holds numbers, and is then read from its start.
#[test]
fn numbers_as_json_lines_come_through_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let rows = (0..12).map(|j| format!("[{}, {}]\n", j % 3, j % 2));
    std::fs::write(dir.path().join("x.jsonl"), rows.collect::<String>()).unwrap();
    let program = env!("CARGO_BIN_EXE_dictmesh");
    let out = std::process::Command::new(program)
        .args(["learn", "-", "--format", "jsonl", "--atoms", "2"])
        .args(["--agents", "1", "-o", "m", "--json"])
        .stdin(std::fs::File::open(dir.path().join("x.jsonl")).unwrap())
        .current_dir(dir.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    let learned: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(learned.is_object(), "{learned}");
}
