//! The JSON Schemas in docs/reference/schemas are those of the program, and replies have their names.

#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{ok, Scratch};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Holds every key of every reply. After a change: run
/// `UPDATE=1 cargo test --release -p dictmesh-cli --features mpi --test schemas`, and read the diff.
#[test]
fn the_published_schemas_are_those_of_the_program() {
    let here = Scratch::new("schemas");
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/schemas");
    let names = ok(&here.0, "schema");
    for name in names.lines() {
        let file = published.join(format!("{name}.json"));
        let now = ok(&here.0, &format!("schema {name}"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&file, &now).unwrap();
        }
        let was = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            was == now,
            "{} is not the schema of the program; to update, run\n  UPDATE=1 cargo test --release \
             -p dictmesh-cli --features mpi --test schemas\nThe program's schema:\n{now}",
            file.display()
        );
        assert!(
            now.contains(&format!("\"const\": \"dictmesh.{name}/1\"")),
            "{now}"
        );
    }
    let files = fs::read_dir(&published).unwrap();
    let files: BTreeSet<String> = files
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    let wanted: BTreeSet<String> = names.lines().map(|name| format!("{name}.json")).collect();
    assert_eq!(files, wanted, "files of schemas and schemas of the program");
}

#[test]
fn a_reply_says_which_schema_it_follows() {
    let here = Scratch::new("schema-reply");
    here.write("x.csv", "a,b,c\n1,2,3\n2,1,1\n0,1,2\n3,1,0\n");
    ok(&here.0, "learn x.csv -o m --atoms 2 --quiet");
    let reply = here.json("inspect m --json");
    assert_eq!(reply["schema"], "dictmesh.inspect/1");
    here.refused("schema inspct", "did you mean inspect?");
}

/// An error as JSON on standard error: its exit status, code and message.
fn error(here: &Scratch, args: &str) -> (i32, String, String) {
    let out = here.run(args);
    assert!(out.stdout.is_empty(), "{args}");
    let said = String::from_utf8(out.stderr).unwrap();
    let error: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(error["schema"], "dictmesh.error/1", "{said}");
    let text = |key: &str| error[key].as_str().unwrap().to_string();
    (out.status.code().unwrap(), text("code"), text("message"))
}

#[test]
fn errors_are_json_where_results_are() {
    let here = Scratch::new("schema-errors");
    here.write("x.csv", "a,b,c\n1,2,3\n2,1,1\n0,1,2\n3,1,0\n");
    // One text among numbers is a mistake; a column of texts alone would be labels.
    here.write("bad.csv", "a,b,c\n1,2,3\n2,1,x\n0,1,2\n");
    here.write("c.toml", "gamma = \"x\"\n");
    for (args, status, code, words) in [
        ("lern --json", 2, "usage", "learn"),
        ("learn x.csv --json", 2, "usage", "--output"),
        (
            "learn x.csv -o m --gamma x --json",
            2,
            "usage",
            "--gamma x: give a number",
        ),
        (
            "learn x.csv -o m --gamma -1 --json",
            1,
            "parameter",
            "--gamma -1: must be",
        ),
        (
            "learn x.csv -o m --config c.toml --json",
            1,
            "input",
            "c.toml, line 1",
        ),
        ("learn bad.csv -o m --json", 1, "input", "bad.csv"),
        ("inspect x.csv --json", 1, "input", "x.csv"),
        ("inspect none --json", 1, "io", "no such file"),
        (
            "learn x.csv -o m --residual ball --radius 1e-9 --gamma 9 --atoms 1 --update schedule:1 \
             --json",
            1,
            "infeasible",
            "no code can meet",
        ),
    ] {
        let (exit, kind, message) = error(&here, args);
        assert_eq!((exit, kind.as_str()), (status, code), "{args}: {message}");
        assert!(message.contains(words), "{args}: {message}");
    }
}

/// A settings file holds flags of any command, and those that are typed win.
#[test]
fn a_settings_file_takes_every_flag_as_a_key() {
    let here = Scratch::new("schema-config");
    here.write("x.csv", "a,b,c\n1,2,3\n2,1,1\n0,1,2\n3,1,0\n");
    let settings =
        "verbose = false\nheader = \"yes\"\ndrop = [\"a\"]\n[learn]\noutput = \"m\"\natoms = 3\n\
                    batch = 2\n[infer]\noutput = \"c.npz\"\n";
    here.write("c.toml", settings);
    let learned = here.json("learn x.csv --config c.toml --batch 4 --json");
    assert_eq!(
        (&learned["atoms"], &learned["model"]),
        (&3.into(), &"m".into())
    );
    let held = here.json("inspect m --json");
    assert_eq!((&held["batch"], &held["features"]), (&4.into(), &2.into()));
    ok(&here.0, "infer m x.csv --config c.toml --quiet");
    assert!(here.0.join("c.npz").is_file());
    here.write("d.toml", "[learn]\natom = 3\n");
    here.refused(
        "learn x.csv -o n --config d.toml",
        "line 2: atom = 3: the key atom: not known (did you mean atoms?)",
    );
}

#[test]
fn verbose_tells_threads_and_time_and_quiet_nothing() {
    let here = Scratch::new("schema-verbose");
    here.write("x.csv", "a,b,c\n1,2,3\n2,1,1\n0,1,2\n3,1,0\n");
    for line in ["learn x.csv -o m --atoms 2", "score m x.csv", "inspect m"] {
        let said = common::said(&here.run(&format!("{line} --threads 1 -v")));
        assert!(
            said.contains("threads: 1") && said.contains(" s\n"),
            "{line}: {said}"
        );
        assert!(
            common::said(&here.run(&format!("{line} -q"))).is_empty(),
            "{line}"
        );
        here.refused(
            &format!("{line} --threads 0"),
            "--threads 0: must be 1 to 1024",
        );
    }
}
