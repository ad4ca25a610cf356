//! The program `dictmesh`.
fn main() {}
