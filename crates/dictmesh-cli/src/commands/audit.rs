//! `dictmesh audit`: what curious neighbours recover from the messages of a mesh.

mod page;
mod text;

use super::common_args::{Choices, Subject};
use super::tune::bits;
use super::{say, Result, Speech};
use crate::options::{Options, StrategyArgs};
use crate::progress::Bar;
use crate::render::Reply;
use dictmesh::{strategy, AtomInit, Mesh, Samples};
use dictmesh_apps::audit::{Survey, SurveySettings};
use dictmesh_apps::progress::Observer;
use dictmesh_apps::tuning::DEFAULT_AGENTS;
use dictmesh_data::output::Folder;
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub subject: Subject,
    /// Held-out samples whose messages are recorded
    #[arg(long, value_name = "N", default_value_t = SurveySettings::default().samples as u64, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Attack")]
    pub samples: u64,
    /// Neighbours of an agent that collude
    #[arg(long, value_name = "N", default_value_t = SurveySettings::default().colluding as u64, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Attack")]
    pub colluding: u64,
    /// Sizes of the random start of relaxed-admm to audit
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_values_t = SurveySettings::default().random_start,
        help_heading = "Attack"
    )]
    pub random_start: Vec<f64>,

    #[command(flatten)]
    pub choices: Choices,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The leakage of each strategy.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Audit {
    #[serde(flatten)]
    survey: Survey,
    /// The conclusions in sentences.
    conclusions: Vec<String>,
    /// The page of the report.
    report: Option<String>,
}

impl Reply for Audit {
    const COMMAND: &'static str = "audit";
}

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let bar = Bar::new(args.speech.quiet);
    let survey = find(&args, &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    let survey = survey?;
    let report = match &args.report {
        Some(dir) => Some(
            page::report(&args, &survey)
                .write(dir)?
                .display()
                .to_string(),
        ),
        None => None,
    };
    let audit = Audit {
        conclusions: text::conclusions(&survey),
        survey,
        report,
    };
    args.speech.reply(&audit, || text::audit(&audit))
}

fn find(args: &Args, observer: &mut Observer<'_>) -> Result<Survey> {
    let mut options = args.choices.options.clone();
    // auto stands for all strategies: links do not enter.
    let named = options.strategy.name.take();
    options.strategy.name = named.filter(|name| name != strategy::DEFAULT);
    let given = match &options.strategy.name {
        Some(_) => Some(options.strategy()?),
        None => {
            check_constants(&options)?;
            None
        }
    };
    let base = SurveySettings::default();
    let settings = SurveySettings {
        rounds: options.stopping.rounds.unwrap_or(base.rounds),
        samples: usize::try_from(args.samples).unwrap_or(usize::MAX),
        colluding: usize::try_from(args.colluding).unwrap_or(usize::MAX),
        random_start: args.random_start.clone(),
    };
    let candidates = settings.candidates(given.as_ref(), options.strategy.bits);
    let candidates = candidates.map_err(bits)?;
    let (mesh, x) = mesh_and_samples(args, &mut options, observer)?;
    let survey = settings.run(&mesh, &x, &candidates, given.is_none(), observer);
    survey.map_err(say)
}

/// Refuses constants of one strategy where all are audited.
fn check_constants(options: &Options) -> Result<()> {
    let own = StrategyArgs {
        bits: None,
        ..options.strategy.clone()
    };
    match own.given() {
        None => Ok(()),
        Some((flag, _)) => Err(format!(
            "--{flag}: without --strategy, every strategy is audited with its own constants; leave --{flag} out, \
             or name the strategy it belongs to"
        )
        .into()),
    }
}

/// The dictionary in its mesh, and held-out samples.
fn mesh_and_samples(
    args: &Args,
    options: &mut Options,
    observer: &mut Observer<'_>,
) -> Result<(Mesh, Samples)> {
    let (opened, split) = args
        .subject
        .open(&args.choices, options, args.speech.quiet)?;
    let mesh = match opened {
        Some(opened) => opened.model.mesh,
        None => {
            if options.agents.is_none() && options.topology.is_none() {
                options.agents = Some(DEFAULT_AGENTS);
            }
            let agents = options.sizes()?.0;
            let atoms = *options.atoms.get_or_insert(agents);
            // The mesh is built with any strategy; the audit sets each in turn.
            let plain = Options {
                strategy: StrategyArgs::default(),
                ..options.clone()
            };
            let rows = split.training.rows();
            plain.check_memory("sparse-svd", atoms, &split.training)?;
            let learning = options.quick_learning("sparse-svd")?;
            let learned = learning
                .learn(atoms, &split.training, observer)
                .map_err(say)?;
            plain.mesh("sparse-svd", rows, AtomInit::Given(&learned.dictionary()))?
        }
    };
    Ok((mesh, split.held_out))
}
