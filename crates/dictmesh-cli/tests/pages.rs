//! What people see: pages without false cliffs, gaps or meshes.
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{ok, samples, Scratch};
use std::fs;
use std::path::Path;

fn page(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name).join("index.html")).unwrap()
}

#[test]
fn one_agent_has_no_mesh_and_short_batches_are_not_drawn() {
    let dir = Scratch::new("pages-learn");
    let at = dir.0.as_path();
    dir.write("x.csv", samples(70, 0));
    let learn = "learn x.csv --header no -o m --atoms 8 --quiet --report";
    ok(at, &format!("{learn} alone --batch 32"));
    let alone = page(at, "alone");
    assert!(!alone.contains("The mesh") && !alone.contains("1 agents"));
    assert!(alone.contains("A last batch of few samples is left out."));
    assert!(!alone.contains("running mean"), "one line is drawn");
    ok(at, &format!("{learn} four --batch 32 --agents 4"));
    assert!(page(at, "four").contains("The mesh"));
    ok(at, &format!("{learn} many --batch 1"));
    let many = page(at, "many");
    assert!(many.contains("and its running mean") && !many.contains("left out"));
}

#[test]
fn the_page_of_tune_has_its_commands_as_code_and_the_edge_of_the_grid() {
    let dir = Scratch::new("pages-tune");
    let at = dir.0.as_path();
    dir.write("x.csv", samples(60, 0));
    let tune = "tune x.csv --header no --only choice --atoms-grid 2,3 --gammas 0.05,0.5 --report t";
    let told = ok(at, tune);
    let page = page(at, "t");
    assert!(page.contains("The star marks the choice"));
    let code = |start: &str| format!("<pre><code>dictmesh {start} x.csv");
    assert!(page.contains(&code("learn")), "to go on with");
    let beyond = "a better choice may lie beyond";
    assert!(
        told.contains(beyond),
        "a grid so small has its best at an edge: {told}"
    );
    assert!(page.contains(beyond));
    assert_eq!(page.matches(&code("tune")).count(), 2, "wider, and made by");
}
