//! How scores are spread, and where the threshold lies.

use super::chart::{Chart, Key, Labels, Sign};
use crate::canvas::numbers::number;
use crate::canvas::palette::{series, WARN};
use crate::canvas::ticks::{Axis, Ends, Scale};
use crate::canvas::Canvas;
use crate::picture::thousands;

/// Groups of values, for example the scores of the known and of the novel.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// What is shown, for those who do not see it.
    pub title: String,
    /// What the values measure.
    pub x: String,
    /// Name and values of each group; values that are not finite are not counted.
    pub groups: Vec<(String, Vec<f64>)>,
    /// Above it a value is called novel.
    pub threshold: Option<f64>,
}

impl Histogram {
    pub fn draw(&self) -> Canvas {
        let finite = |values: &[f64]| -> Vec<f64> {
            values.iter().copied().filter(|v| v.is_finite()).collect()
        };
        let groups: Vec<Vec<f64>> = self.groups.iter().map(|g| finite(&g.1)).collect();
        let all = || groups.iter().flatten().copied();
        // The threshold is on the sheet even if nothing came near it.
        let shown = all().chain(self.threshold);
        let x = Axis::new(Scale::Linear, Ends::Round, shown);
        let bins =
            ((groups.iter().map(Vec::len).max().unwrap_or(0) as f64).sqrt() as usize).clamp(8, 40);
        let counts: Vec<Vec<f64>> = groups.iter().map(|g| count(g, &x, bins)).collect();
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
            y: "how many",
            legend: &legend,
        };
        let mut chart = Chart::new(&labels, x, y, 200.0);
        chart.tell_if_empty(groups.iter().flatten().map(|&v| (v, 0.0)));
        let plot = chart.plot;
        let w = plot.w / bins as f32;
        let alpha = if groups.len() > 1 { 0.6 } else { 0.85 };
        for (i, counts) in counts.iter().enumerate() {
            for (bin, &n) in counts.iter().enumerate().filter(|c| *c.1 > 0.0) {
                let h = chart.y.at(n).unwrap_or(0.0) * plot.h;
                let x = plot.x + bin as f32 * w;
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

/// How many values fall in each part of the axis.
fn count(values: &[f64], x: &Axis, bins: usize) -> Vec<f64> {
    let mut counts = vec![0.0; bins];
    for at in values.iter().filter_map(|&v| x.at(v)) {
        let bin = ((at * bins as f32) as usize).min(bins - 1);
        counts[bin] += 1.0;
    }
    counts
}
