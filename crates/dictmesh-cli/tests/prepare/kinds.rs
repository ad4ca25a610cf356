//! Data of another kind than the model's.

use crate::common::{ok, refused, run};
use crate::documents;
use crate::pictures::picture;
use std::fs;

#[test]
fn data_of_another_kind_are_refused_with_what_the_model_expects() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("early.txt"), documents(40, false).join("\n")).unwrap();
    fs::write(dir.join("x.csv"), "a,b,c\n1,2,3\n2,1,1\n0,1,2\n3,1,0\n").unwrap();
    fs::write(dir.join("p.pgm"), picture(16, false, 0.0)).unwrap();
    ok(dir, "learn early.txt -o text --atoms 2 --quiet");
    ok(dir, "learn x.csv -o numbers --atoms 2 --quiet --norm l2");
    ok(dir, "learn p.pgm -o patches --atoms 2 --patch 4 --quiet");
    ok(dir, "infer numbers x.csv -o c.npz --quiet");
    refused(
        dir,
        "score text c.npz",
        &["c.npz: numbers", "expects raw text"],
    );
    refused(
        dir,
        "score text p.pgm",
        &["p.pgm: pictures", "expects raw text"],
    );
    refused(dir, "score text x.csv", &["x.csv", "--text-column"]);
    refused(
        dir,
        "score numbers early.txt",
        &["early.txt: text", "samples of 3 numbers"],
    );
    refused(
        dir,
        "infer numbers p.pgm -o y.npz",
        &["p.pgm: pictures", "samples of 3 numbers"],
    );
    refused(
        dir,
        "score numbers c.npz",
        &["2 features a sample", "samples of 3 numbers"],
    );
    refused(
        dir,
        "learn early.txt -o y --resume patches",
        &["early.txt: text", "patches of 4 x 4"],
    );
    refused(
        dir,
        "learn early.txt -o y --patch 8",
        &["belong to pictures", "text"],
    );
    refused(
        dir,
        "learn x.csv -o y --resume numbers",
        &["already", "--passes"],
    );
    refused(
        dir,
        "denoise p.pgm -o y.pgm --model text",
        &["model of text", "learn --patch"],
    );
    refused(
        dir,
        "score none x.csv",
        &["none: there is no such file", "a model"],
    );
    refused(dir, "score numbers x.csv --quantile 2", &["--quantile 2"]);
    // The same names in another order are put right, and that is worth a word.
    fs::write(dir.join("turned.csv"), "b,a,c\n1,2,3\n2,1,1\n").unwrap();
    let said = run(dir, "score numbers turned.csv");
    assert!(String::from_utf8_lossy(&said.stderr).contains("the model's order"));
    assert!(run(dir, "score numbers turned.csv --quiet")
        .stderr
        .is_empty());
}
