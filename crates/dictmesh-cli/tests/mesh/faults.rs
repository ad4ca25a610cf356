//! Killed, frozen, told to end, all at once: the atoms are those of a run that nobody disturbed.

use crate::common::PROGRAM;
use crate::inbox::Inbox;
use crate::run::{distance, Run, PATIENCE};
use dictmesh::Matrix;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const FLAGS: &str = "--agents 4 --atoms 8 --topology ring --batch 4 --tolerance 1e-3 --seed 3";
pub const SAMPLES: usize = 240;
/// How far atoms may be from those of the undisturbed run.
pub const SAME: f64 = 1e-9;

/// What an undisturbed run learns.
pub fn undisturbed() -> Vec<Matrix> {
    let mut run = Run::new(SAMPLES, FLAGS);
    run.start_all();
    run.finish()
}

/// Numbers that look random; the same in every run of the test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

/// How many agents are killed.
fn soak() -> u64 {
    match std::env::var("DICTMESH_SOAK") {
        Ok(given) => given.parse().unwrap(), // a typing error is not 10 kills
        Err(_) => 10,
    }
}

/// Samples come for as long as there is killing, so that whoever is killed is in the middle of the run.
#[test]
fn whoever_is_killed_at_any_round_and_started_again_changes_nothing() {
    const EACH: usize = 8;
    let kills = soak();
    let mut dice = Dice(7);
    let mut inbox = Inbox::new(FLAGS);
    inbox.run.start_all();
    for kill in 0..kills {
        inbox.put(EACH);
        let k = dice.roll(4) as usize;
        // Three times of four in the rounds of a batch; else while they may still agree on the last one's return.
        if dice.roll(4) > 0 {
            let before = inbox.samples - EACH;
            inbox.run.until_sample(k, before as u64 + 4 * dice.roll(2));
        }
        std::thread::sleep(Duration::from_micros(dice.roll(20_000)));
        assert!(
            inbox.run.kill(k),
            "kill {kill}: agent {k} had ended by itself"
        );
        inbox.run.start(k);
    }
    inbox.end();
    let learned = inbox.run.finish();
    let mut expected = Inbox::new(FLAGS);
    (0..kills).for_each(|_| expected.put(EACH));
    expected.end();
    expected.run.start_all();
    let off = distance(&learned, &expected.run.finish());
    assert!(off <= SAME, "{kills} kills: {off:e}");
}

/// The newest checkpoint of one agent was damaged on its disk: it says so, and all go back to the one before.
#[test]
fn a_damaged_checkpoint_is_refused_and_changes_nothing() {
    let mut run = Run::new(SAMPLES, FLAGS);
    run.start_all();
    run.until_sample(1, 80);
    (0..4).for_each(|k| assert!(run.kill(k)));
    let newest = run.checkpoint(2).unwrap();
    let files = std::fs::read_dir(run.file(2, "state")).unwrap().flatten();
    let is_newest = |file: &std::path::PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_prefix("checkpoint-"));
        number.and_then(|number| number.parse().ok()) == Some(newest)
    };
    let file = files.map(|entry| entry.path()).find(is_newest).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    run.start_all();
    let number = newest.to_string();
    run.until_said(2, &["WARN", "checkpoint refused", &number]);
    let off = distance(&run.finish(), &undisturbed());
    assert!(off <= SAME, "{off:e}");
}

/// The memory of a running agent, in KB.
#[cfg(target_os = "linux")]
fn resident(run: &Run, k: usize) -> u64 {
    let id = run.agents[k].as_ref().unwrap().id();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.unwrap().parse().unwrap()
}

/// One that runs for a moment now and then: the others do not pile up what it does not take.
#[cfg(target_os = "linux")]
#[test]
fn while_one_agent_is_slow_the_others_wait_with_flat_memory() {
    const MORE: u64 = 8 * 1024;
    let flags = FLAGS.replace("--batch 4", "--batch 128");
    let mut run = Run::new(60 * 128, &flags);
    run.start_all();
    run.until_sample(2, 128);
    let others = [0, 1, 3];
    let before = others.map(|k| resident(&run, k));
    for _ in 0..20 {
        run.signal(2, "-STOP");
        std::thread::sleep(Duration::from_millis(300));
        let now = others.map(|k| resident(&run, k));
        let flat = before.iter().zip(now).all(|(b, now)| now <= b + MORE);
        assert!(flat, "KB before and now: {before:?}, {now:?}");
        run.signal(2, "-CONT");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(others.iter().all(|k| !run.ended(*k)), "they waited");
    run.finish();
}

#[test]
fn a_power_cut_of_all_at_once_changes_nothing() {
    let expected = undisturbed();
    let mut run = Run::new(SAMPLES, FLAGS);
    for sample in [40, 120, 180] {
        run.start_all();
        run.until_sample(1, sample);
        (0..4).for_each(|k| assert!(run.kill(k)));
    }
    run.start_all();
    let off = distance(&run.finish(), &expected);
    assert!(off <= SAME, "{off:e}");
}

#[test]
fn an_agent_that_freezes_for_five_seconds_changes_nothing() {
    let expected = undisturbed();
    let mut run = Run::new(SAMPLES, FLAGS);
    run.start_all();
    run.until_sample(2, 80);
    run.signal(2, "-STOP");
    std::thread::sleep(Duration::from_secs(5));
    let before = run.checkpoint(0);
    run.signal(2, "-CONT");
    assert!(before < Some(SAMPLES as u64), "the others waited");
    let off = distance(&run.finish(), &expected);
    assert!(off <= SAME, "{off:e}");
}

#[test]
fn an_agent_that_is_told_to_end_finishes_its_batch_and_can_go_on() {
    let expected = undisturbed();
    let mut run = Run::new(SAMPLES, FLAGS);
    run.start_all();
    run.until_sample(3, 60);
    run.signal(3, "-TERM");
    assert_eq!(run.wait(3), Some(130));
    let at = run.checkpoint(3).unwrap();
    assert!(at >= 60 && at.is_multiple_of(4), "{at}");
    run.start(3);
    let off = distance(&run.finish(), &expected);
    assert!(off <= SAME, "{off:e}");
    // Its atoms are for nobody else to read.
    let mode = std::fs::metadata(run.file(3, "state"))
        .unwrap()
        .permissions();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
        0o700
    );
    // Its end is no news to it.
    run.start(3);
    assert_eq!(run.wait(3), Some(0));
}

#[test]
fn two_processes_cannot_be_the_same_agent() {
    let mut run = Run::new(SAMPLES, FLAGS);
    run.start(0);
    run.until_sample(0, 0);
    let out = run.command(0).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(
        said.contains("another process is this agent already"),
        "{said}"
    );
}

/// The children of a process, as the system lists them.
#[cfg(target_os = "linux")]
pub fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((head, tail)) = stat.rsplit_once(')') else {
            continue;
        };
        let mut words = tail.split_whitespace();
        let (state, its_parent) = (words.next(), words.next().and_then(|p| p.parse().ok()));
        if its_parent == Some(parent) && state != Some("Z") {
            found.extend(
                head.split(' ')
                    .next()
                    .and_then(|pid| pid.parse::<u32>().ok()),
            );
        }
    }
    found
}

/// Whether there is no such process any more.
#[cfg(target_os = "linux")]
pub fn gone(pid: &u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

pub fn wait_until(what: &str, is: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn launch_starts_the_killed_again_and_its_agents_die_with_it() {
    let expected = undisturbed();
    let mut run = Run::new(SAMPLES, FLAGS);
    let launch = |run: &Run| {
        Command::new(PROGRAM)
            .args(["launch", "m/mesh.toml", "--json"])
            .current_dir(run.place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    // Killed itself: nobody stays behind.
    let mut first = launch(&run);
    wait_until("four agents", || children(first.id()).len() == 4);
    wait_until("some progress", || run.checkpoint(0) >= Some(20));
    let agents = children(first.id());
    first.kill().unwrap();
    first.wait().unwrap();
    wait_until("all agents gone", || agents.iter().all(gone));
    // Again, and an agent is killed.
    let mut second = launch(&run);
    let before = run.checkpoint(1);
    wait_until("some progress", || {
        run.checkpoint(1) >= before.map(|b| b + 20)
    });
    let victim = children(second.id())[1];
    let _ = Command::new("kill")
        .args(["-9", &victim.to_string()])
        .status();
    let said = crate::run::output(&mut second);
    assert!(second.wait().unwrap().success(), "{said}");
    let told: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(told["restarts"], 1);
    assert_eq!(told["samples"], SAMPLES);
    let off = distance(&run.atoms(), &expected);
    assert!(off <= SAME, "{off:e}");
    run.agents.clear();
}
