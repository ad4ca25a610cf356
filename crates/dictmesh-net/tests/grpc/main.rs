//! The gRPC wire over real sockets on loopback addresses: links that come, go and come back, and strangers that are
//! turned away.

mod common;
mod links;
mod strangers;
