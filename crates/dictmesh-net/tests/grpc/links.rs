//! Links between neighbours.

use crate::common::*;
use bytes::Bytes;
use dictmesh::problem::TaskSpec;
use dictmesh::Spec;
use dictmesh::Stopping;
use dictmesh_net::agent::AgentSettings;
use dictmesh_net::grpc::{GrpcWire, Settings};
use dictmesh_net::Wire;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[test]
fn neighbours_talk_in_plain_text_and_under_tls() {
    for office in [None, Some(Office::new())] {
        let (mut zero, mut one, _) = pair(2, office.as_ref());
        talk(&mut zero, &mut one);
        let (id, traffic) = zero.traffic().remove(0);
        assert_eq!(id, 1);
        let bytes = 3 * LARGEST as u64;
        assert_eq!(traffic.sent.load(Ordering::Relaxed), bytes);
        assert_eq!(traffic.received.load(Ordering::Relaxed), bytes);
        assert_eq!(traffic.links.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn what_was_sent_arrives_although_the_sender_ends() {
    let (mut zero, mut one, _) = pair(3, None);
    zero.send(1, Bytes::from(vec![1; LARGEST]));
    one.send(0, Bytes::from(vec![2; LARGEST]));
    drop(one);
    assert_eq!(frame(&mut zero, 1)[0], 2);
    down(&mut zero, 1);
}

#[test]
fn a_neighbour_that_starts_again_is_met_again_with_its_new_incarnation_and_epoch() {
    let (mut zero, one, address) = pair(4, None);
    drop(one);
    down(&mut zero, 1);
    let nowhere = "127.0.0.1:1".to_string();
    let mut again = settings(1, &address.to_string(), &[(0, nowhere)]);
    again.incarnation = 77;
    again.epoch = 5;
    zero.newest_epoch(9);
    let mut one = GrpcWire::start(again).unwrap();
    assert_eq!(up(&mut zero, 1), (77, 5));
    assert_eq!(up(&mut one, 0), (1000, 9));
    talk(&mut zero, &mut one);
    assert_eq!(zero.traffic()[0].1.links.load(Ordering::Relaxed), 2);
}

#[test]
fn a_second_link_of_the_same_neighbour_takes_over() {
    let (zero, mut one, address) = pair(5, None);
    // The same agent once more, as after a cut that only one side has seen.
    let mut settings = settings(0, "127.0.0.1:0", &[(1, address.to_string())]);
    settings.incarnation = 5;
    let mut newer = GrpcWire::start(settings).unwrap();
    drop(zero);
    while up(&mut one, 0).0 != 5 {}
    up(&mut newer, 1);
    talk(&mut newer, &mut one);
}

/// A cut of the cable: both ends stay, the bytes between them do not. A relay stands for the cable.
#[test]
fn a_cut_link_heals() {
    let (_, one, address) = pair(6, None);
    let (mut one, relay) = (one, TcpListener::bind("127.0.0.1:0").unwrap());
    let through = relay.local_addr().unwrap().to_string();
    let (cut, cutter) = std::sync::mpsc::channel::<TcpStream>();
    std::thread::spawn(move || {
        for near in relay.incoming().flatten() {
            let far = TcpStream::connect(address).unwrap();
            cut.send(near.try_clone().unwrap()).unwrap();
            cut.send(far.try_clone().unwrap()).unwrap();
            let (mut a, mut b) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut a, &mut b));
            let (mut a, mut b) = (far, near);
            std::thread::spawn(move || std::io::copy(&mut a, &mut b));
        }
    });
    let mut zero = GrpcWire::start(settings(0, "127.0.0.1:0", &[(1, through)])).unwrap();
    for _ in 0..3 {
        up(&mut zero, 1);
        up(&mut one, 0);
        talk(&mut zero, &mut one);
        for _ in 0..2 {
            let end = cutter.recv_timeout(PATIENCE).unwrap();
            let _ = end.shutdown(std::net::Shutdown::Both);
        }
        down(&mut zero, 1);
    }
}

#[test]
fn a_neighbour_that_does_not_listen_costs_no_memory_and_nobody_else_waits() {
    let (mut zero, mut one, _) = pair(7, None);
    let before = resident();
    // 2 GB, of which nobody takes anything.
    for _ in 0..20_000 {
        zero.send(1, Bytes::from(vec![3; LARGEST]));
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 50 << 20, "{grown} bytes");
    let dropped = zero.traffic()[0].1.dropped.load(Ordering::Relaxed);
    assert!(dropped > 19_000, "{dropped}");
    // It wakes up, and all is well.
    assert_eq!(frame(&mut one, 0).len(), LARGEST);
    while one
        .next(Instant::now() + Duration::from_millis(300))
        .is_some()
    {}
    talk(&mut zero, &mut one);
}

/// What the agents of a run agree on, as the program has it.
fn choices() -> AgentSettings {
    let strategy = Spec::new("diffusion").with("mu", 0.125);
    let mut choices = AgentSettings::new(0, TaskSpec::nmf(0.05, 0.1), strategy, 100);
    (choices.run, choices.batch) = ("a-run".into(), 16);
    choices.stopping = Stopping::rounds(50);
    choices
}

/// What differs is said by both sides, in the same words: agent `dials` is of another mind than the next one.
fn assert_named(dials: usize, other: &AgentSettings, words: [&str; 3]) {
    let (dialled, usual) = (dials + 1, choices());
    let of = |own, listen: &str, to: (usize, String), choices: &AgentSettings| Settings {
        run: choices.run.clone(),
        agreed: choices.agreed(),
        ..settings(own, listen, &[to])
    };
    let listen = format!("127.0.{dials}.1:0");
    let far = of(dialled, &listen, (dials, "127.0.0.1:1".into()), &usual);
    let far = GrpcWire::start(far).unwrap();
    let address = far.address().unwrap().to_string();
    let near = of(dials, "127.0.0.1:0", (dialled, address), other);
    let _near = GrpcWire::start(near).unwrap();
    let [what, theirs, own] = words;
    let each = [
        format!("{theirs} at agent {dialled}"),
        format!("{own} at agent {dials}"),
    ];
    let each = match what {
        "run" => [
            format!("agent {dialled} belongs"),
            format!("agent {dials} to the"),
        ],
        _ => each,
    };
    let named = [what, theirs, own, &each[0], &each[1]];
    logged(&[&["refused", "peer=127."][..], &named].concat());
    let neighbour = format!("neighbour={dialled} ");
    logged(&[&["no link", &neighbour][..], &named].concat());
}

#[test]
fn a_mismatch_is_named_on_both_sides() {
    record();
    type Change = fn(&mut AgentSettings);
    let table: [(Change, [&str; 3]); 6] = [
        (|s| s.run = "old".into(), ["run", "\"a-run\"", "\"old\""]),
        (
            |s| s.task = TaskSpec::nmf(0.25, 0.1),
            ["task.regularizer.gamma", "is 0.05", "0.25"],
        ),
        (
            |s| s.strategy = Spec::new("diffusion").with("mu", 0.5),
            ["strategy.mu", "is 0.125", "0.5"],
        ),
        (
            |s| s.strategy = Spec::new("consensus").with("mu", 0.125),
            ["strategy", "is diffusion", "consensus"],
        ),
        (
            |s| s.stopping = Stopping::rounds(60),
            ["stopping", "is 50", "60"],
        ),
        (|s| s.batch = 32, ["batch", "is 16", "32"]),
    ];
    for (i, (change, words)) in table.into_iter().enumerate() {
        let mut other = choices();
        change(&mut other);
        assert_named(70 + 2 * i, &other, words);
    }
}

#[test]
fn a_wire_says_nothing_until_its_time_is_over() {
    let (mut zero, _one, _) = pair(9, None);
    let until = Instant::now() + Duration::from_millis(50);
    assert_eq!(zero.next(until), None);
    assert!(Instant::now() >= until);
    assert_eq!(zero.next(Instant::now()), None);
}

/// Whoever is alone, or dials everyone, can be dialled by nobody.
#[test]
fn nothing_is_listened_to_without_need() {
    let alone = GrpcWire::start(settings(0, "127.0.0.1:0", &[])).unwrap();
    assert_eq!(alone.address(), None);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let needs = settings(1, &at, &[(0, "127.0.0.1:1".into())]);
    let said = GrpcWire::start(needs).unwrap_err().to_string();
    assert!(said.contains("cannot listen at 127.0.0.1"), "{said}");
}

/// Bytes of memory this process has.
pub fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kb.unwrap_or(0) << 10
}

/// For the stranger tests: what a peer gets to hear until it is cut off.
pub fn hear(socket: &mut (impl Read + Write)) -> Vec<u8> {
    let mut heard = Vec::new();
    let _ = socket.read_to_end(&mut heard);
    heard
}

/// Two that say they are the same process (so nobody can tell that they are two) take the link from each other for ever.
#[test]
fn a_link_that_comes_and_goes_does_not_fill_the_log() {
    record();
    let dialled = settings(42, "127.0.42.1:0", &[(41, "127.0.0.1:1".into())]);
    let one = GrpcWire::start(dialled).unwrap();
    let address = one.address().unwrap().to_string();
    let rival = || GrpcWire::start(settings(41, "127.0.0.1:0", &[(42, address.clone())])).unwrap();
    let mut wires = [one, rival(), rival()];
    let links = |wire: &GrpcWire| wire.traffic()[0].1.links.load(Ordering::Relaxed);
    let until = Instant::now() + 3 * PATIENCE;
    while links(&wires[0]) < 60 {
        assert!(Instant::now() < until, "{} links", links(&wires[0]));
        for wire in &mut wires {
            let soon = Instant::now() + Duration::from_millis(5);
            while wire.next(soon).is_some() {}
        }
    }
    let said = lines(&["link down", "neighbour=41"]);
    assert!((1..=40).contains(&said), "{said} lines");
}

/// Whoever is dialled may say why it ends, and has 16 KB for it.
#[test]
fn long_last_words_of_a_peer_are_cut() {
    record();
    let listener = TcpListener::bind("127.0.43.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let zero = settings(0, "127.0.0.1:0", &[(1, place.clone())]);
    let _zero = GrpcWire::start(zero).unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    let words = vec![b'z'; 12_000];
    let length = (8 + words.len() as u32).to_be_bytes();
    let goaway = [
        &length[1..],
        &[7, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 11],
    ]
    .concat();
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    socket
        .write_all(&[&settings[..], &goaway, &words].concat())
        .unwrap();
    let line = logged(&["no link", &place, "zzz"]);
    assert!(line.len() < 600, "{} characters", line.len());
}
