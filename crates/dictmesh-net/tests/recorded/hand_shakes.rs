//! All bytes of an edge over gRPC, hand-shakes and HTTP/2 included, as a listener on the line has them: what is said
//! is a hello, whose every field is known, and frames.

use super::common::Plan;
use super::{assert_nothing_private, in_one_process, read, Story};
use dictmesh::Topology;
use dictmesh_net::agent::{Agent, AgentSettings, Control};
use dictmesh_net::codec::Limits;
use dictmesh_net::grpc::{GrpcWire, Neighbour, Settings};
use dictmesh_net::{Rounds, RoundsOptions};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

type Heard = Arc<Mutex<Vec<u8>>>;

/// Stands between the dialler and the agent at `to`, and writes down what each says.
fn listen_in(to: String) -> (String, [Heard; 2]) {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, heard) = (
        door.local_addr().unwrap().to_string(),
        [(); 2].map(|()| Heard::default()),
    );
    let kept = heard.clone();
    std::thread::spawn(move || {
        let (dialler, _) = door.accept().unwrap();
        let dialled = TcpStream::connect(to).unwrap();
        let other = |s: &TcpStream| s.try_clone().unwrap();
        let [said, answered] = heard;
        let back = pass_on(other(&dialled), other(&dialler), answered);
        pass_on(dialler, dialled, said).join().unwrap();
        back.join().unwrap();
    });
    (address, kept)
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, heard: Heard) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut part) {
            heard.lock().unwrap().extend_from_slice(&part[..count]);
            if to.write_all(&part[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    })
}

fn wire(settings: &AgentSettings, neighbour: (usize, String), listen: &str) -> GrpcWire {
    GrpcWire::start(Settings {
        own: settings.id,
        listen: listen.parse().unwrap(),
        neighbours: vec![Neighbour {
            id: neighbour.0,
            name: format!("agent-{}", neighbour.0),
            address: neighbour.1,
        }],
        run: settings.run.clone(),
        agreed: settings.agreed(),
        incarnation: 5000 + settings.id as u64,
        epoch: 0,
        largest_frame: 100_000,
        tls: None,
    })
    .unwrap()
}

/// Two agents learn; what each said on the line.
fn record(plan: &Plan) -> [Vec<u8>; 2] {
    let mesh = plan.mesh(false);
    let settings = [0, 1].map(|k| plan.settings(&mesh, k));
    let second = wire(&settings[1], (0, "127.0.0.1:1".into()), "127.0.0.1:0");
    let (address, heard) = listen_in(second.address().unwrap().to_string());
    let first = wire(&settings[0], (1, address), "127.0.0.1:0");
    let mut threads = Vec::new();
    for (k, (wire, settings)) in [first, second].into_iter().zip(settings).enumerate() {
        let limits = Limits::new(plan.rows, plan.batch);
        let options = RoundsOptions {
            resend: Duration::from_secs(5), // nothing is lost here
            ..RoundsOptions::new(5000 + k as u64, limits)
        };
        let rounds = Rounds::new(wire, &[1 - k], options, Default::default());
        let (atoms, source) = (mesh.block(k).atoms().clone(), plan.source(k));
        threads.push(std::thread::spawn(move || {
            let (observer, control) = (Box::new(|_: &_| {}), Control::default());
            let rounds = Box::new(rounds);
            let agent = Agent::new(settings, rounds, atoms, source, None, observer, control);
            agent.unwrap().run().unwrap()
        }));
    }
    let until = Instant::now() + Duration::from_secs(60);
    for thread in threads {
        while !thread.is_finished() {
            assert!(Instant::now() < until, "they do not come to their end");
            std::thread::sleep(Duration::from_millis(1));
        }
        thread.join().unwrap();
    }
    heard.map(|bytes| bytes.lock().unwrap().clone())
}

/// The gRPC messages in what one side of an HTTP/2 connection sent (RFC 9113).
fn messages(mut bytes: &[u8], dials: bool) -> Vec<Vec<u8>> {
    if dials {
        bytes = bytes
            .strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
    }
    let mut data = Vec::new();
    // The last frame may have been cut off when the connection ended.
    while bytes.len() >= 9 {
        let length =
            usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2]);
        let (kind, flags) = (bytes[3], bytes[4]);
        let Some(payload) = bytes.get(9..9 + length) else {
            break;
        };
        match kind {
            0 => {
                assert_eq!(flags & 8, 0, "no padding, in which anything could be");
                data.extend_from_slice(payload);
            }
            1 => {} // headers: the path and the type of content; nothing private is in them, see below
            3 | 4 | 6 | 7 | 8 => assert!(length <= 64, "settings, pings and the like are short"),
            kind => panic!("an HTTP/2 frame of type {kind}"),
        }
        bytes = &bytes[9 + length..];
    }
    let (mut data, mut found) = (&data[..], Vec::new());
    while let Some((head, rest)) = data.split_at_checked(5) {
        assert_eq!(head[0], 0, "not compressed");
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let Some(message) = rest.get(..length) else {
            break;
        };
        found.push(message.to_vec());
        data = &rest[length..];
    }
    found
}

/// A field of a protobuf message: its number and its bytes, or its value as bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let content = match key & 7 {
            0 => varint(&mut bytes).to_le_bytes().to_vec(),
            1 => bytes.split_off(..8).unwrap().to_vec(),
            2 => {
                let length = varint(&mut bytes) as usize;
                bytes.split_off(..length).unwrap().to_vec()
            }
            kind => panic!("wire type {kind}"),
        };
        found.push((key >> 3, content));
    }
    found
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = *bytes.split_off_first().unwrap();
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            break;
        }
    }
    value
}

/// The only thing beside frames: who speaks to whom in which run, and what all agents have in common.
fn assert_known_hello(bytes: &[u8], k: usize, settings: &AgentSettings) {
    let mut agreed = Vec::new();
    for (number, content) in fields(bytes) {
        let value = || u64::from_le_bytes(content[..].try_into().unwrap());
        match number {
            1 => assert_eq!(value(), 3, "the protocol"),
            2 => assert_eq!(content, settings.run.as_bytes()),
            3 => assert_eq!(value(), k as u64),
            4 => assert_eq!(value(), 1 - k as u64),
            5 => assert_eq!(value(), 5000 + k as u64),
            6 => assert!(value() < 10, "the epoch"),
            7 => {
                let pair = fields(&content);
                assert_eq!(pair.len(), 2);
                let text = |i: usize| String::from_utf8(pair[i].1.clone()).unwrap();
                agreed.push((text(0), text(1)));
            }
            number => panic!("field {number}"),
        }
    }
    assert_eq!(agreed, settings.agreed());
}

#[test]
fn over_grpc_only_hand_shakes_and_frames_leave_an_agent() {
    let mut plan = Plan::new(Topology::path(2).unwrap(), 8, 12);
    plan.batch = 4;
    let Story { duals, private, .. } = in_one_process(&plan, 12);
    assert!(private.len() > 20);
    let mesh = plan.mesh(false);
    for (k, bytes) in record(&plan).into_iter().enumerate() {
        assert_nothing_private(&bytes, &private, &format!("agent {k}"));
        let (mut hellos, mut seen) = (0, 0);
        for message in messages(&bytes, k == 0) {
            let [(number, content)] = &fields(&message)[..] else {
                panic!("a message of several kinds");
            };
            match number {
                1 => {
                    assert_known_hello(content, k, &plan.settings(&mesh, k));
                    hellos += 1;
                }
                3 => {
                    let frame = read(content);
                    if frame.phase == 2 {
                        let known = &duals[&(frame.sample, frame.round, k)];
                        assert_eq!(frame.dual, known.as_slice(), "psi or nu, and nothing else");
                        seen += 1;
                    }
                }
                number => panic!("a message of kind {number}"),
            }
        }
        assert_eq!(hellos, 1, "agent {k}");
        assert!(seen >= 3 * 12, "agent {k}: {seen}");
    }
}
