//! The applications on generated data whose answer is known.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod audit;
mod biclustering;
mod calibration;
mod demo;
mod denoising;
mod novelty;
mod reproduce;
mod roc;
