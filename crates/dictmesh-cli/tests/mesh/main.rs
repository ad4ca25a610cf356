//! Agents as processes on loopback addresses, as a person or a supervisor runs them: what they learn, and what they
//! do when they are killed, frozen, cut off or told to end.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod alike;
mod by_hand;
#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
mod endings;
mod faults;
mod feeding;
mod files;
mod inbox;
mod learned;
mod links;
mod membership;
mod mistakes;
mod outcomes;
mod run;
mod run_summary;
mod shrinking;
mod starting;
mod streams;
mod sums;
mod words;
