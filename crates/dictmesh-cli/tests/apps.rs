//! `dictmesh bicluster` and `dictmesh denoise`, end to end, on files made here.

#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{noise, Scratch};
use std::fs;

/// The records of a CSV file, the head first.
fn csv(scratch: &Scratch, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(scratch.0.join(name)).unwrap();
    let fields = |line: &str| line.split(',').map(String::from).collect();
    text.lines().map(fields).collect()
}

const ROWS: usize = 30;
const COLUMNS: usize = 60;

/// The planted layers, each with its rows and columns apart from the other's.
fn planted(i: usize, j: usize) -> f64 {
    match (i, j) {
        (0..10, 0..15) => 4.0,
        (10..20, 15..30) => 3.0,
        _ => 0.0,
    }
}

fn class(i: usize) -> &'static str {
    ["first", "second", "rest"][i / 10]
}

/// A table with the planted layers in noise, names, and a class for each row.
fn table() -> String {
    let mut noise = noise(1);
    let head: Vec<String> = (0..COLUMNS).map(|j| format!("gene{j}")).collect();
    let mut text = format!("class,{}\n", head.join(","));
    for i in 0..ROWS {
        let row: Vec<String> = (0..COLUMNS)
            .map(|j| format!("{:.4}", planted(i, j) + 0.1 * noise()))
            .collect();
        text += &format!("{},{}\n", class(i), row.join(","));
    }
    text
}

/// Which members a layer has by its column of a file.
fn members(records: &[Vec<String>], column: &str) -> Vec<usize> {
    let at = records[0].iter().position(|f| f == column).unwrap();
    (1..records.len())
        .filter(|r| records[*r][at] == "1")
        .map(|r| r - 1)
        .collect()
}

#[test]
fn planted_biclusters_come_back_with_their_members_and_classes() {
    let dir = Scratch::new("planted");
    dir.write("table.csv", table());
    for method in ["diffusion --beta 0.3", "ssvd --beta 2 --gamma 2"] {
        let args = format!(
            "bicluster table.csv -o out --layers 2 --prepare none --json --algorithm {method}"
        );
        let json = dir.json(&args);
        assert_eq!(json["rows"], ROWS, "{json}");
        assert_eq!(json["columns"], COLUMNS);
        assert_eq!(json["misclassified"], 0, "{method}: {json}");
        let (rows, columns) = (csv(&dir, "out/rows.csv"), csv(&dir, "out/columns.csv"));
        assert_eq!((rows.len(), columns.len()), (ROWS + 1, COLUMNS + 1));
        assert_eq!(rows[0][..4], ["row", "name", "label", "cluster"]);
        assert_eq!(rows[11][2], "second");
        assert_eq!(columns[1][..2], ["1", "gene0"]);
        for (k, first) in [("1", 0), ("2", 1)] {
            let of_rows = members(&rows, &format!("in_{k}"));
            let of_columns = members(&columns, &format!("in_{k}"));
            assert!(
                of_rows.into_iter().eq(10 * first..10 * first + 10),
                "{method}"
            );
            assert!(
                of_columns.into_iter().eq(15 * first..15 * first + 15),
                "{method}"
            );
        }
    }
}

#[test]
fn default_settings_find_the_classes_and_a_turned_table_is_the_same() {
    let dir = Scratch::new("turned");
    dir.write("table.csv", table());
    let json = dir.json("bicluster table.csv -o out --json --report page");
    assert!(json["misclassified"].as_u64().unwrap() <= 1, "{json}");
    assert_eq!(json["layers"].as_array().unwrap().len(), 5);
    for name in ["index.html", "heat-map.svg", "rows.png"] {
        assert!(dir.0.join("page").join(name).is_file(), "{name}");
    }
    // The same numbers with genes in rows, the labels in a file of their own.
    let records: Vec<Vec<String>> = csv(&dir, "table.csv");
    let turned = (1..=COLUMNS).map(|j| {
        let row: Vec<&str> = records[1..].iter().map(|r| r[j].as_str()).collect();
        row.join(",") + "\n"
    });
    dir.write("turned.csv", turned.collect::<String>());
    let labels: Vec<&str> = (0..ROWS).map(class).collect();
    dir.write("labels.txt", labels.join("\n"));
    let turned =
        dir.json("bicluster turned.csv -o out2 --json --transpose --header no --labels labels.txt");
    assert_eq!(turned["layers"], json["layers"]);
    assert_eq!(turned["misclassified"], json["misclassified"]);
    let said = dir.run("bicluster table.csv -o out --algorithm ssvd");
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.contains("misclassified: ") && said.contains("weight"),
        "{said}"
    );
    let silent = dir.run("bicluster table.csv -o out --algorithm ssvd --quiet");
    assert!(silent.status.success() && silent.stdout.is_empty() && silent.stderr.is_empty());
}

#[test]
fn tables_that_cannot_be_biclustered_are_refused() {
    let dir = Scratch::new("bad-tables");
    dir.write("good.csv", "a,b\n1,2\n3,4\n5,7\n");
    dir.write("ragged.csv", "a,b\n1,2\n3\n");
    dir.write("text.csv", "a,b\n1,2\n3,4\n5,6\n7,8\n9,oops\n");
    dir.write("hole.csv", "a,b\n1,\n3,4\n");
    dir.write("empty.csv", "");
    dir.write("labels.txt", "x\ny\n");
    dir.write("file", "");
    dir.refused("bicluster none.csv -o out", "no such file");
    dir.refused("bicluster ragged.csv -o out", "line 3");
    dir.refused("bicluster text.csv -o out", "oops");
    dir.refused("bicluster hole.csv -o out", "line 2");
    dir.refused("bicluster empty.csv -o out", "empty.csv");
    dir.refused("bicluster good.csv -o none/out", "does not exist");
    dir.refused("bicluster good.csv -o file", "not a directory");
    dir.refused("bicluster good.csv -o out --report file", "not a directory");
    dir.refused("bicluster good.csv -o out --labels labels.txt", "2 labels");
    dir.refused("bicluster good.csv -o out --layers 0", "layers");
    dir.refused("bicluster good.csv -o out --delta 0", "delta");
    dir.refused("bicluster good.csv -o out --restarts 0", "restarts");
    dir.refused("bicluster good.csv -o out --gamma nan", "gamma");
    dir.refused(
        "bicluster good.csv -o out --algorithm ssvd --passes 2",
        "--passes",
    );
    dir.refused("bicluster good.csv -o out --drop a --drop b", "good.csv");
}

/// Their names are not typed: a file of such a name may be one of the user's.
#[test]
fn files_of_others_are_replaced_by_force_only() {
    let dir = Scratch::new("force");
    dir.write("table.csv", table());
    fs::create_dir(dir.0.join("out")).unwrap();
    dir.write("out/rows.csv", "mine");
    let args = "bicluster table.csv -o out --layers 2 --algorithm ssvd";
    dir.refused(args, "out/rows.csv: this file is not one of dictmesh");
    assert_eq!(fs::read(dir.0.join("out/rows.csv")).unwrap(), b"mine");
    dir.json(&format!("{args} --force --json"));
    // Its own files it replaces.
    dir.json(&format!("{args} --json"));

    dir.write("noisy.pgm", picture(1, 20.0));
    dir.write("mine.png", "mine");
    let args = "denoise noisy.pgm -o mine.png --atoms 8 --stride 8";
    dir.refused(args, "mine.png: dictmesh did not write this file");
    assert_eq!(fs::read(dir.0.join("mine.png")).unwrap(), b"mine");
    dir.json(&format!("{args} --force --json"));
    dir.json(&format!("{args} --json"));
}

#[test]
fn restarts_without_end_are_refused() {
    let dir = Scratch::new("restarts");
    dir.write("good.csv", "a,b\n1,2\n3,4\n5,7\n");
    dir.refused(
        "bicluster good.csv -o out --restarts 1000000000000",
        "--restarts 1000000000000: must be 1 to 1000",
    );
}

const SIDE: usize = 64;

/// A picture with edges and stripes; `planes` of it, with noise of deviation `sigma`.
fn picture(planes: usize, sigma: f64) -> Vec<u8> {
    let mut noise = noise(2);
    let kind = if planes == 1 { "P5" } else { "P6" };
    let mut bytes = format!("{kind}\n{SIDE} {SIDE}\n255\n").into_bytes();
    for i in 0..SIDE * SIDE {
        let (y, x) = (i / SIDE, i % SIDE);
        for p in 0..planes {
            let stripes = if (x + y) % 16 < 8 { 60.0 } else { 0.0 };
            let edge = if x > 20 + 10 * p { 50.0 } else { 0.0 };
            let v = 60.0 + stripes + edge + sigma * noise();
            bytes.push(v.round().clamp(0.0, 255.0) as u8);
        }
    }
    bytes
}

fn gain(json: &serde_json::Value, what: &str) -> f64 {
    json["after"][what].as_f64().unwrap() - json["before"][what].as_f64().unwrap()
}

#[test]
fn noise_goes_and_the_picture_stays() {
    let dir = Scratch::new("grey");
    dir.write("clean.pgm", picture(1, 0.0));
    dir.write("noisy.pgm", picture(1, 20.0));
    let base = "denoise noisy.pgm -o out.png --clean clean.pgm --atoms 64 --stride 2 --json";
    let json = dir.json(&format!("{base} --sigma 20 --report page"));
    assert!(gain(&json, "psnr") > 5.0, "{json}");
    assert!(gain(&json, "ssim") > 0.1, "{json}");
    assert!(fs::read(dir.0.join("out.png"))
        .unwrap()
        .starts_with(b"\x89PNG"));
    for name in ["index.html", "before-after.svg", "atoms.png"] {
        assert!(dir.0.join("page").join(name).is_file(), "{name}");
    }
    let json = dir.json(base);
    // Slanted stripes look a little like noise.
    let sigma = json["sigma"][0].as_f64().unwrap();
    assert!((15.0..30.0).contains(&sigma), "{json}");
    assert!(gain(&json, "psnr") > 5.0, "{json}");
    // Agents with one atom each come to the same, up to their tolerance.
    let alone =
        "denoise noisy.pgm -o a.png --sigma 20 --patch 4 --stride 4 --clean clean.pgm --json";
    let one = dir.json(&format!("{alone} --atoms 8"));
    let many = dir.json(&format!("{alone} --agents 8"));
    assert_eq!((&one["agents"], &many["agents"]), (&1.into(), &8.into()));
    let psnr = |json: &serde_json::Value| json["after"]["psnr"].as_f64().unwrap();
    assert!((psnr(&one) - psnr(&many)).abs() < 0.2, "{one} {many}");
}

#[test]
fn colour_stays_colour_and_no_noise_changes_nothing() {
    let dir = Scratch::new("colour");
    dir.write("clean.ppm", picture(3, 0.0));
    dir.write("noisy.ppm", picture(3, 20.0));
    let args = "denoise noisy.ppm -o out.ppm --clean clean.ppm --atoms 32 --stride 4 --json";
    let json = dir.json(&format!("{args} --sigma 20"));
    assert!(gain(&json, "psnr") > 5.0, "{json}");
    assert_eq!(json["planes"], 3);
    assert!(fs::read(dir.0.join("out.ppm")).unwrap().starts_with(b"P6"));
    dir.json("denoise noisy.ppm -o same.ppm --sigma 0 --json");
    let read = |name: &str| fs::read(dir.0.join(name)).unwrap();
    let (a, b) = (read("noisy.ppm"), read("same.ppm"));
    let pixels = 3 * SIDE * SIDE;
    assert_eq!(a[a.len() - pixels..], b[b.len() - pixels..]);
}

#[test]
fn a_model_of_patches_denoises_without_learning() {
    let dir = Scratch::new("model");
    dir.write("clean.pgm", picture(1, 0.0));
    dir.write("noisy.pgm", picture(1, 20.0));
    // Patches of 4 x 4 of the clean picture, column by column.
    let clean = picture(1, 0.0);
    let pixels = &clean[clean.len() - SIDE * SIDE..];
    let mut text = String::new();
    for i in (0..SIDE - 4).step_by(3) {
        for j in (0..SIDE - 4).step_by(3) {
            let patch: Vec<String> = (0..16)
                .map(|q| pixels[(i + q % 4) * SIDE + j + q / 4].to_string())
                .collect();
            text += &(patch.join(",") + "\n");
        }
    }
    dir.write("patches.csv", text);
    dir.json("learn patches.csv -o m --centre sample --atoms 12 --gamma 20 --header no --json");
    let json =
        dir.json("denoise noisy.pgm -o out.pgm --model m --sigma 20 --clean clean.pgm --json");
    assert!(gain(&json, "psnr") > 3.0, "{json}");
    assert_eq!(json["atoms"], 12);
    dir.refused("denoise noisy.pgm -o x.pgm --model m --patch 8", "--patch");
    dir.refused("denoise noisy.pgm -o x.pgm --model clean.pgm", "clean.pgm");
    dir.write("odd.csv", "1,2,3\n2,1,4\n0,2,2\n");
    dir.json("learn odd.csv -o odd --atoms 2 --header no --json");
    dir.refused("denoise noisy.pgm -o x.pgm --model odd", "3 features");
}

#[test]
fn pictures_that_cannot_be_denoised_are_refused() {
    let dir = Scratch::new("bad-pictures");
    let whole = picture(1, 20.0);
    dir.write("noisy.pgm", &whole);
    dir.write("colour.ppm", picture(3, 20.0));
    dir.write("cut.pgm", &whole[..whole.len() / 2]);
    dir.write("empty.png", "");
    dir.write("text.png", "no picture at all");
    dir.write("tiny.pgm", b"P5\n3 3\n255\n123456789");
    dir.write("file", "");
    dir.refused("denoise none.png -o out.png", "no such file");
    dir.refused("denoise cut.pgm -o out.png", "cut.pgm");
    dir.refused("denoise empty.png -o out.png", "empty.png");
    dir.refused("denoise text.png -o out.png", "text.png");
    dir.refused("denoise tiny.pgm -o out.png", "--patch");
    dir.refused("denoise noisy.pgm -o none/out.png", "does not exist");
    dir.refused("denoise noisy.pgm -o out.gif", ".gif");
    dir.refused("denoise noisy.pgm -o out.ppm", "grey");
    dir.refused("denoise colour.ppm -o out.pgm", "colour");
    dir.refused(
        "denoise noisy.pgm -o out.png --report file",
        "not a directory",
    );
    dir.refused(
        "denoise noisy.pgm -o out.png --clean tiny.pgm",
        "3 x 3 pixels",
    );
    dir.refused("denoise noisy.pgm -o out.png --clean colour.ppm", "colour");
    dir.refused(
        "denoise noisy.pgm -o out.png --clean none.png",
        "no such file",
    );
    dir.refused("denoise noisy.pgm -o out.png --sigma=-1", "--sigma");
    dir.refused("denoise noisy.pgm -o out.png --sigma nan", "--sigma");
    dir.refused("denoise noisy.pgm -o out.png --patch 65", "--patch");
    dir.refused("denoise noisy.pgm -o out.png --stride 0", "--stride");
    dir.refused("denoise noisy.pgm -o out.png --stride 9", "--stride");
    dir.refused("denoise noisy.pgm -o out.png --agents 0", "agents");
    dir.refused(
        "denoise noisy.pgm -o out.png --atoms 10 --agents 4",
        "evenly",
    );
    dir.refused("denoise noisy.pgm -o out.png --atoms 0", "--atoms");
}
