//! How runs end, and are gone on with.

use crate::common::{json, ok, refused, said, PROGRAM};
use crate::faults::{children, wait_until};
use crate::feeding::Feeding;
use crate::learned::blocks;
use crate::run::{distance, table, Run, PATIENCE};
use crate::words::{launch, result};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than an agent at its end stays for one that it hears nothing of.
const LONG: Duration = Duration::from_secs(11);

#[test]
fn an_agent_killed_at_its_end_may_return_when_it_likes() {
    let flags = "--agents 3 --atoms 6 --topology path --batch 4 --seed 3";
    let mut undisturbed = Run::new(24, flags);
    undisturbed.start_all();
    let expected = undisturbed.finish();
    let mut runs: Vec<Run> = (0..3).map(|_| Run::new(24, flags)).collect();
    for (k, run) in runs.iter_mut().enumerate() {
        run.start_all();
        run.until_sample(k, 24);
        std::thread::sleep(Duration::from_micros(700 * k as u64));
        run.kill(k);
    }
    std::thread::sleep(LONG);
    for (k, run) in runs.iter_mut().enumerate() {
        run.start(k);
        assert_eq!(distance(&run.finish(), &expected), 0.0, "agent {k}");
    }
}

/// The others thought that all was done, and have gone. The one that returns says what it waits for, and hears of the
/// end from those who are run again.
#[test]
fn agents_that_are_run_again_tell_one_that_missed_the_end() {
    let mut feeding = Feeding::start("--agents 3 --topology path");
    feeding.feed_until(3);
    let at = feeding.run.checkpoint(0).unwrap();
    feeding.run.until_sample(2, at);
    let (state, copy) = (feeding.run.file(2, "state"), feeding.run.file(2, "copy"));
    copy_directory(&state, &copy);
    feeding.end();
    let expected = feeding.run.finish();
    fs::remove_dir_all(&state).unwrap();
    fs::rename(&copy, &state).unwrap();
    feeding.run.start(2);
    let until = Instant::now() + PATIENCE;
    while !feeding.run.log(2).contains("also if they have ended") {
        assert!(Instant::now() < until, "{}", feeding.run.log(2));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!feeding.run.ended(2));
    (0..2).for_each(|k| feeding.run.start(k));
    assert_eq!(distance(&feeding.run.finish(), &expected), 0.0);
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_second_launch_says_that_the_run_had_ended() {
    let run = Run::new(16, "--agents 3 --atoms 6 --topology ring --batch 4");
    let place = run.place.path();
    json(place, "launch m/mesh.toml --json");
    let atoms = run.atoms();
    let again = ok(place, "launch m/mesh.toml");
    assert!(
        again.contains("had ended before: 3 agents learned 16 samples"),
        "{again}"
    );
    let again = json(place, "launch m/mesh.toml --collect all.st --json");
    assert_eq!(
        (again["ended_before"].as_bool(), again["samples"].as_u64()),
        (Some(true), Some(16))
    );
    assert_eq!(distance(&blocks(&place.join("all.st")), &atoms), 0.0);
    assert_eq!(distance(&run.atoms(), &atoms), 0.0);
}

/// No sample comes at the first launch; and where some were learned before it broke off, no more.
#[test]
fn a_launch_that_learns_nothing_says_so_and_of_the_past_what_is_true() {
    let run = Run::new(
        4,
        "--agents 2 --atoms 4 --topology path --informed 0 --stdin",
    );
    let said = ok(run.place.path(), "launch m");
    assert!(said.contains("no sample came"), "{said}");
    assert!(!said.contains("ended before:"), "{said}");
    let said = ok(run.place.path(), "launch m");
    assert!(said.contains("had ended before"), "{said}");

    let inbox = tempfile::tempdir().unwrap();
    let flags = "--agents 2 --atoms 4 --topology path --batch 4";
    let run = Run::new(4, &format!("{flags} --watch {}", inbox.path().display()));
    fs::write(inbox.path().join("1.csv.part"), table(8)).unwrap();
    let whole = inbox.path().join("1.csv");
    fs::rename(inbox.path().join("1.csv.part"), whole).unwrap();
    let broken_off = launch(&run);
    wait_until("8 samples", || (0..2).all(|k| run.checkpoint(k) >= Some(8)));
    let id = broken_off.id().to_string();
    let told = Command::new("kill").args(["-TERM", &id]).status();
    assert!(told.unwrap().success());
    assert_eq!(result(broken_off)["samples"], 8);
    fs::write(inbox.path().join("end"), "").unwrap();
    let said = ok(run.place.path(), "launch m");
    let words = "the samples ended, and nothing new was learned: 2 agents had learned 8 samples";
    assert!(said.contains(words), "{said}");
    let told = json(run.place.path(), "launch m --json");
    assert_eq!(told["ended_before"], true, "{told}");
}

const LEARN: &str =
    "learn x.csv --agents 3 --atoms 6 --topology ring --batch 2 --passes 2 --tolerance 1e-4";

fn learning(place: &Path, more: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(LEARN.split(' ')).args(more.split_whitespace());
    command.current_dir(place).stdout(Stdio::null());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until agent 0 has learned from so many samples.
fn until_sample(place: &Path, sample: u64) {
    let state = place.join("m.st.mesh/agent-0/state");
    wait_until("some progress", || {
        let names = fs::read_dir(&state).into_iter().flatten().flatten();
        let names = names.map(|e| e.file_name().to_string_lossy().into_owned());
        let number = |name: String| name.strip_prefix("checkpoint-")?.parse::<u64>().ok();
        names.filter_map(number).max() >= Some(sample)
    });
}

/// `learn --over processes`, interrupted by Ctrl-C, gone on with, killed, and gone on with again, gives the model of one
/// process.
#[test]
fn learning_over_processes_can_be_interrupted_killed_and_resumed() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(150)).unwrap();
    ok(at, &format!("{LEARN} -o one.st --quiet"));
    let child = learning(at, "-o m.st --over processes");
    until_sample(at, 40);
    let told = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(told.unwrap().success());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", said(&out));
    assert!(said(&out).contains("--resume m.st.mesh"), "{}", said(&out));
    assert!(!at.join("m.st").exists());

    let again = format!("{LEARN} -o m.st --over processes");
    refused(
        at,
        &again,
        &["agents were interrupted there", "--resume m.st.mesh"],
    );
    let resumed = format!("{again} --resume m.st.mesh");
    fs::write(at.join("y.csv"), table(140)).unwrap();
    let words = resumed.replace("x.csv", "y.csv");
    refused(at, &words, &["learn from", "x.csv"]);
    let words = resumed.replace("--passes 2", "--passes 3");
    refused(at, &words, &["--passes 3", "begun with --passes 2"]);
    let words = resumed.replace("--resume m.st.mesh", "--resume one.st");
    refused(at, &words, &["--resume one.st", "MODEL.mesh"]);

    let mut child = learning(at, "-o m.st --over processes --resume m.st.mesh");
    until_sample(at, 100);
    // Gone on with at once: the agent that is left alone dies with it, and is waited for.
    let agents = children(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    for agent in &agents[1..] {
        let _ = Command::new("kill")
            .args(["-9", &agent.to_string()])
            .status();
    }
    let told = json(at, &format!("{resumed} --report page --json"));
    let from = told["samples_before"].as_u64().unwrap();
    assert!((100..300).contains(&from), "{told}");
    let off = distance(&blocks(&at.join("one.st")), &blocks(&at.join("m.st")));
    assert!(off <= 1e-9, "{off:e}");
    assert!(!at.join("m.st.mesh").exists());
    ok(at, "score m.st x.csv --quiet");
}
