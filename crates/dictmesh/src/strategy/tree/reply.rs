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

/// The integers of one agent, by their width.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// The entries of parts with their errors.
    pub entries: Vec<i64>,
    flags: Vec<i64>,
    costs: Vec<i64>,
    slopes: Vec<i64>,
    terms: Vec<i64>,
}

impl Reply {
    /// The flags and the local cost of a part whose entries have been sent.
    pub fn push_cost(&mut self, sent: &Sent, cost: f64, unit: f64) {
        let largest = ((1_i64 << (COST_BITS - 1)) - 1) as f64;
        let cost = (cost / unit).round();
        let saturated = sent.saturated || cost.abs() > largest;
        let trouble = !sent.finite || !cost.is_finite();
        let cost = if trouble { 0.0 } else { cost };
        self.costs.push(cost.clamp(-largest, largest) as i64);
        let flags = [saturated, sent.clipped, sent.large, trouble];
        self.flags.extend(flags.map(i64::from));
    }

    /// The growth of a slope from step length 0, in its unit. NaN becomes 0; the evaluation that
    /// follows reports it.
    pub fn push_slope(&mut self, grown: f64, agents: usize) {
        let largest = largest_slope(agents) as f64;
        self.slopes.push(grown.round().clamp(0.0, largest) as i64);
    }

    /// The terms of a certificate of infeasibility, rounded to the safe side.
    pub fn push_proof(&mut self, seen: f64, support: f64, unit: f64) {
        let largest = ((1_i64 << (PROOF_BITS - 1)) - 1) as f64;
        let seen = (seen / unit).floor().clamp(-largest, largest);
        // A support beyond the range proves nothing.
        let support = (support / unit).ceil().clamp(-largest, largest);
        self.terms.extend([seen as i64, support as i64]);
    }

    /// All integers in sections, for entries of `bits` bits.
    pub fn write(&self, bits: u32, agents: usize, out: &mut Integers) {
        out.clear();
        let sections = [
            (bits, &self.entries),
            (FLAG_BITS, &self.flags),
            (COST_BITS, &self.costs),
            (slope_bits(agents) + 1, &self.slopes),
            (PROOF_BITS, &self.terms),
        ];
        for (bits, values) in sections {
            if !values.is_empty() {
                out.push(width_of_sum(bits, agents), values.iter().copied());
            }
        }
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
