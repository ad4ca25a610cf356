//! `dictmesh audit`: what a curious neighbour could find out.

mod page;
mod words;

use super::common_args::{Choices, Subject};
use super::tune::{learn, AGENTS};
use super::{say, Result, Speech};
use crate::options::{with_bits, Options};
use crate::output::Folder;
use crate::progress::Bar;
use crate::progress::Progress;
use dictmesh::strategy;
use dictmesh::strategy::Strategy;
use dictmesh::{AtomInit, Error, Mesh, Samples, Spec};
use dictmesh_apps::audit::{audit, audit_masked, Audit, SUMS};
use dictmesh_apps::learning_curve::Target;
use std::path::PathBuf;
use std::sync::Arc;

/// Rounds that are recorded, if nothing else is said.
const ROUNDS: usize = 400;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub subject: Subject,
    /// Samples whose messages are recorded
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..), help_heading = "What to try")]
    pub samples: u64,
    /// Neighbours of an agent that put together what they get
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = "What to try")]
    pub colluding: u64,
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
    pub choices: Choices,
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
    /// Neighbours that work together.
    colluding: usize,
    /// Directions that an attacker may come up with, at most.
    directions: usize,
    /// Strategies that were not tried, and why.
    left_out: Vec<String>,
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
    let options = args.choices.options.clone();
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
    // To name auto is to name none.
    let named = options.strategy.take();
    options.strategy = named.filter(|name| name != strategy::DEFAULT);
    let strategies = strategies(args, &options)?;
    let (mesh, x) = mesh_and_samples(args, &mut options, show)?;
    let rounds = options.rounds.unwrap_or(ROUNDS);
    let target = Target::new(&mesh, &x).map_err(say)?;
    let colluding = args.colluding as usize;
    let (mut audits, mut left_out) = (Vec::new(), Vec::new());
    let total = strategies.len();
    for (
        done,
        Tried {
            name,
            strategy,
            is_masked,
        },
    ) in strategies.into_iter().enumerate()
    {
        show(Progress {
            phase: "attacks",
            done,
            total,
            cost: None,
        });
        let attack = if is_masked { audit_masked } else { audit };
        let audit = match attack(&mesh, &x, &strategy, rounds, colluding) {
            Ok(audit) => audit,
            // One that was asked for by name is refused where it does not fit or diverges; of all there are, the others
            // are tried.
            Err(why @ (Error::Unsupported { .. } | Error::Diverged { .. }))
                if options.strategy.is_none() =>
            {
                left_out.push(say(why).message);
                continue;
            }
            Err(why) => return Err(say(why)),
        };
        let curve = target.curve(&mesh, &strategy, rounds).map_err(say)?;
        audits.push(Audited {
            name,
            audit,
            needs: curve.both()[2],
        });
    }
    if let (true, Some(why)) = (audits.is_empty(), left_out.last()) {
        return Err(why.clone().into());
    }
    let fewest = (0..mesh.agents()).map(|k| mesh.block(k).len()).min();
    Ok(Found {
        audits,
        agents: mesh.agents(),
        links: mesh.topology().edges().len(),
        atoms: mesh.atoms(),
        rows: mesh.rows(),
        samples: x.len(),
        rounds,
        colluding,
        directions: mesh.atoms() - fewest.unwrap_or(0),
        left_out,
    })
}

/// A strategy to be audited.
struct Tried {
    name: String,
    strategy: Arc<dyn Strategy>,
    /// Whether masks hide the parts of its sums.
    is_masked: bool,
}

/// All strategies, relaxed-admm with random starts too and tree with masks; or those of one strategy
/// alone, if one is named.
fn strategies(args: &Args, options: &Options) -> Result<Vec<Tried>> {
    let mut list = Vec::new();
    for name in strategy::NAMES {
        let plain = match options.strategy.as_deref() {
            Some(named) if named != name => continue,
            Some(_) => options.strategy()?,
            None if name == "relaxed-admm" => Options {
                strategy: Some(name.into()),
                mu: None,
                latency: None,
                bandwidth: None,
                ..options.clone()
            }
            .strategy()?,
            None => with_bits(Spec::new(name), options.bits)?,
        };
        let mut add = |name: String, strategy: &Arc<dyn Strategy>, is_masked: bool| {
            list.push(Tried {
                name,
                strategy: strategy.clone(),
                is_masked,
            });
        };
        add(name.to_string(), &plain, false);
        if name == SUMS {
            add(format!("{name}, masked"), &plain, true);
        }
        if name == "relaxed-admm" {
            for size in &args.random_start {
                let hidden = plain.spec().with_number("random_start", *size);
                let hidden = strategy::build(&hidden).map_err(say)?;
                add(format!("relaxed-admm, random start {size}"), &hidden, false);
            }
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
    let quiet = args.speech.quiet;
    let (opened, divided) = args.subject.open(&args.choices, options, quiet)?;
    let mesh = match opened {
        Some(opened) => opened.model.mesh,
        None => {
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
                bits: None,
                latency: None,
                bandwidth: None,
                ..options.clone()
            };
            let rows = divided.training.rows();
            plain.mesh("sparse-svd", rows, AtomInit::Given(&learned))?
        }
    };
    let held_out = divided.held_out;
    let few = held_out.range(0..held_out.len().min(args.samples as usize));
    Ok((mesh, few))
}
