//! What is looked at before an agent leaves, and what is known of it afterwards.

use crate::common::{files, json, ok, refused};
use crate::feeding::Feeding;
use crate::run::{Run, PATIENCE};
use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Four agents in a row, of which the first sees the samples. Whoever the others need cannot leave, until the advice was
/// followed.
#[test]
fn a_leave_that_would_end_the_run_is_refused() {
    let mut feeding = Feeding::start("--agents 4 --topology path");
    feeding.feed_until(4);
    let place = feeding.run.place.path().to_path_buf();
    let cut = &[
        "agent-2: without it",
        "(agents 0, 1 from agent 3)",
        "--neighbours 0,3",
        "[0, 3]",
    ];
    refused(&place, "mesh leave m/agent-2", cut);
    refused(&place, "mesh leave m/agent-2/agent.toml", cut);
    let only = &[
        "agent-0: no other agent sees the samples",
        "informed = true",
    ];
    let ends = "mesh leave m/agent-0";
    refused(&place, ends, only);
    // Where the whole mesh is not known, it must be said.
    fs::rename(place.join("m/mesh.toml"), place.join("m/all.toml")).unwrap();
    refused(
        &place,
        "mesh leave m/agent-2",
        &["mesh.toml is not there", "--mesh FILE", "--unchecked"],
    );
    let told = "mesh leave m/agent-2 --mesh m/all.toml";
    refused(&place, told, cut);
    fs::rename(place.join("m/all.toml"), place.join("m/mesh.toml")).unwrap();
    for k in 0..4 {
        let there = files(&feeding.run.file(k, "state"));
        assert!(!there.iter().any(|name| name == "leave"), "{there:?}");
    }
    feeding.feed_until(4);

    // An agent between the two halves counts when it is there.
    json(&place, "mesh add m --neighbours 1,3 --json");
    feeding.run.agents.push(None);
    refused(&place, "mesh leave m/agent-2", cut);
    for k in [1, 3] {
        feeding.run.signal(k, "-TERM");
        assert_eq!(feeding.run.wait(k), Some(130));
        feeding.run.start(k);
    }
    feeding.run.start(4);
    feeding.feed_until(5);
    ok(&place, "mesh leave m/agent-2");
    // Two at once are one too many.
    let both = &["agent-4: without it", "(agents 0, 1 from agent 3)"];
    refused(&place, "mesh leave m/agent-4", both);
    feeding.feed_until(4);
    assert_eq!(feeding.run.wait(2), Some(0));
    refused(&place, "mesh leave m/agent-4", both);
    // What an agent knows by itself is enough where the others' directories are elsewhere.
    fs::remove_dir_all(feeding.run.file(2, "state")).unwrap();
    refused(&place, "mesh leave m/agent-4", both);
    feeding.end();
    for k in [0, 1, 3, 4] {
        assert_eq!(feeding.run.wait(k), Some(0), "{}", feeding.run.log(k));
    }
}

/// The middle of a star, which alone sees the samples: what it is told to do first is all there is to do.
#[test]
fn the_advice_before_a_leave_is_enough() {
    let run = Run::new(4, "--agents 4 --topology star --atoms 4 --informed 0");
    let place = run.place.path();
    fs::create_dir(run.file(0, "state")).unwrap(); // as if it had run
    let leave = "mesh leave m/agent-0";
    let cut = &[
        "(agent 1 from agent 2 from agent 3)",
        "mesh add DIR --neighbours 1,2,3 puts",
        "add [1, 2], [1, 3] to edges",
    ];
    refused(place, leave, cut);
    ok(place, "mesh add m --neighbours 1,2,3");
    let unseen = &[
        "informed = true for it in mesh.toml",
        "[source] in its agent.toml there too",
    ];
    refused(place, leave, unseen);
    let file = place.join("m/mesh.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replacen("informed = false", "informed = true", 1),
    )
    .unwrap();
    ok(place, leave);
}

/// Whoever has left is not called any more, not by those who were there and not by one that is started anew.
#[test]
fn nobody_dials_an_agent_that_has_left() {
    let mut feeding = Feeding::start("--agents 3 --topology path");
    feeding.feed_until(3);
    let place = feeding.run.place.path().to_path_buf();
    ok(&place, "mesh leave m/agent-2");
    feeding.feed_until(2);
    assert_eq!(feeding.run.wait(2), Some(0));
    let settings = fs::read_to_string(feeding.run.file(2, "agent.toml")).unwrap();
    let line = settings.lines().find(|line| line.starts_with("listen = "));
    let address = line.unwrap().split('"').nth(1).unwrap().to_string();
    let listener = listen(&address);
    let calls = |feeding: &mut Feeding| {
        let (mut calls, until) = (0, Instant::now() + Duration::from_secs(2));
        while Instant::now() < until {
            calls += usize::from(listener.accept().is_ok());
            feeding.feed();
        }
        calls
    };
    assert_eq!(calls(&mut feeding), 0, "{}", feeding.run.log(1));
    feeding.run.signal(1, "-TERM");
    assert_eq!(feeding.run.wait(1), Some(130));
    feeding.run.start(1);
    assert_eq!(calls(&mut feeding), 0, "{}", feeding.run.log(1));
    feeding.end();
    for k in [0, 1] {
        assert_eq!(feeding.run.wait(k), Some(0), "{}", feeding.run.log(k));
    }
}

/// The place of one that has just gone is free after a while.
fn listen(address: &str) -> TcpListener {
    let until = Instant::now() + PATIENCE;
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => {
                listener.set_nonblocking(true).unwrap();
                return listener;
            }
            Err(e) => assert!(Instant::now() < until, "{address}: {e}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
