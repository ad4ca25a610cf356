//! `dictmesh tune`: which gamma, how many atoms, which strategy with which step.

mod choice;
mod curve;
mod flags;
mod page;
mod words;

use super::common_args::{Choices, Subject};
use super::divided::Divided;
use super::{command_line_with, shell_word, Result, Speech};
use crate::options::names::OneOf;
use crate::options::Options;
use crate::output::Folder;
use crate::progress::Bar;
use crate::progress::Progress;
pub use choice::learn;
use choice::Choice;
use curve::Curves;
use dictmesh::{strategy, AtomInit};
pub use page::figure;
use serde_json::json;
use std::path::PathBuf;
pub use words::{aligned, curve_json};

/// Fewer samples than these cannot be divided.
const LEAST: usize = 10;
/// Agents, where nothing is said about the mesh.
pub const AGENTS: usize = 16;

/// What to look for.
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
    /// Do one half of the work only
    #[arg(long, value_name = "WHAT")]
    pub only: Option<Only>,

    /// The gammas to choose from [default: .02 to .4 of a sample's size; or --gamma alone]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["model", "gamma"],
        help_heading = "What to try"
    )]
    pub gammas: Vec<f64>,
    /// The numbers of atoms to choose from [default: up to twice the features; or --atoms alone]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with_all = ["model", "atoms"],
        help_heading = "What to try"
    )]
    pub atoms_grid: Vec<usize>,
    /// The strategies to compare [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = OneOf::new(strategy::NAMES), help_heading = "What to try")]
    pub strategies: Vec<String>,
    /// How near the exact solution nu and y should come, in dB: 40 is a relative error of 1e-2
    #[arg(long, value_name = "DB", default_value = "40", value_parser = OneOf::new(["20", "40", "60"]), help_heading = "What to try")]
    pub goal: String,
    /// Samples to compare the strategies on
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..), help_heading = "What to try")]
    pub samples: u64,

    #[command(flatten)]
    pub choices: Choices,
    /// Write a page with the curves into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// What was found.
struct Found {
    choice: Option<Choice>,
    curves: Option<Curves>,
    /// The flags of `learn` that follow from it.
    flags: Vec<String>,
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
    let options = args.choices.options.clone();
    let bar = Bar::new(args.speech.quiet);
    let found = find(&args, options, &mut |progress| bar.show(progress));
    bar.clear();
    let found = found?;
    let page = match &args.report {
        Some(dir) => Some(page::report(&args, &found).write(dir)?),
        None => None,
    };
    let json = json!({
        "choice": found.choice.as_ref().map(words::choice_json),
        "curve": found.curves.as_ref().map(words::curves_json),
        "flags": found.flags,
    });
    args.speech.tell(json, || {
        let mut text = String::new();
        if let Some(choice) = &found.choice {
            text += &words::choice(choice);
            if let Some((words, command)) = edge(choice) {
                text += &format!("{words}\n  {command}\n");
            }
        }
        if let Some(curves) = &found.curves {
            text += &words::curves(curves);
        }
        text += &format!("\nTo learn so:\n  {}\n", learn_line(&args, &found));
        if let Some(page) = page {
            text += &format!("report: {}\n", page.display());
        }
        text
    })
}

/// Says so if the choice lies at the edge of what was tried, with the command that looks beyond.
fn edge(choice: &Choice) -> Option<(String, String)> {
    let edges = choice.edges();
    if edges.is_empty() {
        return None;
    }
    let (places, flags): (Vec<String>, Vec<String>) = edges.into_iter().unzip();
    let given = [("--gammas", true), ("--atoms-grid", true)];
    let words = places.join(" and ");
    Some((
        format!("This is {words}: the best may lie beyond it. Try wider:"),
        format!("{} {}", command_line_with(&given, &[]), flags.join(" ")),
    ))
}

/// The command to go on with; with a model only its new part.
fn learn_line(args: &Args, found: &Found) -> String {
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

fn find(args: &Args, mut options: Options, show: &mut dyn FnMut(Progress)) -> Result<Found> {
    let quiet = args.speech.quiet;
    let (opened, divided) = args.subject.open(&args.choices, &mut options, quiet)?;
    let Divided {
        total,
        training,
        held_out,
    } = divided;

    let mut choice = None;
    if opened.is_none() && args.only != Some(Only::Curve) {
        let grid = choice::Grid::new(args, &options, &training)?;
        if !grid.is_settled() || args.only == Some(Only::Choice) {
            need_samples(total)?;
            let made = choice::choose(&grid, &options, &training, &held_out, show)?;
            let cell = &made.cells[made.chosen];
            (options.gamma, options.atoms) = (Some(cell.gamma), Some(cell.atoms));
            choice = Some(made);
        }
    }
    let mut flags = flags::given(args, &options);
    let mut curves = None;
    if args.only != Some(Only::Choice) {
        let mesh = match opened {
            Some(opened) => opened.model.mesh,
            None => {
                if options.agents.is_none() && options.topology.is_none() {
                    options.agents = Some(AGENTS);
                    flags.extend(["--agents".into(), AGENTS.to_string()]);
                }
                let k = options.sizes()?.1;
                let atoms = choice::learn(&options, k, &training, show)?.dictionary();
                options.mesh("sparse-svd", training.rows(), AtomInit::Given(&atoms))?
            }
        };
        let few = held_out.range(0..held_out.len().min(args.samples as usize));
        let found = curve::compare(args, &options, &mesh, &few, show)?;
        flags.extend(found.flags());
        curves = Some(found);
    }
    Ok(Found {
        choice,
        curves,
        flags,
    })
}

fn need_samples(count: usize) -> Result<()> {
    if count >= LEAST {
        return Ok(());
    }
    Err(format!(
        "{count} samples: choosing gamma and atoms keeps some back to judge by and needs at least \
         {LEAST}; give --gamma and --atoms, or --only curve"
    )
    .into())
}
