//! A socket that is read in large parts. rustls asks for 4 KB at a time where a record of TLS has 16, and a frame has many.

use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read ahead at most: a few records of TLS.
const AHEAD: usize = 64 << 10;

pub struct ReadAhead<IO> {
    socket: IO,
    buffer: Box<[u8]>,
    /// What of the buffer was read and not yet asked for.
    from: usize,
    to: usize,
}

impl<IO> ReadAhead<IO> {
    pub fn new(socket: IO) -> Self {
        ReadAhead {
            socket,
            buffer: vec![0; AHEAD].into(),
            from: 0,
            to: 0,
        }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for ReadAhead<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.from == this.to {
            let mut ahead = ReadBuf::new(&mut this.buffer);
            ready!(Pin::new(&mut this.socket).poll_read(cx, &mut ahead))?;
            (this.from, this.to) = (0, ahead.filled().len());
        }
        let count = into.remaining().min(this.to - this.from);
        into.put_slice(&this.buffer[this.from..this.from + count]);
        this.from += count;
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for ReadAhead<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
