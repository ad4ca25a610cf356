//! Links that are cut and heal: each edge goes through a relay of the test.

use crate::faults::{undisturbed, wait_until, FLAGS, SAME, SAMPLES};
use crate::inbox::Inbox;
use crate::run::{distance, Run};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;

/// The ring of four: the agent with the smaller number dials.
const RING: [(usize, usize); 4] = [(0, 1), (1, 2), (2, 3), (0, 3)];
/// The edges between 0, 1 and 2, 3.
const HALVES: [usize; 2] = [1, 3];

const WHOLE: u8 = 0;
/// Nothing comes through, and nobody is told so.
const SILENT: u8 = 1;
/// Connections end, and new ones do at once.
const BROKEN: u8 = 2;
const OVER: u8 = 3;

/// How often relays look at what they are to do.
const LOOK: Duration = Duration::from_millis(5);

/// The edges of a run, each with a state that the test sets.
struct Links(Vec<Arc<AtomicU8>>);

impl Links {
    /// Puts a relay into each edge of the ring.
    fn of(run: &Run) -> Self {
        Links(RING.map(|(k, l)| relay(run, k, l)).to_vec())
    }

    fn set(&self, edges: &[usize], state: u8) {
        edges
            .iter()
            .for_each(|e| self.0[*e].store(state, Ordering::SeqCst));
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.set(&[0, 1, 2, 3], OVER);
    }
}

/// Lets agent k dial a relay in place of agent l.
fn relay(run: &Run, k: usize, l: usize) -> Arc<AtomicU8> {
    let settings = fs::read_to_string(run.file(l, "agent.toml")).unwrap();
    let listens = settings.lines().find_map(|line| {
        let address = line.strip_prefix("listen = \"")?;
        address.strip_suffix('"')
    });
    let to = listens.unwrap().to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let file = run.file(k, "agent.toml");
    let text = fs::read_to_string(&file).unwrap();
    let (from, into) = (format!("address = \"{to}\""), format!("address = \"{at}\""));
    assert!(text.contains(&from), "{text}");
    fs::write(&file, text.replace(&from, &into)).unwrap();
    let state = Arc::new(AtomicU8::new(WHOLE));
    let seen = Arc::clone(&state);
    spawn(move || accept(&listener, &to, &seen));
    state
}

fn accept(listener: &TcpListener, to: &str, state: &Arc<AtomicU8>) {
    listener.set_nonblocking(true).unwrap();
    while state.load(Ordering::SeqCst) != OVER {
        match listener.accept() {
            Ok((near, _)) if state.load(Ordering::SeqCst) < BROKEN => {
                // Where nobody listens yet the dialler is told so, and tries again.
                if let Ok(far) = TcpStream::connect(to) {
                    join(near, far, state).unwrap();
                }
            }
            _ => sleep(LOOK),
        }
    }
}

fn join(near: TcpStream, far: TcpStream, state: &Arc<AtomicU8>) -> std::io::Result<()> {
    near.set_nonblocking(false)?;
    for socket in [&near, &far] {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(LOOK))?;
    }
    for (from, to) in [
        (near.try_clone()?, far.try_clone()?),
        (far.try_clone()?, near.try_clone()?),
    ] {
        let state = Arc::clone(state);
        spawn(move || pump(from, to, &state));
    }
    Ok(())
}

fn pump(mut from: TcpStream, mut to: TcpStream, state: &AtomicU8) {
    let mut bytes = [0; 16 * 1024];
    loop {
        let read = from.read(&mut bytes);
        while state.load(Ordering::SeqCst) == SILENT {
            sleep(LOOK);
        }
        let goes_on = match read {
            _ if state.load(Ordering::SeqCst) >= BROKEN => false,
            Ok(0) => false,
            Ok(n) => to.write_all(&bytes[..n]).is_ok(),
            Err(e) => matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        };
        if !goes_on {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Under `wait`: nobody goes on while a link is cut, and afterwards all is as if it had not been.
#[test]
fn links_that_are_cut_and_heal_change_nothing() {
    let mut run = Run::new(SAMPLES, FLAGS);
    let links = Links::of(&run);
    run.start_all();
    for (edges, how, sample) in [
        (&[0][..], BROKEN, 20),
        (&[2], SILENT, 60),
        (&HALVES, BROKEN, 100),
        (&HALVES, SILENT, 140),
    ] {
        run.until_sample(0, sample);
        links.set(edges, how);
        sleep(Duration::from_secs(1));
        let before: Vec<_> = (0..4).map(|k| run.checkpoint(k)).collect();
        sleep(Duration::from_secs(2));
        let after: Vec<_> = (0..4).map(|k| run.checkpoint(k)).collect();
        assert_eq!(before, after, "all wait");
        assert!(after[0] < Some(SAMPLES as u64), "it was cut in mid-stream");
        links.set(edges, WHOLE);
    }
    let off = distance(&run.finish(), &undisturbed());
    assert!(off <= SAME, "{off:e}");
}

/// Under `go-on`: with one edge less all go on together, in two halves each for itself, and in the end all are back.
fn goes_on_in_halves(how: u8) {
    let mut inbox = Inbox::new(&format!("{FLAGS} --policy go-on --deadline 3"));
    let links = Links::of(&inbox.run);
    inbox.run.start_all();
    inbox.put(16);
    inbox.until_learned();
    let all = |run: &Run, members: usize| (0..4).all(|k| run.members(k) == Some(members));
    wait_until("all are there", || all(&inbox.run, 4));
    links.set(&[0], how);
    inbox.put(16);
    inbox.until_learned();
    assert!(all(&inbox.run, 4), "one edge parts nobody");
    links.set(&[0], WHOLE);
    links.set(&HALVES, how);
    wait_until("two halves", || all(&inbox.run, 2));
    inbox.put(16);
    inbox.until_learned();
    links.set(&HALVES, WHOLE);
    wait_until("all are back", || all(&inbox.run, 4));
    inbox.put(16);
    inbox.until_learned();
    assert!(all(&inbox.run, 4));
    inbox.end();
    inbox.run.finish();
}

#[test]
fn halves_that_did_not_hear_each_other_are_whole_again() {
    goes_on_in_halves(SILENT);
}

/// Nothing is on its way when these links are back, and neither half ever waits: somebody must begin to speak.
#[test]
fn halves_whose_connections_broke_are_whole_again() {
    goes_on_in_halves(BROKEN);
}
