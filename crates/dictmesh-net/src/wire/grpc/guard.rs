//! A connection on probation: until its hand-shake is done it may say little, and not for long.

use super::links::words;
use super::status::Status;
use super::strangers::{Refusals, Slot};
use super::tongue::Tongue;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::{sleep_until, Instant, Sleep};
use tokio_rustls::rustls::pki_types::CertificateDer;

/// Bytes before the end of the hand-shake at most: HTTP/2's settings and headers, and the hello.
const ALLOWANCE: usize = 64 << 10;
/// What every HTTP/2 connection begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Who is at the other end, as far as it is known.
#[derive(Clone, Debug)]
pub struct Peer(Arc<State>);

#[derive(Debug)]
struct State {
    address: SocketAddr,
    certificate: Option<CertificateDer<'static>>,
    refusals: Arc<Refusals>,
    probation: Mutex<Probation>,
}

#[derive(Debug)]
struct Probation {
    /// Among those without a hand-shake; `None` after it.
    slot: Option<Slot>,
    /// Whether the log knows of the refusal.
    told: bool,
    close: Option<oneshot::Sender<()>>,
}

impl Peer {
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    pub fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.0.certificate.as_ref()
    }

    fn probation(&self) -> MutexGuard<'_, Probation> {
        self.0.probation.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The hand-shake is done.
    pub fn admit(&self) {
        self.probation().slot = None;
    }

    /// Says in the log, once, why this peer is not welcome.
    pub fn refuse(&self, why: &str) {
        let told = std::mem::replace(&mut self.probation().told, true);
        if !told {
            self.0.log(why);
        }
    }

    /// HTTP/2 ended the connection. What a stranger did is said; that it went away is said when it is gone.
    pub fn broke(&self, error: &h2::Error) {
        if self.on_probation() && !error.is_io() {
            let why = words(&Status::broken(error));
            self.refuse(&format!("it does not keep to HTTP/2: {why}"));
        }
    }

    /// Closes the connection: nothing more is expected of it.
    pub fn close(&self) {
        self.probation().close = None;
    }

    fn on_probation(&self) -> bool {
        self.probation().slot.is_some()
    }
}

/// A connection, and the watch over it.
pub struct Guarded<IO> {
    io: IO,
    peer: Peer,
    deadline: Pin<Box<Sleep>>,
    /// `None` when it was.
    closed: Option<oneshot::Receiver<()>>,
    /// Bytes read while on probation.
    read: usize,
    admitted: bool,
}

impl<IO> Guarded<IO> {
    pub fn new(
        io: IO,
        (address, certificate): (SocketAddr, Option<CertificateDer<'static>>),
        slot: Slot,
        refusals: Arc<Refusals>,
        deadline: Instant,
    ) -> Self {
        let (close, closed) = oneshot::channel();
        let probation = Probation {
            slot: Some(slot),
            told: false,
            close: Some(close),
        };
        Guarded {
            io,
            peer: Peer(Arc::new(State {
                address,
                certificate,
                refusals,
                probation: Mutex::new(probation),
            })),
            deadline: Box::pin(sleep_until(deadline)),
            closed: Some(closed),
            read: 0,
            admitted: false,
        }
    }

    /// Who is at the other end.
    pub fn peer(&self) -> Peer {
        self.peer.clone()
    }

    /// What was read while on probation: does it go on?
    fn inspect(&mut self, new: &[u8]) -> io::Result<()> {
        let expected = PREFACE.get(self.read..).unwrap_or_default();
        let compared = expected.len().min(new.len());
        self.read += new.len();
        let is_first = self.read == new.len() && self.peer.certificate().is_none();
        let why = if is_first && Tongue::of(new) == Some(Tongue::Tls) {
            Tongue::Tls.words("it")
        } else if expected[..compared] != new[..compared] {
            "its bytes are not HTTP/2".into()
        } else if self.read > ALLOWANCE {
            "it sends too much before the end of the hand-shake".into()
        } else {
            return Ok(());
        };
        self.peer.refuse(&why);
        Err(io::Error::new(io::ErrorKind::InvalidData, why))
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Guarded<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let closed = |closed: &mut oneshot::Receiver<()>| Pin::new(closed).poll(cx).is_ready();
        if self.closed.as_mut().is_none_or(closed) {
            self.closed = None;
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        self.admitted = self.admitted || !self.peer.on_probation();
        if self.admitted {
            return Pin::new(&mut self.io).poll_read(cx, buf);
        }
        if self.deadline.as_mut().poll(cx).is_ready() {
            self.peer.refuse("no hand-shake in time");
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buf);
        match read {
            Poll::Ready(Ok(())) => Poll::Ready(self.inspect(&buf.filled()[before..])),
            other => other,
        }
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Guarded<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

impl State {
    fn log(&self, why: &str) {
        let names = self.certificate.as_ref().map(super::tls::names);
        self.refusals.log(self.address, names, why);
    }
}

/// Of a peer that nobody has said anything about: whoever carried it may have known more, and was asked first.
impl Drop for State {
    fn drop(&mut self) {
        let probation = self.probation.get_mut();
        let probation = probation.unwrap_or_else(|e| e.into_inner());
        if probation.slot.is_some() && !probation.told {
            self.log("it left without a hand-shake");
        }
    }
}
