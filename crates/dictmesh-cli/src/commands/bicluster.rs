//! `dictmesh bicluster`: layers of rows and columns of a table.

mod files;
mod find;
mod pictures;

pub use find::{diffusion, judge, ssvd, Found, Judged};
pub use pictures::{heat_map, scatters};

use super::{check_apart, note, page_place, say, ReadArgs, Result, Speech};
use crate::memory::Sizes;
use crate::numbers::counted;
use crate::numbers::fixed;
use crate::output::Folder;
use crate::progress::Bar;
use dictmesh::{Matrix, Stop};
use dictmesh_apps::biclustering::{Bicluster, Biclustering, Prepare};
use dictmesh_apps::ssvd::SparseSvd;
use dictmesh_data::preparation::{check_flags, Shape};
use dictmesh_data::{self as data, Format, ReadOptions, Source};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How layers are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Method {
    /// Agents that learn one layer each (the paper's Alg. 4)
    Diffusion,
    /// The sparse SVD of the whole table in one place (Alg. 3)
    Ssvd,
}

/// What is done to each column first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preparing {
    /// Its mean is taken off
    Centre,
    /// Its mean is taken off, and it is divided by its standard deviation
    Standardise,
    /// Nothing
    None,
}

impl From<Preparing> for Prepare {
    fn from(given: Preparing) -> Self {
        match given {
            Preparing::Centre => Prepare::Centre,
            Preparing::Standardise => Prepare::Standardise,
            Preparing::None => Prepare::Nothing,
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("transpose", |arg| arg.help(
    "Turn the table first: its rows become the columns, and so the samples (by default columns are)"
)))]
pub struct Args {
    /// The table: .csv, .tsv, .npy, .npz or .mtx; - is standard input. Each column of numbers is a sample
    pub table: PathBuf,
    /// The directory for rows.csv and columns.csv; it is made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// How layers are found
    #[arg(long, value_name = "METHOD", default_value = "diffusion")]
    pub method: Method,
    /// How many layers [default: 5, or 3 with --paper]
    #[arg(long, value_name = "N")]
    pub layers: Option<usize>,
    /// Threshold on columns: more leaves fewer columns in a layer [default: 2, or 0.5 with --paper or ssvd]
    #[arg(long, value_name = "X")]
    pub gamma: Option<f64>,
    /// Weight of |y|^2/2, above 0 [default: 0.1, or 0.01 with --paper]
    #[arg(long, value_name = "X")]
    pub delta: Option<f64>,
    /// Threshold on rows: more leaves fewer rows in a layer [default: 0.03, or 0.01 with --paper or ssvd]
    #[arg(long, value_name = "X")]
    pub beta: Option<f64>,
    /// Fixes everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// How many starts are tried; the lowest objective is kept [default: 3]
    #[arg(long, value_name = "N")]
    pub restarts: Option<usize>,
    /// How often the columns are gone through at most [default: 10]
    #[arg(long, value_name = "N")]
    pub passes: Option<usize>,
    /// What is done to each column first [default: standardise]
    #[arg(long, value_name = "WHAT")]
    pub prepare: Option<Preparing>,
    /// The paper's own constants and single pass where no flag says otherwise
    #[arg(long)]
    pub paper: bool,
    /// Labels of the rows in a file of their own: a line each, a table's first column or an .npy
    #[arg(long, value_name = "FILE", help_heading = "Reading")]
    pub labels: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// A page with the heat map and the scatter of the rows
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The table, one sample a column.
pub struct Input {
    pub x: Matrix,
    row_names: Option<Vec<String>>,
    column_names: Option<Vec<String>>,
    pub labels: Option<Vec<String>>,
    /// What a person should know about how it was read.
    note: Option<String>,
}

pub fn run(args: Args) -> Result<()> {
    let parent = args.output.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(parent) = parent.filter(|p| !p.is_dir()) {
        return Err(format!(
            "{}: the directory {} does not exist; make it first",
            args.output.display(),
            parent.display()
        )
        .into());
    }
    let folder = Folder::check_for("the biclusters", &args.output)?;
    let files = files::NAMES.map(|name| args.output.join(name));
    // The report may lie in the same directory: its files have other names.
    let page = page_place(args.report.as_ref());
    let inputs = std::iter::once(&args.table).chain(&args.labels);
    check_apart(files.iter().chain(&page), inputs)?;
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let input = read(&args.table, &args.read, args.labels.as_deref())?;
    note(input.note.as_deref(), args.speech.quiet);
    let most = input.x.rows().min(input.x.cols());
    if let Some(layers) = args.layers.filter(|layers| *layers > most) {
        return Err(format!(
            "--layers {layers}: the table has {} rows and {} columns of numbers, and so at most {most} layers; \
             choose fewer",
            input.x.rows(),
            input.x.cols()
        ).into());
    }
    let found = match args.method {
        Method::Diffusion => {
            let settings = diffusion_settings(&args);
            check_layers(&settings, &input.x)?;
            let bar = Bar::new(args.speech.quiet);
            let found = diffusion(&settings, &input.x, &mut |p| bar.show(p));
            bar.clear();
            found?
        }
        Method::Ssvd => {
            let (settings, prepare) = ssvd_settings(&args)?;
            ssvd(&settings, prepare, &input.x)?
        }
    };
    if !args.speech.quiet {
        for warning in &found.warnings {
            eprintln!("dictmesh: {warning}");
        }
    }
    let judged = match &input.labels {
        Some(labels) => Some(judge(&found.layers, labels, args.seed)?),
        None => None,
    };
    files::write(&folder, &input, &found.layers, judged.as_ref())?;
    let page = match &args.report {
        Some(dir) => Some(pictures::report(&args, &input, &found, judged.as_ref()).write(dir)?),
        None => None,
    };
    tell(&args, &input, &found, judged.as_ref(), page)
}

/// The table, and the labels of its rows from a file of their own or from one of its columns.
pub fn read(path: &Path, args: &ReadArgs, labels: Option<&Path>) -> Result<Input> {
    let options = ReadOptions {
        transpose: !args.transpose,
        ..args.options()
    };
    let source = Arc::new(Source::open(path).map_err(say)?);
    let format = Format::of(&source, options.format).map_err(say)?;
    check_flags(path, Shape::of_numbers(format), &args.options(), None).map_err(say)?;
    let table = data::read_source(&source, &options).map_err(say)?;
    let (rows, columns) = (table.samples.rows(), table.samples.len());
    if rows == 0 || columns == 0 {
        return Err(format!(
            "{}: {rows} rows and {columns} columns of numbers; expected at least one of each. \
             Check --format, --header and --drop.",
            path.display()
        )
        .into());
    }
    let labels = match labels {
        Some(path) => Some(data::read_labels(path, None, rows).map_err(say)?),
        None => table.feature_labels,
    };
    Ok(Input {
        x: table.samples.to_dense(),
        row_names: table.feature_names,
        column_names: table.sample_names,
        labels,
        note: table.note,
    })
}

/// The agents' settings as the flags say.
fn diffusion_settings(args: &Args) -> Biclustering {
    let base = match args.paper {
        true => Biclustering::paper(),
        false => Biclustering::default(),
    };
    Biclustering {
        layers: args.layers.unwrap_or(base.layers),
        gamma: args.gamma.unwrap_or(base.gamma),
        delta: args.delta.unwrap_or(base.delta),
        beta: args.beta.unwrap_or(base.beta),
        prepare: args.prepare.map_or(base.prepare, Prepare::from),
        passes: args.passes.unwrap_or(base.passes),
        restarts: args.restarts.unwrap_or(base.restarts),
        seed: args.seed,
        ..base
    }
}

/// An agent for each layer must fit.
fn check_layers(settings: &Biclustering, x: &Matrix) -> Result<()> {
    let sizes = Sizes {
        rows: x.rows(),
        atoms: settings.layers,
        agents: settings.layers,
        batch: settings.batch.min(x.cols()),
        data: 2 * x.as_slice().len(),
        rotates: true,
    };
    Ok(sizes.check(&format!("--layers {}", settings.layers))?)
}

/// The sparse SVD's settings as the flags say, and what is done to the table first.
fn ssvd_settings(args: &Args) -> Result<(SparseSvd, Prepare)> {
    for (flag, given) in [
        ("--delta", args.delta.is_some()),
        ("--restarts", args.restarts.is_some()),
        ("--passes", args.passes.is_some()),
        ("--paper", args.paper),
    ] {
        if given {
            return Err(
                format!("{flag} belongs to --method diffusion; leave it out with ssvd").into(),
            );
        }
    }
    let (base, usual) = (SparseSvd::default(), Biclustering::default());
    let settings = SparseSvd {
        layers: args.layers.unwrap_or(usual.layers),
        lambda: args.gamma.unwrap_or(base.lambda),
        beta: args.beta.unwrap_or(base.beta),
        ..base
    };
    Ok((settings, args.prepare.map_or(usual.prepare, Prepare::from)))
}

fn tell(
    args: &Args,
    input: &Input,
    found: &Found,
    judged: Option<&Judged>,
    page: Option<PathBuf>,
) -> Result<()> {
    let (m, t) = (input.x.rows(), input.x.cols());
    let gamma = match args.method {
        Method::Diffusion => diffusion_settings(args).gamma,
        Method::Ssvd => ssvd_settings(args)?.0.lambda,
    };
    let layers: Vec<_> = (found.layers.iter())
        .map(|l| {
            let main: Vec<usize> = l.main_rows().iter().map(|row| row + 1).collect();
            let (rows, columns) = (main.len(), l.columns().len());
            json!({"rows": rows, "columns": columns, "weight": l.weight, "heaviest": main})
        })
        .collect();
    let output = args.output.display().to_string();
    let page = page.map(|page| page.display().to_string());
    args.speech.tell(
        json!({
            "output": output, "rows": m, "columns": t, "layers": layers,
            "objective": found.objective, "stop": found.stop.to_string(), "seed": args.seed,
            "misclassified": judged.map(|j| j.wrong.len()), "report": page,
        }),
        || {
            let mut text = layer_lines(found, (m, t), gamma);
            if found.stop != Stop::Converged {
                text += &format!("the inference ended early: {}\n", found.stop);
            }
            text += "\n";
            if let Some(objective) = found.objective {
                text += &format!("objective: {}\n", fixed(objective, 6));
            }
            if let Some(judged) = judged {
                text += &format!("misclassified: {} of {m} rows\n", judged.wrong.len());
            }
            text += &format!(
                "memberships: {} and {}\n",
                args.output.join("rows.csv").display(),
                args.output.join("columns.csv").display()
            );
            if let Some(page) = &page {
                text += &format!("report: {page}\n");
            }
            text
        },
    )
}

/// The layers as lines of a table, for a table of m x t and this threshold on columns.
fn layer_lines(found: &Found, (m, t): (usize, usize), gamma: f64) -> String {
    let mut text = format!(
        "{}, {}\n\nlayer  rows  columns      weight\n",
        counted(m, "row"),
        counted(t, "column")
    );
    let filled = |(_, l): &(usize, &Bicluster)| pictures::fills(l);
    for (k, l) in found.layers.iter().enumerate().filter(filled) {
        let (rows, columns, weight) = (l.main_rows().len(), l.columns().len(), l.weight);
        text += &format!(
            "{:>5}  {rows:>4}  {columns:>7}  {:>10}\n",
            k + 1,
            fixed(weight, 4)
        );
    }
    text += "rows: those with at least an even share of the layer; columns: not 0\n";
    let empty = found.layers.iter().filter(|l| !pictures::fills(l)).count();
    if empty > 0 {
        let (layers, are) = (
            counted(found.layers.len(), "layer"),
            if empty == 1 { "is" } else { "are" },
        );
        text += &format!(
            "{empty} of {layers} {are} empty, as --gamma {gamma} leaves no column in {}: try --gamma {}",
            if empty == 1 { "it" } else { "them" },
            gamma / 2.0
        );
        text += &match found.layers.len() - empty {
            0 => " or less\n".to_string(),
            full => format!(", or --layers {full} if the table has no more to it\n"),
        };
    }
    text
}
