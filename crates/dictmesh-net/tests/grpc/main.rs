//! The gRPC wire over real sockets on loopback addresses: links that come, go and come back, and strangers that are
//! turned away.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod alien;
mod common;
mod links;
mod mistakes;
mod strangers;
