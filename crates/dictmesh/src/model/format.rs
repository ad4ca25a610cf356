//! Encoding of a model as a safetensors file, and decoding.
//!
//! The safetensors crate reads the header but does not write it: its metadata order changes from
//! run to run, and equal models must give equal bytes.

use super::{BlockData, Description, Model};
use crate::error::Error;
use crate::graph::AgentId;
use crate::registry::Registry;
use dictmesh_kernels::matrix::Matrix;
use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::Dtype;
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufWriter, Read, Write};

const FORMAT: &str = "dictmesh-model";
/// The maximum header length that safetensors readers accept, in bytes.
const MAX_HEADER: u64 = 100_000_000;
/// Length in bytes of the field that precedes the header and holds its length.
const LENGTH: u64 = 8;
/// The metadata entry with the CRC-32 of the rest of the file.
const CHECKSUM: &str = "checksum";
const TENSORS: [&str; 3] = ["atoms", "energy", "samples"];

/// The reason why a model cannot be read.
pub(super) enum Fault {
    /// An I/O error.
    Io(io::Error),
    /// Invalid content.
    Why(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Io(error)
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Self {
        Fault::Why(why)
    }
}

/// The checksum of a file: the header as compact JSON with sorted keys and without the checksum,
/// then the tensors' data. It does not depend on the order in which a program wrote the header.
#[derive(Default)]
struct Sum(crc32fast::Hasher);

impl Sum {
    fn header(&mut self, header: &Value) -> serde_json::Result<()> {
        let mut header = header.clone();
        if let Some(Value::Object(metadata)) = header.get_mut("__metadata__") {
            metadata.remove(CHECKSUM);
        }
        serde_json::to_writer(self, &header)
    }

    fn words(self) -> String {
        format!("{:08x}", self.0.finalize())
    }
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tensor_name(k: AgentId, what: &str) -> String {
    format!("agent.{k}.{what}")
}

/// The header of a file, with its length field; checks the model first.
pub(super) fn header(model: &Model) -> crate::Result<Vec<u8>> {
    model.check_to_write()?;
    let metadata = json!({
        "format": FORMAT,
        "version": Model::VERSION.to_string(),
        "description": describe(&model.description)?,
    });
    let mut entries = BTreeMap::from([("__metadata__".to_string(), metadata)]);
    let mut from = 0;
    for block in &model.blocks {
        let (rows, size) = (block.atoms.rows(), block.atoms.cols());
        let shapes = [vec![size, rows], vec![size], vec![size]];
        let dtypes = [Dtype::F64, Dtype::F64, Dtype::U64];
        for ((what, shape), dtype) in TENSORS.iter().zip(shapes).zip(dtypes) {
            let to = from + 8 * shape.iter().product::<usize>();
            let entry = json!({"dtype": dtype, "shape": shape, "data_offsets": [from, to]});
            entries.insert(tensor_name(block.agent, what), entry);
            from = to;
        }
    }
    let mut sum = Sum::default();
    let content = serde_json::to_value(&entries).map_err(unwritable)?;
    sum.header(&content).map_err(unwritable)?;
    write_data(model, &mut BufWriter::new(&mut sum)).map_err(unwritable)?;
    if let Some(metadata) = entries.get_mut("__metadata__") {
        metadata[CHECKSUM] = sum.words().into();
    }
    let mut text = serde_json::to_vec(&entries).map_err(unwritable)?;
    // Aligns the data to 8 bytes, so that readers can memory-map it.
    text.resize(text.len().next_multiple_of(8), b' ');
    if text.len() as u64 > MAX_HEADER {
        return Err(Error::parameter(
            "description",
            format!("{} bytes", text.len()),
            format!(
                "safetensors allows at most {MAX_HEADER} bytes for all but the atoms; the graph, \
                 the combination matrix, feature names and extra data count"
            ),
        ));
    }
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.extend(text);
    Ok(header)
}

/// The description as JSON, verified to deserialise to the same value.
fn describe(description: &Description) -> crate::Result<String> {
    let mut stamped = description.clone();
    stamped.written_by = Model::WRITTEN_BY.to_string();
    let text = serde_json::to_string(&stamped).map_err(unwritable)?;
    // JSON has no NaN or infinity, and parsers limit the nesting depth.
    match serde_json::from_str::<Description>(&text) {
        Ok(back) if back == stamped => Ok(text),
        Ok(_) => Err(unwritable("the written value reads back differently")),
        Err(error) => Err(unwritable(error)),
    }
}

fn unwritable(error: impl std::fmt::Display) -> Error {
    Error::parameter(
        "description",
        "this one",
        format!(
            "cannot be written as JSON ({error}); every number in it must be finite (leave an \
             infinite end of a box out), and extra data not nested too deeply"
        ),
    )
}

/// The tensors' data, in the order of the header's offsets.
pub(super) fn write_data(model: &Model, out: &mut dyn Write) -> io::Result<()> {
    for block in &model.blocks {
        for value in block.atoms.as_slice().iter().chain(&block.energy) {
            out.write_all(&value.to_le_bytes())?;
        }
        for count in &block.samples {
            out.write_all(&count.to_le_bytes())?;
        }
    }
    Ok(())
}

/// Reads a model from a stream of `len` bytes. Only the header's length, format and version are
/// used before the checksum is verified. Allocations are bounded by the stream's length.
pub(super) fn read(from: &mut dyn Read, len: u64, pieces: &Registry) -> Result<Model, Fault> {
    let (metadata, mut sum) = read_header(from, len)?;
    let data = read_bytes(from, metadata.data_len() as u64)?;
    sum.write_all(&data)?;
    check_sum(metadata.metadata().as_ref(), &sum.words())?;
    let description = description_in(&metadata)?;
    let model = Model {
        blocks: blocks_in(&metadata, &data, description.rows)?,
        description,
    };
    match model.check_with(pieces) {
        Ok(()) => Ok(model),
        Err(error) => Err(Fault::Why(error.to_string())),
    }
}

/// Reads the header and checks its format, version and length. Returns it with its part of the
/// checksum.
fn read_header(from: &mut dyn Read, len: u64) -> Result<(Metadata, Sum), Fault> {
    const FOREIGN: &str = "it is not a safetensors file, so not a model file";
    if len == 0 {
        return Err(Fault::Why("it is empty".to_string()));
    }
    if len <= LENGTH {
        return Err(Fault::Why(FOREIGN.to_string()));
    }
    let mut first = [0; LENGTH as usize + 1];
    from.read_exact(&mut first)?;
    let [length @ .., brace] = first;
    let length = u64::from_le_bytes(length);
    if brace != b'{' || length > MAX_HEADER || length == 0 {
        return Err(Fault::Why(FOREIGN.to_string()));
    }
    if length > len - LENGTH {
        return Err(cut_short(length.saturating_add(LENGTH), len));
    }
    let mut text = vec![brace];
    text.extend(read_bytes(from, length - 1)?);
    let damaged =
        |error: serde_json::Error| format!("its header is damaged ({error}); get a fresh copy");
    let metadata: Metadata = serde_json::from_slice(&text).map_err(damaged)?;
    check_version(metadata.metadata().as_ref())?;
    let expected = (LENGTH + length).saturating_add(metadata.data_len() as u64);
    if expected > len {
        return Err(cut_short(expected, len));
    }
    if expected < len {
        return Err(Fault::Why(format!(
            "it has {len} bytes, {} more than its header requires; it is damaged, get a fresh copy",
            len - expected
        )));
    }
    let mut sum = Sum::default();
    let content = serde_json::from_slice(&text).map_err(damaged)?;
    sum.header(&content).map_err(damaged)?;
    Ok((metadata, sum))
}

/// `Ok` if the checksum matches the content.
fn check_sum(metadata: Option<&HashMap<String, String>>, found: &str) -> Result<(), String> {
    match metadata.and_then(|m| m.get(CHECKSUM)) {
        Some(written) if written == found => Ok(()),
        Some(written) => Err(format!(
            "it is damaged: its content has the checksum {found}, and was written with \
             {written:?}; take a copy, or the checkpoint beside it if there is one"
        )),
        None => Err(format!(
            "its metadata has no {CHECKSUM:?}, so it cannot be verified; it is damaged, or another \
             program removed the entry: use another copy, or learn the model again"
        )),
    }
}

fn cut_short(expected: u64, len: u64) -> Fault {
    Fault::Why(format!(
        "it is cut short: its header requires at least {expected} bytes, the file has {len}; get \
         a fresh copy"
    ))
}

fn check_version(metadata: Option<&HashMap<String, String>>) -> Result<(), String> {
    let field = |name: &str| metadata.and_then(|m| m.get(name)).map(String::as_str);
    if field("format") != Some(FORMAT) {
        return Err(format!(
            "it is a safetensors file, but not a dictmesh model (its metadata has no \"format\" = \
             \"{FORMAT}\")"
        ));
    }
    let version = field("version").unwrap_or("none");
    let major = version.split('.').next().unwrap_or(version);
    match major.parse::<u32>() {
        Ok(1..=Model::VERSION) => Ok(()),
        Ok(newer) if newer > Model::VERSION => Err(format!(
            "it has version {version} of the format, and this program ({}) reads versions up to \
             {}; upgrade dictmesh to open it",
            Model::WRITTEN_BY,
            Model::VERSION
        )),
        _ => Err(format!(
            "its format version is {version:?}, which does not exist (this program reads 1 to {}); \
             it is damaged, get a fresh copy",
            Model::VERSION
        )),
    }
}

fn description_in(metadata: &Metadata) -> Result<Description, String> {
    let text = (metadata.metadata().as_ref()).and_then(|m| m.get("description"));
    let text = text.ok_or("its metadata has no \"description\"; it is damaged")?;
    serde_json::from_str(text).map_err(|error| {
        format!(
            "its description cannot be read ({error}); it is damaged, or a newer program used a \
             choice that this one ({}) does not have",
            Model::WRITTEN_BY
        )
    })
}

fn blocks_in(metadata: &Metadata, data: &[u8], rows: usize) -> Result<Vec<BlockData>, String> {
    let names = metadata.offset_keys();
    let agents: BTreeSet<AgentId> = names.iter().filter_map(|name| agent_in(name)).collect();
    agents
        .into_iter()
        .map(|k| {
            let (atoms, shape) = tensor(metadata, data, k, "atoms", Dtype::F64)?;
            let size = match shape {
                [size, length] if *length == rows => *size,
                _ => {
                    let expected = format!("[number of atoms, {rows}]");
                    return Err(misshapen(k, "atoms", shape, &expected));
                }
            };
            let list = |what, dtype| {
                let (bytes, shape) = tensor(metadata, data, k, what, dtype)?;
                match shape {
                    [length] if *length == size => Ok(bytes),
                    _ => Err(misshapen(k, what, shape, &format!("[{size}]"))),
                }
            };
            Ok(BlockData {
                agent: k,
                atoms: Matrix::from_vec(rows, size, numbers(atoms, f64::from_le_bytes))
                    .map_err(|error| error.to_string())?
                    .into(),
                energy: numbers(list("energy", Dtype::F64)?, f64::from_le_bytes),
                samples: numbers(list("samples", Dtype::U64)?, u64::from_le_bytes),
            })
        })
        .collect()
}

/// The agent that a tensor of this name belongs to; `None` for unknown tensors.
fn agent_in(name: &str) -> Option<AgentId> {
    let (k, what) = name.strip_prefix("agent.")?.split_once('.')?;
    TENSORS.contains(&what).then(|| k.parse().ok()).flatten()
}

/// The bytes and the shape of one of agent `k`'s tensors.
fn tensor<'a>(
    metadata: &'a Metadata,
    data: &'a [u8],
    k: AgentId,
    what: &str,
    dtype: Dtype,
) -> Result<(&'a [u8], &'a [usize]), String> {
    let name = tensor_name(k, what);
    let info: &TensorInfo = metadata
        .info(&name)
        .ok_or_else(|| format!("agent {k}'s block is not complete: there is no tensor {name:?}"))?;
    if info.dtype != dtype {
        return Err(format!(
            "the tensor {name:?} has numbers of type {}; they must be {dtype}",
            info.dtype
        ));
    }
    let (from, to) = info.data_offsets;
    let bytes = data.get(from..to).ok_or("its offsets are damaged")?;
    Ok((bytes, &info.shape))
}

fn misshapen(k: AgentId, what: &str, given: &[usize], expected: &str) -> String {
    let name = tensor_name(k, what);
    format!("the tensor {name:?} has the shape {given:?}; it must be {expected}")
}

fn numbers<T>(bytes: &[u8], number: impl Fn([u8; 8]) -> T) -> Vec<T> {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| number(*word)).collect()
}

/// Reads exactly `len` bytes, which the stream is expected to have.
fn read_bytes(from: &mut dyn Read, len: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let fits = usize::try_from(len).is_ok_and(|len| bytes.try_reserve_exact(len).is_ok());
    if !fits {
        let why = format!("there is not enough memory for its {len} bytes");
        return Err(Fault::Why(why));
    }
    from.take(len).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == len {
        return Ok(bytes);
    }
    Err(Fault::Why(
        "it became shorter while it was read".to_string(),
    ))
}
