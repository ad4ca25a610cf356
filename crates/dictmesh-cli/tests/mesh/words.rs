//! What a person reads: logs, summaries and advice.

use crate::common::{json, ok, refused, PROGRAM};
use crate::feeding::Feeding;
use crate::run::{output, table, Run, PATIENCE};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What only a program's author would write.
const UNREADABLE: [&str; 8] = [
    "{",
    "Some(",
    "None",
    "Ended",
    "Left",
    "close_notify",
    "tag=",
    "[",
];

/// One agent leaves, one is killed and comes back, one is told to end: nothing of it is said in a form that only a
/// program's author knows, and nothing twice.
#[test]
fn every_line_of_a_log_can_be_read() {
    let mut feeding = Feeding::start("--agents 4 --topology complete --tls");
    feeding.feed_until(4);
    feeding.run.kill(1);
    feeding.run.start(1);
    feeding.feed_until(4);
    let place = feeding.run.place.path().to_path_buf();
    let said = ok(&place, "mesh leave m/agent-3");
    assert!(
        said.contains("waits for neighbours that are away"),
        "{said}"
    );
    feeding.feed_until(3);
    assert_eq!(feeding.run.wait(3), Some(0));
    feeding.run.signal(2, "-TERM");
    assert_eq!(feeding.run.wait(2), Some(130));
    feeding.run.start(2);
    feeding.feed();
    feeding.end();
    for k in 0..3 {
        assert_eq!(feeding.run.wait(k), Some(0), "{}", feeding.run.log(k));
    }
    for k in 0..4 {
        let log = feeding.run.log(k);
        for word in UNREADABLE {
            assert!(!log.contains(word), "{word} of agent {k}:\n{log}");
        }
        // The time is before the first blank.
        let said = |line: &str| line.split_once(' ').map(|(_, said)| said.to_string());
        let lines: Vec<Option<String>> = log.lines().map(said).collect();
        let doubled = lines.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(doubled, None, "agent {k}:\n{log}");
    }
    let left = feeding.run.log(3);
    for words in ["asked to leave", "leaving the mesh", "it has left the mesh"] {
        assert!(left.contains(words), "{left}");
    }
    assert!(
        feeding.run.log(0).contains("it leaves the mesh"),
        "{}",
        feeding.run.log(0)
    );
    assert!(
        feeding.run.log(0).contains("listens=nowhere"),
        "{}",
        feeding.run.log(0)
    );
}

/// Launches the mesh; it prints what it did as JSON.
pub fn launch(run: &Run) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(["launch", "m", "--json", "--quiet"]);
    command.current_dir(run.place.path());
    let command = command.stdout(Stdio::piped()).stdin(Stdio::null());
    command.spawn().unwrap()
}

/// Waits until an agent of a launch has come to this sample.
fn until(run: &Run, k: usize, sample: u64) {
    let until = Instant::now() + PATIENCE;
    while run.checkpoint(k) < Some(sample) {
        assert!(Instant::now() < until, "{}", run.log(k));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a launch printed when it ended.
pub fn result(mut child: Child) -> serde_json::Value {
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() >= until {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let text = output(&mut child);
    serde_json::from_str(&text).unwrap()
}

/// A launch is told to end, an agent leaves in the next one, and a newcomer comes too late: each launch says how far the whole
/// run is, of whom, and what was done now.
#[test]
fn a_launch_tells_of_the_whole_run_and_of_those_who_are_there() {
    let place = tempfile::tempdir().unwrap();
    let inbox = place.path().join("inbox");
    let flags = "--agents 3 --topology complete --atoms 6 --batch 4 --rounds 20";
    let run = Run::new(4, &format!("{flags} --watch {}", inbox.display()));
    fs::create_dir(&inbox).unwrap();
    let put = |name: &str| {
        fs::write(inbox.join("new.part"), table(8)).unwrap();
        fs::rename(inbox.join("new.part"), inbox.join(name)).unwrap();
    };
    put("1.csv");
    let first = launch(&run);
    (0..3).for_each(|k| until(&run, k, 8));
    Command::new("kill")
        .args(["-TERM", &first.id().to_string()])
        .status()
        .unwrap();
    let told = result(first);
    assert_eq!(
        (&told["samples"], &told["samples_before"]),
        (&8.into(), &0.into()),
        "{told}"
    );

    let second = launch(&run);
    ok(run.place.path(), "mesh leave m/agent-1/agent.toml");
    let until_left = Instant::now() + PATIENCE;
    while !run.file(1, "state/left").exists() {
        assert!(Instant::now() < until_left, "{}", run.log(1));
        std::thread::sleep(Duration::from_millis(5));
    }
    put("2.csv");
    until(&run, 0, 16);
    fs::write(inbox.join("end"), "").unwrap();
    let told = result(second);
    assert_eq!(
        (&told["samples"], &told["samples_before"]),
        (&16.into(), &8.into()),
        "{told}"
    );
    assert_eq!(
        (&told["agents"], &told["batches"]),
        (&2.into(), &2.into()),
        "{told}"
    );

    let words = &["has ended after 16 samples", "more passes"];
    refused(run.place.path(), "mesh add m --neighbours 0", words);
    let words = &["has ended after 16 samples", "nothing to leave"];
    refused(run.place.path(), "mesh leave m/agent-0", words);
    let told = result(launch(&run));
    assert_eq!(
        (&told["agents"], &told["ended_before"]),
        (&2.into(), &true.into()),
        "{told}"
    );
}

/// Ports of a newcomer: after those of the others, also after those where they are watched.
#[test]
fn a_newcomer_gets_ports_that_are_free() {
    let run = Run::new(
        4,
        "--agents 3 --topology complete --port 7400 --metrics 7403",
    );
    let place = run.place.path();
    let add = |words: &str| json(place, &format!("mesh add m --neighbours 0 --json {words}"));
    let port = |value: &serde_json::Value| {
        value
            .as_str()
            .unwrap()
            .rsplit(':')
            .next()
            .unwrap()
            .to_string()
    };
    let first = add("");
    assert_eq!(
        (port(&first["address"]), port(&first["metrics"])),
        ("7406".into(), "7407".into())
    );
    let second = add("");
    assert_eq!(
        (port(&second["address"]), port(&second["metrics"])),
        ("7408".into(), "7409".into())
    );
    let elsewhere = add("--address 127.200.1.1:7403");
    assert_eq!(port(&elsewhere["metrics"]), "7404", "{elsewhere}");
    refused(
        place,
        "mesh add m --neighbours 0 --address 127.0.0.1:0",
        &["dial it, which needs a port"],
    );
    // A port of 0 is none.
    let file = place.join("m/mesh.toml");
    let text = fs::read_to_string(&file).unwrap();
    let text: Vec<String> = (text.lines())
        .map(|line| match line.starts_with("address = ") {
            true => "address = \"127.0.0.1:0\"".to_string(),
            false => line.to_string(),
        })
        .collect();
    fs::write(&file, text.join("\n")).unwrap();
    refused(
        place,
        "mesh add m --neighbours 0",
        &["--address", "HOST:PORT"],
    );
}

/// Agent 1 is reached at a port that is sent on to another, where it listens: that one is nobody else's either.
#[test]
fn a_newcomer_does_not_get_a_port_where_another_listens() {
    let run = Run::new(4, "--agents 2 --topology path --port 7400");
    let place = run.place.path();
    let file = place.join("m/mesh.toml");
    let text = fs::read_to_string(&file).unwrap();
    let host = text.split("address = \"").nth(1).unwrap();
    let host = host.split(':').next().unwrap();
    let sent_on = format!("address = \"{host}:443\"\nlisten = \"{host}:7401\"");
    let changed = text.replace(&format!("address = \"{host}:7401\""), &sent_on);
    assert_ne!(changed, text);
    fs::write(&file, changed).unwrap();
    let added = json(place, "mesh add m --neighbours 1 --overwrite --json");
    assert_eq!(added["address"], format!("{host}:7402"), "{added}");
}

/// Half the bytes are half the bytes in what is told, too; and what single precision cannot meet is refused.
#[test]
fn single_precision_is_told_as_it_is() {
    let bytes = |flags: &str| {
        let run = Run::new(
            32,
            &format!("--agents 3 --topology path --atoms 6 --batch 16 --rounds 60 {flags}"),
        );
        json(run.place.path(), "launch m/mesh.toml --json --quiet")["bytes"]
            .as_u64()
            .unwrap()
    };
    let (single, double) = (bytes("--float32"), bytes("--strategy relaxed-admm"));
    assert!(
        2 * single < double + double / 4 && 2 * single > double,
        "{single} and {double}"
    );
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("x.csv"), table(8)).unwrap();
    let init = "mesh init m --data x.csv --float32";
    refused(
        place.path(),
        &format!("{init} --tolerance 1e-6"),
        &["1e-6", "less than 1e-5"],
    );
    refused(
        place.path(),
        &format!("{init} --strategy exact-diffusion"),
        &["exact-diffusion", "less than 1e-2"],
    );
    let said = ok(
        place.path(),
        &format!("{init} --topology path --agents 12 --tolerance 2e-5"),
    );
    assert!(said.contains("may not be met"), "{said}");
}

/// What is said before anything runs.
#[test]
fn advice_is_of_the_place_it_is_given_for() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(8)).unwrap();
    let init = "--agents 2 --topology path --atoms 4";
    refused(
        at,
        &format!("mesh init m --data x.csv {init} --hosts 10.0.0.1,10.0.0.2"),
        &["--plain-text", "--tls"],
    );
    let said = ok(
        at,
        &format!(
            "mesh init far --data x.csv {init} --hosts 10.0.0.1,10.0.0.2 --tls --strategy relaxed-admm"
        ),
    );
    assert!(
        said.contains("at 10.0.0.2:") && !said.contains("launch"),
        "{said}"
    );
    assert!(
        said.contains("relaxed-admm (") && !said.contains('{'),
        "{said}"
    );
    // auto's choice is what the mesh file has.
    for (name, links) in [("tree", "--bandwidth 100"), ("relaxed-admm", "--latency 1")] {
        let said = ok(at, &format!("mesh init {name} --data x.csv {init} {links}"));
        assert!(said.contains(&format!("strategy: {name} (")), "{said}");
        let file = fs::read_to_string(at.join(name).join("mesh.toml")).unwrap();
        assert!(file.contains(name) && !file.contains("auto"), "{file}");
    }
    let said = ok(
        at,
        &format!("mesh init near --rows 12 --watch nowhere {init}"),
    );
    assert!(said.contains("launch near/mesh.toml"), "{said}");
    assert!(
        said.contains("nowhere: this directory is not there yet"),
        "{said}"
    );
    // A launch has one standard input, and would refuse.
    let said = ok(at, &format!("mesh init many --rows 12 --stdin {init}"));
    assert!(
        !said.contains("launch many") && said.contains("--informed 0"),
        "{said}"
    );
    let one = format!("mesh init one --rows 12 --stdin --informed 0 {init}");
    let said = ok(at, &one);
    assert!(said.contains("launch one/mesh.toml"), "{said}");
}

/// What is said of files that are not what the command needs.
#[test]
fn advice_is_of_the_file_it_is_given_for() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(8)).unwrap();
    let init = "--agents 2 --topology path --atoms 4";
    ok(
        at,
        &format!("mesh init near --rows 12 --watch nowhere {init}"),
    );
    refused(at, "agent none.toml", &["no such file", "mesh init"]);
    refused(at, "agent near", &["no agent.toml", "agent-0"]);
    refused(at, "agent near/agent-0", &["nowhere", "make it first"]);
    let file = at.join("near/agent-1/agent.toml");
    let text = fs::read_to_string(&file)
        .unwrap()
        .replace("127.0.0.1:7401", "10.0.0.1:7401");
    fs::write(&file, text).unwrap();
    refused(at, "agent near/agent-1", &["[tls]", "plain-text = true"]);
    ok(at, &format!("mesh init begun --data x.csv {init}"));
    refused(
        at,
        "learn x.csv -o y --resume begun",
        &["directory of a mesh", "launch begun/mesh.toml"],
    );
    refused(
        at,
        "learn x.csv -o y --over processes --resume begun",
        &["not begun by learn", "launch begun/mesh.toml"],
    );
}
