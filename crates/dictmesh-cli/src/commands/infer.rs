//! `dictmesh infer`: the codes of samples under a model.

use super::{check_place, say, Preparation, ReadArgs, Result, Speech};
use crate::data;
use crate::options::names::{OneOf, STRATEGIES};
use dictmesh::inference::StrategySpec;
use dictmesh::{Matrix, Mesh, Model, Samples, Stop};
use npyz::WriterBuilder;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    pub model: PathBuf,
    /// The samples: .npy, .npz, .mtx, .csv or .tsv; - is standard input
    pub data: PathBuf,
    /// Where the codes go: an .npz that scipy.sparse.load_npz opens, a row per sample
    #[arg(short, long, value_name = "CODES")]
    pub output: PathBuf,
    /// All atoms in one place (exact), or a strategy of the mesh
    #[arg(long, value_parser = exact_or_strategy(), value_name = "NAME", default_value = "exact")]
    pub strategy: String,
    /// Where W y goes, if wanted: an .npy with a row per sample
    #[arg(long, value_name = "FILE")]
    pub reconstruct: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub speech: Speech,
}

fn exact_or_strategy() -> OneOf {
    OneOf::new(std::iter::once("exact").chain(STRATEGIES))
}

/// What coding a part gave.
struct Coded {
    codes: Matrix,
    costs: Vec<f64>,
    gap: Option<f64>,
    stop: Stop,
}

pub fn run(args: Args) -> Result<()> {
    check_place(&args.output)?;
    if let Some(path) = &args.reconstruct {
        check_place(path)?;
    }
    let model = Model::load(&args.model).map_err(say)?;
    let preparation = Preparation::of(&model)?;
    let mut mesh = Mesh::from_model(&model).map_err(say)?;
    let exact = args.strategy == "exact";
    if !exact {
        let strategy = StrategySpec::from_name(&args.strategy).map_err(say)?;
        mesh.set_strategy(strategy).map_err(say)?;
    }
    let table = data::read(&args.data, &args.read.options()).map_err(say)?;
    let x = preparation.apply(table.samples)?;
    let mut codes = Vec::new();
    let (mut costs, mut gap, mut stop) = (Vec::new(), exact.then_some(0.0_f64), Stop::Converged);
    for from in (0..x.len()).step_by(256) {
        let part = x.range(from..(from + 256).min(x.len()));
        let coded = code(&mesh, &part, exact)?;
        gap = gap.zip(coded.gap).map(|(a, b)| a.max(b));
        costs.extend(coded.costs);
        if coded.stop != Stop::Converged {
            stop = coded.stop;
        }
        codes.push(coded.codes);
    }
    write_codes(&args.output, &codes, mesh.atoms())?;
    if let Some(path) = &args.reconstruct {
        let w = mesh.dictionary();
        let parts: Vec<Matrix> = codes.iter().map(|y| w.times(y)).collect();
        write_rows(path, &parts, mesh.rows())?;
    }
    let samples = costs.len();
    let cost = costs.iter().sum::<f64>() / samples as f64;
    let used = codes
        .iter()
        .flat_map(|y| y.as_slice())
        .filter(|y| **y != 0.0);
    let sparsity = used.count() as f64 / samples as f64;
    let output = args.output.display().to_string();
    args.speech.tell(
        json!({"codes": output, "samples": samples, "cost": cost, "sparsity": sparsity, "gap": gap, "stop": stop.to_string()}),
        || {
            let gap = gap.map_or(String::new(), |gap| format!("certified relative gap: {gap:.1e}\n"));
            format!(
                "{samples} samples coded: {stop}\nmean cost: {cost:.8}\n\
                 entries that are not zero: {sparsity:.1} of {}\n{gap}codes: {output}\n",
                mesh.atoms()
            )
        },
    )
}

fn code(mesh: &Mesh, x: &Samples, exact: bool) -> Result<Coded> {
    if exact {
        let solved = mesh.exact(x).map_err(say)?;
        return Ok(Coded {
            costs: solved.certificates.iter().map(|c| c.dual).collect(),
            gap: Some(solved.relative_gap()),
            stop: solved.stop(),
            codes: solved.codes,
        });
    }
    let found = mesh.infer(x).map_err(say)?;
    Ok(Coded {
        codes: found.stacked_codes(),
        costs: found.costs,
        gap: None,
        stop: found.stop,
    })
}

/// The codes as scipy's compressed sparse rows.
fn write_codes(path: &Path, parts: &[Matrix], atoms: usize) -> Result<()> {
    let (mut start, mut index, mut value) = (vec![0_i64], Vec::<i64>::new(), Vec::<f64>::new());
    for y in parts.iter().flat_map(Matrix::columns) {
        for (q, y) in y.iter().enumerate().filter(|(_, y)| **y != 0.0) {
            index.push(q as i64);
            value.push(*y);
        }
        start.push(index.len() as i64);
    }
    let rows = start.len() as i64 - 1;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let mut entry = |name: &str, bytes: Vec<u8>| -> Result<()> {
        zip.start_file(format!("{name}.npy"), options)
            .map_err(say)?;
        zip.write_all(&bytes).map_err(say)
    };
    entry("indices", npy(&[index.len() as u64], index.into_iter())?)?;
    entry("indptr", npy(&[start.len() as u64], start.into_iter())?)?;
    entry("format", format_entry()?)?;
    entry("shape", npy(&[2], [rows, atoms as i64].into_iter())?)?;
    entry("data", npy(&[value.len() as u64], value.into_iter())?)?;
    let bytes = zip.finish().map_err(say)?.into_inner();
    crate::output::write_file("codes", path, &bytes)
}

/// Columns of matrices as the rows of an .npy.
fn write_rows(path: &Path, parts: &[Matrix], rows: usize) -> Result<()> {
    let samples: usize = parts.iter().map(Matrix::cols).sum();
    let values = parts
        .iter()
        .flat_map(|part| part.as_slice().iter().copied());
    let bytes = npy(&[samples as u64, rows as u64], values)?;
    crate::output::write_file("reconstruction", path, &bytes)
}

fn npy<T: npyz::AutoSerialize>(shape: &[u64], values: impl Iterator<Item = T>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(shape)
        .writer(&mut out)
        .begin_nd()
        .map_err(say)?;
    writer.extend(values).map_err(say)?;
    writer.finish().map_err(say)?;
    Ok(out)
}

/// The word "csr" as scipy writes it: a zero-dimensional array of three bytes.
fn format_entry() -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let dtype: npyz::TypeStr = "|S3".parse().map_err(|e| format!("{e}"))?;
    let mut writer = npyz::WriteOptions::new()
        .dtype(npyz::DType::Plain(dtype))
        .shape(&[])
        .writer(&mut out)
        .begin_nd()
        .map_err(say)?;
    writer.push(b"csr".as_slice()).map_err(say)?;
    writer.finish().map_err(say)?;
    Ok(out)
}
