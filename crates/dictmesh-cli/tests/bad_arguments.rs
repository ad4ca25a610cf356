//! Wrong values and flags out of place: the message names what was typed, and says what to do.

#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{ok, refused, run, Scratch};

/// The number of samples is small, so that what is not refused by mistake ends soon.
fn scratch(name: &str) -> Scratch {
    let dir = Scratch::new(name);
    let rows: String = (0..12)
        .map(|i| format!("{},{},{}\n", i % 7, i % 5, i % 3))
        .collect();
    dir.write("x.csv", format!("a,b,c\n{rows}"));
    dir.write("t.txt", "red green blue\nred yellow\nblue black\n");
    dir.write("stop.txt", "the of and\nto in\n");
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.as_bytes());
    npy.extend(
        [1.0_f64, 0.0, 0.0, 1.0]
            .iter()
            .flat_map(|v| v.to_le_bytes()),
    );
    dir.write("x.npy", npy);
    dir.write("huge.csv", "1e200,2e200\n3e200,4e200\n");
    dir.write("junk", "hello");
    dir
}

#[test]
fn a_wrong_number_is_blamed_on_the_flag_that_was_typed() {
    let dir = scratch("wrong-number");
    for (flags, words) in [
        ("--gamma -1", "--gamma -1: must be"),
        ("--delta 0", "--delta 0: must be above 0"),
        ("--residual ball --radius -1", "--radius -1: must be"),
        ("--lo 1 --hi 0", "--lo and --hi (1, 0)"),
        ("--update constant:-1", "--update with the step -1"),
        ("--update adaptive:2", "--update adaptive:2: must be"),
        (
            "--topology random:2 --agents 3",
            "--topology random:2: must be",
        ),
        (
            "--topology grid:2x3 --agents 4",
            "--topology grid:2x3 has 6 agents, but --agents says 4",
        ),
        ("--informed 9", "--informed 9: agents are numbered"),
        ("--min-gain 2", "--min-gain 2: give a share"),
        ("--min-gain 0.1", "--min-gain 0.1: one pass has none"),
        ("--rounds 0", "--rounds 0: must be"),
        ("--batch 0", "--batch 0: must be"),
        ("--threads 0", "--threads 0: must be"),
        ("--agents 0", "--agents 0: give a number from 1"),
        (
            "--radius 1",
            "--radius belongs to --residual ball, but this residual is squared-l2",
        ),
        (
            "--residual ball",
            "give --update constant:0.01 or --update schedule:1, or another --residual",
        ),
        (
            "--task nmf --lo 0",
            "--lo belongs to --regularizer boxed-elastic-net",
        ),
    ] {
        refused(&dir.0, &format!("learn x.csv -o m {flags}"), &[words]);
    }
    for (flags, words) in [
        ("--vocabulary 0", "--vocabulary 0: a vocabulary has"),
        ("--hash 60", "--hash 60: feature hashing takes"),
    ] {
        refused(&dir.0, &format!("learn t.txt -o m {flags}"), &[words]);
    }
    let bicluster = "bicluster x.csv -o b --algorithm ssvd --gamma -1";
    refused(&dir.0, bicluster, &["--gamma -1: must be"]);
    refused(
        &dir.0,
        "bicluster x.csv -o b --layers 9",
        &["at most 3 layers"],
    );
    // A file of edges says what they do on the line.
    dir.write("graph.csv", "# a path\n0,1\n1 2\n");
    ok(
        &dir.0,
        "learn x.csv -o m --topology edges:graph.csv --atoms 6",
    );
    let model = dictmesh::Model::load(dir.0.join("m")).unwrap();
    ok(
        &dir.0,
        "learn x.csv -o n --topology edges:0-1,1-2 --atoms 6",
    );
    let other = dictmesh::Model::load(dir.0.join("n")).unwrap();
    assert_eq!(model.blocks, other.blocks);
    assert_eq!(model.blocks.len(), 3);
    // A grid says how many agents there are; a batch larger than the data is no mistake.
    ok(&dir.0, "learn x.csv -o m --topology grid:2x3 --atoms 6");
    ok(&dir.0, "learn x.csv -o m --atoms 2 --batch 99999999999");
}

#[test]
fn what_is_no_number_is_told_without_jargon() {
    let dir = scratch("no-number");
    for (flags, words) in [
        ("--atoms=-1", "--atoms -1: give a whole number"),
        ("--atoms -1", "--atoms -1: give a whole number"),
        ("--atoms 1.5", "--atoms 1.5: give a whole number"),
        ("--gamma x", "--gamma x: give a number"),
        ("--seed -1", "--seed -1: give a whole number"),
        (
            "--topology edges:0-1,1",
            "--topology edges:0-1,1: \"1\" is no pair of agents' numbers",
        ),
        ("--topology edges:none.csv", "--topology edges:none.csv: "),
        ("--topology edges:", "there are no pairs"),
    ] {
        let out = run(&dir.0, &format!("learn x.csv -o m {flags}"));
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{flags}: {said}");
        assert!(said.contains(words), "{flags}: {said}");
    }
}

#[test]
fn flags_that_would_be_ignored_are_refused() {
    let dir = scratch("ignored");
    for (data, flags) in [
        ("x.npy", "--label-column 1"),
        ("x.npy", "--drop 1"),
        ("x.npy", "--header yes"),
        ("x.npy", "--array a"),
        ("x.csv", "--array a"),
        ("t.txt", "--header yes"),
        ("t.txt", "--label-column a"),
        ("t.txt", "--text-column a"),
        ("t.txt", "--transpose"),
        ("t.txt", "--nan zero"),
    ] {
        let flag = flags.split(' ').next().unwrap();
        refused(
            &dir.0,
            &format!("learn {data} -o m --atoms 2 {flags}"),
            &[data, &format!("{flag} belongs to"), "leave it out"],
        );
    }
    refused(
        &dir.0,
        "bicluster x.npy -o b --drop 1",
        &["--drop belongs to"],
    );
    refused(
        &dir.0,
        "novelty t.txt --block 1 --text-column a",
        &["--text-column belongs to"],
    );
    ok(&dir.0, "learn x.csv -o m --atoms 2");
    let choice = "tune x.csv --model m --only choice";
    refused(
        &dir.0,
        choice,
        &["--only choice with --model", "leave --model out"],
    );
}

#[test]
fn files_that_are_something_else_are_told_with_what_is_expected() {
    let dir = scratch("something-else");
    let model = ["junk", "Expected a model as dictmesh learn writes it"];
    refused(&dir.0, "inspect junk", &model);
    refused(&dir.0, "score junk x.csv", &model);
    refused(
        &dir.0,
        "learn stop.txt -o m",
        &["no words but stop words", "--keep-stop-words"],
    );
    refused(
        &dir.0,
        "learn huge.csv -o m --atoms 1",
        &["as large as 4e200", "--norm l2"],
    );
    for (text, words) in [
        (
            "gamm = 1",
            "line 1: gamm = 1: the key gamm: not known (did you mean gamma?)",
        ),
        (
            "atoms = 2\ngamma = \"x\"",
            "line 2: gamma = \"x\": give a number",
        ),
        ("atoms = -1", "line 1: atoms = -1: give a whole number"),
        ("gamma = ", "as in gamma = 0.1"),
    ] {
        dir.write("c.toml", text);
        refused(
            &dir.0,
            "learn x.csv -o m --config c.toml",
            &["c.toml", words],
        );
    }
    refused(
        &dir.0,
        "learn x.csv -o m --config none.toml",
        &["none.toml: there is no such file"],
    );
}

#[test]
fn what_was_taken_for_labels_and_names_is_told_once() {
    let dir = scratch("taken");
    dir.write("k.csv", ",kind,id,u,v\n0,p,a,1,2\n1,q,b,2,1\n2,p,c,3,5\n");
    let out = run(&dir.0, "learn k.csv -o m --atoms 2");
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    for words in [
        "k.csv: labels are column 2",
        "names are column 1",
        "left out column 3",
    ] {
        assert!(said.contains(words), "{said}");
    }
    // A model knows its columns: new data without the index are read the same.
    dir.write("new.csv", "u,v\n1,2\n");
    ok(&dir.0, "score m new.csv");
    assert!(run(&dir.0, "learn k.csv -o m --atoms 2 --quiet")
        .stderr
        .is_empty());
    dir.write("mixed.csv", "u,v\n1,2\n2,x\n3,4\n4,5\n");
    refused(
        &dir.0,
        "learn mixed.csv -o m",
        &["mixed.csv, line 3, column 2 (\"v\")", "\"x\"", "--drop 2"],
    );
}

/// Letters of old files were once lost without a word.
#[test]
fn text_that_is_not_utf8_keeps_its_letters_and_is_told() {
    let dir = scratch("latin");
    let text: Vec<u8> = "Käse Brötchen\nÖl Käse\n"
        .chars()
        .map(|c| c as u8)
        .collect();
    dir.write("latin.txt", &text);
    let out = run(&dir.0, "learn latin.txt -o m --atoms 2");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        said.contains("latin.txt: line 1 is not UTF-8") && said.contains("iconv"),
        "{said}"
    );
    let shown = String::from_utf8_lossy(&out.stdout);
    assert!(shown.contains("käse"), "{shown}");
}
