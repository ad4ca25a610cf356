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

/// The atoms in place of a model, with the problem of the flags, are what a model of them is.
#[test]
fn given_atoms_code_without_a_model() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let write = |name: &str, rows: &[Vec<f64>]| std::fs::write(at.join(name), csv(rows)).unwrap();
    // Longer than 1: atoms are taken as they are.
    let long = |atom: &Vec<f64>| atom.iter().map(|v| 2.0 * v).collect();
    let atoms: Vec<Vec<f64>> = atoms().iter().map(long).collect();
    let columns: Vec<Vec<f64>> = (0..8)
        .map(|i| atoms.iter().map(|atom| atom[i]).collect())
        .collect();
    let samples: Vec<Vec<f64>> = (0..12)
        .map(|j| atoms[j % 4].iter().map(|v| 1.5 * v).collect())
        .collect();
    write("rows.csv", &atoms);
    write("columns.csv", &columns);
    write("x.csv", &samples);
    // min_y (3 - 2 y)^2 / 2 + gamma y + delta y^2 / 2.
    let (gamma, delta): (f64, f64) = (0.2, 0.3);
    let y = (6.0 - gamma) / (4.0 + delta);
    let cost = 0.5 * (3.0 - 2.0 * y).powi(2) + gamma * y + 0.5 * delta * y * y;
    let problem = "--gamma 0.2 --delta 0.3 --header no";
    let words = |line: &str| -> Vec<String> { line.split(' ').map(String::from).collect() };
    let ok = |line: &str| {
        let words = words(line);
        ok(at, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for atoms in ["rows.csv", "columns.csv"] {
        let line = format!("infer --dictionary {atoms} x.csv -o - --quiet {problem}");
        let lines = ok(&line);
        assert_eq!(lines.lines().count(), 12, "{lines}");
        for (j, line) in lines.lines().enumerate() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["sample"], j.to_string());
            assert_eq!(line["atoms"], serde_json::json!([j % 4]));
            assert!(
                (line["values"][0].as_f64().unwrap() - y).abs() < 1e-8,
                "{line}"
            );
            assert!(
                (line["cost"].as_f64().unwrap() - cost).abs() < 1e-8,
                "{line}"
            );
        }
        let line = format!("score --dictionary {atoms} x.csv --threshold 1 --quiet {problem}");
        for line in ok(&line).lines().skip(1) {
            let score: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
            assert!((score - cost).abs() < 1e-8, "{line}");
        }
    }
    // The same in a file, and with another problem.
    let nmf = "--task nmf --gamma 100 --header no --json";
    let reply = ok(&format!("infer --dictionary rows.csv x.csv -o y.npz {nmf}"));
    let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(
        (&reply["samples"], &reply["nonzeros"]),
        (&12.into(), &0.0.into())
    );
    assert!(at.join("y.npz").is_file());
    ok(&format!(
        "infer --dictionary rows.csv x.csv -o z.npz --report page {problem}"
    ));
    assert!(at.join("page/index.html").is_file());

    std::fs::write(at.join("t.txt"), "red mesh\n").unwrap();
    ok("learn x.csv --atoms 2 --header no -o m --quiet");
    for (line, said) in [
        (
            "infer m x.csv -o y.npz --gamma 1",
            "--gamma: m codes by the problem",
        ),
        (
            "score m x.csv --residual huber",
            "--residual: m codes by the problem",
        ),
        (
            "infer --dictionary rows.csv m x.csv -o c.npz",
            "--dictionary rows.csv: it takes the place",
        ),
        (
            "infer --dictionary rows.csv t.txt -o c.npz",
            "t.txt: text; --dictionary codes numbers",
        ),
        (
            "score --dictionary x.csv rows.csv --gamma -1 --header no",
            "--gamma -1: must be",
        ),
        (
            "infer --dictionary rows.csv rows.csv -o c.npz --radius 1",
            "--radius belongs to --residual ball",
        ),
        (
            "infer --dictionary none.csv x.csv -o c.npz --header no",
            "none.csv",
        ),
        (
            "infer --dictionary y.npz x.csv -o y.npz",
            "this is read, and would be written over",
        ),
    ] {
        let words = words(line);
        let out = run(at, &words.iter().map(String::as_str).collect::<Vec<_>>());
        let found = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{line}: {found}");
        assert!(found.contains(said), "{line}: {found}");
    }
    let out = run(at, &["infer", "m", "-o", "c.npz"]);
    assert_eq!(out.status.code(), Some(2));
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

/// Few rounds leave the agents apart from the codes that many bring them to.
#[test]
fn codes_after_a_number_of_rounds() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), common::samples(40, 0)).unwrap();
    let learn = "learn x.csv --header no --atoms 6 --agents 3 --topology ring -o m --quiet";
    ok(at, &learn.split(' ').collect::<Vec<_>>());
    let cost = |flags: &str| {
        let line = format!("infer m x.csv --header no -o c.npz --json --quiet {flags}");
        let reply: serde_json::Value =
            serde_json::from_str(&ok(at, &line.split_whitespace().collect::<Vec<_>>())).unwrap();
        (reply["stop"].clone(), reply["cost"].as_f64().unwrap())
    };
    let (_, exact) = cost("");
    let (stop, early) = cost("--strategy relaxed-admm --rounds 2");
    assert_eq!(stop, "round-limit");
    let (stop, late) = cost("--strategy relaxed-admm --rounds 5000 --tolerance 1e-8");
    assert_eq!(stop, "converged");
    let off = |found: f64| (found - exact).abs();
    assert!(
        off(late) < 1e-5 * exact && off(early) > 10.0 * off(late),
        "{early} {late} {exact}"
    );
    let out = run(
        at,
        &[
            "infer", "m", "x.csv", "-o", "c.npz", "--method", "exact", "--rounds", "2",
        ],
    );
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        said.contains("--rounds 2: --method exact has no messages"),
        "{said}"
    );
}
