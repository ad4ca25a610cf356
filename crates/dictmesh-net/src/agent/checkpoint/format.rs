//! A checkpoint as bytes, all little-endian: `dmcp`, the version, the number of bytes that follow the checksum, their
//! CRC-32, and then the numbers. Version 1 did not name the settings, and is read
//! without comparing them; up to version 2 W'W stood behind the atoms, and is passed over; up to version 3 there was no
//! state of the rule that adapts the penalty, which is then as before any batch.

use super::{Owner, State, Surroundings};
use dictmesh::mesh::AtomStats;
use dictmesh::problem::Block;
use dictmesh::strategy::PenaltyRule;
use dictmesh::AgentId;
use dictmesh::Matrix;
use std::collections::BTreeSet;

const MAGIC: &[u8; 4] = b"dmcp";
const VERSION: u32 = 5;
/// The oldest that is read.
const OLDEST: u32 = 1;
const HEADER: usize = 20;

pub(super) fn write(owner: &Owner, state: &State, around: &Surroundings) -> Vec<u8> {
    let mut body = Vec::new();
    let whole = |to: &mut Vec<u8>, v: u64| to.extend_from_slice(&v.to_le_bytes());
    let list = |to: &mut Vec<u8>, values: &mut dyn ExactSizeIterator<Item = u64>| {
        whole(to, values.len() as u64);
        values.for_each(|v| whole(to, v));
    };
    let text = |to: &mut Vec<u8>, text: &str| {
        whole(to, text.len() as u64);
        to.extend_from_slice(text.as_bytes());
    };
    text(&mut body, &owner.run);
    whole(&mut body, owner.id as u64);
    whole(&mut body, owner.settings.len() as u64);
    for (name, value) in &owner.settings {
        text(&mut body, name);
        text(&mut body, value);
    }
    for v in [
        state.position,
        u64::from(around.epoch),
        u64::from(around.ended) + u64::from(around.ended && around.all_ended),
    ] {
        whole(&mut body, v);
    }
    list(&mut body, &mut around.active.iter().map(|l| *l as u64));
    list(&mut body, &mut around.gone.iter().map(|l| *l as u64));
    let atoms = state.block.atoms();
    whole(&mut body, atoms.rows() as u64);
    list(&mut body, &mut atoms.as_slice().iter().map(|v| v.to_bits()));
    list(
        &mut body,
        &mut state.used.energy.iter().map(|v| v.to_bits()),
    );
    list(&mut body, &mut state.used.samples.iter().copied());
    let penalty = state.penalty.to_numbers();
    list(&mut body, &mut penalty.iter().map(|v| *v as u64));
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
    /// They were learned with other settings.
    Settings(String),
}

impl Refused {
    pub fn why(self) -> String {
        match self {
            Refused::Damaged(why) | Refused::Foreign(why) | Refused::Settings(why) => why,
        }
    }
}

/// What the bytes hold.
pub(super) fn read(bytes: &[u8], owner: &Owner) -> Result<(State, Surroundings), Refused> {
    let damaged = || Refused::Damaged("it is damaged or cut short".to_string());
    let mut header = Reader(bytes);
    if header.take(4).ok_or_else(damaged)? != MAGIC {
        return Err(Refused::Damaged(
            "it does not begin as a checkpoint does".to_string(),
        ));
    }
    let (version, length, sum) = (header.four(), header.whole(), header.four());
    let whole = Some(header.0.len() as u64) == length && Some(crc32fast::hash(header.0)) == sum;
    let version = version.filter(|_| whole).ok_or_else(damaged)?;
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(Refused::Foreign(format!(
            "it is of version {version}, and this program reads {OLDEST} to {VERSION}; use the dictmesh that wrote it"
        )));
    }
    let mut body = Reader(header.0);
    let (run, id, rows) = (&owner.run, owner.id, owner.rows);
    let of = (
        body.text().ok_or_else(damaged)?,
        body.whole().ok_or_else(damaged)?,
    );
    if of != (run.clone(), id as u64) {
        return Err(Refused::Foreign(format!(
            "it is of agent {} in run \"{}\", but this is agent {id} in run \"{run}\"; name another state directory",
            of.1, of.0
        )));
    }
    if version > 1 {
        compare(&body.settings().ok_or_else(damaged)?, &owner.settings)?;
    }
    let found = parts(&mut body, version).ok_or_else(damaged)?;
    let given = found.0.block.atoms().rows();
    if given != rows {
        return Err(Refused::Foreign(format!(
            "its atoms have {given} rows, but the samples of this run have {rows}; name another state directory"
        )));
    }
    Ok(found)
}

/// Atoms that were learned with other settings are not gone on from: what came out would be of neither.
fn compare(before: &[(String, String)], now: &[(String, String)]) -> Result<(), Refused> {
    let absent = "(nothing)";
    fn of<'a>(all: &'a [(String, String)], name: &str) -> Option<&'a String> {
        all.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }
    let names = now.iter().chain(before).map(|(name, _)| name);
    let names: BTreeSet<&String> = names.collect();
    let differ: Vec<String> = names
        .into_iter()
        .filter(|name| of(before, name) != of(now, name))
        .map(|name| {
            let [then, now] =
                [of(before, name), of(now, name)].map(|v| v.map_or(absent, String::as_str));
            format!("{name} was {then} and is now {now}")
        })
        .collect();
    match differ.is_empty() {
        true => Ok(()),
        false => Err(Refused::Settings(format!(
            "the settings have changed since it was written: {}. Restore them to continue, or remove the state directories of all agents to start again",
            differ.join(", ")
        ))),
    }
}

fn parts(body: &mut Reader, version: u32) -> Option<(State, Surroundings)> {
    let position = body.whole()?;
    let epoch = u32::try_from(body.whole()?).ok()?;
    let ended = body.whole()?;
    let around = Surroundings {
        epoch,
        ended: ended > 0,
        all_ended: ended > 1,
        active: body.list()?.into_iter().map(|l| l as AgentId).collect(),
        gone: body.list()?.into_iter().map(|l| l as AgentId).collect(),
    };
    let atoms = body.matrix()?;
    if version < 3 {
        body.matrix()?;
    }
    let used = AtomStats {
        energy: body.list()?.into_iter().map(f64::from_bits).collect(),
        samples: body.list()?,
    };
    let penalty = match version {
        ..4 => PenaltyRule::default(),
        // Its rule had fewer numbers.
        4 => {
            body.list()?;
            PenaltyRule::default()
        }
        _ => {
            let numbers: Vec<i64> = body.list()?.into_iter().map(|v| v as i64).collect();
            PenaltyRule::from_numbers(&numbers)?
        }
    };
    let fits = used.energy.len() == atoms.cols() && used.samples.len() == atoms.cols();
    let state = State {
        position,
        block: Block::new(atoms).ok()?,
        used,
        penalty,
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

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.whole()?).ok()?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn settings(&mut self) -> Option<Vec<(String, String)>> {
        let count = self.whole()?;
        (0..count)
            .map(|_| Some((self.text()?, self.text()?)))
            .collect()
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
        let cols = numbers.len().checked_div(rows).unwrap_or(0);
        Matrix::from_vec(rows, cols, numbers).ok()
    }
}
