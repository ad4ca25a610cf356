//! Values beyond all sense, and Ctrl-C: told in words, and nothing is left behind.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{files, said, samples, shell, Scratch, PROGRAM};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `infer` by sums had written zero codes with exit code 0, and a gap of NaN.
#[test]
fn samples_whose_squares_overflow_are_refused_by_every_strategy() {
    let dir = Scratch::new("robust-overflow");
    dir.write("x.csv", samples(40, 0));
    common::ok(
        &dir.0,
        "learn x.csv --header no -o m --atoms 4 --agents 3 --topology ring --quiet",
    );
    let rows = fs::read_to_string(dir.0.join("x.csv")).unwrap();
    let width = rows.lines().next().unwrap().split(',').count();
    let large = vec!["1e200"; width].join(",");
    dir.write("large.csv", format!("{rows}{large}\n"));
    for how in ["", "--strategy tree", "--strategy relaxed-admm"] {
        let args = format!("infer m large.csv --header no -o y.npz {how}");
        let out = shell(&dir.0, &format!("{PROGRAM} {args}"));
        assert_eq!(out.status.code(), Some(1), "{how}: {}", said(&out));
        assert!(said(&out).contains("scale"), "{how}: {}", said(&out));
        assert!(!dir.0.join("y.npz").exists(), "{how}");
    }
}

/// Each of these had ended in an abort, a panic or the killing of the process by the system.
#[test]
fn what_does_not_fit_into_memory_is_refused_in_numbers() {
    let dir = Scratch::new("robust-memory");
    dir.write("x.csv", samples(40, 0));
    let texts = "moon rocket orbit\nbread flour oven\n".repeat(20);
    dir.write("t.txt", texts);
    common::ok(&dir.0, "examples ex --quiet");
    let huge = usize::MAX;
    let before = files(&dir.0);
    for (args, word) in [
        (
            "learn x.csv --header no -o m --atoms 9000000".into(),
            "of memory",
        ),
        (
            format!("learn x.csv --header no -o m --atoms {huge}"),
            "1 to 10000000,",
        ),
        (
            format!("learn x.csv --header no -o m --agents {huge}"),
            "1 to 5000,",
        ),
        ("learn t.txt -o m --hash 26".into(), "of memory"),
        // Huber's residual is not turned into the span of the atoms: every agent holds whole vectors.
        (
            "learn t.txt -o m --task nmf-huber --hash 18 --atoms 100 --agents 100".into(),
            "of memory",
        ),
        (
            "tune x.csv --header no --atoms-grid 9000000".into(),
            "of memory",
        ),
        (
            format!("tune x.csv --header no --atoms-grid 4,{huge}"),
            "1 to 10000000,",
        ),
        (
            "denoise ex/noisy.png -o d.png --atoms 9000000".into(),
            "of memory",
        ),
        (
            format!("denoise ex/noisy.png -o d.png --atoms {huge}"),
            "1 to 10000000,",
        ),
        (
            format!("denoise ex/noisy.png -o d.png --agents {huge}"),
            "1 to 5000,",
        ),
        (
            format!("bicluster x.csv --header no -o b --layers {huge}"),
            "at most",
        ),
        (
            format!("bicluster x.csv --header no -o b --algorithm ssvd --layers {huge}"),
            "at most 6",
        ),
        (
            format!("novelty ex/news.csv --agents-start {huge}"),
            "1 to 5000,",
        ),
        (
            "novelty ex/news.csv --block 100 --atoms-per-block 4000".into(),
            "1 to 5000,",
        ),
        (
            "learn x.csv --header no -o m --agents 2 --rho 1e-320".into(),
            "too small",
        ),
        (
            "learn x.csv --header no -o m --strategy diffusion --mu 1e-320".into(),
            "too small",
        ),
    ] {
        let out = shell(&dir.0, &format!("ulimit -v 4000000; dictmesh {args}"));
        assert_eq!(out.status.code(), Some(1), "{args}: {}", said(&out));
        assert!(said(&out).contains(word), "{args}: {}", said(&out));
        assert_eq!(files(&dir.0), before, "{args}");
    }
    // Numbers beyond all data are as good as all of them.
    for args in [
        "learn t.txt -o m --atoms 2 --vocabulary 60000000 --quiet".into(),
        format!("learn x.csv --header no -o m --atoms 2 --batch {huge} --quiet"),
        format!("bicluster x.csv --header no -o b --layers 2 --passes {huge} --quiet"),
        format!("novelty ex/news.csv --block 400 --agents-start 2 --top {huge} --quiet"),
    ] {
        common::ok(&dir.0, &args);
    }
}

/// Above some number of atoms no W'W is stored, and neither its memory nor its size is a limit.
#[test]
fn atoms_without_a_gram_matrix_are_learned_and_coded() {
    let dir = Scratch::new("robust-many-atoms");
    dir.write("x.csv", samples(8, 0));
    for how in ["--agents 64", "--agents 1"] {
        common::ok(
            &dir.0,
            &format!("learn x.csv --header no -o m --atoms 60000 {how} --quiet --force"),
        );
        common::ok(&dir.0, "infer m x.csv --header no -o y.npz --quiet");
    }
}

/// A model that was learned with small batches, or on a larger machine, is asked for too.
#[test]
fn a_model_too_large_for_the_memory_is_refused_where_it_is_used() {
    let dir = Scratch::new("robust-model");
    dir.write("t.txt", "moon rocket orbit\nbread flour oven\n".repeat(40));
    let learn =
        "learn t.txt -o m --task nmf-huber --hash 16 --atoms 8 --agents 4 --rounds 3 --quiet";
    common::ok(&dir.0, &format!("{learn} --batch 8"));
    common::ok(
        &dir.0,
        &format!("{learn} --batch 80").replace("-o m", "-o wide"),
    );
    for args in [
        "score m t.txt --method mesh",
        "infer m t.txt -o c.npz --strategy diffusion",
        "learn t.txt -o n --resume wide --passes 2",
    ] {
        let out = shell(&dir.0, &format!("ulimit -v 400000; dictmesh {args}"));
        assert_eq!(out.status.code(), Some(1), "{args}: {}", said(&out));
        assert!(said(&out).contains("of memory"), "{args}: {}", said(&out));
    }
}

/// Starts a run that would take for ever, presses Ctrl-C when it is at work, and gives how it ended.
#[cfg(target_os = "linux")]
fn interrupted(dir: &Path, args: &str) -> Output {
    let mut child = Command::new(PROGRAM)
        .args(args.split_whitespace())
        .current_dir(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Ticks of the processor, the fourteenth field: 20 are a fifth of a second.
    let ticks = |id: u32| -> u64 {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        stat.split_whitespace().nth(13).unwrap().parse().unwrap()
    };
    while ticks(child.id()) < 20 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "{args}: it ended too early"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    common::live::signal(&child, "-INT");
    child.wait_with_output().unwrap()
}

/// `learn` had finished its batch first, however long; the others had left parts of files.
#[test]
#[cfg(target_os = "linux")]
fn one_ctrl_c_ends_rounds_that_would_never_end() {
    let dir = Scratch::new("robust-interrupt");
    dir.write("x.csv", samples(40, 0));
    common::ok(&dir.0, "examples ex --quiet");
    let before = files(&dir.0);
    let learn = "learn x.csv --header no -o m --agents 4 --strategy relaxed-admm \
                 --rounds 1000000000000";
    let out = interrupted(&dir.0, learn);
    assert_eq!(out.status.code(), Some(130), "{}", said(&out));
    let told = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(told.contains("--resume m.checkpoint"), "{told}");
    let model = dictmesh::Model::load(dir.0.join("m.checkpoint")).unwrap();
    assert_eq!(model.description.progress.samples_learned, 0);
    fs::remove_file(dir.0.join("m.checkpoint")).unwrap();
    for args in [
        "bicluster ex/genes.csv -o b --layers 3 --restarts 1000 --report r",
        "tune x.csv --header no --rounds 1000000000000 --only curve --strategies diffusion --report r",
        "denoise ex/noisy.png -o d.png --agents 196 --save-model n --report r",
        "novelty ex/news.csv --block 400 --agents-start 400 -o s.csv --save-model n --report r",
    ] {
        let out = interrupted(&dir.0, args);
        assert_eq!(out.status.code(), Some(130), "{args}: {}", said(&out));
        assert_eq!(files(&dir.0), before, "{args}");
    }
}

/// Squares beyond all numbers had become columns of zeros, and layers with nothing in them.
#[test]
fn huge_and_tiny_entries_are_biclustered_in_their_own_unit() {
    let dir = Scratch::new("robust-scale");
    let table = |unit: &str| -> String {
        let numbers = samples(30, 0).replace(',', &format!("{unit},"));
        numbers.replace('\n', &format!("{unit}\n"))
    };
    let layers = |unit: &str| {
        dir.write("x.csv", table(unit));
        let args = "bicluster x.csv --header no -o b --layers 2 --gamma 0.1 --json";
        dir.json(args)["layers"].clone()
    };
    let plain = layers("");
    assert!(plain[0]["weight"].as_f64().unwrap() > 1.0);
    for unit in ["e308", "e-300"] {
        let scaled = layers(unit);
        for (a, b) in plain
            .as_array()
            .unwrap()
            .iter()
            .zip(scaled.as_array().unwrap())
        {
            assert_eq!(
                (&a["rows"], &a["columns"]),
                (&b["rows"], &b["columns"]),
                "{unit}"
            );
            let (a, b) = (a["weight"].as_f64().unwrap(), b["weight"].as_f64().unwrap());
            assert!((a - b).abs() < 1e-6 * a, "{unit}: {a} {b}");
        }
    }
    dir.write("x.csv", table("e308"));
    fs::remove_dir_all(dir.0.join("b")).unwrap();
    for method in ["diffusion", "ssvd"] {
        let args = format!("bicluster x.csv --header no -o b --prepare none --algorithm {method}");
        dir.refused(&args, "its square overflows");
    }
}

#[test]
fn a_short_stream_gets_short_blocks() {
    let dir = Scratch::new("robust-short");
    let texts = ["moon rocket orbit crater\n", "bread flour oven yeast\n"].concat();
    dir.write("t.txt", texts.repeat(25));
    let told = common::ok(
        &dir.0,
        "novelty t.txt --agents-start 2 --atoms-per-block 1 --json",
    );
    let lines = told.lines().map(|line| serde_json::from_str(line).unwrap());
    let sizes = lines.map(|line: serde_json::Value| line["documents"].as_u64().unwrap());
    assert_eq!(sizes.collect::<Vec<_>>(), [10, 10, 10, 10, 10, 50]);
    dir.write("one.txt", "a single document\n");
    dir.refused("novelty one.txt", "choose a smaller --block");
}

/// gamma goes with sigma: with next to none, every patch had wanted nearly all atoms.
#[test]
fn noise_below_the_rounding_is_left_alone() {
    let dir = Scratch::new("robust-sigma");
    common::ok(&dir.0, "examples ex --quiet");
    let denoise = |sigma: &str| dir.run(&format!("denoise ex/clean.png -o d.png --sigma {sigma}"));
    for sigma in ["1e-300", "0.28"] {
        let out = denoise(sigma);
        let told = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(
            told.contains("than the 0.29") && told.contains("8 bits"),
            "{told}"
        );
        // The pixels are the same; the file may be packed otherwise.
        let shown = dir.json("denoise ex/clean.png -o e.png --sigma 0 --clean d.png --json");
        assert!(
            shown["after"]["psnr"].is_null() || shown["after"]["psnr"].as_f64() > Some(90.0),
            "{shown}"
        );
    }
}
