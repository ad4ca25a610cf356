//! Times of the library's parts on arrays that `bench/` has written, one JSON object on stdout.
#![allow(clippy::print_stdout)]

#[cfg(not(unix))]
compile_error!("dictmesh-bench polls sockets and reads CPU clocks by Unix calls; leave it out with --exclude dictmesh-bench");

mod arrays;
mod coding;
mod cost;
mod documents;
mod experiment;
mod given;
mod learning;
mod mesh;
mod penalty;
mod scale;
mod sizes;
mod wire;

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
    /// Certificates for `wire`.
    Certificates(wire::Certificates),
    /// Codes of all samples by `Mesh::exact_codes`.
    Coding(coding::Coding),
    /// Bytes, hops and seconds for the codes of a batch at a given error of nu.
    Cost(cost::Cost),
    /// The time of one round for given samples, atoms and a graph.
    Documents(documents::Documents),
    /// The paper's experiment with documents: learning and scoring, block by block.
    Experiment(experiment::Experiment),
    /// Passes of `Mesh::learn` over samples.
    Learning(learning::Learning),
    /// Rounds of each batch in learning.
    Penalty(penalty::Penalty),
    /// The time of one round of a mesh.
    Rounds(mesh::Rounds),
    /// Work, memory and time of a job of given sizes.
    Scale(scale::Scale),
    /// The time of one round between processes, of which this is one.
    Wire(wire::Wire),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.threads);
    let measured = pool.build()?.install(|| match &arguments.part {
        Part::Certificates(part) => part.measure(),
        Part::Coding(part) => part.measure(arguments.threads),
        Part::Cost(part) => part.measure(),
        Part::Documents(part) => part.measure(arguments.threads),
        Part::Experiment(part) => part.measure(),
        Part::Learning(part) => part.measure(arguments.threads),
        Part::Penalty(part) => part.measure(),
        Part::Rounds(part) => part.measure(arguments.threads),
        Part::Scale(part) => part.measure(),
        Part::Wire(part) => part.measure(),
    })?;
    println!("{measured}");
    Ok(())
}
