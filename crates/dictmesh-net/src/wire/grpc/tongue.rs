//! Whether the other side speaks TLS or plain text, by its first bytes: that one of the two has certificates and the other
//! has none is a common mistake, which neither TLS nor HTTP/2 has words for.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a side speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tongue {
    Tls,
    Plain,
}

impl Tongue {
    /// Of whoever said this first, if it is either.
    pub fn of(first: &[u8]) -> Option<Self> {
        match first {
            // A record of TLS that begins a hand-shake or complains of one; 3 begins every version's number.
            [0x15 | 0x16, 3, ..] => Some(Tongue::Tls),
            // HTTP/2: the preface of whoever dials, or the settings that everybody begins with.
            [b'P', b'R', b'I', ..] | [0, _, _, 4, ..] => Some(Tongue::Plain),
            _ => None,
        }
    }

    /// What is wrong when `who` speaks this and we do not.
    pub fn words(self, who: &str) -> String {
        let (theirs, ours, without) = match self {
            Tongue::Tls => ("TLS", "plain text", "this agent"),
            Tongue::Plain => ("plain text", "TLS", "the other"),
        };
        format!(
            "{who} speaks {theirs}, and this agent {ours}; give {without} its certificate too ([tls] in agent.toml; tls = \
             true in mesh.toml under launch), or take TLS from all agents"
        )
    }
}

/// The first bytes that came by a connection. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct First(Arc<Mutex<Vec<u8>>>);

impl First {
    /// As many as tell.
    const ENOUGH: usize = 4;

    /// Takes what came next; whether that is enough.
    fn hear(&self, bytes: &[u8]) -> bool {
        let mut first = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let missing = Self::ENOUGH.saturating_sub(first.len());
        first.extend(bytes.iter().take(missing));
        first.len() >= Self::ENOUGH
    }

    /// What they are.
    pub fn tongue(&self) -> Option<Tongue> {
        Tongue::of(&self.0.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

/// A connection whose first bytes are kept.
pub struct Heard<IO> {
    io: IO,
    /// `None` when there are enough.
    first: Option<First>,
}

impl<IO> Heard<IO> {
    pub fn new(io: IO, first: &First) -> Self {
        Heard {
            io,
            first: Some(first.clone()),
        }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Heard<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, into);
        let new = &into.filled()[before..];
        if self.first.as_ref().is_some_and(|first| first.hear(new)) {
            self.first = None;
        }
        read
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Heard<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
