//! `dictmesh bicluster`: sparse layers of rows and columns of a table.

mod files;
mod input;
mod page;

pub use input::{read, Input};
pub use page::{heat_map, scatters};

use super::{check_apart, note, page_place, say, ReadArgs, Result, Speech};
use crate::memory;
use crate::options::{check_owned, Owned};
use crate::progress::Bar;
use crate::render::text::table;
use crate::render::Reply;
use dictmesh::{Matrix, Stop};
use dictmesh_apps::biclustering::{
    classify_rows, Bicluster, Biclustering, Layers, Method, Prepare, RowClasses,
};
use dictmesh_apps::memory::Sizes;
use dictmesh_apps::ssvd::SparseSvd;
use dictmesh_data::output::Folder;
use dictmesh_report::numbers::{counted, fixed};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// How layers are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Algorithm {
    /// Agents that learn one layer each (the paper's Alg. 4)
    Diffusion,
    /// The sparse SVD of the whole table in one place (Alg. 3)
    Ssvd,
}

/// The preparation of each column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preparing {
    /// Subtract its mean
    Centre,
    /// Subtract its mean and divide by its standard deviation
    Standardise,
    /// None
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

/// The defaults of a setting, from the library.
fn defaults<T: std::fmt::Display>(of: impl Fn(&Biclustering) -> T, ssvd: Option<T>) -> String {
    let (usual, paper) = (of(&Biclustering::default()), of(&Biclustering::paper()));
    match ssvd {
        None => format!("[default: {usual}, or {paper} with --paper]"),
        Some(ssvd) => format!("[default: {usual}, {paper} with --paper, {ssvd} with ssvd]"),
    }
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("transpose", |arg| arg.help(
    "Transpose the table first: its rows become the columns, and so the samples (by default columns are)"
)))]
pub struct Args {
    /// The table: .csv, .tsv, .npy, .npz or .mtx; - is standard input. Each column of numbers is a sample
    pub table: PathBuf,
    /// The directory for rows.csv and columns.csv; created if missing
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Replace an output file that dictmesh did not write
    #[arg(long)]
    pub force: bool,
    /// How layers are found
    #[arg(long, value_name = "NAME", default_value = "diffusion")]
    pub algorithm: Algorithm,
    #[arg(long, value_name = "N", help = format!("Number of layers {}", defaults(|s| s.layers, None)))]
    pub layers: Option<usize>,
    #[arg(long, value_name = "X", help = format!(
        "Threshold on columns: more leaves fewer columns in a layer {}",
        defaults(|s| s.gamma, Some(SparseSvd::default().lambda))
    ))]
    pub gamma: Option<f64>,
    #[arg(long, value_name = "X", help = format!("Weight of |y|^2/2, above 0 {}", defaults(|s| s.delta, None)))]
    pub delta: Option<f64>,
    #[arg(long, value_name = "X", help = format!(
        "Threshold on rows: more leaves fewer rows in a layer {}",
        defaults(|s| s.beta, Some(SparseSvd::default().beta))
    ))]
    pub beta: Option<f64>,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    #[arg(long, value_name = "N", help = format!(
        "Number of random starts; the lowest objective is kept {}", defaults(|s| s.restarts, None)
    ))]
    pub restarts: Option<usize>,
    #[arg(long, value_name = "N", help = format!("Most passes over the columns {}", defaults(|s| s.passes, None)))]
    pub passes: Option<usize>,
    /// The preparation of each column [default: standardise, or none with --paper]
    #[arg(long, value_name = "HOW")]
    pub prepare: Option<Preparing>,
    /// The paper's constants and single pass, where no flag says otherwise
    #[arg(long)]
    pub paper: bool,
    /// Labels in a file of their own: a line each, a table's first column or an .npy
    #[arg(long, value_name = "FILE", help_heading = "Reading")]
    pub labels: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The layers of a table.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Biclusters {
    /// The directory with rows.csv and columns.csv.
    output: String,
    /// Number of rows of the table.
    rows: usize,
    /// Number of columns of numbers.
    columns: usize,
    /// The layers by decreasing weight.
    layers: Vec<Layer>,
    /// The objective; null for the sparse SVD.
    objective: Option<f64>,
    /// Why the inference stopped.
    stop: &'static str,
    /// The seed.
    seed: u64,
    /// Number of rows whose cluster differs from their label; null without labels.
    misclassified: Option<usize>,
    /// The page of the report.
    report: Option<String>,
}

/// One layer.
#[derive(Debug, Serialize, JsonSchema)]
struct Layer {
    /// Number of rows with at least an even share of it.
    rows: usize,
    /// Number of columns with a nonzero coefficient.
    columns: usize,
    /// |y|.
    weight: f64,
    /// These rows by decreasing share, counted from 1.
    main_rows: Vec<usize>,
}

impl Reply for Biclusters {
    const COMMAND: &'static str = "bicluster";
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
    if !args.force {
        files.iter().try_for_each(|file| files::check_own(file))?;
    }
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let input = read(&args.table, &args.read, args.labels.as_deref())?;
    note(input.note.as_deref(), args.speech.quiet);
    let method = method(&args, &input.x)?;
    let bar = Bar::new(args.speech.quiet);
    let found = method.run(&input.x, &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    let found = found.map_err(say)?;
    for warning in found.warnings.iter().filter(|_| !args.speech.quiet) {
        eprintln!("dictmesh: {warning}");
    }
    let classes = match &input.labels {
        Some(labels) => Some(classify_rows(&found.layers, labels, args.seed).map_err(say)?),
        None => None,
    };
    files::write(&folder, &input, &found.layers, classes.as_ref())?;
    let mut reply = reply(&args, &input.x, &found, classes.as_ref());
    if let Some(dir) = &args.report {
        let page = page::report(&args, &input, &found, classes.as_ref()).write(dir)?;
        reply.report = Some(page.display().to_string());
    }
    let gamma = match &method {
        Method::Diffusion(settings) => settings.gamma,
        Method::SparseSvd(settings, _) => settings.lambda,
    };
    args.speech
        .reply(&reply, || text(&args, &reply, &found, gamma))
}

/// The method with the settings of the flags.
fn method(args: &Args, x: &Matrix) -> Result<Method> {
    let most = x.rows().min(x.cols());
    if let Some(layers) = args.layers.filter(|layers| *layers > most) {
        return Err(format!(
            "--layers {layers}: the table has {} rows and {} columns of numbers, and so at most {most} layers; \
             choose fewer",
            x.rows(),
            x.cols()
        )
        .into());
    }
    match args.algorithm {
        Algorithm::Diffusion => {
            let settings = diffusion(args);
            let sizes = Sizes {
                rows: x.rows(),
                atoms: settings.layers,
                agents: settings.layers,
                batch: settings.batch.min(x.cols()),
                data: 2 * x.as_slice().len(),
                rotates: true,
            };
            memory::check(&sizes, &format!("--layers {}", settings.layers))?;
            Ok(Method::Diffusion(settings))
        }
        Algorithm::Ssvd => ssvd(args),
    }
}

fn diffusion(args: &Args) -> Biclustering {
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

fn ssvd(args: &Args) -> Result<Method> {
    let given = [
        ("delta", args.delta.is_some()),
        ("restarts", args.restarts.is_some()),
        ("passes", args.passes.is_some()),
        ("paper", args.paper),
    ];
    let owned = given.map(|(flag, given)| Owned(flag, given, &["diffusion"]));
    check_owned("algorithm", "ssvd", &owned)?;
    let (base, usual) = (SparseSvd::default(), Biclustering::default());
    let settings = SparseSvd {
        layers: args.layers.unwrap_or(usual.layers),
        lambda: args.gamma.unwrap_or(base.lambda),
        beta: args.beta.unwrap_or(base.beta),
        ..base
    };
    let prepare = args.prepare.map_or(usual.prepare, Prepare::from);
    Ok(Method::SparseSvd(settings, prepare))
}

fn reply(args: &Args, x: &Matrix, found: &Layers, classes: Option<&RowClasses>) -> Biclusters {
    let layers = found.layers.iter().map(|layer| {
        let main_rows: Vec<usize> = layer.main_rows().iter().map(|row| row + 1).collect();
        Layer {
            rows: main_rows.len(),
            columns: layer.columns().len(),
            weight: layer.weight,
            main_rows,
        }
    });
    Biclusters {
        output: args.output.display().to_string(),
        rows: x.rows(),
        columns: x.cols(),
        layers: layers.collect(),
        objective: found.objective,
        stop: found.stop.name(),
        seed: args.seed,
        misclassified: classes.map(|c| c.misclassified.len()),
        report: None,
    }
}

fn text(args: &Args, reply: &Biclusters, found: &Layers, gamma: f64) -> String {
    let rows = counted(reply.rows, "row");
    let mut text = format!("{rows}, {}\n\n", counted(reply.columns, "column"));
    text += &table(&layer_rows(reply, &found.layers));
    text += "rows: those with at least an even share of the layer; columns: not 0\n";
    text += &empty_layers(&found.layers, gamma);
    if found.stop != Stop::Converged {
        text += &format!("the inference ended early: {}\n", found.stop);
    }
    text += "\n";
    if let Some(objective) = reply.objective {
        text += &format!("objective: {}\n", fixed(objective, 6));
    }
    if let Some(wrong) = reply.misclassified {
        text += &format!("misclassified: {wrong} of {rows}\n");
    }
    let [rows, columns] = files::NAMES.map(|name| args.output.join(name));
    text += &format!(
        "memberships: {} and {}\n",
        rows.display(),
        columns.display()
    );
    if let Some(page) = &reply.report {
        text += &format!("report: {page}\n");
    }
    text
}

/// A head, and a row for each layer that is not empty.
fn layer_rows(reply: &Biclusters, layers: &[Bicluster]) -> Vec<Vec<String>> {
    let head = ["layer", "rows", "columns", "weight"].map(String::from);
    let shown = reply.layers.iter().zip(layers).enumerate();
    let shown = shown.filter(|(_, (_, layer))| !layer.is_empty());
    let rows = shown.map(|(k, (layer, _))| {
        let counts = [k + 1, layer.rows, layer.columns].map(|n| n.to_string());
        [&counts[..], &[fixed(layer.weight, 4)]].concat()
    });
    std::iter::once(head.to_vec()).chain(rows).collect()
}

/// A sentence on empty layers, with the gamma to try.
fn empty_layers(layers: &[Bicluster], gamma: f64) -> String {
    let empty = layers.iter().filter(|layer| layer.is_empty()).count();
    let (are, them) = match empty {
        0 => return String::new(),
        1 => ("is", "it"),
        _ => ("are", "them"),
    };
    let advice = match layers.len() - empty {
        0 => " or less".to_string(),
        full => format!(", or --layers {full} if the table has no more structure"),
    };
    format!(
        "{empty} of {} {are} empty: --gamma {gamma} leaves no column in {them}; try --gamma {}{advice}\n",
        counted(layers.len(), "layer"),
        gamma / 2.0
    )
}
