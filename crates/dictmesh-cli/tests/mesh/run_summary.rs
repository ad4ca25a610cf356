//! What the log and the last line say where a run does not go as it usually does.

use crate::common::{json, ok, refused, PROGRAM};
use crate::feeding::Feeding;
use crate::run::{distance, table, Run};
use crate::words::{launch, result};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// Under `go-on` a loss is a warning, and a return is none.
#[test]
fn a_lost_agent_is_warned_of_and_its_return_is_not() {
    // Longer than the others take between two attempts to reach it: alone it would end, as it is not informed.
    let flags = "--agents 3 --topology complete --policy go-on --deadline 4";
    let mut feeding = Feeding::start(flags);
    feeding.feed_until(3);
    assert!(feeding.run.log(0).contains("neighbours=1, 2"));
    feeding.run.kill(2);
    feeding.feed_until(2);
    let log = feeding.run.log(0);
    let lost = log.lines().find(|line| line.contains("lost: "));
    let lost = lost.unwrap_or_else(|| panic!("{log}"));
    assert!(
        lost.contains("WARN") && lost.contains("neighbours=2"),
        "{lost}"
    );
    feeding.run.start(2);
    feeding.feed_until(3);
    feeding.end();
    for k in 0..3 {
        assert_eq!(feeding.run.wait(k), Some(0), "{}", feeding.run.log(k));
        let log = feeding.run.log(k);
        assert!(!log.contains("frame refused"), "agent {k}:\n{log}");
    }
}

/// What a line of shell shows at a terminal, which `script` is, frame by frame; none where there is no `script`.
#[allow(clippy::print_stderr)] // It stands outside the test functions, and tells what they skip.
fn at_terminal(run: &Run, line: &str) -> Option<Vec<String>> {
    let mut terminal = Command::new("script");
    terminal.args(["-qec", line, "/dev/null"]);
    let shown = terminal.current_dir(run.place.path()).stdin(Stdio::null());
    let Ok(shown) = shown.output() else {
        eprintln!("skipped: there is no `script` (Debian: bsdutils) to be the terminal");
        return None;
    };
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    Some(shown.split('\r').map(str::to_string).collect())
}

/// One view of all agents, as a person at a terminal has it.
#[test]
fn launch_shows_how_far_the_mesh_is_at_a_terminal_and_nothing_of_it_elsewhere() {
    let run = Run::new(80, "--agents 3 --batch 4");
    let Some(shown) = at_terminal(&run, &format!("'{PROGRAM}' launch m")) else {
        return;
    };
    let bars: Vec<&String> = shown.iter().filter(|part| part.contains("] ")).collect();
    // Also the first: it is drawn when all of it is known.
    assert!(
        bars.iter().all(|bar| bar.contains("learning [")),
        "{shown:?}"
    );
    let done = |bar: &&String| {
        let count = bar.split_once("] ")?.1.split_once("/80")?.0;
        count.parse::<usize>().ok()
    };
    let done: Vec<usize> = bars.iter().map(|bar| done(bar).unwrap()).collect();
    assert!(done.is_sorted() && done.iter().any(|n| *n > 0), "{shown:?}");
    assert!(
        bars.iter().any(|bar| bar.contains("  mean cost 0.")),
        "{shown:?}"
    );
    let last = "3 agents learned 80 samples in 20 batches";
    assert!(shown.concat().contains(last), "{shown:?}");
    let run = Run::new(8, "--agents 2 --batch 4");
    let elsewhere = Command::new(PROGRAM)
        .args(["launch", "m"])
        .current_dir(run.place.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&elsewhere.stderr), "");
}

/// Nobody knows how many will come: a bar would be full from the first moment, and no time would ever be left.
#[test]
fn launch_counts_samples_whose_number_is_not_known() {
    let run = Run::new(80, "--agents 2 --batch 4 --informed 0 --stdin");
    let line = format!("cat x.csv | '{PROGRAM}' launch m");
    let Some(shown) = at_terminal(&run, &line) else {
        return;
    };
    let frames = shown.iter().filter(|part| part.contains("learning"));
    let frames: Vec<&String> = frames.collect();
    let done = |frame: &&String| {
        let count = frame.split_once("learning  ")?.1.split_once(" samples")?.0;
        count.parse::<usize>().ok()
    };
    let done: Vec<usize> = frames.iter().map(|frame| done(frame).unwrap()).collect();
    assert!(done.is_sorted() && done.iter().any(|n| *n > 0), "{shown:?}");
    assert!(
        frames
            .iter()
            .any(|frame| frame.contains("/s  mean cost 0.")),
        "{shown:?}"
    );
    for word in ["[=", "] ", " left"] {
        assert!(!shown.concat().contains(word), "{word}: {shown:?}");
    }
}

/// An agent that has no atoms cannot have unused ones.
#[test]
fn who_has_no_atoms_is_not_told_that_they_are_unused() {
    let run = Run::new(
        8,
        "--agents 3 --atoms 2 --topology path --batch 4 --gamma 1000",
    );
    ok(run.place.path(), "launch m --quiet");
    let unused = "no atom of this agent was used";
    assert!(run.log(0).contains(unused), "{}", run.log(0));
    assert!(run.log(2).contains("atoms=0"), "{}", run.log(2));
    assert!(!run.log(2).contains(unused), "{}", run.log(2));
}

/// The certificates of agent 2 are of another mesh: nobody links with it, and nothing is agreed on.
#[test]
fn a_launch_that_ends_before_an_agreement_tells_of_the_agents_of_its_mesh() {
    let flags = "--agents 3 --atoms 6 --topology ring --tls";
    let (run, other) = (Run::new(8, flags), Run::new(8, flags));
    for name in ["authority.pem", "certificate.pem", "private.key"] {
        fs::copy(other.file(2, name), run.file(2, name)).unwrap();
    }
    let child = launch(&run);
    run.until_said(0, &["started"]);
    let id = child.id().to_string();
    let told = Command::new("kill").args(["-TERM", &id]).status();
    assert!(told.unwrap().success());
    let told = result(child);
    assert_eq!(
        (&told["agents"], &told["samples"], &told["interrupted"]),
        (&3.into(), &0.into(), &true.into()),
        "{told}"
    );
}

/// The agent ends with the line's number and what a line must be; started again, it goes on from there.
#[test]
fn a_bad_line_is_named_and_gone_on_from() {
    let flags = "--agents 2 --atoms 4 --topology path --batch 4 --informed 0 --seed 5";
    let mut run = Run::new(8, &format!("{flags} --stdin"));
    let text = table(8);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let feed = |run: &mut Run, text: String| {
        let mut child = run.command(0).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        run.agents[0] = Some(child);
        run.wait(0)
    };
    run.start(1);
    let bad = format!("{}\n1,two,3\n{}", lines[..5].concat(), lines[5..].concat());
    assert_eq!(feed(&mut run, bad), Some(1));
    let log = run.log(0);
    for words in [
        "line 7 of standard input: \"two\"",
        "12 finite numbers",
        "the lines before are kept",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert_eq!(
        feed(&mut run, lines[5..].concat()),
        Some(0),
        "{}",
        run.log(0)
    );
    assert_eq!(run.wait(1), Some(0));
    let mut whole = Run::new(8, flags);
    whole.start_all();
    assert_eq!(distance(&run.atoms(), &whole.finish()), 0.0);
}

/// What is not whole is passed over with one line; what is no samples ends the agent with advice that it can follow.
#[test]
fn stray_files_in_a_watched_directory_are_passed_over_or_named() {
    let mut run = Run::new(8, "--agents 1 --atoms 4 --batch 4 --watch in");
    let inbox = run.place.path().join("in");
    fs::create_dir_all(inbox.join("older")).unwrap();
    for name in [".DS_Store", "half.csv.tmp", "half.csv.part", "notes.md"] {
        fs::write(inbox.join(name), "1,").unwrap();
    }
    run.start(0);
    assert_eq!(run.wait(0), Some(1));
    let log = run.log(0);
    assert_eq!(log.matches("passed over").count(), 1, "{log}");
    let last = log.lines().last().unwrap();
    assert!(
        last.contains("notes.md") && last.contains("agent.toml"),
        "{last}"
    );
    assert!(!last.contains("--format"), "{last}");
    fs::remove_file(inbox.join("notes.md")).unwrap();
    fs::write(inbox.join("1.csv"), table(8)).unwrap();
    fs::write(inbox.join("end"), "").unwrap();
    run.start(0);
    assert_eq!(run.wait(0), Some(0), "{}", run.log(0));
    assert_eq!(run.checkpoint(0), Some(8));
}

/// Half the bytes, near the same atoms; and where it would do nothing, that is said.
#[test]
fn learning_over_processes_may_send_single_precision() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(32)).unwrap();
    let learn = "learn x.csv --agents 3 --atoms 6 --topology ring --batch 8 --rounds 60";
    ok(at, &format!("{learn} -o double --quiet"));
    let single = "--float32 --over processes --quiet";
    ok(at, &format!("{learn} -o single {single}"));
    let atoms = |name: &str| crate::learned::blocks(&at.join(name));
    let off = distance(&atoms("double"), &atoms("single"));
    assert!(off > 0.0 && off < 1e-4, "{off:e}");
    refused(
        at,
        &format!("{learn} -o m --float32"),
        &["--float32", "--over processes"],
    );
    let words = &["1e-6", "single precision"];
    refused(
        at,
        &format!("{learn} -o m {single} --tolerance 1e-6"),
        words,
    );
}

/// A run that goes on says from where, of how many.
#[test]
fn a_resumed_run_says_where_in_the_whole_it_is() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(40)).unwrap();
    let told = json(
        at,
        "learn x.csv -o one --agents 3 --atoms 6 --batch 4 --json",
    );
    assert_eq!(told["samples_before"], 0);
    let resume = "learn x.csv --resume one --passes 3";
    let told = json(at, &format!("{resume} -o two --json"));
    assert_eq!(
        (&told["samples_before"], &told["samples"]),
        (&40.into(), &80.into())
    );
    let said = ok(at, &format!("{resume} -o three"));
    assert!(said.contains("continued from sample 40 of 120"), "{said}");
}
