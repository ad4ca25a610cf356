//! Files that a person changed, and a mesh that is started twice.

use crate::common::{files, json, ok, refused, said, PROGRAM};
use crate::run::{output, Run, PATIENCE};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn settings_that_were_changed_by_hand_are_not_written_over_in_silence() {
    let run = Run::new(16, "--agents 3 --atoms 6 --topology ring --batch 4");
    let place = run.place.path();
    let read = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    let (file, mesh) = ("m/agent-1/agent.toml", "m/mesh.toml");
    let written = read(file);
    let changed = written.replace("deadline = 10.0", "deadline = 7.5");
    assert_ne!(changed, written);
    fs::write(place.join(file), &changed).unwrap();
    let before = (files(&place.join("m")), read(mesh));
    let words = &[
        file,
        "it was changed by hand",
        "deadline is 7.5 (mesh.toml gives 10",
        "--overwrite",
        "Make changes in mesh.toml",
    ];
    refused(place, "launch m", words);
    refused(place, "mesh add m --neighbours 0,1", words);
    assert_eq!(read(file), changed);
    assert_eq!((files(&place.join("m")), read(mesh)), before);
    assert!(!run.file(0, "state").exists(), "nobody was started");
    // Where it is not read as settings any more, too.
    fs::write(place.join(file), written.replace("deadline", "dead-line")).unwrap();
    refused(place, "launch m", &[file, "cannot be read", "dead-line"]);

    ok(place, "launch m --overwrite --quiet");
    assert_eq!(read(file), written);
    // What is no setting stays; what is changed in mesh.toml reaches the agents.
    fs::write(place.join(file), format!("{written}\n# mine\n")).unwrap();
    ok(place, "launch m --quiet");
    assert!(read(file).ends_with("# mine\n"), "{}", read(file));
    let other = read(mesh).replace("deadline = 10.0", "deadline = 8.5");
    fs::write(place.join(mesh), other).unwrap();
    let words = &["no setting, as a comment", "deadline is 10", "gives 8.5"];
    refused(place, "launch m", words);
    fs::write(place.join(file), &written).unwrap();
    ok(place, "launch m --quiet");
    assert!(read(file).contains("deadline = 8.5"), "{}", read(file));
}

/// A file without a sum may be as it was written; who has written nothing into it is not told so.
#[test]
fn files_of_earlier_versions_are_written_anew_unless_something_would_be_lost() {
    let run = Run::new(16, "--agents 2 --atoms 4 --topology path --batch 4");
    let place = run.place.path();
    let read = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    let (file, mesh) = ("m/agent-1/agent.toml", "m/mesh.toml");
    let summed = read(file);
    let (_, body) = summed.split_once('\n').unwrap();
    let earlier = format!("# Agent 1 of the run m. Paths are seen from this directory.\n{body}");
    let other = read(mesh).replace("deadline = 10.0", "deadline = 8.5");
    fs::write(place.join(mesh), other).unwrap();
    for kept in [format!("{earlier}# mine\n"), body.to_string()] {
        fs::write(place.join(file), &kept).unwrap();
        let words = &[
            "agent.toml: it was not written by this version",
            "deadline is 10",
        ];
        refused(place, "launch m", words);
        assert_eq!(read(file), kept);
    }
    fs::write(place.join(file), &earlier).unwrap();
    ok(place, "launch m --quiet");
    assert_eq!(
        read(file).split_once('\n').unwrap().1,
        body.replace("deadline = 10.0", "deadline = 8.5")
    );
    assert!(read(file).contains("(sum "), "{}", read(file));
}

#[test]
fn a_mesh_that_is_running_is_not_launched_again() {
    let place = tempfile::tempdir().unwrap();
    let inbox = place.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    let flags = "--agents 2 --topology path --atoms 4 --batch 4";
    let run = Run::new(4, &format!("{flags} --watch {}", inbox.display()));
    let mut first = Command::new(PROGRAM)
        .args(["launch", "m", "--json", "--quiet"])
        .current_dir(run.place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let until = Instant::now() + PATIENCE;
    while run.checkpoint(0).is_none() || run.checkpoint(1).is_none() {
        assert!(Instant::now() < until, "{}{}", run.log(0), run.log(1));
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = fs::read_to_string(run.file(0, "state/lock")).unwrap();
    let process = format!("agent-0 holds its state directory, process {}", pid.trim());
    let words = &[
        "m: this mesh is running already",
        &process,
        "end that first",
    ];
    refused(run.place.path(), "launch m", words);
    let alive = format!("/proc/{}", pid.trim());
    assert!(!cfg!(target_os = "linux") || fs::exists(alive).unwrap());
    // The first has not noticed.
    fs::write(inbox.join("end"), "").unwrap();
    let told = output(&mut first);
    assert!(first.wait().unwrap().success(), "{told}");
    let again = json(run.place.path(), "launch m --json");
    assert_eq!(again["interrupted"], false, "{again}");
}

/// Why an agent cannot run is said once, and not as a line of its log and as the end of launch.
#[test]
fn a_launch_says_once_why_it_ends() {
    let run = Run::new(8, "--agents 3 --topology path --atoms 6 --informed 1");
    fs::remove_file(run.place.path().join("x.csv")).unwrap();
    let out = Command::new(PROGRAM)
        .args(["launch", "m"])
        .current_dir(run.place.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = said(&out);
    assert_eq!(out.status.code(), Some(1), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("x.csv")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].starts_with("dictmesh: agent-1: "), "{said}");
    assert!(lines[0].contains("agent-1/agent.log"), "{said}");
}
