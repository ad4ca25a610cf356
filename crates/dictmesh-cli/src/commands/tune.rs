//! `dictmesh tune`: gamma, the number of atoms, the strategy and its step for given data.

mod flags;
mod page;
mod text;

use super::common_args::{Choices, Subject};
use super::{command_line_with, say, shell_word, Result, Speech};
use crate::options::names::OneOf;
use crate::progress::Bar;
use crate::render::Reply;
use dictmesh::{strategy, AtomInit};
use dictmesh_apps::learning_curve::GOALS;
use dictmesh_apps::progress::Observer;
use dictmesh_apps::tuning::{
    Choice, Comparison, GridSearch, StrategyComparison, DEFAULT_AGENTS, DEFAULT_ROUNDS,
    DEFAULT_SAMPLES,
};
use dictmesh_data::output::Folder;
pub use page::figure;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::PathBuf;
pub use text::rounds_to;

/// One half of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Only {
    /// gamma and the number of atoms
    Choice,
    /// The strategy and its step
    Curve,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub subject: Subject,
    /// Do one half of the work
    #[arg(long, value_name = "WHAT")]
    pub only: Option<Only>,

    /// The gammas to try [default: .02 to .4 of a sample's norm; or --gamma alone]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["model", "gamma"],
        help_heading = "Search"
    )]
    pub gammas: Vec<f64>,
    /// The numbers of atoms to try [default: up to twice the features; or --atoms alone]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["model", "atoms"],
        help_heading = "Search"
    )]
    pub atoms_grid: Vec<usize>,
    /// The strategies to compare [default: all that gossip]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = OneOf::new(strategy::NAMES), help_heading = "Search")]
    pub strategies: Vec<String>,
    /// The SNR of nu and y against the exact solution to reach, in dB; 40 is a relative error of 1e-2
    #[arg(long, value_name = "DB", default_value = "40", value_parser = OneOf::new(["20", "40", "60"]), help_heading = "Search")]
    pub goal: String,
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Search",
        help = format!("Held-out samples to compare the strategies on [default: {DEFAULT_SAMPLES}]"))]
    pub samples: Option<u64>,

    #[command(flatten)]
    pub choices: Choices,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The settings that suit the data.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tuning {
    /// gamma and the number of atoms; null if both were given.
    choice: Option<Choice>,
    /// The strategies round by round; null with --only choice.
    comparison: Option<Comparison>,
    /// The flags of `dictmesh learn` that follow.
    flags: Vec<String>,
    /// The page of the report.
    report: Option<String>,
}

impl Reply for Tuning {
    const COMMAND: &'static str = "tune";
}

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    if args.subject.model.is_some() && args.only == Some(Only::Choice) {
        return Err(
            "--only choice with --model: a model has its gamma and atoms already; leave --model out to choose \
             them, or --only for the strategy and its step"
                .into(),
        );
    }
    let bar = Bar::new(args.speech.quiet);
    let found = find(&args, &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    let mut found = found?;
    if let Some(dir) = &args.report {
        let page = page::report(&args, &found).write(dir)?;
        found.report = Some(page.display().to_string());
    }
    args.speech.reply(&found, || text::tuning(&args, &found))
}

/// The command that tries values beyond the ends of the grid at which the choice lies.
fn wider(choice: &Choice) -> Option<String> {
    if choice.edges.is_empty() {
        return None;
    }
    let flags = choice.edges.iter().map(|edge| {
        let flag = match edge.parameter {
            "gamma" => "--gammas",
            _ => "--atoms-grid",
        };
        let values: Vec<String> = edge.try_next.iter().map(f64::to_string).collect();
        format!("{flag} {}", values.join(","))
    });
    let flags: Vec<String> = flags.collect();
    let given = [("--gammas", true), ("--atoms-grid", true)];
    Some(format!(
        "{} {}",
        command_line_with(&given, &[]),
        flags.join(" ")
    ))
}

/// The command that learns with the settings found; for a model, the new flags alone.
fn learn_line(args: &Args, found: &Tuning) -> String {
    let flags = found.flags.iter().map(|word| shell_word(word));
    let flags = flags.collect::<Vec<String>>().join(" ");
    match &args.subject.model {
        Some(_) => format!("{flags}    (with the task and mesh of the model)"),
        None => {
            let data = shell_word(&args.subject.data.to_string_lossy());
            format!("dictmesh learn {data} -o MODEL {flags}")
        }
    }
}

fn find(args: &Args, observer: &mut Observer<'_>) -> Result<Tuning> {
    let mut options = args.choices.options.clone();
    let (opened, split) = args
        .subject
        .open(&args.choices, &mut options, args.speech.quiet)?;
    check_samples(args.samples, split.held_out.len())?;
    let only = |half| args.only == Some(half);

    let mut choice = None;
    if opened.is_none() && !only(Only::Curve) {
        let search = GridSearch {
            gammas: [&args.gammas[..], options.problem.gamma.as_slice()].concat(),
            atoms: [&args.atoms_grid[..], options.atoms.as_slice()].concat(),
            learning: options.quick_learning("sparse-svd")?,
        };
        let grid = search.grid(&split.training);
        let grid =
            grid.map_err(|e| format!("{}; give --gammas, as in --gammas 0.1,0.2", say(e)))?;
        for atoms in &grid.atoms {
            options.check_memory("sparse-svd", *atoms, &split.training)?;
        }
        if !grid.is_settled() || only(Only::Choice) {
            let found = search.run(&split, observer).map_err(say)?;
            (options.problem.gamma, options.atoms) = (Some(found.gamma), Some(found.atoms));
            choice = Some(found);
        }
    }
    let mut flags = flags::given(args, &options);
    let mut comparison = None;
    if !only(Only::Choice) {
        let mesh = match opened {
            Some(opened) => opened.model.mesh,
            None => {
                if options.agents.is_none() && options.topology.is_none() {
                    options.agents = Some(DEFAULT_AGENTS);
                    flags.extend(["--agents".into(), DEFAULT_AGENTS.to_string()]);
                }
                let atoms = options.sizes()?.1;
                options.check_memory("sparse-svd", atoms, &split.training)?;
                let learning = options.quick_learning("sparse-svd")?;
                let learned = learning
                    .learn(atoms, &split.training, observer)
                    .map_err(say)?;
                let rows = split.training.rows();
                let start = AtomInit::Given(&learned.dictionary());
                options.mesh("sparse-svd", rows, start)?
            }
        };
        let samples = args.samples.map_or(DEFAULT_SAMPLES, |n| n as usize);
        let few = split.held_out.range(0..split.held_out.len().min(samples));
        let given = match &options.strategy.name {
            Some(_) => Some(options.strategy()?),
            None => None,
        };
        let strategies =
            StrategyComparison::candidates(&args.strategies, given, options.strategy.bits, &mesh);
        let settings = StrategyComparison {
            strategies: strategies.map_err(bits)?,
            goal: GOALS
                .iter()
                .position(|goal| goal.to_string() == args.goal)
                .unwrap_or(1),
            rounds: options.stopping.rounds.unwrap_or(DEFAULT_ROUNDS),
        };
        let found = settings.run(&mesh, &few, observer).map_err(say)?;
        flags.extend(flags::suggested(&found));
        comparison = Some(found);
    }
    Ok(Tuning {
        choice,
        comparison,
        flags,
        report: None,
    })
}

/// Refuses more samples than are held out.
fn check_samples(given: Option<u64>, held_out: usize) -> Result<()> {
    match given.filter(|given| *given > held_out as u64) {
        None => Ok(()),
        Some(given) => Err(format!(
            "--samples {given}: {held_out} samples of the data are held out; give at most as many"
        )
        .into()),
    }
}

/// Of the name `bits` there are two flags: this one is about messages.
pub fn bits(error: dictmesh::Error) -> String {
    match error {
        dictmesh::Error::Parameter {
            name: "bits",
            given,
            allowed,
        } => format!("--bits {given}: {allowed}"),
        error => say(error).to_string(),
    }
}
