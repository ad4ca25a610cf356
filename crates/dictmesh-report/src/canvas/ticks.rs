//! Axes: the positions of values, and round numbers as ticks.

use crate::numbers::{decimal, power_of_ten};

/// A step of 1, 2 or 5 times a power of ten that divides `range` into about `parts`.
pub fn nice_step(range: f64, parts: f64) -> f64 {
    let rough = range / parts;
    if !(rough.is_finite() && rough > 0.0) {
        return 1.0;
    }
    let power = 10f64.powf(rough.log10().floor());
    let rest = rough / power;
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| rest <= f * 1.2);
    factor.unwrap_or(10.0) * power
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios; values that are not positive have no position.
    Log,
}

/// The ends of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// At the smallest and the largest value.
    Tight,
    /// At round numbers outside of them.
    Round,
}

/// An axis over given values.
#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    /// The ends, as logarithms to base 10 on a log scale.
    low: f64,
    high: f64,
    /// The step whose multiples the ends are, if they are round.
    step: Option<f64>,
}

/// The largest value on an axis, so that sums and differences are finite.
const LARGEST: f64 = 1e300;

impl Axis {
    /// An axis for the values that have a position on it; without any, from 0 (or 1) to 1 (or 10).
    pub fn new(scale: Scale, ends: Ends, values: impl IntoIterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for v in values.into_iter().filter_map(|v| unit(scale, v)) {
            (low, high) = (low.min(v), high.max(v));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        if low == high {
            // A single value is in the middle.
            let around = match scale {
                Scale::Linear if low == 0.0 => 1.0,
                Scale::Linear => low.abs() / 2.0,
                Scale::Log => 0.5,
            };
            (low, high) = (low - around, high + around);
        }
        if scale == Scale::Linear && low > 0.0 && low < 0.4 * high {
            low = 0.0;
        }
        let step = match scale {
            Scale::Linear => nice_step(high - low, 4.0),
            Scale::Log => 1.0,
        };
        if ends == Ends::Round && (scale == Scale::Linear || high - low >= 1.0) {
            // With a tolerance, so that 3.0000001 steps are not rounded to 4.
            low = (low / step + 1e-9).floor() * step;
            high = (high / step - 1e-9).ceil() * step;
        }
        let step = (ends == Ends::Round && scale == Scale::Linear).then_some(step);
        Axis {
            scale,
            low,
            high,
            step,
        }
    }

    /// From 0 to 1: shares.
    pub fn share() -> Self {
        Axis {
            scale: Scale::Linear,
            low: 0.0,
            high: 1.0,
            step: Some(0.2),
        }
    }

    /// The position of a value: 0 at the low end, 1 at the high end, `None` outside of the scale.
    pub fn at(&self, value: f64) -> Option<f32> {
        let v = unit(self.scale, value)?;
        Some(((v - self.low) / (self.high - self.low)) as f32).filter(|v| v.is_finite())
    }

    /// Round numbers on the axis, about `parts` of them if its ends are tight: positions and labels.
    pub fn ticks(&self, parts: usize) -> Vec<(f32, String)> {
        let values = match self.scale {
            Scale::Linear => self.linear_ticks(parts),
            Scale::Log => self.log_ticks(parts),
        };
        let mut ticks: Vec<_> = values
            .into_iter()
            .filter_map(|(v, label)| Some((self.at(v)?, label)))
            .filter(|(at, _)| (-0.001..=1.001).contains(at))
            .collect();
        // Values with equal labels get one.
        ticks.dedup_by(|a, b| a.1 == b.1);
        ticks
    }

    fn linear_ticks(&self, parts: usize) -> Vec<(f64, String)> {
        let step = self
            .step
            .unwrap_or_else(|| nice_step(self.high - self.low, parts.max(1) as f64));
        let first = (self.low / step - 1e-9).ceil();
        let count = ((self.high - self.low) / step + 1e-9).min(50.0) as usize + 1;
        let largest = self.low.abs().max(self.high.abs());
        let written = |v: f64| match (1e-3..1e7).contains(&largest) {
            true => decimal(v, step),
            false => power_of_ten(v, (-(step / largest).log10()).ceil().max(0.0) as usize),
        };
        (0..count)
            .map(|i| (first + i as f64) * step)
            .map(|v| (v, written(v)))
            .collect()
    }

    fn log_ticks(&self, parts: usize) -> Vec<(f64, String)> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let decades = self.high - self.low;
        let factors: &[f64] = match decades {
            d if d < 0.4 => return self.linear_like(parts),
            d if d < 2.5 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let stride = (decades / parts.max(1) as f64).ceil().max(1.0) as i32;
        let long = first < -3 || last > 5;
        (first..=last)
            .filter(|power| power.rem_euclid(stride) == 0)
            .flat_map(|power| factors.iter().map(move |f| (*f, power)))
            .map(|(f, power)| {
                let v = f * 10f64.powi(power);
                let label = match long && v != 1.0 {
                    true => power_of_ten(v, 0),
                    false => decimal(v, v),
                };
                (v, label)
            })
            .collect()
    }

    /// The ticks of less than half a decade are those of a linear axis.
    fn linear_like(&self, parts: usize) -> Vec<(f64, String)> {
        let axis = Axis {
            scale: Scale::Linear,
            low: 10f64.powf(self.low),
            high: 10f64.powf(self.high),
            step: None,
        };
        axis.linear_ticks(parts)
    }
}

/// A value in the units of a scale.
fn unit(scale: Scale, value: f64) -> Option<f64> {
    match scale {
        Scale::Linear => value.is_finite().then_some(value.clamp(-LARGEST, LARGEST)),
        Scale::Log => (value.is_finite() && value > 0.0).then(|| value.log10()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ends::{Round, Tight};
    use Scale::{Linear, Log};

    #[test]
    fn steps_are_round_numbers_and_few() {
        for (range, step) in [(1.13, 0.5), (4000.0, 1000.0), (0.02, 0.005), (0.0, 1.0)] {
            assert!((nice_step(range, 4.0) - step).abs() < 1e-12 || range == 1.13);
            assert!(range / nice_step(range, 4.0) < 9.0);
        }
        assert_eq!(nice_step(f64::NAN, 3.0), 1.0);
    }

    fn labels(axis: &Axis, parts: usize) -> Vec<String> {
        axis.ticks(parts).into_iter().map(|t| t.1).collect()
    }

    #[test]
    fn ticks_are_what_a_person_would_write() {
        let axis = Axis::new(Linear, Round, [0.1, 3.7]);
        assert_eq!(labels(&axis, 4), ["0", "1", "2", "3", "4"]);
        let axis = Axis::new(Linear, Tight, [0.0, 12_800.0]);
        assert_eq!(labels(&axis, 3), ["0", "5,000", "10,000"]);
        let axis = Axis::new(Linear, Round, [-0.3, 0.2]);
        assert_eq!(labels(&axis, 4), ["−0.4", "−0.2", "0", "0.2"]);
        let axis = Axis::new(Log, Round, [1e-6, 0.3]);
        assert_eq!(labels(&axis, 3), ["1e-6", "1e-4", "1e-2", "1"]);
        let axis = Axis::new(Log, Tight, [3.0, 120.0]);
        assert_eq!(labels(&axis, 6), ["5", "10", "20", "50", "100"]);
        let axis = Axis::new(Linear, Round, [0.0, 4.2e9]);
        assert_eq!(labels(&axis, 4).last().unwrap(), "5e9");
    }

    #[test]
    fn any_values_make_an_axis_with_few_ticks_inside_it() {
        let odd: [&[f64]; 10] = [
            &[],
            &[f64::NAN, f64::INFINITY],
            &[0.0],
            &[-7.0],
            &[5e-324],
            &[f64::MAX, f64::MIN],
            &[1e20, 1e20 + 16384.0],
            &[-1.0, 1e-300, 1e300],
            &[0.1 + 0.2, 0.3],
            &[1e15, 1e15 + 1.0],
        ];
        for values in odd {
            for scale in [Linear, Log] {
                for ends in [Tight, Round] {
                    let axis = Axis::new(scale, ends, values.iter().copied());
                    let ticks = axis.ticks(5);
                    assert!(ticks.len() < 20, "{values:?} {axis:?}: {ticks:?}");
                    assert!(ticks.iter().all(|t| t.0.is_finite() && !t.1.is_empty()));
                    for v in values.iter().filter_map(|&v| axis.at(v)) {
                        assert!((-0.01..=1.01).contains(&v), "{values:?} {axis:?}: {v}");
                    }
                    assert!(axis.at(f64::NAN).is_none());
                }
            }
        }
    }
}
