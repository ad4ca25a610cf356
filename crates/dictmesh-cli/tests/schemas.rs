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
