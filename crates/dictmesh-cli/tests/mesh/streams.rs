//! Samples that come by and by, scores as they happen, and numbers for whoever watches.

use crate::common::PROGRAM;
use crate::run::{distance, output, table, Run};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const FLAGS: &str = "--agents 3 --atoms 6 --topology path --batch 4 --informed 0 --seed 5";

fn start(run: &Run, k: usize, stdin: Stdio) -> Child {
    let mut command = run.command(k);
    command.arg("--score").stdin(stdin).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// An idle stream times nobody out, under either policy, and every agent has the same score for every sample.
#[test]
fn standard_input_may_pause_and_all_agents_print_the_same_scores() {
    let mut from_file = Run::new(32, FLAGS);
    from_file.start_all();
    let expected = from_file.finish();
    for policy in ["wait", "go-on --deadline 1"] {
        let run = Run::new(32, &format!("{FLAGS} --stdin --policy {policy}"));
        let mut children = vec![start(&run, 0, Stdio::piped())];
        children.extend((1..3).map(|k| start(&run, k, Stdio::null())));
        let mut feed = children[0].stdin.take().unwrap();
        let text = table(32);
        let (first, rest) = text.split_at(text.len() / 2);
        feed.write_all(first.as_bytes()).unwrap();
        feed.flush().unwrap();
        std::thread::sleep(Duration::from_millis(2500));
        feed.write_all(rest.as_bytes()).unwrap();
        drop(feed);
        let said: Vec<String> = children.iter_mut().map(output).collect();
        for (k, child) in children.iter_mut().enumerate() {
            assert_eq!(child.wait().unwrap().code(), Some(0), "{}", run.log(k));
        }
        let scores = |text: &str| -> Vec<f64> {
            let score = |(i, line): (usize, &str)| {
                let (number, score) = line.split_once('\t').unwrap();
                assert_eq!(number.parse::<usize>().unwrap(), i);
                score.parse().unwrap()
            };
            text.lines().enumerate().map(score).collect()
        };
        let all: Vec<Vec<f64>> = said.iter().map(|text| scores(text)).collect();
        assert_eq!(all[0].len(), 32);
        for other in &all[1..] {
            for (a, b) in all[0].iter().zip(other) {
                assert!((a - b).abs() <= 1e-6 * a.abs(), "{a} and {b}");
            }
        }
        assert!(distance(&run.atoms(), &expected) <= 1e-9);
    }
}

#[test]
fn a_watched_directory_is_learned_as_it_fills() {
    let run = Run::new(8, &format!("{FLAGS} --watch in"));
    let mut run = run;
    let inbox = run.place.path().join("in");
    fs::create_dir(&inbox).unwrap();
    let text = table(32);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    run.start_all();
    for (i, lines) in lines.chunks(16).enumerate() {
        fs::write(inbox.join("new.part"), lines.concat()).unwrap();
        fs::rename(inbox.join("new.part"), inbox.join(format!("{i}.csv"))).unwrap();
        run.until_sample(1, 16 * (i as u64 + 1));
    }
    fs::write(inbox.join("end"), "").unwrap();
    let learned = run.finish();
    let mut from_file = Run::new(32, FLAGS);
    from_file.start_all();
    assert!(distance(&learned, &from_file.finish()) <= 1e-9);
}

#[test]
fn prometheus_can_ask_a_running_agent() {
    let port = 20_000 + (std::process::id() % 20_000) as u16;
    let run = Run::new(8, &format!("{FLAGS} --stdin --metrics {port}"));
    let mut children = vec![start(&run, 0, Stdio::piped())];
    children.extend((1..3).map(|k| start(&run, k, Stdio::null())));
    let mut feed = children[0].stdin.take().unwrap();
    feed.write_all(table(8).as_bytes()).unwrap();
    feed.flush().unwrap();
    let mut waiting = run;
    for _ in 0..3000 {
        if waiting.checkpoint(1) >= Some(8) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut socket = TcpStream::connect(("127.0.0.1", port + 1)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut page = String::new();
    socket.read_to_string(&mut page).unwrap();
    let value = |name: &str| -> f64 {
        let line = page.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name} in {page}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value("dictmesh_samples_total"), 8.0);
    assert!(value("dictmesh_rounds_total") > 2.0);
    assert!(value("dictmesh_bytes_sent_total{agent=\"1\",neighbour=\"2\"}") > 96.0);
    assert!(value("dictmesh_cost").is_finite());
    assert!(value("dictmesh_disagreement") < 0.1);
    drop(feed);
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    waiting.agents.clear();
}

/// A mismatch is said by both, and nobody goes on with it.
#[test]
fn agents_with_different_settings_name_the_difference() {
    let mut run = Run::new(16, FLAGS);
    let file = run.file(1, "agent.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("batch = 4", "batch = 2")).unwrap();
    run.start_all();
    let words = "batch is 2 at agent 1 and 4 at agent 0";
    for _ in 0..3000 {
        if run.log(0).contains(words) && run.log(1).contains(words) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(run.log(0).contains(words), "{}", run.log(0));
    assert!(run.log(1).contains(words), "{}", run.log(1));
    assert!(!run.ended(0) && !run.ended(1));
    let out = Command::new(PROGRAM).arg("agent").output().unwrap();
    assert_eq!(out.status.code(), Some(2));
}
