//! A checkpoint as bytes, all little-endian: `dmcp`, the version, the number of bytes that follow the checksum, their
//! CRC-32, and then the numbers.

use super::{State, Surroundings};
use dictmesh::agent::{AgentId, Block};
use dictmesh::learning::AtomUse;
use dictmesh::Matrix;

const MAGIC: &[u8; 4] = b"dmcp";
const VERSION: u32 = 1;
const HEADER: usize = 20;

pub(super) fn write(run: &str, id: AgentId, state: &State, around: &Surroundings) -> Vec<u8> {
    let mut body = Vec::new();
    let whole = |to: &mut Vec<u8>, v: u64| to.extend_from_slice(&v.to_le_bytes());
    let list = |to: &mut Vec<u8>, values: &mut dyn ExactSizeIterator<Item = u64>| {
        whole(to, values.len() as u64);
        values.for_each(|v| whole(to, v));
    };
    whole(&mut body, run.len() as u64);
    body.extend_from_slice(run.as_bytes());
    for v in [
        id as u64,
        state.position,
        u64::from(around.epoch),
        u64::from(around.ended),
    ] {
        whole(&mut body, v);
    }
    list(&mut body, &mut around.active.iter().map(|l| *l as u64));
    list(&mut body, &mut around.gone.iter().map(|l| *l as u64));
    for matrix in [state.block.atoms(), state.block.gram()] {
        whole(&mut body, matrix.rows() as u64);
        list(
            &mut body,
            &mut matrix.as_slice().iter().map(|v| v.to_bits()),
        );
    }
    list(
        &mut body,
        &mut state.used.energy.iter().map(|v| v.to_bits()),
    );
    list(&mut body, &mut state.used.samples.iter().copied());
    let mut out = Vec::with_capacity(HEADER + body.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    out.append(&mut body);
    out
}

/// Why bytes are not taken.
pub(super) enum Refused {
    /// They are not what was written.
    Damaged(String),
    /// They were written by another agent, for another run, or by another version.
    Foreign(String),
}

impl Refused {
    pub fn why(self) -> String {
        match self {
            Refused::Damaged(why) | Refused::Foreign(why) => why,
        }
    }
}

/// What the bytes hold.
pub(super) fn read(
    bytes: &[u8],
    run: &str,
    id: AgentId,
    rows: usize,
) -> Result<(State, Surroundings), Refused> {
    let damaged = || Refused::Damaged("it is damaged or cut short".to_string());
    let mut header = Reader(bytes);
    if header.take(4).ok_or_else(damaged)? != MAGIC {
        return Err(Refused::Damaged(
            "it does not begin as a checkpoint does".to_string(),
        ));
    }
    let (version, length, sum) = (header.four(), header.whole(), header.four());
    let whole = Some(header.0.len() as u64) == length && Some(crc32fast::hash(header.0)) == sum;
    match version {
        Some(VERSION) if whole => {}
        Some(version) if whole => {
            let why = format!("it is of version {version}, and this program reads {VERSION}");
            return Err(Refused::Foreign(why));
        }
        _ => return Err(damaged()),
    }
    let mut body = Reader(header.0);
    let length = body.whole().ok_or_else(damaged)?;
    let of = body.take(length as usize).ok_or_else(damaged)?;
    let of = (
        String::from_utf8_lossy(of).into_owned(),
        body.whole().ok_or_else(damaged)?,
    );
    if of != (run.to_string(), id as u64) {
        return Err(Refused::Foreign(format!(
            "it is of agent {} in run \"{}\", but this is agent {id} in run \"{run}\"; name another state directory",
            of.1, of.0
        )));
    }
    let found = parts(&mut body).ok_or_else(damaged)?;
    let given = found.0.block.atoms().rows();
    if given != rows {
        return Err(Refused::Foreign(format!(
            "its atoms have {given} rows, but the samples of this run have {rows}; name another state directory"
        )));
    }
    Ok(found)
}

fn parts(body: &mut Reader) -> Option<(State, Surroundings)> {
    let position = body.whole()?;
    let epoch = u32::try_from(body.whole()?).ok()?;
    let ended = body.whole()? != 0;
    let around = Surroundings {
        epoch,
        ended,
        active: body.list()?.into_iter().map(|l| l as AgentId).collect(),
        gone: body.list()?.into_iter().map(|l| l as AgentId).collect(),
    };
    let (atoms, gram) = (body.matrix()?, body.matrix()?);
    let used = AtomUse {
        energy: body.list()?.into_iter().map(f64::from_bits).collect(),
        samples: body.list()?,
    };
    let fits = used.energy.len() == atoms.cols() && used.samples.len() == atoms.cols();
    let state = State {
        position,
        block: Block::restore(atoms, gram).ok()?,
        used,
    };
    (fits && body.0.is_empty()).then_some((state, around))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn four(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn whole(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn list(&mut self) -> Option<Vec<u64>> {
        let n = usize::try_from(self.whole()?).ok()?;
        let bytes = self.take(n.checked_mul(8)?)?;
        let eights = bytes.as_chunks::<8>().0.iter();
        Some(eights.map(|v| u64::from_le_bytes(*v)).collect())
    }

    fn matrix(&mut self) -> Option<Matrix> {
        let rows = usize::try_from(self.whole()?).ok()?;
        let numbers: Vec<f64> = self.list()?.into_iter().map(f64::from_bits).collect();
        let cols = if rows == 0 { 0 } else { numbers.len() / rows };
        Matrix::from_vec(rows, cols, numbers).ok()
    }
}
