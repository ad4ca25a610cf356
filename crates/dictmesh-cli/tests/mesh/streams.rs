//! Samples that come by and by, scores as they happen, and numbers for whoever watches.

use crate::common::PROGRAM;
use crate::run::{distance, output, table, Run, PATIENCE};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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

/// Lines from this one on, 0 being the first.
fn lines_from(text: &str, first: usize) -> String {
    text.split_inclusive('\n').skip(first).collect()
}

/// How many samples a word on what to feed says that there are.
fn told(said: &str) -> usize {
    let mut parts = said.rsplit("it has ");
    let number = parts.next().unwrap().split(' ').next().unwrap();
    let number: usize = number.parse().unwrap();
    assert!(
        said.contains(&format!("feed it line {} of all", number + 1)),
        "{said}"
    );
    number
}

/// Writes all of it at once, from a thread of its own: whoever reads may be killed before the end. The input ends when
/// what is returned is dropped.
fn pour(child: &mut Child, text: String) -> JoinHandle<ChildStdin> {
    let mut to = child.stdin.take().unwrap();
    std::thread::spawn(move || {
        let _ = to.write_all(text.as_bytes());
        to
    })
}

const MANY: usize = 300;

fn from_a_file() -> Vec<dictmesh::Matrix> {
    let mut run = Run::new(MANY, FLAGS);
    run.start_all();
    run.finish()
}

/// The reader is killed with lines read ahead: what to feed is said, and fed with that the atoms are the same.
#[cfg(target_os = "linux")]
#[test]
fn a_launch_whose_reader_is_killed_says_from_which_line_to_go_on() {
    use crate::faults::{children, wait_until};
    let run = Run::new(4, &format!("{FLAGS} --stdin"));
    let launch = |text: String| {
        let mut child = Command::new(PROGRAM)
            .args(["launch", "m/mesh.toml", "--json"])
            .current_dir(run.place.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let held = pour(&mut child, text);
        (child, held)
    };
    let text = table(MANY);
    let (first, held) = launch(text.clone()); // it cannot end before it is killed
    wait_until("some progress", || run.checkpoint(0) >= Some(40));
    let mut agents = children(first.id());
    agents.sort_unstable();
    let reader = agents[0].to_string();
    let _ = Command::new("kill").args(["-9", &reader]).status();
    let out = first.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    drop(held);
    let last = said.lines().last().unwrap();
    assert!(last.contains("it was killed"), "{said}");
    let taken = told(last);
    assert!((40..=MANY).contains(&taken), "{said}");
    let (second, held) = launch(lines_from(&text, taken));
    drop(held);
    let out = second.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{said}");
    assert_eq!(told(&said), taken, "at its start it says it again");
    assert!(distance(&run.atoms(), &from_a_file()) <= 1e-9);
}

/// By itself an agent says at its start, and when it is told to end, which line it wants next.
#[test]
fn an_agent_says_which_line_of_standard_input_it_wants() {
    let mut run = Run::new(4, &format!("{FLAGS} --stdin"));
    let text = table(MANY);
    let start = |run: &mut Run, first: usize| {
        let mut child = run.command(0).stdin(Stdio::piped()).spawn().unwrap();
        drop(pour(&mut child, lines_from(&text, first)));
        run.agents[0] = Some(child);
    };
    start(&mut run, 0);
    (1..3).for_each(|k| run.start(k));
    run.until_said(0, &["must begin with line 1 of all"]);
    run.until_sample(0, 40);
    run.kill(0);
    // Started with nothing to read it is told to end at once, having said what it wants.
    let mut idle = run.command(0).stdin(Stdio::piped()).spawn().unwrap();
    let held = idle.stdin.take();
    run.agents[0] = Some(idle);
    let taken = told(&run.until_said(0, &["feed it line"]));
    run.signal(0, "-TERM");
    assert_eq!(run.wait(0), Some(130));
    drop(held);
    start(&mut run, taken);
    run.until_sample(0, taken as u64 + 40);
    run.signal(0, "-TERM");
    assert_eq!(run.wait(0), Some(130));
    let log = run.log(0);
    let taken = told(log.lines().last().unwrap());
    start(&mut run, taken);
    let off = distance(&run.finish(), &from_a_file());
    assert!(off <= 1e-9, "{off:e}");
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
    let until = Instant::now() + PATIENCE;
    let mut page = String::new();
    while !page.contains("dictmesh_samples_total{agent=\"1\"} 8\n") {
        assert!(Instant::now() < until, "{page}");
        page = metrics(port + 1).unwrap_or_default();
        std::thread::sleep(Duration::from_millis(20));
    }
    let value = |name: &str| -> f64 {
        let line = page.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name} in {page}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(value("dictmesh_rounds_total") > 2.0);
    assert!(value("dictmesh_bytes_sent_total{agent=\"1\",neighbour=\"2\"}") > 96.0);
    assert!(value("dictmesh_cost").is_finite());
    assert!(value("dictmesh_disagreement") < 0.1);
    drop(feed);
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
}

/// The page of numbers, once somebody answers.
fn metrics(port: u16) -> std::io::Result<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    socket.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
    let mut page = String::new();
    socket.read_to_string(&mut page)?;
    Ok(page)
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
