//! `dictmesh audit`: what a curious neighbour could find out.

mod page;
mod words;

use super::divided::{divide, fresh};
use super::prepare::{DataArgs, Making, Opened};
use super::tune::{learn, AGENTS};
use super::{say, Result, Speech};
use crate::demo::Progress;
use crate::options::Options;
use crate::output::Folder;
use crate::terminal::Bar;
use dictmesh::apps::audit::{audit, Audit};
use dictmesh::apps::learning_curve::Target;
use dictmesh::inference::StrategySpec;
use dictmesh::{Mesh, Samples, Start};
use std::path::PathBuf;

/// Rounds that are recorded, if nothing else is said.
const ROUNDS: usize = 400;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The samples: numbers, text or pictures, as `learn` takes them
    pub data: PathBuf,
    /// Take the dictionary, the task and the mesh from this model; else a dictionary is learned first, with one atom
    /// at each agent if nothing else is said
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["centre", "norm", "counts", "patch", "stride",
        "vocabulary", "hash", "keep_stop_words", "task", "residual", "regularizer", "atoms_set", "gamma",
        "delta", "beta", "eta", "radius", "lo", "hi", "atoms", "agents", "topology", "weights", "informed",
        "batch", "passes", "update"])]
    pub model: Option<PathBuf>,
    /// Choices from a TOML file; flags win. Its keys are the flags of the headings The problem, The mesh,
    /// Inference and Learning, without their dashes in front: gamma = 0.1, atoms-set = "unit-ball"
    #[arg(long, value_name = "TOML")]
    pub config: Option<PathBuf>,
    /// Samples whose messages are recorded
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..), help_heading = "What to try")]
    pub samples: u64,
    /// Sizes of the random start of relaxed-admm's memory to try
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "1",
        help_heading = "What to try"
    )]
    pub random_start: Vec<f64>,

    #[command(flatten)]
    pub making: Making,
    #[command(flatten)]
    pub data_args: DataArgs,
    #[command(flatten)]
    pub options: Options,
    /// Write a page with the cosines of every atom into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// What was found.
struct Found {
    audits: Vec<Audited>,
    agents: usize,
    links: usize,
    atoms: usize,
    rows: usize,
    samples: usize,
    /// Rounds that were recorded.
    rounds: usize,
}

/// One strategy.
struct Audited {
    name: String,
    audit: Audit,
    /// Rounds until nu and y of all agents stay within 1e-3 of the exact solution; none if they never were.
    needs: Option<usize>,
}

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let mut options = args.options.clone();
    if let Some(path) = &args.config {
        options = options.or(Options::from_toml(path)?);
    }
    let bar = Bar::new(args.speech.quiet);
    let found = find(&args, options, &mut |progress| bar.show(progress));
    bar.clear();
    let found = found?;
    let page = match &args.report {
        Some(dir) => Some(page::report(&args, &found).write(dir)?),
        None => None,
    };
    args.speech.tell(words::json(&found), || {
        let mut text = words::text(&found);
        if let Some(page) = page {
            text += &format!("report: {}\n", page.display());
        }
        text
    })
}

fn find(args: &Args, mut options: Options, show: &mut dyn FnMut(Progress)) -> Result<Found> {
    let strategies = strategies(args, &options)?;
    let (mesh, x) = mesh_and_samples(args, &mut options, show)?;
    let rounds = options.rounds.unwrap_or(ROUNDS);
    let target = Target::new(&mesh, &x).map_err(say)?;
    let mut audits = Vec::new();
    let total = strategies.len();
    for (done, (name, strategy)) in strategies.into_iter().enumerate() {
        show(Progress {
            phase: "attacks",
            done,
            total,
            cost: None,
        });
        let audit = audit(&mesh, &x, &strategy, rounds).map_err(say)?;
        let curve = target.curve(&mesh, &strategy, rounds).map_err(say)?;
        audits.push(Audited {
            name,
            audit,
            needs: curve.both()[2],
        });
    }
    Ok(Found {
        audits,
        agents: mesh.agents(),
        links: mesh.topology().edges().len(),
        atoms: mesh.atoms(),
        rows: mesh.rows(),
        samples: x.len(),
        rounds,
    })
}

/// Diffusion, relaxed-admm, and the latter with random starts; or those of one strategy alone, if one is named.
fn strategies(args: &Args, options: &Options) -> Result<Vec<(String, StrategySpec)>> {
    let named = options.strategy.as_deref();
    let of = |name: &str| match named == Some(name) {
        true => options.strategy(),
        false => StrategySpec::from_name(name).map_err(say),
    };
    let mut list = Vec::new();
    if named != Some("relaxed-admm") {
        let name = named.unwrap_or("diffusion");
        list.push((name.to_string(), of(name)?));
    }
    if named.is_none_or(|name| name == "relaxed-admm") {
        let plain = match (named, options.rho) {
            (None, Some(_)) => Options {
                strategy: Some("relaxed-admm".into()),
                mu: None,
                ..options.clone()
            }
            .strategy()?,
            _ => of("relaxed-admm")?,
        };
        list.push(("relaxed-admm".to_string(), plain.clone()));
        for size in &args.random_start {
            let mut hidden = plain.clone();
            if let StrategySpec::RelaxedAdmm { random_start, .. } = &mut hidden {
                *random_start = Some(*size);
            }
            list.push((format!("relaxed-admm, random start {size}"), hidden));
        }
    }
    Ok(list)
}

/// The dictionary in its mesh, and samples that it did not learn from.
fn mesh_and_samples(
    args: &Args,
    options: &mut Options,
    show: &mut dyn FnMut(Progress),
) -> Result<(Mesh, Samples)> {
    let seed = options.seed.unwrap_or(0);
    let quiet = args.speech.quiet;
    let (mesh, held_out) = match &args.model {
        Some(model) => {
            let opened = Opened::new(model, &args.data, &args.data_args, !quiet)?;
            let divided = divide(&args.data, &opened.feed(1), seed)?;
            (opened.mesh, divided.held_out)
        }
        None => {
            let divided = fresh(&args.data, &args.making, &args.data_args, quiet, options)?;
            if options.agents.is_none() && options.topology.is_none() {
                options.agents = Some(AGENTS);
            }
            let agents = options.sizes()?.0;
            let atoms = *options.atoms.get_or_insert(agents);
            let learned = learn(options, atoms, &divided.training, show)?.dictionary();
            // The strategies to be tried need not be one that the mesh is built with.
            let plain = Options {
                strategy: None,
                mu: None,
                rho: None,
                ..options.clone()
            };
            let rows = divided.training.rows();
            let mesh = plain.mesh("sparse-svd", rows, Start::Given(&learned))?;
            (mesh, divided.held_out)
        }
    };
    let few = held_out.range(0..held_out.len().min(args.samples as usize));
    Ok((mesh, few))
}
