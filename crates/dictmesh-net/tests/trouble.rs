//! Numbers beyond all bounds end a run, and whoever said so is named at every agent.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use bytes::{Bytes, BytesMut};
use common::{Done, Plan, Running, Says, Started};
use dictmesh::Spec;
use dictmesh::{Stopping, Topology};
use dictmesh_net::agent::Outcome;
use dictmesh_net::codec::{self, Limits, HEADER};
use dictmesh_net::memory::Hub;
use dictmesh_net::Phase;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A path of three, of which the one in the middle says this; how all of them end.
fn ended(change: impl Fn(&mut Plan), says: Says) -> Vec<Done> {
    let mut plan = Plan::new(Topology::path(3).unwrap(), 5, 12);
    plan.stopping = Stopping::rounds(6);
    change(&mut plan);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let start = |k: usize| {
        let mut started = Started::new(&plan, &mesh, k);
        started.settings.linger = Duration::from_secs(1);
        if k == 1 {
            started.says = says;
        }
        started.start(&hub)
    };
    let agents: Vec<Running> = (0..3).map(start).collect();
    let all = agents.into_iter().map(|agent| agent.wait().unwrap());
    all.collect()
}

/// Where a batch is opened after some samples, its word on trouble is another.
fn lie(frame: Bytes, word: f64) -> Bytes {
    let (is_opening, sample) = (frame[5] == 1, frame[16]);
    let at = HEADER + 5 * 8;
    if !is_opening || sample < 4 {
        return frame;
    }
    let mut frame = BytesMut::from(&frame[..]);
    frame[at..at + 8].copy_from_slice(&word.to_le_bytes());
    frame.freeze()
}

#[test]
fn who_has_them_says_so() {
    let diverges = |plan: &mut Plan| {
        plan.strategy = Spec::new("diffusion").with("mu", 50.0);
        plan.stopping = Stopping::rounds(400);
    };
    let all = ended(diverges, |frame| frame);
    for (k, done) in all.iter().enumerate() {
        assert_eq!(done.outcome, Outcome::Diverged);
        let (own, other) = (
            "this agent's own dual vectors",
            "reports that its dual vectors",
        );
        let said = &done.diverged;
        assert!(said.contains(own) || said.contains(other), "{k}: {said}");
    }
    // The largest number of those who see it in their own is flooded, and that one knows it.
    let own = |done: &&Done| done.diverged.contains("this agent's own");
    assert_eq!(all.iter().filter(own).count(), 1);
}

/// Agent 0 has said that it sees the samples, and tells nothing of them: that is no reason to ask it for ever.
#[test]
fn who_is_informed_and_tells_nothing_of_its_samples_ends_the_run() {
    let mut plan = Plan::new(Topology::path(2).unwrap(), 5, 3);
    plan.stopping = Stopping::rounds(6);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let start = |k: usize| {
        let mut started = Started::new(&plan, &mesh, k);
        started.settings.linger = Duration::from_millis(500);
        if k == 0 {
            started.says = |frame| {
                let mut frame = BytesMut::from(&frame[..]);
                let no_opinion = [-1e18_f64, -1e18, 0.0].map(f64::to_le_bytes).concat();
                if frame[5] == 1 {
                    frame[HEADER..HEADER + 24].copy_from_slice(&no_opinion);
                }
                frame.freeze()
            };
        }
        started.start(&hub)
    };
    let (silent, other) = (start(0), start(1));
    let why = other.wait().unwrap_err().to_string();
    assert!(
        why.contains("reports neither the number of its samples"),
        "{why}"
    );
    silent.control.interrupt.store(true, Ordering::Relaxed);
    silent.wait().unwrap();
}

#[test]
fn who_only_claims_it_is_named_by_those_who_heard_it() {
    for says in [
        (|frame| lie(frame, 1.0)) as Says,
        |frame| lie(frame, 1.5),
        |frame| lie(frame, 1e300),
    ] {
        for (k, done) in ended(|_| {}, says).iter().enumerate() {
            assert_eq!((done.outcome, done.position), (Outcome::Diverged, 4));
            if k != 1 {
                let words = "passed on by agent 1, but no agent names its own";
                assert!(done.diverged.contains(words), "{k}: {}", done.diverged);
            }
        }
    }
}

#[test]
fn who_blames_another_is_named_too() {
    let all = ended(|_| {}, |frame| lie(frame, 2.0));
    let said = |k: usize| all[k].diverged.as_str();
    assert!(
        said(0).contains("agent 1 reports that this agent's own"),
        "{}",
        said(0)
    );
    let words = ["agent 0 reports that its", "passed on by agent 1"];
    assert!(words.iter().all(|w| said(2).contains(w)), "{}", said(2));
}

thread_local! {
    static LIES: Cell<bool> = const { Cell::new(false) };
}

/// Until the epoch `UNTIL` every other frame tells that the agent has more links than it has.
fn two_faced<const UNTIL: u32>(frame: Bytes) -> Bytes {
    let tag = codec::header(&frame, &Limits::new(5, 1)).unwrap().tag;
    LIES.set(!LIES.get());
    if (tag.phase, tag.round) != (Phase::Agreement, 0) || tag.epoch >= UNTIL || !LIES.get() {
        return frame;
    }
    // The largest distance, the root and its distance, then its id, whether it is informed, whether it joins, its links.
    let at = HEADER + 6 * 8;
    let mut frame = BytesMut::from(&frame[..]);
    frame[at..at + 8].copy_from_slice(&5_f64.to_le_bytes());
    frame.freeze()
}

/// As two copies of agent 1 would be heard, each by one neighbour. While one of them may still be refused, the others do not
/// end because of it.
#[test]
fn who_is_told_of_in_two_ways_ends_the_others_only_if_it_goes_on() {
    let mut plan = Plan::new(Topology::complete(3).unwrap(), 5, 6);
    plan.stopping = Stopping::rounds(6);
    let cases: [(Says, bool); 2] = [(two_faced::<3>, true), (two_faced::<{ u32::MAX }>, false)];
    for (says, passes) in cases {
        let (mesh, hub) = (plan.mesh(false), Hub::new(0));
        let start = |k: usize| {
            let mut started = Started::new(&plan, &mesh, k);
            started.settings.linger = Duration::from_millis(200);
            if k == 1 {
                started.says = says;
            }
            started.start(&hub)
        };
        let agents: Vec<Running> = (0..3).map(start).collect();
        if passes {
            let all = agents.into_iter().map(|agent| agent.wait().unwrap());
            assert!(all.map(|done| done.position).all(|at| at == 6));
            continue;
        }
        // Whoever is first goes; the others may wait for it.
        let until = Instant::now() + Duration::from_secs(60);
        while !agents.iter().any(|agent| agent.thread.is_finished()) {
            assert!(Instant::now() < until, "nobody ends");
            std::thread::sleep(Duration::from_millis(1));
        }
        for agent in agents {
            agent.control.interrupt.store(true, Ordering::Relaxed);
            match agent.wait() {
                Err(error) => assert!(error.to_string().contains("reports agent"), "{error}"),
                Ok(done) => assert_eq!(done.outcome, Outcome::Interrupted),
            }
        }
    }
}
