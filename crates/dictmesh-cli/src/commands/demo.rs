//! `demo`: a planted dictionary, learned by a mesh, and a comparison of strategies.

mod terminal;

use crate::commands::{print, Result};
use crate::globals;
use crate::progress::Bar;
use dictmesh_apps::demo::{self, DemoResult, SIDE};
use dictmesh_data::output::{ImageFile, ImageFormat};
use dictmesh_report::{Poster, PosterAtom, PosterStrategy};
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The file of the picture; its name ends in .png or .svg
    #[arg(long, value_name = "FILE", default_value = "dictmesh-demo.png")]
    out: PathBuf,
    #[arg(from_global)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let output = ImageFile::check(&args.out)?;
    let bar = Bar::new(args.quiet);
    let result = demo::run(args.seed, &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    present(&result.map_err(|e| e.to_string())?, args, &output)
}

fn present(result: &DemoResult, args: &Args, output: &ImageFile) -> Result<()> {
    let canvas = poster(result).draw();
    output.write(&match output.format() {
        ImageFormat::Png => canvas.png(1.0)?,
        ImageFormat::Svg => canvas.svg().into_bytes(),
    })?;
    if args.quiet {
        return Ok(());
    }
    let columns = console::Term::stdout().size_checked();
    let columns = columns.map(|(_, columns)| usize::from(columns));
    let columns = match globals::color() {
        clap::ColorChoice::Never => None,
        clap::ColorChoice::Always => columns.or(Some(80)),
        clap::ColorChoice::Auto => columns.filter(|_| console::colors_enabled()),
    };
    let mut text = terminal::report(result, columns);
    text.push_str(&format!("\nThe picture: {}\n", args.out.display()));
    print(&text)
}

/// The picture of a result.
fn poster(result: &DemoResult) -> Poster {
    let matches = result.matches();
    let atom = |(q, &agent): (usize, &usize)| {
        let found = matches.iter().find(|m| m.recovered == q);
        let sign = found.map_or(0.0, |m| m.cosine).signum();
        let learned = result.recovered.column(q).iter().map(|v| v * sign);
        PosterAtom {
            agent,
            learned: learned.collect(),
            planted: found.map(|m| result.planted.column(m.planted).to_vec()),
            cosine: found.map_or(0.0, |m| m.cosine.abs()),
            recovered: found.is_some_and(|m| m.is_recovered()),
        }
    };
    let strategies = result.strategies.iter().map(|row| PosterStrategy {
        name: row.name.clone(),
        rounds: row.rounds,
        bytes: row.bytes,
    });
    Poster {
        informed: result.informed.clone(),
        edges: result.edges.clone(),
        batch: result.batch,
        costs: result.costs.clone(),
        cost: (result.cost_before, result.cost_after),
        side: SIDE,
        atoms: result.owner.iter().enumerate().map(atom).collect(),
        planted: result.planted.cols(),
        target: (result.target, result.measure.clone()),
        round_limit: result.round_limit,
        strategies: strategies.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::Matrix;
    use dictmesh_apps::demo::{Planted, StrategyRow};

    /// A result like that of a good run.
    pub fn result() -> DemoResult {
        use dictmesh::random::{gaussian, stream};
        let planted = Planted::new(1).dictionary().clone();
        let atoms = planted.cols();
        let noise = gaussian(64, atoms, &mut stream(5, 1));
        // Permuted, with other signs; most atoms are good.
        let recovered = Matrix::from_fn(64, atoms, |i, k| {
            let p = (k * 5 + 3) % atoms;
            let sign = if k % 3 == 0 { -1.0 } else { 1.0 };
            let level = if k % 11 == 4 { 0.12 } else { 0.012 };
            sign * planted.get(i, p) + level * noise.get(i, k)
        });
        let agents = 16;
        let mut edges: Vec<_> = (0..agents).map(|k| (k, (k + 1) % agents)).collect();
        edges.extend([(0, 5), (2, 9), (3, 12), (7, 14), (1, 10), (4, 8), (6, 13)]);
        edges.extend([(0, 11), (5, 15), (8, 12)]);
        let jitter = gaussian(1, 250, &mut stream(5, 2));
        let costs = (0..250)
            .map(|t| 0.34 + 0.75 * (-(t as f64) / 45.0).exp() + 0.03 * jitter.get(0, t))
            .collect();
        let row = |name: &str, rounds: Option<usize>, accuracy| StrategyRow {
            name: name.into(),
            rounds,
            bytes: rounds.unwrap_or(3000) as u64 * 52 * 64 * 8,
            accuracy,
        };
        DemoResult {
            planted,
            recovered,
            owner: (0..atoms).map(|k| k * agents / atoms).collect(),
            edges,
            informed: (0..agents).map(|k| k % 4 == 0).collect(),
            batch: 16,
            costs,
            cost_before: 1.13,
            cost_after: 0.335,
            target: 1e-4,
            measure: "relative distance of the dual to the exact one".into(),
            round_limit: 3000,
            strategies: vec![
                row("diffusion", None, 3.1e-2),
                row("consensus", None, 5.7e-2),
                row("jacobi-admm", Some(812), 9.9e-5),
                row("exact-diffusion", Some(341), 9.8e-5),
                row("relaxed-admm", Some(96), 9.1e-5),
            ],
        }
    }

    #[test]
    fn a_result_becomes_the_file_that_was_asked_for() {
        for (name, start) in [("a.png", b"\x89PNG"), ("a.svg", b"<svg")] {
            let name = format!("dictmesh-present-{}-{name}", std::process::id());
            let out = std::env::temp_dir().join(name);
            let args = Args {
                seed: 1,
                out: out.clone(),
                quiet: true,
            };
            present(&result(), &args, &ImageFile::check(&out).unwrap()).unwrap();
            let content = std::fs::read(&out).unwrap();
            std::fs::remove_file(&out).unwrap();
            assert!(content.starts_with(start));
        }
    }
}
