//! A neighbour whose credentials are good can begin epochs as it likes; what that costs the others has a bound.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use bytes::BytesMut;
use common::{Plan, Running, Started};
use dictmesh::{Stopping, Topology};
use dictmesh_net::agent::Outcome;
use dictmesh_net::codec::{self, Limits};
use dictmesh_net::memory::Hub;
use dictmesh_net::{Frame, Tag, Wire, WireEvent};
use std::collections::BTreeSet;
use std::ops::ControlFlow::Continue;
use std::time::{Duration, Instant};

/// Begins an epoch every millisecond for so long; how many, and those that its neighbours followed it into.
fn force(hub: &Hub, id: usize, neighbours: &[usize], for_long: Duration) -> (usize, BTreeSet<u32>) {
    let incarnation = 77;
    let mut wire = hub.wire(id, neighbours, incarnation);
    let limits = Limits::new(5, 1);
    let until = Instant::now() + for_long;
    let (mut epoch, mut begun, mut followed) = (1, 0, BTreeSet::new());
    while Instant::now() < until {
        let frame = Frame {
            tag: Tag::agreement(epoch),
            scalars: vec![0.0, -1.0, -1.0],
            ..Frame::default()
        };
        let bytes = codec::encode(&frame, incarnation, false, BytesMut::new());
        neighbours.iter().for_each(|l| wire.send(*l, bytes.clone()));
        while let Some(event) = wire.next(Instant::now() + Duration::from_millis(1)) {
            if let WireEvent::Frame { bytes, .. } = event {
                let theirs = codec::header(&bytes, &limits).unwrap().tag.epoch;
                followed.insert(theirs);
                epoch = epoch.max(theirs);
            }
        }
        epoch += 1;
        begun += 1;
    }
    (begun, followed)
}

#[test]
fn epochs_that_a_neighbour_forces_come_ever_more_slowly_and_the_run_goes_on_when_it_stops() {
    let mut plan = Plan::new(Topology::ring(4).unwrap(), 5, 30);
    plan.stopping = Stopping::rounds(6);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let honest = |k: usize| Started::new(&plan, &mesh, k).start(&hub);
    let mut agents: Vec<Running> = (0..3).map(honest).collect();
    let (begun, followed) = force(&hub, 3, &[0, 2], Duration::from_secs(3));
    // Some at once, and far from all that were begun (the pace itself is tested without a clock, in pace.rs).
    assert!(followed.len() > 5, "{followed:?}");
    assert!(4 * followed.len() < begun, "{} of {begun}", followed.len());
    agents.push(honest(3));
    let mut undisturbed = mesh.clone();
    undisturbed.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        let done = agent.wait().unwrap();
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 30));
        assert_eq!(done.atoms, *undisturbed.block(k).atoms(), "{k}");
    }
}

/// An epoch can be ahead by much, when an agent was away for long, but not by anything.
#[test]
fn an_epoch_that_nobody_can_have_come_to_is_refused() {
    let plan = Plan::new(Topology::path(2).unwrap(), 5, 4);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let first = Started::new(&plan, &mesh, 0).start(&hub);
    let mut wire = hub.wire(1, &[0], 77);
    let frame = Frame {
        tag: Tag::agreement(u32::MAX),
        scalars: vec![0.0, -1.0, -1.0],
        ..Frame::default()
    };
    wire.send(0, codec::encode(&frame, 77, false, BytesMut::new()));
    let until = Instant::now() + Duration::from_millis(300);
    let limits = Limits::new(5, 1);
    while Instant::now() < until {
        if let Some(WireEvent::Frame { bytes, .. }) = wire.next(until) {
            let tag = codec::header(&bytes, &limits).unwrap().tag;
            assert!(tag.epoch < 100, "{tag:?}");
        }
    }
    drop(wire);
    let second = Started::new(&plan, &mesh, 1).start(&hub);
    for agent in [first, second] {
        assert_eq!(agent.wait().unwrap().position, 4);
    }
}
