//! HTTP/2 as links between agents need it: h2's defaults are for many small calls.

use super::message::Piece;
use h2::{client, server, Ping, PingPong};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};

/// A link is asked this often whether it is still there,
const ASK: Duration = Duration::from_secs(5);
/// and must answer in this time.
const ANSWER: Duration = Duration::from_secs(10);
/// Bytes of headers at most; ours are a few hundred.
const HEADERS: u32 = 8 << 10;
/// A connection has one stream, whose window is what bounds it.
const CONNECTION: u32 = (1 << 31) - 1;

/// Bytes that may be on the way unread: two of the largest messages, and enough that the window is seldom renewed.
fn window(largest: usize) -> u32 {
    largest.saturating_mul(2).clamp(4 << 20, 64 << 20) as u32
}

/// Bytes of an HTTP/2 frame at most: a message of usual size in one piece.
fn piece(largest: usize) -> u32 {
    largest.clamp(16 << 10, 1 << 20) as u32
}

/// The server, for messages of at most `largest` bytes.
pub fn server(largest: usize) -> server::Builder {
    let mut builder = server::Builder::new();
    builder
        .initial_window_size(window(largest))
        .initial_connection_window_size(CONNECTION)
        .max_frame_size(piece(largest))
        .max_concurrent_streams(1)
        .max_header_list_size(HEADERS)
        .max_send_buffer_size(largest.min(u32::MAX as usize));
    builder
}

/// The client, for messages of at most `largest` bytes.
pub fn client(largest: usize) -> client::Builder {
    let mut builder = client::Builder::new();
    builder
        .initial_window_size(window(largest))
        .initial_connection_window_size(CONNECTION)
        .max_frame_size(piece(largest))
        .enable_push(false)
        .max_header_list_size(HEADERS)
        .max_send_buffer_size(largest.min(u32::MAX as usize));
    builder
}

/// Carries a dialled connection to its end.
pub async fn carry<IO>(mut connection: client::Connection<IO, Piece>)
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let alive = keep_alive(connection.ping_pong());
    tokio::select! {
        ended = connection => if let Err(e) = ended {
            tracing::debug!("connection ended: {e}");
        },
        () = alive => {}
    }
}

/// Ends when the other side does not answer any more.
pub async fn keep_alive(pings: Option<PingPong>) {
    let Some(mut pings) = pings else {
        return std::future::pending().await;
    };
    loop {
        sleep(ASK).await;
        match timeout(ANSWER, pings.ping(Ping::opaque())).await {
            Ok(Ok(_)) => {}
            // The connection has ended, and says why by itself.
            Ok(Err(_)) => return std::future::pending().await,
            Err(_) => {
                tracing::info!("no answer for {} s: the link is cut", ANSWER.as_secs());
                return;
            }
        }
    }
}
