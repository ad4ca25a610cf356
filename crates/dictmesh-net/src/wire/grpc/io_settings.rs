//! HTTP/2 as links between agents need it: tonic's defaults are for many small calls.

use std::time::Duration;
use tonic::transport::{Endpoint, Server};

/// A silent link is asked this often whether it is still there,
const ASK: Duration = Duration::from_secs(5);
/// and must answer in this time.
const ANSWER: Duration = Duration::from_secs(10);
/// Bytes of headers at most; ours are a few hundred.
const HEADERS: u32 = 8 << 10;

/// Bytes that may be on the way unread: two of the largest messages.
fn window(largest: usize) -> u32 {
    (2 * largest).clamp(1 << 20, 64 << 20) as u32
}

/// Bytes of an HTTP/2 frame at most: a message of usual size in one piece.
fn piece(largest: usize) -> u32 {
    largest.clamp(16 << 10, 1 << 20) as u32
}

/// The server, for messages of at most `largest` bytes.
pub fn server(largest: usize) -> Server {
    Server::builder()
        .initial_stream_window_size(window(largest))
        .initial_connection_window_size(window(largest))
        .max_frame_size(piece(largest))
        .max_concurrent_streams(1)
        .http2_max_header_list_size(HEADERS)
        .http2_keepalive_interval(Some(ASK))
        .http2_keepalive_timeout(Some(ANSWER))
}

/// The client to the agent of this name.
pub fn client(
    name: &str,
    scheme: &str,
    largest: usize,
) -> Result<Endpoint, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("{scheme}://{name}"))?
        .initial_stream_window_size(window(largest))
        .initial_connection_window_size(window(largest))
        .max_frame_size(piece(largest))
        .http2_max_header_list_size(HEADERS)
        .http2_keep_alive_interval(ASK)
        .keep_alive_timeout(ANSWER)
        .keep_alive_while_idle(true);
    Ok(endpoint)
}
