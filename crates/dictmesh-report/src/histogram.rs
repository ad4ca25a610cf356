//! Histograms of scores with a threshold.

use super::chart::{Chart, Key, Labels, Sign};
use crate::canvas::palette::{series, WARN};
use crate::canvas::ticks::{Axis, Ends, Scale};
use crate::canvas::Canvas;
use crate::numbers::{number, thousands};

/// Groups of values, for example the scores of known and of novel samples.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The description for screen readers.
    pub title: String,
    /// What the values measure.
    pub x: String,
    /// Name and values of each group; values that are not finite are not counted.
    pub groups: Vec<(String, Vec<f64>)>,
    /// Values above it are novel.
    pub threshold: Option<f64>,
}

impl Histogram {
    /// Draws the groups over the same bins.
    pub fn draw(&self) -> Canvas {
        let finite = |values: &[f64]| -> Vec<f64> {
            values.iter().copied().filter(|v| v.is_finite()).collect()
        };
        let groups: Vec<Vec<f64>> = self.groups.iter().map(|g| finite(&g.1)).collect();
        let bins = Bins::of(&groups, self.threshold);
        let counts: Vec<Vec<f64>> = groups.iter().map(|g| bins.count(g)).collect();
        let highest = counts.iter().flatten().copied().chain([0.0, 1.0]);
        let y = Axis::new(Scale::Linear, Ends::Round, highest);
        let legend: Vec<Key> = match self.groups.len() {
            0 | 1 => Vec::new(),
            _ => (0..groups.len())
                .map(|i| Key {
                    name: {
                        let n = thousands(groups[i].len() as u64);
                        format!("{} ({n})", self.groups[i].0)
                    },
                    sign: Sign::Box,
                    ink: series(i).alpha(0.6),
                })
                .collect(),
        };
        let labels = Labels {
            title: &self.title,
            x: &self.x,
            y: "count",
            legend: &legend,
        };
        let (start, width) = (bins.start, bins.width);
        let mut chart = Chart::new(&labels, bins.x, y, 200.0);
        chart.tell_if_empty(groups.iter().flatten().map(|&v| (v, 0.0)));
        let plot = chart.plot;
        let w = plot.w * width;
        let alpha = if groups.len() > 1 { 0.6 } else { 0.85 };
        for (i, counts) in counts.iter().enumerate() {
            for (bin, &n) in counts.iter().enumerate().filter(|c| *c.1 > 0.0) {
                let h = chart.y.at(n).unwrap_or(0.0) * plot.h;
                let x = plot.x + start * plot.w + bin as f32 * w;
                let y = plot.bottom() - h;
                chart
                    .canvas
                    .rect(x + 0.5, y, w - 1.0, h, series(i).alpha(alpha));
            }
        }
        if let Some(threshold) = self.threshold {
            chart.cut(threshold, &format!("threshold {}", number(threshold)), WARN);
        }
        chart.canvas
    }
}

/// Bars of a histogram, at most.
const BARS: usize = 40;

/// Equal parts of an axis, by shares of its length.
struct Bins {
    start: f32,
    width: f32,
    count: usize,
    x: Axis,
}

impl Bins {
    fn of(groups: &[Vec<f64>], threshold: Option<f64>) -> Self {
        let all = || groups.iter().flatten().copied();
        // The axis includes the threshold.
        let shown = all().chain(threshold);
        let Some((low, high)) = whole(all()) else {
            let most = groups.iter().map(Vec::len).max().unwrap_or(0);
            let count = ((most as f64).sqrt() as usize).clamp(8, BARS);
            return Bins {
                start: 0.0,
                width: 1.0 / count as f32,
                count,
                x: Axis::new(Scale::Linear, Ends::Round, shown),
            };
        };
        let ends = shown.chain([low - 0.5, high + 0.5]);
        let x = Axis::new(Scale::Linear, Ends::Round, ends);
        // A bar for each number, or for equally many numbers each.
        let each = ((high - low + 1.0) / BARS as f64).ceil().max(1.0);
        let at = |v: f64| x.at(v).unwrap_or(0.0);
        let start = at(low - 0.5);
        Bins {
            start,
            width: at(low - 0.5 + each) - start,
            count: ((high - low + 1.0) / each).ceil() as usize,
            x,
        }
    }

    /// The number of values in each bin.
    fn count(&self, values: &[f64]) -> Vec<f64> {
        let mut counts = vec![0.0; self.count];
        for at in values.iter().filter_map(|&v| self.x.at(v)) {
            let bin = ((at - self.start) / self.width) as usize;
            counts[bin.min(self.count - 1)] += 1.0;
        }
        counts
    }
}

/// The lowest and the highest, if all are integers: bins with one integer in some and two in others would show gaps
/// that the data do not have.
fn whole(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let countable = |v: f64| v == v.round() && v.abs() < 1e6;
    (low <= high && values.clone().all(countable)).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 30, equally often: bars of equal height.
    #[test]
    fn whole_numbers_have_a_bar_each() {
        let values = || (1..=30).flat_map(|v| [v as f64; 9]);
        assert_eq!(whole(values()), Some((1.0, 30.0)));
        assert_eq!(whole([0.5, 1.0].into_iter()), None);
        assert_eq!(whole(std::iter::empty()), None);
        let plot = Histogram {
            title: "t".into(),
            x: "x".into(),
            groups: vec![("all".into(), values().collect())],
            threshold: None,
        };
        let svg = plot.draw().svg();
        let alone = Histogram {
            groups: vec![("all".into(), vec![3.0; 9])],
            ..plot
        };
        let bars = |svg: &str| svg.matches(&series(0).hex()).count();
        assert_eq!(bars(&svg), 30);
        assert_eq!(bars(&alone.draw().svg()), 1);
    }
}
