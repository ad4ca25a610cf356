//! `dictmesh score`: how badly each sample fits a model.

use super::{say, Preparation, ReadArgs, Result};
use crate::data;
use dictmesh::apps::novelty::Threshold;
use dictmesh::{Mesh, Model, Samples, Stop};
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    pub model: PathBuf,
    /// The samples: .npy, .npz, .mtx, .csv or .tsv; - is standard input
    pub data: PathBuf,
    /// Samples with a higher score are called novel
    #[arg(
        long,
        value_name = "X",
        conflicts_with = "quantile",
        allow_hyphen_values = true
    )]
    pub threshold: Option<f64>,
    /// Call novel what scores above this share of the samples [default: 0.95]
    #[arg(long, value_name = "Q")]
    pub quantile: Option<f64>,
    /// Solve in one place instead of over the mesh: the same to the tolerance, and faster
    #[arg(long)]
    pub exact: bool,
    /// Print JSON lines instead of CSV
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub read: ReadArgs,
}

pub fn run(args: Args) -> Result<()> {
    let model = Model::load(&args.model).map_err(say)?;
    let preparation = Preparation::of(&model)?;
    let mesh = Mesh::from_model(&model).map_err(say)?;
    let table = data::read(&args.data, &args.read.options()).map_err(say)?;
    let scores = scores(&mesh, &preparation.apply(table.samples)?, args.exact)?;
    let threshold = match args.threshold {
        Some(chi) => Threshold::Given(chi),
        None => Threshold::Quantile(args.quantile.unwrap_or(0.95)),
    };
    let chi = threshold.choose(&scores).unwrap_or(f64::INFINITY);
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut write = || -> io::Result<()> {
        if !args.json {
            writeln!(out, "sample,score,novel")?;
        }
        for (j, score) in scores.iter().enumerate() {
            let name = table.sample_names.as_ref().map(|names| names[j].clone());
            let novel = *score > chi;
            if args.json {
                let name = name.map_or(json!(j), |name| json!(name));
                writeln!(
                    out,
                    "{}",
                    json!({"sample": name, "score": score, "novel": novel})
                )?;
            } else {
                let name = name.unwrap_or_else(|| j.to_string());
                writeln!(out, "{},{score},{}", quoted(&name), u8::from(novel))?;
            }
        }
        out.flush()
    };
    match write() {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot print: {e}")),
        _ => Ok(()),
    }
}

/// The cost of each sample, as every agent ends up knowing it.
pub fn scores(mesh: &Mesh, x: &Samples, exact: bool) -> Result<Vec<f64>> {
    let mut scores = Vec::with_capacity(x.len());
    for from in (0..x.len()).step_by(64) {
        let part = x.range(from..(from + 64).min(x.len()));
        if exact {
            let solved = mesh.exact(&part).map_err(say)?;
            scores.extend(solved.certificates.iter().map(|c| c.dual));
            continue;
        }
        let (agreed, stop) = mesh.score(&part).map_err(say)?;
        if matches!(stop, Stop::Diverged | Stop::Infeasible) {
            return Err(format!(
                "samples {from} to {}: {stop}",
                from + part.len() - 1
            ));
        }
        scores.extend(agreed.columns().map(|g| g[0]));
    }
    Ok(scores)
}

/// A CSV field.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
