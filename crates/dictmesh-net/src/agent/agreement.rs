//! How agents agree on who is there and from which sample they go on, by talking to their neighbours only.
//!
//! Each tells its neighbours a record of itself, then in every round the records that were new to it in the last.
//! When a round brings nothing new it has heard of everybody, and the number of rounds was the largest distance of
//! anybody from it; the largest of these numbers is the diameter. After 2 N rounds all know everything.
//!
//! The least of these numbers, with the smallest agent that has it, gives the root of the spanning
//! tree. The parent of an agent is the first neighbour, by number, from which the record of the
//! root arrived first. In one more round each agent sends every neighbour the number of its parent,
//! by which the neighbours know their children, and its public key for [masks](crate::masks).

use super::settings::{Policy, Weighting};
use super::talk::{Halt, Talk};
use super::tree::Tree;
use crate::error::Error;
use crate::exchange::{Fault, Tag};
use crate::masks::{KeyPair, Masks};
use crate::words::listed;
use dictmesh::network::own_column;
use dictmesh::AgentId;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The samples an agent can go on from, at most: what it has in memory and on disk.
pub(super) const POSITIONS: usize = 6;
/// Numbers of a record: id, informed, joins, degree, positions, checksums.
const RECORD: usize = 4 + 2 * POSITIONS;

/// What an agent tells of itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub id: AgentId,
    pub informed: bool,
    pub joins: bool,
    pub degree: usize,
    /// The samples it can go on from, falling.
    pub positions: Vec<u64>,
    /// At each of them, the checksum of the state of the rule that adapts the penalty.
    pub penalty_sums: Vec<u32>,
}

impl Record {
    fn write(&self, scalars: &mut Vec<f64>) {
        let flag = |flag| if flag { 1.0 } else { 0.0 };
        let [informed, joins] = [flag(self.informed), flag(self.joins)];
        scalars.extend([self.id as f64, informed, joins, self.degree as f64]);
        let positions = (0..POSITIONS).map(|i| self.positions.get(i).map_or(-1.0, |p| *p as f64));
        scalars.extend(positions);
        let sums = (0..POSITIONS).map(|i| self.penalty_sums.get(i).map_or(-1.0, |s| f64::from(*s)));
        scalars.extend(sums);
    }

    /// `None` where numbers are none that a record can have.
    fn read(scalars: &[f64]) -> Option<Self> {
        let whole = |v: f64| ((0.0..9e15).contains(&v) && v.fract() == 0.0).then_some(v as u64);
        let flag = |v: f64| whole(v).filter(|v| *v < 2).map(|v| v == 1);
        let (positions, sums) = scalars[4..].split_at_checked(POSITIONS)?;
        let given = |v: &&f64| **v != -1.0;
        let positions = positions.iter().take_while(given);
        let sums = sums.iter().take_while(given);
        let sum = |v: &f64| u32::try_from(whole(*v)?).ok();
        Some(Record {
            id: usize::try_from(whole(scalars[0])?).ok()?,
            informed: flag(scalars[1])?,
            joins: flag(scalars[2])?,
            degree: usize::try_from(whole(scalars[3])?).ok()?,
            positions: positions.map(|v| whole(*v)).collect::<Option<_>>()?,
            penalty_sums: sums.map(sum).collect::<Option<_>>()?,
        })
    }

    /// The checksum at this position, if it can go on from there.
    fn penalty_sum(&self, position: u64) -> Option<u32> {
        let at = self.positions.iter().position(|p| *p == position)?;
        self.penalty_sums.get(at).copied()
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let informed = if self.informed {
            "informed"
        } else {
            "not informed"
        };
        let (links, samples) = (self.degree, listed(&self.positions));
        write!(
            f,
            "{informed}, with {links} links, able to continue from sample {samples}"
        )
    }
}

/// All agents, as all of them know them.
#[derive(Debug)]
pub(super) struct Members {
    pub records: BTreeMap<AgentId, Record>,
    pub diameter: usize,
    /// The links of this agent in the spanning tree.
    pub tree: Tree,
    /// The masks of sums in this epoch, if they are on.
    pub masks: Option<Masks>,
}

impl Members {
    pub fn agents(&self) -> usize {
        self.records.len()
    }

    pub fn informed(&self) -> usize {
        self.records.values().filter(|r| r.informed).count()
    }

    /// Whether all are each other's neighbours.
    pub fn is_complete(&self) -> bool {
        let mut all = self.records.values();
        all.all(|r| r.degree + 1 == self.records.len())
    }

    pub fn ids(&self) -> Vec<AgentId> {
        self.records.keys().copied().collect()
    }

    /// (l, a_lk) for the neighbours of `k` and itself, rising.
    pub fn weights(
        &self,
        k: AgentId,
        neighbours: &[AgentId],
        by: &Weighting,
    ) -> Vec<(AgentId, f64)> {
        let degree = |l: AgentId| self.records.get(&l).map_or(0, |r| r.degree);
        let edge = |degree: usize| 1.0 / (1 + degree) as f64;
        match by {
            Weighting::Metropolis => {
                own_column(k, neighbours, |l| edge(degree(l).max(neighbours.len())))
            }
            Weighting::Uniform => {
                let most = self.records.values().map(|r| r.degree).max();
                own_column(k, neighbours, |_| edge(most.unwrap_or(0)))
            }
            Weighting::Given(column) => column.clone(),
        }
    }

    /// The sample to go on from: the newest that all can. Those who join take it as it is, and so do, under `go-on`,
    /// those who were left behind.
    pub fn position(&self, policy: &Policy) -> Result<u64, Error> {
        let all = || self.records.values();
        let newest = |r: &Record| r.positions.first().copied();
        let old: Vec<&Record> = match all().all(|r| r.joins) {
            true => all().collect(),
            false => all().filter(|r| !r.joins).collect(),
        };
        let most = old.iter().filter_map(|r| newest(r)).max().unwrap_or(0);
        if let Some(common) = common(&old) {
            return Ok(common);
        }
        match (policy, old.iter().find(|r| !r.positions.contains(&most))) {
            (Policy::Wait, Some(behind)) => Err(Error::NoCommonSample {
                agent: behind.id,
                can: behind.positions.clone(),
                others: (old.iter().find(|r| newest(r) == Some(most)))
                    .map_or_else(Vec::new, |r| r.positions.clone()),
            }),
            _ => Ok(most),
        }
    }

    /// Whether all can go on from this sample with the same state of the rule that adapts the penalty. One that joins, or
    /// that learned without the others, cannot.
    pub fn agree_on_penalty(&self, position: u64) -> bool {
        let mut sums = self.records.values().map(|r| r.penalty_sum(position));
        let first = sums.next().flatten();
        first.is_some() && sums.all(|sum| sum == first)
    }

    /// Those who have nothing but the first sample to go on from, where the others have another in common: they have lost
    /// what they had learned.
    pub fn strangers(&self) -> Vec<AgentId> {
        let old: Vec<&Record> = self.records.values().filter(|r| !r.joins).collect();
        let (lost, kept): (Vec<&Record>, Vec<&Record>) =
            old.iter().partition(|r| r.positions == [0]);
        match common(&old).is_none() && common(&kept).is_some() {
            true => lost.iter().map(|r| r.id).collect(),
            false => Vec::new(),
        }
    }

    /// The samples that somebody else can go on from, who has learned: one that joins goes on from any.
    pub fn positions_of_others(&self, without: &[AgentId]) -> Vec<u64> {
        let learned = |r: &&Record| !r.joins && !without.contains(&r.id);
        let mut others = self.records.values().filter(learned);
        others.next().map_or_else(Vec::new, |r| r.positions.clone())
    }
}

/// The newest sample that all of these can go on from.
fn common(records: &[&Record]) -> Option<u64> {
    let (first, others) = records.split_first()?;
    let all_can = |p: &u64| others.iter().all(|r| r.positions.contains(p));
    first.positions.iter().copied().filter(all_can).max()
}

/// Agents that there may be: what a neighbour tells of has a bound.
const AGENTS: usize = crate::config::MOST_AGENTS;

/// So often in a row agents may be told of in two ways: while two copies of an agent take a link from each other, before one
/// of them is refused, both are heard.
const CONTRADICTIONS: u32 = 8;
/// How long the copies are given each time.
const PAUSE: Duration = Duration::from_millis(250);

/// Finds out who is there. `mask` is the name of the run if sums are masked. `contradictions` counts
/// the agreements that failed because an agent was described in two ways.
pub(super) fn agree(
    talk: &mut Talk,
    epoch: u32,
    own: Record,
    mask: Option<&str>,
    contradictions: &mut u32,
) -> Result<Members, Halt> {
    let id = own.id;
    let mut records = BTreeMap::from([(id, own)]);
    // The first neighbour, by number, on a shortest path to each agent.
    let mut towards: BTreeMap<AgentId, AgentId> = BTreeMap::new();
    let (mut new, mut distance, mut diameter) = (vec![id], None, 0_usize);
    // The least distance of an agent from its farthest, that agent, and the neighbour that told it.
    let mut root: Option<(usize, AgentId, AgentId)> = None;
    let mut told_by = id;
    let mut tag = Tag::agreement(epoch);
    let is_done = |round: u32, agents: usize| round as usize >= 2 * agents;
    while talk.degree() > 0 && (distance.is_none() || !is_done(tag.round, records.len())) {
        let told = new.iter().filter_map(|id| records.get(id));
        prepare(talk, tag, diameter, root, told);
        talk.round()?;
        new.clear();
        for (from, frame) in talk.heard() {
            let (largest, least, heard) = read(from, &frame.scalars)?;
            if largest > diameter {
                (diameter, told_by) = (largest, from);
            }
            if let Some((hops, center)) = least {
                let known = root.map(|(hops, center, _)| (hops, center));
                if known.is_none_or(|known| (hops, center) < known) {
                    root = Some((hops, center, from));
                }
            }
            for record in heard {
                match records.get(&record.id) {
                    None if records.len() >= AGENTS => {
                        let why = format!("it reports more than {AGENTS} agents");
                        return Err(Error::Protocol { from, why }.into());
                    }
                    None => {
                        new.push(record.id);
                        towards.insert(record.id, from);
                        records.insert(record.id, record);
                    }
                    Some(known) if *known == record => {}
                    Some(known) => {
                        let may_pass = *contradictions < CONTRADICTIONS && !talk.starts_together();
                        *contradictions += 1;
                        return Err(two_of_one(from, known, &record, may_pass.then_some(epoch)));
                    }
                }
            }
        }
        if new.is_empty() && distance.is_none() {
            distance = Some(tag.round as usize);
            diameter = diameter.max(tag.round as usize);
            let own = (tag.round as usize, id, id);
            root = Some(root.map_or(own, |known| known.min(own)));
        }
        tag.round += 1;
    }
    if diameter >= records.len() {
        let why = format!(
            "it reports a distance of {diameter} links among {} agents",
            records.len()
        );
        return Err(Error::Protocol { from: told_by, why }.into());
    }
    *contradictions = 0;
    let (_, root, told_by) = root.unwrap_or((0, id, id));
    let parent = towards.get(&root).copied();
    if parent.is_none() && root != id {
        let why = format!("it reports a root {root} without a record");
        return Err(Error::Protocol { from: told_by, why }.into());
    }
    let mut masks = mask.map(|run| Masks::new(id, run));
    let children = introduce(talk, tag, id, parent, masks.as_mut())?;
    Ok(Members {
        tree: Tree {
            root,
            parent,
            children,
        },
        masks,
        records,
        diameter,
    })
}

/// The number in place of a parent that the root sends.
const NO_PARENT: u64 = u64::MAX;

/// One more round, in which each agent sends every neighbour the number of its parent and a public
/// key. Returns the neighbours whose parent this agent is. An engine with collectives needs
/// neither.
fn introduce(
    talk: &mut Talk,
    tag: Tag,
    id: AgentId,
    parent: Option<AgentId>,
    mut masks: Option<&mut Masks>,
) -> Result<Vec<AgentId>, Halt> {
    if talk.degree() == 0 || talk.collectives().is_some() {
        return Ok(Vec::new());
    }
    let all = talk.neighbours().to_vec();
    let mut pairs = Vec::new();
    for l in &all {
        let mut bytes = parent
            .map_or(NO_PARENT, |l| l as u64)
            .to_le_bytes()
            .to_vec();
        if masks.is_some() {
            let pair = KeyPair::new()?;
            bytes.extend_from_slice(pair.public());
            pairs.push(pair);
        }
        talk.send(tag, bytes, &[*l])?;
    }
    talk.receive(tag, &all)?;
    let (mut children, mut pairs) = (Vec::new(), pairs.into_iter());
    for (from, frame) in talk.heard() {
        let bad = |why: &str| Error::Protocol {
            from,
            why: why.to_string(),
        };
        let (theirs, key) = (frame.bytes.split_first_chunk())
            .ok_or_else(|| bad("it does not report its parent in the tree"))?;
        match u64::from_le_bytes(*theirs) == id as u64 {
            true if parent == Some(from) => {
                return Err(bad("it and this agent cannot be each other's parent").into());
            }
            true => children.push(from),
            false => {}
        }
        match (&mut masks, pairs.next()) {
            (Some(masks), Some(pair)) => masks.add_edge(from, pair, key)?,
            _ if key.is_empty() => {}
            _ => return Err(bad("it sent a public key, but masks are off at this agent").into()),
        }
    }
    Ok(children)
}

/// What is said in the next round: the largest distance so far, the root so far (-1, -1 if none),
/// and the records that were new in the last.
fn prepare<'a>(
    talk: &mut Talk,
    tag: Tag,
    diameter: usize,
    root: Option<(usize, AgentId, AgentId)>,
    records: impl Iterator<Item = &'a Record>,
) {
    talk.own.tag = tag;
    talk.own.dual.clear();
    let scalars = &mut talk.own.scalars;
    scalars.clear();
    scalars.push(diameter as f64);
    scalars.extend(root.map_or([-1.0; 2], |(hops, id, _)| [hops as f64, id as f64]));
    records.for_each(|record| record.write(scalars));
}

/// What becomes of an epoch in which an agent is told of in two ways: another one, if it may pass.
fn two_of_one(from: AgentId, known: &Record, record: &Record, epoch: Option<u32>) -> Halt {
    let why = format!(
        "it reports agent {} as {record}, and another agent as {known}",
        known.id
    );
    let Some(epoch) = epoch else {
        return Error::Protocol { from, why }.into();
    };
    tracing::warn!(neighbour = from, "{why}; all agree once more");
    std::thread::sleep(PAUSE);
    let epoch = epoch + 1;
    Fault::NewEpoch { epoch, by: from }.into()
}

/// The largest distance, the least one with its agent, and the records of a frame.
type Told = (usize, Option<(usize, AgentId)>, Vec<Record>);

fn read(from: AgentId, scalars: &[f64]) -> Result<Told, Error> {
    let bad = || Error::Protocol {
        from,
        why: "its records of agents cannot be read".to_string(),
    };
    let ([largest, hops, root], records) = scalars.split_first_chunk().ok_or_else(bad)?;
    let small = |v: &f64| (0.0..1e9).contains(v);
    if records.len() % RECORD != 0 || !small(largest) {
        return Err(bad());
    }
    let least = match (*hops, *root) {
        (-1.0, -1.0) => None,
        (hops, root) => {
            let whole = |v: f64| (v.fract() == 0.0).then_some(v as usize);
            let is_number = (0.0..9e15).contains(&root) && small(&hops);
            let least = whole(hops).zip(whole(root)).filter(|_| is_number);
            Some(least.ok_or_else(bad)?)
        }
    };
    let records = records.chunks_exact(RECORD).map(Record::read);
    let records: Option<Vec<_>> = records.collect();
    Ok((*largest as usize, least, records.ok_or_else(bad)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Limits;
    use crate::memory::Hub;
    use crate::rounds::{Rounds, RoundsOptions};
    use dictmesh::Topology;
    use std::sync::Arc;

    /// The members as each agent of a graph finds them.
    fn agreed(topology: &Topology) -> Vec<Members> {
        let hub = Hub::new(0);
        let agents = (0..topology.agents()).map(|k| {
            let neighbours = topology.neighbours(k).to_vec();
            let wire = hub.wire(k, &neighbours, 100 + k as u64);
            let options = RoundsOptions::new(100 + k as u64, Limits::new(3, 1));
            let rounds = Rounds::new(wire, &neighbours, options, Arc::default());
            let record = Record {
                id: k,
                informed: k == 0,
                joins: false,
                degree: neighbours.len(),
                positions: vec![0],
                penalty_sums: vec![k as u32],
            };
            std::thread::spawn(move || {
                let mut talk = Talk::new(Box::new(rounds), Policy::Wait, false);
                let members = agree(&mut talk, 1, record, Some("run"), &mut 0).unwrap();
                // Its last words may still be needed.
                talk.own.tag = Tag::all_ended(1);
                talk.own.scalars.clear();
                let _ = talk.round_until(Some(std::time::Instant::now() + Duration::from_secs(1)));
                members
            })
        });
        let agents: Vec<_> = agents.collect();
        agents.into_iter().map(|a| a.join().unwrap()).collect()
    }

    #[test]
    fn the_tree_is_that_of_the_library() {
        for topology in [
            Topology::path(1).unwrap(),
            Topology::path(6).unwrap(),
            Topology::ring(7).unwrap(),
            Topology::grid(3, 4).unwrap(),
            Topology::complete(5).unwrap(),
            Topology::from_edges(5, &[(4, 0), (4, 1), (4, 2), (2, 3)]).unwrap(),
            Topology::erdos_renyi(15, 0.4, 3).unwrap(),
        ] {
            let tree = topology.spanning_tree();
            for (k, members) in agreed(&topology).into_iter().enumerate() {
                let expected = Tree {
                    root: tree.root(),
                    parent: tree.parent[k],
                    children: tree.children[k].clone(),
                };
                assert_eq!(members.tree, expected, "{k}");
                assert_eq!(members.diameter, topology.diameter(), "{k}");
                assert_eq!(members.agree_on_penalty(0), topology.agents() == 1);
                assert!(!members.agree_on_penalty(1));
            }
        }
    }
}
