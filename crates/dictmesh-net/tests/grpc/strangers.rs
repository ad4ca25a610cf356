//! Those who knock without belonging there. Each is refused by a line in the log that names it, and the mesh goes on.

use crate::common::*;
use crate::links::{hear, resident};
use bytes::Bytes;
use dictmesh_net::certificates::Credentials;
use dictmesh_net::grpc::GrpcWire;
use dictmesh_net::Wire;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The port says who it was.
fn knock(address: SocketAddr) -> (TcpStream, String) {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let peer = format!("peer={}", socket.local_addr().unwrap());
    (socket, peer)
}

/// A TLS client with these credentials says what an HTTP/2 client says, and hears the answer.
fn knock_by_tls(office: &Office, address: SocketAddr, with: Option<&Credentials>) -> String {
    let mut roots = rustls::RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(office.certificate()).unwrap();
    roots.add(authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match with {
        None => config.with_no_client_auth(),
        Some(credentials) => {
            let chain = CertificateDer::from_pem_slice(credentials.certificate.as_bytes());
            let key = PrivateKeyDer::from_pem_slice(credentials.key.as_bytes());
            config
                .with_client_auth_cert(vec![chain.unwrap()], key.unwrap())
                .unwrap()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = "agent-1".try_into().unwrap();
    let client = rustls::ClientConnection::new(Arc::new(config), server).unwrap();
    let (socket, peer) = knock(address);
    let mut stream = rustls::StreamOwned::new(client, socket);
    let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    hear(&mut stream);
    peer
}

#[test]
fn without_a_certificate() {
    let office = Office::new();
    let (mut zero, mut one, address) = pair(20, Some(&office));
    let peer = knock_by_tls(&office, address, None);
    logged(&[&peer, "refused", "no certificate"]);
    talk(&mut zero, &mut one);
}

#[test]
fn with_a_certificate_of_another_authority() {
    let (office, other) = (Office::new(), Office::new());
    let (mut zero, mut one, address) = pair(21, Some(&office));
    let forged = other.authority.issue("agent-0").unwrap();
    let peer = knock_by_tls(&office, address, Some(&forged));
    logged(&[&peer, "refused", "another authority"]);
    talk(&mut zero, &mut one);
}

#[test]
fn with_a_certificate_that_has_expired() {
    let office = Office::new();
    let (mut zero, mut one, address) = pair(22, Some(&office));
    let old = office.authority.issue_for("agent-0", 0).unwrap();
    let peer = knock_by_tls(&office, address, Some(&old));
    logged(&[&peer, "refused", "expired"]);
    talk(&mut zero, &mut one);
}

/// It has every right to be in the run, but this is not its edge.
#[test]
fn with_a_valid_certificate_of_another_name() {
    let office = Office::new();
    let (mut zero, mut one, address) = pair(23, Some(&office));
    // A stranger by the name agent-7, and the neighbour agent-2 that claims to be agent 0.
    for name in ["agent-7", "agent-2"] {
        let mut settings = settings(0, "127.0.0.1:0", &[(1, address.to_string())]);
        settings.tls = office.agent(name);
        let _liar = GrpcWire::start(settings).unwrap();
        let words = format!("whose certificate is for agent-0, but its own is for {name}");
        let line = logged(&["refused", &format!("certificate={name}"), &words]);
        assert!(line.contains("peer=127."), "{line}");
        // The liar hears it too.
        logged(&["no link", &words]);
    }
    talk(&mut zero, &mut one);
}

/// Whoever dials must find the one it looks for, too.
#[test]
fn a_dialled_agent_with_the_wrong_name_is_refused_by_the_dialler() {
    record();
    let office = Office::new();
    let nowhere = "127.0.0.1:1".to_string();
    let mut dialled = settings(1, "127.0.24.1:0", &[(0, nowhere)]);
    dialled.tls = office.agent("agent-7");
    let one = GrpcWire::start(dialled).unwrap();
    let address = one.address().unwrap().to_string();
    let mut dials = settings(0, "127.0.0.1:0", &[(1, address.clone())]);
    dials.tls = office.agent("agent-0");
    let _zero = GrpcWire::start(dials).unwrap();
    logged(&["no link", &address, "agent-1", "agent-7"]);
}

#[test]
fn of_a_wrong_run_or_no_neighbour() {
    let (mut zero, mut one, address) = pair(25, None);
    let mut other = settings(0, "127.0.0.1:0", &[(1, address.to_string())]);
    other.run = "yesterday".into();
    let _other = GrpcWire::start(other).unwrap();
    logged(&["refused", "peer=127.", "\"a-run\"", "\"yesterday\""]);
    logged(&["no link", &address.to_string(), "\"yesterday\""]);
    let nobody = settings(0, "127.0.0.1:0", &[(1, address.to_string())]);
    let nobody = dictmesh_net::grpc::Settings {
        own: 9,
        neighbours: vec![dictmesh_net::grpc::Neighbour {
            id: 10,
            ..nobody.neighbours[0].clone()
        }],
        ..nobody
    };
    let _nobody = GrpcWire::start(nobody).unwrap();
    logged(&[
        "refused",
        "it claims to be agent 9, which is no neighbour of agent 1",
    ]);
    talk(&mut zero, &mut one);
}

/// Of a neighbour that is one: its own link ends, nothing else does.
#[test]
fn frames_that_are_too_large() {
    let (mut zero, mut one, _) = pair(26, None);
    let dialled = settings(3, "127.0.26.3:0", &[(0, "127.0.0.1:1".into())]);
    let mut three = GrpcWire::start(dialled).unwrap();
    let place = three.address().unwrap().to_string();
    let mut large = settings(0, "127.0.0.1:0", &[(3, place)]);
    large.largest_frame = 100 * LARGEST;
    let mut large = GrpcWire::start(large).unwrap();
    up(&mut three, 0);
    up(&mut large, 3);
    large.send(3, Bytes::from(vec![0; 50 * LARGEST]));
    let reason = down(&mut three, 0);
    assert!(reason.contains("too large"), "{reason}");
    // It comes back and behaves.
    up(&mut three, 0);
    let _ = down(&mut large, 3);
    up(&mut large, 3);
    large.send(3, Bytes::from_static(b"small"));
    assert_eq!(frame(&mut three, 0), &b"small"[..]);
    talk(&mut zero, &mut one);
}

#[test]
fn with_garbage() {
    let office = Office::new();
    let (mut zero, mut one, plain) = pair(27, None);
    let (mut zero_tls, mut one_tls, secure) = pair(28, Some(&office));
    let garbage: Vec<u8> = (0..200_000_u32).map(|i| ((i * i) >> 7) as u8).collect();
    for (address, words) in [(plain, "not HTTP/2"), (secure, "not TLS")] {
        let (mut socket, peer) = knock(address);
        let _ = socket.write_all(&garbage);
        hear(&mut socket);
        logged(&[&peer, "refused", words]);
        // A web browser that lost its way.
        let (mut socket, peer) = knock(address);
        socket
            .write_all(b"GET / HTTP/1.1\r\nHost: agent\r\n\r\n")
            .unwrap();
        hear(&mut socket);
        logged(&[&peer, "refused", words]);
    }
    // It begins well, and then says too much: settings frames without an end.
    let (mut socket, peer) = knock(plain);
    socket
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap();
    for _ in 0..20_000 {
        if socket.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).is_err() {
            break;
        }
    }
    hear(&mut socket);
    logged(&[&peer, "refused"]);
    talk(&mut zero, &mut one);
    talk(&mut zero_tls, &mut one_tls);
}

/// What they did is in the log, and not only that they went.
#[test]
fn that_break_the_rules_of_http2() {
    let (mut zero, mut one, address) = pair(32, None);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let headers = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x82];
    let broken: [(&str, &[u8]); 4] = [
        ("data on no stream", &[0, 0, 1, 0, 0, 0, 0, 0, 0, 7]),
        ("a frame of 16 MB", &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]),
        ("half a window update", &[0, 0, 2, 8, 0, 0, 0, 0, 0, 1, 1]),
        ("continuation of nothing", &[0, 0, 0, 9, 0, 0, 0, 0, 1]),
    ];
    for (what, frame) in broken {
        let (mut socket, peer) = knock(address);
        let said = [&preface[..], &settings, frame].concat();
        socket.write_all(&said).unwrap();
        hear(&mut socket);
        let line = logged(&[&peer, "refused"]);
        assert!(line.contains("does not keep to HTTP/2"), "{what}: {line}");
    }
    // Last words of 12 KB.
    let (mut socket, peer) = knock(address);
    let goaway = [0, 46, 232, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];
    let said = [&preface[..], &settings, &goaway, &[b'z'; 12_000]].concat();
    socket.write_all(&said).unwrap();
    drop(socket);
    let line = logged(&[&peer, "refused"]);
    assert!(line.len() < 600, "{} characters", line.len());
    // A call without the pseudo-headers of one, and whoever just goes.
    let (mut socket, peer) = knock(address);
    socket
        .write_all(&[&preface[..], &settings, &headers].concat())
        .unwrap();
    drop(socket);
    logged(&[&peer, "refused"]);
    let (mut socket, peer) = knock(address);
    socket.write_all(preface).unwrap();
    drop(socket);
    logged(&[&peer, "refused", "left without a hand-shake"]);
    talk(&mut zero, &mut one);
}

#[test]
fn that_say_nothing_or_hardly_anything() {
    let office = Office::new();
    let (mut zero, mut one, plain) = pair(29, None);
    let (mut zero_tls, mut one_tls, secure) = pair(30, Some(&office));
    let mut silent: Vec<_> = [plain, secure, plain].map(knock).into();
    silent[2].0.write_all(b"PRI * HTTP").unwrap();
    for (mut socket, peer) in silent {
        hear(&mut socket);
        logged(&[&peer, "refused", "in time"]);
    }
    talk(&mut zero, &mut one);
    talk(&mut zero_tls, &mut one_tls);
}

#[test]
fn a_thousand_at_once() {
    let office = Office::new();
    let (mut zero, mut one, address) = pair(31, Some(&office));
    let before = resident();
    let flood: Vec<_> = (0..1000)
        .filter_map(|_| TcpStream::connect(address).ok())
        .collect();
    assert_eq!(flood.len(), 1000);
    logged(&["peer=127.0.0.1", "refused", "of this address wait"]);
    talk(&mut zero, &mut one);
    let grown = resident().saturating_sub(before);
    assert!(grown < 50 << 20, "{grown} bytes");
    // The neighbour is cut off in the middle of it and comes back.
    drop(zero);
    down(&mut one, 0);
    let mut settings = settings(0, "127.0.0.1:0", &[(1, address.to_string())]);
    settings.tls = office.agent("agent-0");
    let mut zero = GrpcWire::start(settings).unwrap();
    up(&mut zero, 1);
    up(&mut one, 0);
    talk(&mut zero, &mut one);
    drop(flood);
}
