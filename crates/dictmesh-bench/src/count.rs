//! `dictmesh-bench scale` with multiply-adds and memory counted, which costs time. On one thread.
#![allow(clippy::print_stdout)]

mod scale;
mod sizes;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: dictmesh::work::Allocator = dictmesh::work::Allocator;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    scale: scale::Scale,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    println!("{}", pool.install(|| arguments.scale.measure())?);
    Ok(())
}
