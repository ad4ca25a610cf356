//! Learning that is broken off goes on as if nothing had happened; and what happens when there is no room.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::live::signal;
use common::PROGRAM;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args).current_dir(dir);
    command
}

fn samples(count: usize) -> String {
    let entry = |i: usize, j: usize| ((i * 31 + j * 17 + i * j % 13) % 23) as f64 / 23.0;
    let row = |i: usize| {
        (0..12)
            .map(|j| format!("{:.3}", entry(i, j)))
            .collect::<Vec<_>>()
            .join(",")
    };
    (0..count).map(|i| row(i) + "\n").collect()
}

/// Waits until a file is there, for as long as the child lives.
fn wait_for(path: &Path, child: &mut Child) {
    while !path.exists() {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before {}",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Some hundred batches, with names that a shell would take apart.
const DATA: &str = "the data.csv";
const HOW: [&str; 13] = [
    "--atoms",
    "16",
    "--agents",
    "4",
    "--batch",
    "4",
    "--passes",
    "8",
    "--update",
    "schedule:0.5",
    "--header",
    "no",
    "--checkpoint-every=0.02",
];

fn learn<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [
        &["learn", DATA, "-o", output, "--norm", "l2"],
        &HOW[..],
        more,
    ]
    .concat()
}

fn start(dir: &Path, output: &str) -> Child {
    let mut child = command(dir, &learn(output, &[]));
    child.stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn ctrl_c_and_kill_lose_nothing_and_the_model_is_the_same_to_the_last_bit() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join(DATA), samples(300)).unwrap();
    let whole = command(dir, &learn("whole", &["--quiet"]))
        .status()
        .unwrap();
    assert!(whole.success());
    assert!(
        !dir.join("whole.checkpoint").exists(),
        "it has done its duty"
    );
    let same =
        |name: &str| fs::read(dir.join(name)).unwrap() == fs::read(dir.join("whole")).unwrap();

    // Ctrl-C, as soon as it is under way; and again in the middle of the second go.
    let mut child = start(dir, "twice");
    wait_for(&dir.join("twice.checkpoint"), &mut child);
    signal(&child, "-INT");
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130));
    assert!(!dir.join("twice").exists(), "a model is never half learned");
    let said = String::from_utf8(out.stdout).unwrap();
    let go_on = said
        .lines()
        .find_map(|l| l.strip_prefix("go on with: dictmesh "))
        .unwrap();
    for word in [
        "'the data.csv'",
        "--passes 8",
        "--header no",
        "--resume twice.checkpoint",
    ] {
        assert!(go_on.contains(word), "{go_on}");
    }
    // As a person does it: the line pasted into a shell.
    let script = format!("exec '{}' {go_on} --json", PROGRAM);
    let again = Command::new("sh")
        .args(["-c", &script])
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );
    assert!(same("twice") && !dir.join("twice.checkpoint").exists());

    // kill -9 leaves the last checkpoint.
    let mut child = start(dir, "killed");
    wait_for(&dir.join("killed.checkpoint"), &mut child);
    signal(&child, "-KILL");
    child.wait().unwrap();
    assert!(!dir.join("killed").exists());
    let how = HOW.iter().copied();
    let args = ["learn", DATA, "-o", "killed"].into_iter().chain(how);
    let args: Vec<&str> = args
        .chain(["--resume", "killed.checkpoint", "--quiet"])
        .collect();
    assert!(command(dir, &args).status().unwrap().success());
    assert!(same("killed"));
}

/// `timeout` and shells signal twice in a row, which had ended it before the checkpoint was there; and under
/// nohup a hang-up had ended it.
#[test]
#[cfg(target_os = "linux")]
fn an_echo_of_ctrl_c_is_no_second_and_hang_ups_stay_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join(DATA), samples(300)).unwrap();
    let args = learn("m", &["--rounds", "1000000000000", "--tolerance", "1e-300"]);
    let quoted: Vec<String> = args.iter().map(|a| format!("'{a}'")).collect();
    let script = format!("trap '' HUP; exec '{}' {}", PROGRAM, quoted.join(" "));
    let child = Command::new("sh")
        .args(["-c", &script])
        .current_dir(dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It is at work when it catches Ctrl-C and has used the processor for a while.
    let of = |name: &str| fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap();
    while {
        let ticks: u64 = of("stat").split(' ').nth(13).unwrap().parse().unwrap();
        ticks < 30
    } {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "-HUP");
    let status = of("status");
    let ignored = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
    assert_eq!(ignored & 1, 1, "a hang-up is ignored still");
    signal(&child, "-INT");
    // It may be gone already; if it is not, this is the echo.
    for _ in 0..2 {
        let id = child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &id]).output();
    }
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&out.stdout).contains("go on with"));
    assert!(dir.join("m.checkpoint").exists());
}

/// Ctrl-C when the model is there and the page is drawn had been without effect.
#[test]
fn ctrl_c_behind_the_model_ends_it_and_the_model_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let rows = |i: usize| (0..200).map(move |j| ((i * 7 + j * 3) % 19).to_string());
    let lines = (0..260).map(|i| rows(i).collect::<Vec<_>>().join(",") + "\n");
    fs::write(dir.join("x.csv"), lines.collect::<String>()).unwrap();
    let args = "learn x.csv --header no -o m --atoms 256 --rounds 2 --report page --norm l2";
    let words: Vec<&str> = args.split(' ').collect();
    let mut child = command(dir, &words);
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    wait_for(&dir.join("m"), &mut child);
    signal(&child, "-INT");
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130));
    dictmesh::Model::load(dir.join("m")).unwrap();
    let left: Vec<_> = fs::read_dir(dir).unwrap().collect();
    let shown = dir.join("page").join("index.html").exists();
    assert!(left.len() <= 3 && !shown, "{left:?}");
}

/// Runs with files of at most 1 kB (what a full disk looks like), the signal for it ignored.
fn without_room(dir: &Path, args: &str) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f 1; exec '{}' {args}", PROGRAM);
    Command::new("sh")
        .args(["-c", &script])
        .current_dir(dir)
        .output()
        .unwrap()
}

#[test]
fn a_full_disk_is_told_and_nothing_half_written_stays() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("x.csv"), samples(400)).unwrap();
    let learned = command(
        dir,
        &["learn", "x.csv", "-o", "m", "--atoms", "16", "--quiet"],
    )
    .status();
    assert!(learned.unwrap().success());
    let model = fs::read(dir.join("m")).unwrap();
    let names = || {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = names();
    for args in [
        "learn x.csv -o new --atoms 16",
        "learn x.csv -o m --atoms 16",
        "infer m x.csv -o codes.npz",
        "infer m x.csv -o codes.npz --reconstruct rows.npy",
        "score m x.csv > /dev/full",
        "learn x.csv -o /dev/full",
        "infer m x.csv -o none/codes.npz",
    ] {
        let out = without_room(dir, args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{args}: {said}");
        assert!(
            said.starts_with("dictmesh: ") && !said.contains("panicked"),
            "{args}: {said}"
        );
        assert_eq!(names(), before, "{args}");
    }
    assert_eq!(
        fs::read(dir.join("m")).unwrap(),
        model,
        "the old model is as it was"
    );
    assert!(Path::new("/dev/full").exists());
}

/// A file of 512 MB, nearly all of it a hole, under a limit of 400 MB.
#[test]
#[cfg(target_os = "linux")]
fn matrices_larger_than_memory_are_scored_and_coded() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (count, features) = (64_000_u64, 1000_u64);
    let head =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({count}, {features}), }}");
    let head = format!("{head:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.as_bytes());
    let start = bytes.len() as u64;
    bytes.extend(1.0_f64.to_le_bytes());
    fs::write(dir.join("x.npy"), bytes).unwrap();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(dir.join("x.npy"))
        .unwrap();
    file.set_len(start + 8 * count * features).unwrap();
    let small: String = (0..4)
        .map(|i| vec![format!("{i}"); 1000].join(",") + "\n")
        .collect();
    fs::write(dir.join("small.csv"), small).unwrap();
    let made = command(
        dir,
        &[
            "learn",
            "small.csv",
            "-o",
            "m",
            "--atoms",
            "2",
            "--header",
            "no",
            "--quiet",
        ],
    );
    assert!({ made }.status().unwrap().success());
    let limited = |args: &str| {
        let script = format!("ulimit -v 400000; exec '{}' {args}", PROGRAM);
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .current_dir(dir)
            .env("MALLOC_ARENA_MAX", "1");
        shell.env("RAYON_NUM_THREADS", "2").output().unwrap()
    };
    for args in ["score m x.npy", "infer m x.npy -o codes.npz"] {
        let out = limited(args);
        assert!(
            out.status.success(),
            "{args}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        let told = String::from_utf8_lossy(&out.stdout);
        assert!(
            told.contains("63999,0,0") || told.contains("64000 samples coded"),
            "{args}"
        );
    }
}
