//! A slow agent holds the others up, and they wait with the memory they have.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use bytes::Bytes;
use dictmesh::AgentId;
use dictmesh_net::codec::Limits;
use dictmesh_net::memory::Hub;
use dictmesh_net::{Exchange, Frame, Phase, Rounds, RoundsOptions, Wire, WireEvent};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const NUMBERS: usize = 50_000;

/// Counts the bytes that are alive: handed to the wire, or come from it and not given back yet.
struct Counted<W> {
    wire: W,
    alive: Arc<Mutex<Alive>>,
}

#[derive(Default)]
struct Alive {
    frames: BTreeMap<usize, (Bytes, usize)>,
    most: usize,
}

impl Alive {
    /// A frame is alive as long as anybody but this table holds it.
    fn add(&mut self, bytes: &Bytes) {
        self.frames.retain(|_, (bytes, _)| !bytes.is_unique());
        self.frames
            .insert(bytes.as_ptr() as usize, (bytes.clone(), bytes.len()));
        let sum = self.frames.values().map(|(_, length)| length).sum();
        self.most = self.most.max(sum);
    }
}

impl<W: Wire> Wire for Counted<W> {
    fn send(&mut self, to: AgentId, bytes: Bytes) {
        self.alive.lock().unwrap().add(&bytes);
        self.wire.send(to, bytes);
    }

    fn next(&mut self, until: Instant) -> Option<WireEvent> {
        self.wire.next(until)
    }
}

fn frame(round: u32) -> Frame {
    let mut frame = Frame::default();
    (frame.tag.epoch, frame.tag.round, frame.tag.phase) = (1, round, Phase::Inference);
    frame.dual = vec![f64::from(round); NUMBERS];
    frame
}

/// Three agents, all neighbours, one of which takes its time; the others would send again and again. Returns the
/// largest number of bytes of frames that were alive at once in all of the mesh.
fn most_alive(rounds: u32) -> usize {
    let (hub, alive) = (Hub::new(0), Arc::new(Mutex::new(Alive::default())));
    let threads: Vec<_> = (0..3_usize)
        .map(|k| {
            let neighbours: Vec<AgentId> = (0..3).filter(|l| *l != k).collect();
            let wire = Counted {
                wire: hub.wire(k, &neighbours, k as u64),
                alive: alive.clone(),
            };
            let options = RoundsOptions {
                resend: Duration::from_millis(1),
                ..RoundsOptions::new(k as u64, Limits::new(NUMBERS, 1))
            };
            let mut exchange = Rounds::new(wire, &neighbours, options, Arc::default());
            std::thread::spawn(move || {
                let mut inbox = vec![Frame::default(), Frame::default()];
                for round in 0..rounds {
                    if k == 1 {
                        std::thread::sleep(Duration::from_millis(60));
                    }
                    exchange.round(&frame(round), &mut inbox, None).unwrap();
                    assert!(inbox.iter().all(|heard| *heard == frame(round)));
                }
                // As agents do: nobody goes before the others have heard its last words.
                let until = Instant::now() + Duration::from_secs(2);
                let _ = exchange.round(&frame(rounds), &mut inbox, Some(until));
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    let most = alive.lock().unwrap().most;
    most
}

#[test]
fn frames_alive_do_not_grow_with_the_rounds() {
    let one = 8 * NUMBERS;
    let (few, many) = (most_alive(4), most_alive(25));
    // At most 8 under way on each of 6 directed edges, two of its own at each agent, and one early and one being read
    // of each neighbour. Unbounded queues would hold some 240 in one round of the slow agent.
    let bound = (6 * 8 + 3 * 2 + 6 * 2) * (one + 100);
    assert!(few >= 3 * one, "nothing was measured: {few}");
    assert!(
        many <= bound,
        "{many} bytes alive at once, {few} in few rounds"
    );
}
