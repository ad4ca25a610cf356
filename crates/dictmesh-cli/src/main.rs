//! The program `dictmesh`.
#![allow(clippy::print_stdout, clippy::print_stderr)]
mod demo;
mod matching;
mod picture;
mod planted;
fn main() {}
