//! The least that an exchange over TCP can be: the same bytes to every neighbour, as many from each.

use anyhow::{ensure, Result};
use rustix::event::{poll, PollFd, PollFlags};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long the others may take to start.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Raw {
    sockets: Vec<TcpStream>,
    payload: Vec<u8>,
    inbox: Vec<Vec<u8>>,
}

impl Raw {
    /// The smaller id dials, and says who it is.
    pub fn start(own: usize, neighbours: &[usize], port: u16, bytes: usize) -> Result<Self> {
        let at = |k: usize| ("127.0.0.1", port + k as u16);
        let listener = TcpListener::bind(at(own))?;
        let mut sockets: Vec<(usize, TcpStream)> = Vec::new();
        for l in neighbours.iter().filter(|l| **l > own) {
            let until = Instant::now() + PATIENCE;
            let mut socket = loop {
                match TcpStream::connect(at(*l)) {
                    Ok(socket) => break socket,
                    Err(e) if Instant::now() > until => return Err(e.into()),
                    Err(_) => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            socket.write_all(&(own as u32).to_le_bytes())?;
            sockets.push((*l, socket));
        }
        for _ in neighbours.iter().filter(|l| **l < own) {
            let (mut socket, _) = listener.accept()?;
            let mut id = [0; 4];
            socket.read_exact(&mut id)?;
            sockets.push((u32::from_le_bytes(id) as usize, socket));
        }
        sockets.sort_by_key(|(id, _)| *id);
        for (_, socket) in &sockets {
            socket.set_nodelay(true)?;
            socket.set_nonblocking(true)?;
        }
        Ok(Raw {
            inbox: vec![vec![0; bytes]; sockets.len()],
            payload: (0..bytes).map(|i| i as u8).collect(),
            sockets: sockets.into_iter().map(|(_, socket)| socket).collect(),
        })
    }

    pub fn round(&mut self) -> Result<()> {
        let bytes = self.payload.len();
        let mut left = vec![(bytes, bytes); self.sockets.len()];
        loop {
            let mut done = true;
            for (i, socket) in self.sockets.iter_mut().enumerate() {
                let (out, into) = &mut left[i];
                while *out > 0 {
                    match socket.write(&self.payload[bytes - *out..]) {
                        Ok(written) => *out -= written,
                        Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                        Err(e) => return Err(e.into()),
                    }
                }
                while *into > 0 {
                    match socket.read(&mut self.inbox[i][bytes - *into..]) {
                        Ok(0) => anyhow::bail!("a neighbour has gone"),
                        Ok(read) => *into -= read,
                        Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                        Err(e) => return Err(e.into()),
                    }
                }
                done &= *out + *into == 0;
            }
            if done {
                ensure!(self
                    .inbox
                    .iter()
                    .all(|got| got[bytes - 1] == self.payload[bytes - 1]));
                return Ok(());
            }
            let waiting = self
                .sockets
                .iter()
                .zip(&left)
                .filter(|(_, left)| left.0 + left.1 > 0);
            let mut polled: Vec<PollFd<'_>> = waiting
                .map(|(socket, (out, into))| {
                    let mut flags = PollFlags::empty();
                    flags.set(PollFlags::OUT, *out > 0);
                    flags.set(PollFlags::IN, *into > 0);
                    PollFd::new(socket, flags)
                })
                .collect();
            poll(&mut polled, None)?;
        }
    }
}
