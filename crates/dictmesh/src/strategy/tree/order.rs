//! The broadcasts of the root, as bit strings.

use crate::strategy::integers::{BitReader, Bits};
use crate::strategy::Certified;
use crate::Stop;

/// Bits of an exponent of two; those of all finite numbers fit.
const EXPONENT: u32 = 12;
/// Bits of the kind of a task.
const KIND: u32 = 3;
/// Bits of an outcome.
const STOP: u32 = 2;

/// The outcomes that a root may report, by their number.
const STOPS: [Stop; 4] = [
    Stop::Converged,
    Stop::RoundLimit,
    Stop::Diverged,
    Stop::Infeasible,
];

/// What all agents do next for one sample. A broadcast has one task for each sample that is being
/// coded, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Task {
    /// The sample has ended at its nu.
    End(Certified),
    /// Send the part at nu.
    Evaluate(Scales),
    /// Take the direction p, and send the slopes along it at the step lengths of the grid.
    Slopes(Grid, Probe),
    /// Take the direction p, step to nu + p, and send the part there. The slopes at the step
    /// lengths [`BELOW`] are sent with it: they show whether the step is too long, and a better
    /// one.
    Trial(Probe, Scales),
    /// Step to nu + shift p, and send the part there.
    Step(f32, Scales),
    /// Send the terms of a certificate of infeasibility.
    Prove(Proof),
}

/// The units of an evaluation, as exponents of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scales {
    /// The unit of the entries of a part.
    pub part: i32,
    /// The unit of the local cost.
    pub cost: i32,
}

/// A search direction p = 2^unit q with integers q.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Probe {
    pub unit: i32,
    /// The unit of the slopes, as an exponent of two.
    pub slope: i32,
    pub q: Vec<i32>,
}

/// A direction that may separate a sample from all combinations of atoms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Proof {
    /// The magnitude of the sample.
    pub size: f64,
    /// The unit of the replies, as an exponent of two.
    pub unit: i32,
    pub direction: Vec<f64>,
}

/// The step lengths at which agents send their slopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grid {
    /// [`WIDE`].
    Wide,
    /// [`CLOSE`].
    Close,
}

impl Grid {
    /// The step lengths, ascending.
    pub fn points(self) -> &'static [f64] {
        match self {
            Grid::Wide => &WIDE,
            Grid::Close => &CLOSE,
        }
    }
}

/// Step lengths around those of quasi-Newton directions from few pairs; ascending.
const CLOSE: [f64; 8] = [0.01, 0.03, 0.08, 0.17, 0.33, 0.62, 1.1, 2.0];

/// Step lengths over six orders of magnitude, for directions without a scale; ascending.
const WIDE: [f64; 8] = {
    let (mut points, mut i) = ([1.0 / 262_144.0; 8], 1);
    while i < 8 {
        points[i] = 8.0 * points[i - 1];
        i += 1;
    }
    points
};

/// Step lengths up to that of a trial, which is 1; ascending.
pub(super) const BELOW: [f64; 5] = [0.06, 0.15, 0.3, 0.55, 1.0];

impl Task {
    /// The step lengths at which slopes are sent.
    pub fn points(&self) -> &'static [f64] {
        match self {
            Task::Slopes(grid, _) => grid.points(),
            Task::Trial(..) => &BELOW,
            _ => &[],
        }
    }

    /// The units of the part, if one is sent.
    pub fn scales(&self) -> Option<Scales> {
        match self {
            Task::Evaluate(scales) | Task::Trial(_, scales) | Task::Step(_, scales) => {
                Some(*scales)
            }
            _ => None,
        }
    }

    fn push(&self, out: &mut Bits, bits: u32) {
        match self {
            Task::End(certified) => {
                out.push(KIND, 0);
                push_certified(out, certified);
            }
            Task::Evaluate(scales) => {
                out.push(KIND, 1);
                push_scales(out, scales);
            }
            Task::Slopes(grid, probe) => {
                out.push(KIND, 2);
                out.push(1, u64::from(*grid == Grid::Close));
                push_probe(out, probe, bits);
            }
            Task::Trial(probe, scales) => {
                out.push(KIND, 3);
                push_probe(out, probe, bits);
                push_scales(out, scales);
            }
            Task::Step(shift, scales) => {
                out.push(KIND, 4);
                out.push(u32::BITS, u64::from(shift.to_bits()));
                push_scales(out, scales);
            }
            Task::Prove(proof) => {
                out.push(KIND, 5);
                out.push(u64::BITS, proof.size.to_bits());
                push_exponent(out, proof.unit);
                let entries = proof.direction.iter();
                entries.for_each(|d| out.push(u64::BITS, d.to_bits()));
            }
        }
    }

    fn take(from: &mut BitReader, rows: usize, bits: u32) -> Option<Task> {
        Some(match from.take(KIND)? {
            0 => Task::End(take_certified(from)?),
            1 => Task::Evaluate(take_scales(from)?),
            2 => {
                let grid = match from.take(1)? {
                    0 => Grid::Wide,
                    _ => Grid::Close,
                };
                Task::Slopes(grid, take_probe(from, rows, bits)?)
            }
            3 => Task::Trial(take_probe(from, rows, bits)?, take_scales(from)?),
            4 => {
                let shift = f32::from_bits(from.take(u32::BITS)? as u32);
                Task::Step(Some(shift).filter(|t| t.is_finite())?, take_scales(from)?)
            }
            5 => Task::Prove(take_proof(from, rows)?),
            _ => return None,
        })
    }
}

/// The tasks as bytes; the entries of directions have `bits` bits.
pub(super) fn encode(tasks: &[Task], bits: u32) -> Vec<u8> {
    let mut out = Bits::default();
    tasks.iter().for_each(|task| task.push(&mut out, bits));
    out.finish()
}

/// The tasks for `samples` samples of `rows` rows; `None` if the bytes are no such tasks.
pub(super) fn decode(bytes: &[u8], samples: usize, rows: usize, bits: u32) -> Option<Vec<Task>> {
    let mut from = BitReader::new(bytes);
    let tasks = (0..samples).map(|_| Task::take(&mut from, rows, bits));
    let tasks = tasks.collect::<Option<_>>()?;
    from.is_finished().then_some(tasks)
}

fn push_exponent(out: &mut Bits, exponent: i32) {
    out.push(EXPONENT, exponent as u64);
}

fn take_exponent(from: &mut BitReader) -> Option<i32> {
    Some(from.take_signed(EXPONENT)? as i32)
}

fn push_scales(out: &mut Bits, scales: &Scales) {
    push_exponent(out, scales.part);
    push_exponent(out, scales.cost);
}

fn take_scales(from: &mut BitReader) -> Option<Scales> {
    Some(Scales {
        part: take_exponent(from)?,
        cost: take_exponent(from)?,
    })
}

fn push_certified(out: &mut Bits, certified: &Certified) {
    let stop = STOPS.iter().position(|stop| *stop == certified.stop);
    out.push(STOP, stop.unwrap_or(1) as u64);
    for value in [certified.cost, certified.gap, certified.violation] {
        out.push(u64::BITS, value.to_bits());
    }
}

fn take_certified(from: &mut BitReader) -> Option<Certified> {
    let stop = *STOPS.get(from.take(STOP)? as usize)?;
    let mut value = || Some(f64::from_bits(from.take(u64::BITS)?));
    Some(Certified {
        cost: value()?,
        gap: value()?,
        violation: value()?,
        stop,
    })
}

fn push_probe(out: &mut Bits, probe: &Probe, bits: u32) {
    push_exponent(out, probe.unit);
    push_exponent(out, probe.slope);
    probe.q.iter().for_each(|q| out.push(bits, *q as u64));
}

fn take_probe(from: &mut BitReader, rows: usize, bits: u32) -> Option<Probe> {
    let (unit, slope) = (take_exponent(from)?, take_exponent(from)?);
    let q = (0..rows).map(|_| Some(from.take_signed(bits)? as i32));
    Some(Probe {
        unit,
        slope,
        q: q.collect::<Option<_>>()?,
    })
}

fn take_proof(from: &mut BitReader, rows: usize) -> Option<Proof> {
    let size = f64::from_bits(from.take(u64::BITS)?);
    let unit = take_exponent(from)?;
    let mut finite = || Some(f64::from_bits(from.take(u64::BITS)?)).filter(|v| v.is_finite());
    let direction = (0..rows).map(|_| finite()).collect::<Option<_>>()?;
    size.is_finite().then_some(Proof {
        size,
        unit,
        direction,
    })
}

/// 2^exponent, for exponents of finite numbers.
pub(super) fn power(exponent: i32) -> f64 {
    // Two factors: 2^-1074 is no normal number, and powi of 0.5 rounds it to 0 on the way.
    let half = exponent / 2;
    2.0_f64.powi(half) * 2.0_f64.powi(exponent - half)
}

/// The least e with |value| <= 2^e for a normal number, from its bits; -1022 below those.
pub(super) fn exponent_of(value: f64) -> i32 {
    let (bits, bias) = (value.abs().to_bits(), f64::MAX_EXP - 1);
    let mantissa = bits & ((1 << (f64::MANTISSA_DIGITS - 1)) - 1);
    let exponent = (bits >> (f64::MANTISSA_DIGITS - 1)) as i32 - bias;
    (exponent + i32::from(mantissa != 0)).clamp(f64::MIN_EXP - 1, f64::MAX_EXP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks() -> Vec<Task> {
        let scales = Scales {
            part: -1074,
            cost: 1023,
        };
        let certified = Certified {
            cost: 1.5,
            gap: f64::INFINITY,
            violation: 0.0,
            stop: Stop::Infeasible,
        };
        let probe = Probe {
            unit: -7,
            slope: 12,
            q: vec![127, -127, 0],
        };
        let proof = Proof {
            size: 2.0,
            unit: -40,
            direction: vec![0.5, -1.0, 1e-300],
        };
        vec![
            Task::End(certified),
            Task::Evaluate(scales),
            Task::Slopes(Grid::Wide, probe.clone()),
            Task::Slopes(Grid::Close, probe.clone()),
            Task::Trial(probe, scales),
            Task::Step(-0.25, scales),
            Task::Prove(proof),
        ]
    }

    #[test]
    fn tasks_survive_encoding_and_damage_is_noticed() {
        let each = tasks().into_iter().map(|task| vec![task]);
        for tasks in each.chain([tasks(), [tasks(), tasks()].concat()]) {
            let (bytes, count) = (encode(&tasks, 8), tasks.len());
            assert_eq!(decode(&bytes, count, 3, 8), Some(tasks.clone()));
            for length in 0..bytes.len() {
                assert_eq!(decode(&bytes[..length], count, 3, 8), None, "{tasks:?}");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(decode(&longer, count, 3, 8), None);
            assert_ne!(decode(&bytes, count - 1, 3, 8), Some(tasks));
        }
        assert_eq!(decode(&[7], 1, 3, 8), None, "no such kind");
    }

    #[test]
    fn exponents_bound_their_numbers() {
        for value in [1.0, 0.75, 1e-300, 3e300, 127.0, f64::MIN_POSITIVE] {
            let exponent = exponent_of(-value);
            assert!(
                value <= power(exponent) && value > power(exponent - 1),
                "{value}"
            );
        }
        assert_eq!(power(-1074), 5e-324);
        assert_eq!(power(1023), 2.0_f64.powi(1023));
    }
}
