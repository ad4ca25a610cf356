//! Agents' wires with or without TLS, and the log they share.

use bytes::Bytes;
use dictmesh_net::certificates::{Authority, Credentials};
use dictmesh_net::grpc::{GrpcWire, Neighbour, Settings, Tls};
use dictmesh_net::{Wire, WireEvent};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Every wait ends.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of a frame at most.
pub const LARGEST: usize = 100_000;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// From now on what is logged can be read.
pub fn record() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(|| Log)
            .init()
    });
}

/// Waits for a line of the log that has all these words in it.
pub fn logged(words: &[&str]) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        let log = String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned();
        let line = log
            .lines()
            .find(|line| words.iter().all(|word| line.contains(word)));
        if let Some(line) = line {
            return line.to_string();
        }
        assert!(
            Instant::now() < until,
            "{words:?} is not in the log:\n{log}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// How many lines of the log have all these words in them by now.
pub fn lines(words: &[&str]) -> usize {
    let log = String::from_utf8_lossy(&LOG.lock().unwrap()).into_owned();
    let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
    log.lines().filter(has_all).count()
}

/// Settings of agent `own` at this address, with neighbours that are found at theirs.
pub fn settings(own: usize, listen: &str, neighbours: &[(usize, String)]) -> Settings {
    let neighbour = |(id, address): &(usize, String)| Neighbour {
        id: *id,
        name: name(*id),
        address: address.clone(),
    };
    Settings {
        own,
        listen: listen.parse().unwrap(),
        neighbours: neighbours.iter().map(neighbour).collect(),
        run: "a-run".into(),
        agreed: vec![("batch".into(), "16".into()), ("M".into(), "100".into())],
        incarnation: 1000 + own as u64,
        epoch: 0,
        largest_frame: LARGEST,
        tls: None,
    }
}

pub fn name(id: usize) -> String {
    format!("agent-{id}")
}

/// An authority, and files with what it issues.
pub struct Office {
    pub authority: Authority,
    place: tempfile::TempDir,
    issued: std::cell::Cell<usize>,
}

impl Office {
    pub fn new() -> Self {
        let authority = Authority::new("a-run").unwrap();
        let place = tempfile::tempdir().unwrap();
        let (certificate, key) = (place.path().join("ca.pem"), place.path().join("ca.key"));
        authority.credentials().write(&certificate, &key).unwrap();
        Office {
            authority,
            place,
            issued: Default::default(),
        }
    }

    pub fn certificate(&self) -> PathBuf {
        self.place.path().join("ca.pem")
    }

    /// Files with these credentials: the certificate's and the key's.
    pub fn files(&self, credentials: &Credentials) -> (PathBuf, PathBuf) {
        self.issued.set(self.issued.get() + 1);
        let at = |end: &str| {
            self.place
                .path()
                .join(format!("{}.{end}", self.issued.get()))
        };
        credentials.write(&at("pem"), &at("key")).unwrap();
        (at("pem"), at("key"))
    }

    /// TLS of the agent of this name.
    pub fn agent(&self, name: &str) -> Option<Tls> {
        let (certificate, key) = self.files(&self.authority.issue(name).unwrap());
        Some(Tls::load(&self.certificate(), &certificate, &key, name).unwrap())
    }
}

/// Agents 0 and 1, joined; agent 1 is dialled, and expects agents 0 and 2 to join it from hosts of their own.
pub fn pair(host: u8, office: Option<&Office>) -> (GrpcWire, GrpcWire, SocketAddr) {
    record();
    let tls = |id| office.and_then(|office| office.agent(&name(id)));
    let nowhere = "127.0.0.1:1".to_string();
    let listen = format!("127.0.{host}.1:0");
    let mut settings_1 = settings(1, &listen, &[(0, nowhere.clone()), (2, nowhere)]);
    settings_1.tls = tls(1);
    let mut one = GrpcWire::start(settings_1).unwrap();
    let address = one.address().unwrap();
    let mut settings_0 = settings(0, "127.0.0.1:0", &[(1, address.to_string())]);
    settings_0.tls = tls(0);
    let mut zero = GrpcWire::start(settings_0).unwrap();
    up(&mut zero, 1);
    up(&mut one, 0);
    (zero, one, address)
}

/// Waits until a neighbour can be talked to: its incarnation and epoch.
pub fn up(wire: &mut GrpcWire, from: usize) -> (u64, u32) {
    let event = find(
        wire,
        |event| matches!(event, WireEvent::Up { neighbour, .. } if *neighbour == from),
    );
    match event {
        WireEvent::Up {
            incarnation, epoch, ..
        } => (incarnation, epoch),
        _ => unreachable!(),
    }
}

/// Waits until the link is gone: why.
pub fn down(wire: &mut GrpcWire, from: usize) -> String {
    let event = find(
        wire,
        |event| matches!(event, WireEvent::Down { neighbour, .. } if *neighbour == from),
    );
    match event {
        WireEvent::Down { reason, .. } => reason,
        _ => unreachable!(),
    }
}

/// Waits for the next frame of a neighbour.
pub fn frame(wire: &mut GrpcWire, from: usize) -> Bytes {
    let event = find(
        wire,
        |event| matches!(event, WireEvent::Frame { neighbour, .. } if *neighbour == from),
    );
    match event {
        WireEvent::Frame { bytes, .. } => bytes,
        _ => unreachable!(),
    }
}

fn find(wire: &mut GrpcWire, wanted: impl Fn(&WireEvent) -> bool) -> WireEvent {
    let until = Instant::now() + PATIENCE;
    loop {
        match wire.next(until) {
            Some(event) if wanted(&event) => return event,
            Some(_) => {}
            None => panic!("nothing came"),
        }
    }
}

/// The two agents talk, both ways, in frames of the largest size.
pub fn talk(zero: &mut GrpcWire, one: &mut GrpcWire) {
    static NEXT: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(0);
    for _ in 0..3 {
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let said = Bytes::from(vec![next; LARGEST]);
        zero.send(1, said.clone());
        one.send(0, said.clone());
        assert!(frame(one, 0) == said);
        assert!(frame(zero, 1) == said);
    }
}
