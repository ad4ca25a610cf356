//! The broadcasts of the root, as bit strings.

use crate::strategy::integers::{BitReader, Bits};
use crate::strategy::Certified;
use crate::Stop;

/// Bits of an exponent of two; those of all finite numbers fit.
const EXPONENT: u32 = 12;
/// Bits of the kind of an order.
const KIND: u32 = 2;
/// Bits of a grid of step lengths.
const GRID: u32 = 2;
/// Bits of an outcome.
const STOP: u32 = 2;

/// The outcomes that a root may report, by their number.
const STOPS: [Stop; 4] = [
    Stop::Converged,
    Stop::RoundLimit,
    Stop::Diverged,
    Stop::Infeasible,
];

/// One broadcast. Lists have one entry per sample that is being coded, in their order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Order {
    /// Evaluate the parts at the current nu.
    Evaluate(Vec<Scales>),
    /// These samples have ended (`Some`); the others get a direction each.
    Next {
        ended: Vec<Option<Certified>>,
        probes: Vec<Probe>,
    },
    /// Step along the directions and evaluate the parts there.
    Step(Vec<(f32, Scales)>),
    /// Contribute to a certificate of infeasibility for the samples with a direction.
    Prove(Vec<Option<Proof>>),
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
    pub grid: Grid,
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

/// The step lengths at which agents evaluate their slopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grid {
    /// Around 1, for quasi-Newton directions.
    Near,
    /// Up to 1, for directions that end at the boundary of the dual domain.
    Bounded,
    /// Over six orders of magnitude, for the first direction.
    Wide,
}

/// The number of step lengths of a grid. Eight points lead to as many sums as 24 do.
pub(super) const POINTS: usize = 8;

impl Grid {
    const ALL: [Grid; 3] = [Grid::Near, Grid::Bounded, Grid::Wide];

    /// The step lengths, ascending.
    pub fn points(self) -> [f64; POINTS] {
        std::array::from_fn(|i| match self {
            // Factors of about 1.7 from .1 to 4.
            Grid::Near => [0.1, 0.17, 0.29, 0.5, 0.84, 1.4, 2.4, 4.0][i],
            Grid::Bounded => (i + 1) as f64 / POINTS as f64,
            Grid::Wide => 8.0_f64.powi(i as i32 - 6),
        })
    }
}

impl Order {
    /// The order as bytes; the entries of directions have `bits` bits.
    pub fn encode(&self, bits: u32) -> Vec<u8> {
        let mut out = Bits::default();
        match self {
            Order::Evaluate(each) => {
                out.push(KIND, 0);
                each.iter().for_each(|scales| push_scales(&mut out, scales));
            }
            Order::Next { ended, probes } => {
                out.push(KIND, 1);
                for ended in ended {
                    out.push(1, u64::from(ended.is_some()));
                    if let Some(certified) = ended {
                        push_certified(&mut out, certified);
                    }
                }
                for probe in probes {
                    out.push(GRID, probe.grid as u64);
                    push_exponent(&mut out, probe.unit);
                    push_exponent(&mut out, probe.slope);
                    probe.q.iter().for_each(|q| out.push(bits, *q as u64));
                }
            }
            Order::Step(each) => {
                out.push(KIND, 2);
                for (t, scales) in each {
                    out.push(u32::BITS, u64::from(t.to_bits()));
                    push_scales(&mut out, scales);
                }
            }
            Order::Prove(each) => {
                out.push(KIND, 3);
                for proof in each {
                    out.push(1, u64::from(proof.is_some()));
                    if let Some(proof) = proof {
                        out.push(u64::BITS, proof.size.to_bits());
                        push_exponent(&mut out, proof.unit);
                        let entries = proof.direction.iter();
                        entries.for_each(|d| out.push(u64::BITS, d.to_bits()));
                    }
                }
            }
        }
        out.finish()
    }

    /// The order for `samples` samples of `rows` rows; `None` if the bytes are no such order.
    pub fn decode(bytes: &[u8], samples: usize, rows: usize, bits: u32) -> Option<Order> {
        let mut from = BitReader::new(bytes);
        let from = &mut from;
        let order = match from.take(KIND)? {
            0 => Order::Evaluate(
                (0..samples)
                    .map(|_| take_scales(from))
                    .collect::<Option<_>>()?,
            ),
            1 => {
                let ended = (0..samples).map(|_| {
                    Some(match from.take(1)? {
                        0 => None,
                        _ => Some(take_certified(from)?),
                    })
                });
                let ended: Vec<Option<Certified>> = ended.collect::<Option<_>>()?;
                let left = ended.iter().filter(|ended| ended.is_none()).count();
                let probes = (0..left).map(|_| take_probe(from, rows, bits));
                let probes = probes.collect::<Option<_>>()?;
                Order::Next { ended, probes }
            }
            2 => {
                let each = (0..samples).map(|_| {
                    let t = f32::from_bits(from.take(u32::BITS)? as u32);
                    t.is_finite().then_some((t, take_scales(from)?))
                });
                Order::Step(each.collect::<Option<_>>()?)
            }
            _ => {
                let each = (0..samples).map(|_| {
                    Some(match from.take(1)? {
                        0 => None,
                        _ => Some(take_proof(from, rows)?),
                    })
                });
                Order::Prove(each.collect::<Option<_>>()?)
            }
        };
        from.is_finished().then_some(order)
    }
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

fn take_probe(from: &mut BitReader, rows: usize, bits: u32) -> Option<Probe> {
    let grid = *Grid::ALL.get(from.take(GRID)? as usize)?;
    let (unit, slope) = (take_exponent(from)?, take_exponent(from)?);
    let q = (0..rows).map(|_| Some(from.take_signed(bits)? as i32));
    Some(Probe {
        grid,
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

    fn orders() -> Vec<Order> {
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
        let probe = |grid| Probe {
            grid,
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
            Order::Evaluate(vec![scales; 3]),
            Order::Next {
                ended: vec![None, Some(certified), None],
                probes: vec![probe(Grid::Near), probe(Grid::Wide)],
            },
            Order::Next {
                ended: vec![Some(certified); 3],
                probes: vec![],
            },
            Order::Step(vec![(0.25, scales), (3.0, scales), (1e-9, scales)]),
            Order::Prove(vec![None, Some(proof), None]),
        ]
    }

    #[test]
    fn orders_survive_encoding_and_damage_is_noticed() {
        for order in orders() {
            let bytes = order.encode(8);
            assert_eq!(Order::decode(&bytes, 3, 3, 8), Some(order.clone()));
            for length in 0..bytes.len() {
                assert_eq!(Order::decode(&bytes[..length], 3, 3, 8), None, "{order:?}");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(Order::decode(&longer, 3, 3, 8), None);
            assert_ne!(Order::decode(&bytes, 2, 3, 8), Some(order));
        }
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
