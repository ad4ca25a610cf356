//! The integers that an agent sends for the tasks of the root, and their sums over all agents.

use super::order::{exponent_of, power, Proof, Scales, Task};
use super::send::{error_unit, Sent};
use crate::strategy::integers::{width_of_sum, Integers};
use dictmesh_kernels::matrix::norm;

/// Bits of a flag, and a sign.
pub(super) const FLAG_BITS: u32 = 2;
/// Bits of a local cost, and a sign. Half a unit in 2^33 per agent is the error of a cost.
pub(super) const COST_BITS: u32 = 34;
/// Bits of a term of a certificate of infeasibility, and a sign.
const PROOF_BITS: u32 = 48;
/// Flags per part: error saturated, entries clipped, entries in the upper part of the range, a part
/// that is not finite.
const FLAGS: usize = 4;
/// Integers of a proof.
const TERMS: usize = 2;

/// Bits of a slope: nine, and half of those that the rounding errors of all agents take.
pub(super) fn slope_bits(agents: usize) -> u32 {
    9 + width_of_sum(0, agents).div_ceil(2)
}

/// The largest slope that an agent sends.
pub(super) fn largest_slope(agents: usize) -> i64 {
    (1 << slope_bits(agents)) - 1
}

/// The unit of a proof: sums of terms of this magnitude stay within the range.
pub(super) fn proof_unit(size: f64, direction: &[f64], agents: usize) -> i32 {
    let bound = size * norm(direction);
    exponent_of(bound) - (PROOF_BITS as i32 - 8) + width_of_sum(0, agents) as i32
}

/// The integers of one agent for the tasks of the root, by their width: what is left to be written
/// of each section.
#[derive(Debug)]
pub(super) struct Reply<'a> {
    /// The entries of parts with their errors.
    entries: &'a mut [i64],
    flags: &'a mut [i64],
    costs: &'a mut [i64],
    slopes: &'a mut [i64],
    terms: &'a mut [i64],
}

/// The first integers of a section, which is left with the others.
fn first<'a>(section: &mut &'a mut [i64], count: usize) -> &'a mut [i64] {
    let all = std::mem::take(section);
    let (own, rest) = all.split_at_mut(count.min(all.len()));
    *section = rest;
    own
}

impl<'a> Reply<'a> {
    /// The reply to `tasks` for samples of `rows` rows, with entries of `bits` bits.
    pub fn new(
        tasks: &[Task],
        rows: usize,
        (bits, agents): (u32, usize),
        out: &'a mut Integers,
    ) -> Self {
        let parts = tasks.iter().filter(|task| task.scales().is_some()).count();
        let points = tasks.iter().map(|task| task.points().len()).sum();
        let is_proof = |task: &&Task| matches!(task, Task::Prove(_));
        let proofs = tasks.iter().filter(is_proof).count();
        let counts = [
            parts * (rows + 1),
            parts * FLAGS,
            parts,
            points,
            proofs * TERMS,
        ];
        let bits = [
            bits,
            FLAG_BITS,
            COST_BITS,
            slope_bits(agents) + 1,
            PROOF_BITS,
        ];
        let sections = bits.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        let mut rest =
            out.lay_out(sections.map(|(bits, count)| (width_of_sum(bits, agents), count)));
        let [entries, flags, costs, slopes, terms] = counts.map(|count| first(&mut rest, count));
        Reply {
            entries,
            flags,
            costs,
            slopes,
            terms,
        }
    }

    /// The entries of the next part and its error, to be written.
    pub fn entries(&mut self, rows: usize) -> &'a mut [i64] {
        first(&mut self.entries, rows + 1)
    }

    /// The flags and the local cost of a part whose entries have been written.
    pub fn push_cost(&mut self, sent: &Sent, cost: f64, unit: f64) {
        let largest = ((1_i64 << (COST_BITS - 1)) - 1) as f64;
        let cost = (cost / unit).round();
        let saturated = sent.saturated || cost.abs() > largest;
        let trouble = !sent.finite || !cost.is_finite();
        let cost = if trouble { 0.0 } else { cost };
        let cost = cost.clamp(-largest, largest) as i64;
        first(&mut self.costs, 1).fill(cost);
        let flags = [saturated, sent.clipped, sent.large, trouble];
        let to = first(&mut self.flags, FLAGS).iter_mut();
        to.zip(flags).for_each(|(to, flag)| *to = i64::from(flag));
    }

    /// The growth of a slope from step length 0, in its unit. NaN becomes 0; the evaluation that
    /// follows reports it.
    pub fn push_slope(&mut self, grown: f64, agents: usize) {
        let largest = largest_slope(agents) as f64;
        let grown = grown.round().clamp(0.0, largest) as i64;
        first(&mut self.slopes, 1).fill(grown);
    }

    /// The terms of a certificate of infeasibility, rounded to the safe side.
    pub fn push_proof(&mut self, seen: f64, support: f64, unit: f64) {
        let largest = ((1_i64 << (PROOF_BITS - 1)) - 1) as f64;
        let seen = (seen / unit).floor().clamp(-largest, largest);
        // A support beyond the range proves nothing.
        let support = (support / unit).ceil().clamp(-largest, largest);
        let to = first(&mut self.terms, TERMS).iter_mut();
        to.zip([seen, support])
            .for_each(|(to, term)| *to = term as i64);
    }
}

/// The sum over all agents of what they sent for one sample.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub part: Option<Evaluated<'a>>,
    pub slopes: &'a [i64],
    pub terms: &'a [i64],
}

/// The sum over all agents of an evaluation.
#[derive(Debug)]
pub(super) struct Evaluated<'a> {
    /// The sum of the differences in units of the entries.
    pub differences: &'a [i64],
    /// A bound of the norm of the error that remains in the sum of the parts.
    pub error: f64,
    pub clipped: bool,
    pub large: bool,
    /// Whether the part of some agent is not finite.
    pub trouble: bool,
    /// The sum of the local costs without f*.
    pub cost: f64,
}

/// The answers to `tasks` from the total of all replies; `None` if their numbers differ.
pub(super) fn answers<'a>(
    total: &'a [i64],
    tasks: &[Task],
    rows: usize,
    bits: u32,
) -> Option<Vec<Answer<'a>>> {
    let parts = tasks.iter().filter(|task| task.scales().is_some()).count();
    let points = tasks.iter().map(|task| task.points().len()).sum();
    let mut rest = total;
    let mut section = |length: usize| {
        let (own, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(own)
    };
    let mut entries = section(parts * (rows + 1))?.chunks_exact(rows + 1);
    let mut flags = section(parts * FLAGS)?.chunks_exact(FLAGS);
    let mut costs = section(parts)?.iter();
    let mut slopes = section(points)?;
    let mut terms = rest;
    let mut answer = |task: &Task| {
        let part = match task.scales() {
            Some(scales) => {
                let own = (entries.next()?, flags.next()?, *costs.next()?);
                Some(Evaluated::new(own, scales, bits))
            }
            None => None,
        };
        let (own, after) = slopes.split_at_checked(task.points().len())?;
        slopes = after;
        let proof = if matches!(task, Task::Prove(Proof { .. })) {
            TERMS
        } else {
            0
        };
        let (proof, after) = terms.split_at_checked(proof)?;
        terms = after;
        Some(Answer {
            part,
            slopes: own,
            terms: proof,
        })
    };
    let answers = tasks.iter().map(&mut answer).collect::<Option<_>>()?;
    terms.is_empty().then_some(answers)
}

impl<'a> Evaluated<'a> {
    fn new((own, flags, cost): (&'a [i64], &[i64], i64), scales: Scales, bits: u32) -> Self {
        let rows = own.len() - 1;
        let is_set = |i: usize| flags[i] != 0;
        let error = own[rows] as f64 * power(error_unit(rows, bits)) * power(scales.part);
        Evaluated {
            differences: &own[..rows],
            error: if is_set(0) { f64::INFINITY } else { error },
            clipped: is_set(1),
            large: is_set(2),
            trouble: is_set(3),
            cost: cost as f64 * power(scales.cost),
        }
    }
}
