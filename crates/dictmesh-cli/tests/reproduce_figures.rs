//! `dictmesh reproduce biclustering` and `denoising`, end to end, on generated data of the right shape.

#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{noise, Scratch};
use std::fs;

/// Four kinds of patients, whose means differ in half of the genes; genes have very different scales, so
/// that only a method that does not go by them can tell the kinds apart. `mixed` makes the means equal.
fn table(mixed: bool) -> String {
    let mut draw = noise(7);
    let kinds = [
        ("Carcinoid", 10),
        ("Colon", 7),
        ("Normal", 8),
        ("SmallCell", 5),
    ];
    let genes = 300;
    let means: Vec<[f64; 4]> = (0..genes)
        .map(|g| {
            [0; 4].map(|_| {
                if g % 2 == 0 && !mixed {
                    1.5 * draw()
                } else {
                    0.0
                }
            })
        })
        .collect();
    let scales: Vec<f64> = (0..genes).map(|_| (1.2 * draw()).exp()).collect();
    let mut text = String::from("patient");
    (0..genes).for_each(|g| text += &format!(",g{g}"));
    for (k, (kind, count)) in kinds.iter().enumerate() {
        for _ in 0..*count {
            text += &format!("\n{kind}");
            (0..genes).for_each(|g| text += &format!(",{:.4}", scales[g] * (means[g][k] + draw())));
        }
    }
    text + "\n"
}

fn counts(value: &serde_json::Value) -> Vec<u64> {
    let list = value.as_array().unwrap();
    list.iter().map(|v| v.as_u64().unwrap()).collect()
}

#[test]
fn patients_are_told_apart_and_shown_beside_the_paper() {
    let scratch = Scratch::new("biclustering");
    fs::write(scratch.0.join("lung.csv"), table(false)).unwrap();
    let found = scratch.json("reproduce biclustering --data . --seeds 3 --report page --json");
    assert_eq!(found["patients"], 30);
    assert_eq!(found["genes"], 300);
    let methods = found["methods"].as_array().unwrap();
    assert_eq!(methods.len(), 4);
    for method in methods {
        let wrong = counts(&method["misclassified"]);
        assert_eq!(wrong.len(), 3, "{method}");
        assert!(wrong.iter().all(|w| *w <= 1), "{method}");
    }
    let page = fs::read_to_string(scratch.0.join("page/index.html")).unwrap();
    for part in [
        "Beside the paper",
        "4 clusters, by eye",
        "SmallCell",
        "heat-map",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let output = scratch.run("reproduce biclustering --data . --seeds 2");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
    assert!(row("ours, ssvd, 5 layers").contains("0 0"), "{text}");
    assert!(
        row("paper, Alg. 3 and Alg. 4").contains("4 clusters"),
        "{text}"
    );
}

/// The count is one of patients, not of agreement with itself: without structure many are wrong.
#[test]
fn patients_without_structure_are_misclassified() {
    let scratch = Scratch::new("mixed");
    fs::write(scratch.0.join("lung.csv"), table(true)).unwrap();
    let found = scratch.json("reproduce biclustering --data . --seeds 1 --json --quiet");
    assert!(
        counts(&found["methods"][0]["misclassified"])[0] > 8,
        "{found}"
    );
}

#[test]
fn a_missing_or_wrong_table_is_explained() {
    let scratch = Scratch::new("refusals");
    scratch.refused(
        "reproduce biclustering --data .",
        "Lee, Shen, Huang and Marron",
    );
    assert!(!scratch.0.join("page").exists());
    fs::write(scratch.0.join("lung.csv"), "a,b\n1,2\n3,oops\n").unwrap();
    scratch.refused("reproduce biclustering --data . --report page", "lung.csv");
    scratch.refused("reproduce denoising --data .", "no picture in it");
    scratch.refused("reproduce denoising --data none", "none");
    scratch.refused("reproduce denoising --sigma=-3", "--sigma -3");
    fs::write(scratch.0.join("small.pgm"), b"P5 4 4 255\n0123456789abcdef").unwrap();
    scratch.refused("reproduce denoising --data .", "4 x 4 pixels");
    assert!(!scratch.0.join("page").exists());
}

/// 196 agents make the picture that one place makes. (So small a picture has fewer patches than agents, each of
/// which then has a patch for its atom: there is nothing to gain.)
#[test]
fn the_papers_agents_denoise_a_picture() {
    let scratch = Scratch::new("denoising");
    // Two flat halves with an edge, larger than what is taken of it.
    let (w, h) = (40, 36);
    let mut file = format!("P5 {w} {h} 255\n").into_bytes();
    file.extend((0..w * h).map(|i| if i % w + i / w < 38 { 60 } else { 190 }));
    fs::write(scratch.0.join("edge.pgm"), file).unwrap();
    let found = scratch.json("reproduce denoising --data . --size 20 --report page --json --quiet");
    let psnr = |key: &str| found[key]["psnr"].as_f64().unwrap();
    assert_eq!(found["agents"], 196);
    assert_eq!(
        (&found["width"], &found["height"]),
        (&20.into(), &20.into())
    );
    let (noisy, agents, one) = (psnr("noisy"), psnr("mesh"), psnr("centralized"));
    assert!((noisy - 20.2).abs() < 0.7, "{noisy}");
    assert!(
        (agents - one).abs() < 0.5 && agents >= noisy - 0.1,
        "{found}"
    );
    let page = fs::read_to_string(scratch.0.join("page/index.html")).unwrap();
    for part in ["Before and after", "Atoms", "no figure"] {
        assert!(page.contains(part), "{part}");
    }
}
