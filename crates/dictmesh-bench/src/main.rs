//! Times of the library's parts on arrays that `bench/` has written, one JSON object on stdout.
#![allow(clippy::print_stdout)]

mod arrays;
mod coding;
mod learning;
mod mesh;
mod scale;

use clap::{Parser, Subcommand};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    part: Part,
    /// Threads to compute with.
    #[arg(long, global = true, default_value_t = 1)]
    threads: usize,
}

#[derive(Subcommand)]
enum Part {
    /// Codes of all samples by `Mesh::exact`.
    Coding(coding::Coding),
    /// Passes of `Mesh::learn` over samples.
    Learning(learning::Learning),
    /// The time of one round of a mesh.
    Rounds(mesh::Rounds),
    /// Work, memory and time of a job of given sizes.
    Scale(scale::Scale),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.threads);
    let measured = pool.build()?.install(|| match &arguments.part {
        Part::Coding(part) => part.measure(arguments.threads),
        Part::Learning(part) => part.measure(arguments.threads),
        Part::Rounds(part) => part.measure(arguments.threads),
        Part::Scale(part) => part.measure(),
    })?;
    println!("{measured}");
    Ok(())
}
