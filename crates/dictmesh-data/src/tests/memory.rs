//! Matrices larger than memory: a child process with a limited address space learns the sum of a
//! file in chunks, and cannot read it whole.
#![cfg(target_os = "linux")]

use super::*;
use std::io::{BufWriter, Write};
use std::process::{Command, Stdio};

/// The child's address space in kilobytes: the program, its threads and the chunks.
const LIMIT: u64 = 160 << 10;
const SAMPLES: usize = 4000;
const FEATURES: usize = 8000;

/// What the child does: this very test program, told by the environment.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn child() {
    let Ok(path) = std::env::var("DICTMESH_TEST_FILE").map(PathBuf::from) else {
        return;
    };
    if std::env::var("DICTMESH_TEST_TEXT").is_ok() {
        return learn_text(&path);
    }
    let options = ReadOptions::default();
    let sum = |x: &Samples| -> f64 {
        (0..x.len())
            .map(|j| x.entries(j).map(|e| e.1).sum::<f64>())
            .sum()
    };
    let (count, total) = if std::env::var("DICTMESH_TEST_WHOLE").is_ok() {
        let all = read(&path, &options).unwrap().samples;
        (all.len(), sum(&all))
    } else {
        let parts = chunks_at(&path, &options, 100).unwrap().map(|p| p.unwrap());
        parts.fold((0, 0.0), |(n, s), p| (n + p.len(), s + sum(&p)))
    };
    println!("samples {count} sum {total}");
}

/// The vectoriser and the samples of all documents, part by part.
fn learn_text(path: &Path) {
    use crate::preparation::{DataOptions, Feed, FitOptions, Kind, Raw, Reading};
    let reading = Reading::default();
    let raw = Raw::open(path, Kind::Text, &DataOptions::default(), &reading, None).unwrap();
    let how = FitOptions::default().fit(&raw, "text").unwrap();
    let feed = Feed {
        raw: &raw,
        how: &how,
        rows: raw.rows(&how),
        batch: 256,
        shuffle: None,
    };
    let parts = feed.parts(0).unwrap().map(|part| part.unwrap().len());
    println!("samples {}", parts.sum::<usize>());
}

fn run_child(path: &Path, whole: bool) -> (bool, String) {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -v {LIMIT} && exec \"$@\""))
        .arg("sh")
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "tests::memory::child",
            "--ignored",
            "--nocapture",
        ])
        .arg("--test-threads=1")
        .env("DICTMESH_TEST_FILE", path)
        .env("MALLOC_ARENA_MAX", "1")
        .stderr(Stdio::null());
    if whole {
        command.env("DICTMESH_TEST_WHOLE", "1");
    }
    if path.extension().is_some_and(|of| of == "txt") {
        command.env("DICTMESH_TEST_TEXT", "1");
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), text)
}

fn check(path: &Path, sum: f64) {
    let (done, text) = run_child(path, false);
    assert!(done, "{} in chunks: {text}", path.display());
    let expected = format!("samples {SAMPLES} sum {sum}\n");
    assert!(text.contains(&expected), "{}: {text}", path.display());
    let (done, _) = run_child(path, true);
    assert!(!done, "{} fits: the limit shows nothing", path.display());
}

/// 256 MB, nearly all of it a hole in the file; by rows, and by columns.
#[test]
fn a_numpy_array() {
    for fortran in [false, true] {
        let file = made(
            "a.npy",
            npy(&[SAMPLES as u64, FEATURES as u64], fortran, &[1.0, 2.0]),
        );
        let open = std::fs::OpenOptions::new()
            .write(true)
            .open(&file.path)
            .unwrap();
        let header = open.metadata().unwrap().len() - 16;
        open.set_len(header + 8 * (SAMPLES * FEATURES) as u64)
            .unwrap();
        check(&file.path, 3.0);
    }
}

/// The same deflated; and as scipy packs a sparse matrix, with 12 million entries.
#[test]
fn arrays_in_an_archive() {
    let start_entry = |zip: &mut zip::ZipWriter<BufWriter<std::fs::File>>, name: &str| {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated)
            .compression_level(Some(1))
            .large_file(true);
        zip.start_file(format!("{name}.npy"), options).unwrap();
    };
    let header = |dtype: &str, shape: &str| {
        npy_header(&format!(
            "{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
        ))
    };
    let file = made("dense.npz", "");
    let mut zip = zip::ZipWriter::new(BufWriter::new(std::fs::File::create(&file.path).unwrap()));
    start_entry(&mut zip, "x");
    zip.write_all(&header("<f8", &format!("({SAMPLES}, {FEATURES})")))
        .unwrap();
    let row = [1.0_f64.to_le_bytes().to_vec(), vec![0; 8 * (FEATURES - 1)]].concat();
    for _ in 0..SAMPLES {
        zip.write_all(&row).unwrap();
    }
    zip.finish().unwrap().flush().unwrap();
    check(&file.path, SAMPLES as f64);

    let per_row = 3000;
    let entries = SAMPLES * per_row;
    let file = made("sparse.npz", "");
    let mut zip = zip::ZipWriter::new(BufWriter::new(std::fs::File::create(&file.path).unwrap()));
    start_entry(&mut zip, "format");
    zip.write_all(&[header("|S3", "()"), b"csr".to_vec()].concat())
        .unwrap();
    start_entry(&mut zip, "shape");
    zip.write_all(&header("<i8", "(2,)")).unwrap();
    for n in [SAMPLES as i64, FEATURES as i64] {
        zip.write_all(&n.to_le_bytes()).unwrap();
    }
    start_entry(&mut zip, "indptr");
    zip.write_all(&header("<i4", &format!("({},)", SAMPLES + 1)))
        .unwrap();
    for i in 0..=SAMPLES {
        zip.write_all(&((i * per_row) as i32).to_le_bytes())
            .unwrap();
    }
    for (name, dtype) in [("indices", "<i4"), ("data", "<f4")] {
        start_entry(&mut zip, name);
        zip.write_all(&header(dtype, &format!("({entries},)")))
            .unwrap();
        let row: Vec<u8> = (0..per_row as i32)
            .flat_map(|k| {
                if name == "data" {
                    1_f32.to_le_bytes()
                } else {
                    (2 * k).to_le_bytes()
                }
            })
            .collect();
        for _ in 0..SAMPLES {
            zip.write_all(&row).unwrap();
        }
    }
    zip.finish().unwrap().flush().unwrap();
    check(&file.path, entries as f64);
}

/// Eight million entries in the wrong order, sorted on disk.
#[test]
fn a_matrix_market_file_by_columns() {
    let file = made("a.mtx", "");
    let mut out = BufWriter::new(std::fs::File::create(&file.path).unwrap());
    let per_column = 1000;
    writeln!(out, "%%MatrixMarket matrix coordinate pattern general").unwrap();
    writeln!(out, "{SAMPLES} {FEATURES} {}", per_column * FEATURES).unwrap();
    for j in 1..=FEATURES {
        for i in 0..per_column {
            writeln!(out, "{} {j}", 4 * i + 1 + j % 4).unwrap();
        }
    }
    out.flush().unwrap();
    drop(out);
    check(&file.path, (per_column * FEATURES) as f64);
}

/// A table of 64 MB in a file of less than 1 MB.
#[test]
fn a_compressed_table() {
    let file = made("a.csv.gz", "");
    let out = std::fs::File::create(&file.path).unwrap();
    let mut out = flate2::write::GzEncoder::new(BufWriter::new(out), flate2::Compression::fast());
    let row = format!("1{}\n", ",0".repeat(FEATURES - 1));
    for _ in 0..SAMPLES {
        out.write_all(row.as_bytes()).unwrap();
    }
    out.finish().unwrap().flush().unwrap();
    assert!(std::fs::metadata(&file.path).unwrap().len() < 1 << 20);
    check(&file.path, SAMPLES as f64);
}

/// Texts of 220 MB, one document a line.
#[test]
fn texts() {
    let documents = 20_000;
    let file = made("a.txt", "");
    let mut out = BufWriter::new(std::fs::File::create(&file.path).unwrap());
    let text = |d: usize| (0..1200).map(move |w| format!("word{:04} ", (d + w * w) % 3000));
    let texts: Vec<String> = (0..16).map(|d| text(d).collect()).collect();
    for d in 0..documents {
        writeln!(out, "{}", texts[d % 16]).unwrap();
    }
    out.flush().unwrap();
    let (done, text) = run_child(&file.path, false);
    let expected = format!("samples {documents}\n");
    assert!(done && text.contains(&expected), "{text}");
}

/// 256 MB in 8000 columns, whose pages do not fit side by side.
#[cfg(feature = "columnar")]
#[test]
fn a_wide_parquet_file() {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    let column: ArrayRef = Arc::new(Float64Array::from(vec![1.0; SAMPLES]));
    let columns = (0..FEATURES).map(|c| (format!("c{c}"), column.clone()));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = made("a.parquet", "");
    let out = std::fs::File::create(&file.path).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(out, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    check(&file.path, (SAMPLES * FEATURES) as f64);
}

/// Records without an end are refused before they fill the memory.
#[test]
fn a_record_without_end() {
    for (name, begin) in [("a.csv.gz", "a,b\n1,\""), ("a.svm.gz", "1 1:2\n2 ")] {
        let file = made(name, "");
        let out = std::fs::File::create(&file.path).unwrap();
        let mut out =
            flate2::write::GzEncoder::new(BufWriter::new(out), flate2::Compression::fast());
        out.write_all(begin.as_bytes()).unwrap();
        for _ in 0..300 {
            out.write_all(&[b'x'; 1 << 20]).unwrap();
        }
        out.finish().unwrap().flush().unwrap();
        let why = read(&file.path, &ReadOptions::default()).unwrap_err();
        let why = why.to_string();
        assert!(
            why.contains("without an end") && why.contains("line 2"),
            "{why}"
        );
    }
}

/// The control: under the same limit, a small file can be read whole.
#[test]
fn a_small_file_fits() {
    let file = made("a.npy", npy(&[1, 2], false, &[1.0, 2.0]));
    let (done, text) = run_child(&file.path, true);
    assert!(done && text.contains("samples 1 sum 3\n"), "{text}");
}
