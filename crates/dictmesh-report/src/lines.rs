//! Curves over a linear or logarithmic axis: learning curves, costs, scaling.

use super::chart::{curve_pen, runs, Chart, Key, Labels, Sign};
use crate::canvas::palette::MUTED;
use crate::canvas::ticks::{Axis, Ends, Scale};
use crate::canvas::{Canvas, Pen};

/// Curves that share their axes.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The description for screen readers.
    pub title: String,
    /// The horizontal axis.
    pub x: AxisSpec,
    /// The vertical axis.
    pub y: AxisSpec,
    /// The curves; the first is on top.
    pub series: Vec<Series>,
    /// Values of the vertical axis to be reached or kept, with their labels.
    pub levels: Vec<(f64, String)>,
}

/// The label of an axis, with its unit, and its scale.
#[derive(Clone, Debug)]
pub struct AxisSpec {
    /// The quantity and its unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
}

impl AxisSpec {
    /// A linear axis.
    pub fn linear(label: &str) -> Self {
        AxisSpec {
            label: label.into(),
            scale: Scale::Linear,
        }
    }
    /// A logarithmic axis.
    pub fn log(label: &str) -> Self {
        AxisSpec {
            label: label.into(),
            scale: Scale::Log,
        }
    }
}

/// One curve; a point that is not finite (or not positive, on a log axis) is a gap in it.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// (x, y), in order of the line.
    pub points: Vec<(f64, f64)>,
    /// Drawn thin and pale, behind the others and without a legend: values before averaging.
    pub faint: bool,
}

impl Series {
    /// A curve with a legend.
    pub fn new(name: &str, points: Vec<(f64, f64)>) -> Self {
        Series {
            name: name.into(),
            points,
            faint: false,
        }
    }
}

/// The number of batches from which on the running mean spans several.
const SMOOTHED: usize = 50;

impl Lines {
    /// Whether the running mean of `costs` costs differs from them.
    pub fn smooths(costs: usize) -> bool {
        costs >= SMOOTHED
    }

    /// The cost of each mini-batch against the samples seen at its end, and its running mean.
    pub fn costs(costs: &[f64], ends: &[usize]) -> Self {
        let points = |values: &[f64]| {
            let ends = ends.iter().map(|end| *end as f64);
            ends.zip(values.iter().copied()).collect()
        };
        let mean = running_mean(costs, costs.len() / SMOOTHED);
        Lines {
            title: "Mean cost of a sample in each mini-batch".into(),
            x: AxisSpec::linear("samples"),
            y: AxisSpec::linear("cost of a sample"),
            series: vec![
                Series::new("running mean", points(&mean)),
                Series {
                    faint: true,
                    ..Series::new("mini-batches", points(costs))
                },
            ],
            levels: Vec::new(),
        }
    }

    /// Draws the curves.
    pub fn draw(&self) -> Canvas {
        let strong: Vec<&Series> = self.series.iter().filter(|s| !s.faint).collect();
        let legend: Vec<Key> = match strong.len() {
            0 | 1 => Vec::new(), // The axis says what it is.
            _ => strong.iter().enumerate().map(key).collect(),
        };
        let points = || self.series.iter().flat_map(|s| &s.points);
        // A point outside of one axis does not extend the other.
        let placed = |p: &&(f64, f64)| {
            let fits = |v: f64, s: Scale| v.is_finite() && (s == Scale::Linear || v > 0.0);
            fits(p.0, self.x.scale) && fits(p.1, self.y.scale)
        };
        let levels = self.levels.iter().map(|l| l.0);
        let xs = points().filter(placed).map(|p| p.0);
        let ys = points().filter(placed).map(|p| p.1).chain(levels);
        let mut chart = Chart::new(
            &Labels {
                title: &self.title,
                x: &self.x.label,
                y: &self.y.label,
                legend: &legend,
            },
            Axis::new(self.x.scale, Ends::Tight, xs),
            Axis::new(self.y.scale, Ends::Round, ys),
            220.0,
        );
        chart.tell_if_empty(points().copied());
        for (value, _) in &self.levels {
            chart.level(*value, MUTED);
        }
        for s in self.series.iter().filter(|s| s.faint) {
            let ink = curve_pen(0).ink.alpha(0.3);
            draw_series(&mut chart, s, Pen::new(1.0, ink));
        }
        if let [only] = strong[..] {
            shade_below(&mut chart, only);
        }
        for (i, s) in strong.iter().enumerate() {
            // A curve under others of the same course is wider, so that it is visible.
            let above = strong[i + 1..].iter().filter(|o| same_course(&chart, s, o));
            let mut pen = curve_pen(i);
            pen.width *= 1.0 + 0.7 * above.count().min(5) as f32;
            draw_series(&mut chart, s, pen);
        }
        for (value, label) in &self.levels {
            chart.level_label(*value, label, MUTED);
        }
        chart.canvas
    }
}

/// Whether two curves cover the same pixels, so that the lower one is hidden.
fn same_course(chart: &Chart, one: &Series, other: &Series) -> bool {
    let near = |(p, q): (&(f64, f64), &(f64, f64))| match (chart.place(*p), chart.place(*q)) {
        (Some(p), Some(q)) => (p.0 - q.0).abs() < 1.5 && (p.1 - q.1).abs() < 1.5,
        (p, q) => p.is_none() && q.is_none(),
    };
    one.points.len() == other.points.len() && one.points.iter().zip(&other.points).all(near)
}

fn key((i, series): (usize, &&Series)) -> Key {
    let pen = curve_pen(i);
    Key {
        name: series.name.clone(),
        sign: Sign::Line(pen.dash),
        ink: pen.ink,
    }
}

fn draw_series(chart: &mut Chart, series: &Series, pen: Pen) {
    let parts = runs(series.points.iter().map(|&p| chart.place(p)));
    let few = series.points.len() <= 16 && !series.faint;
    for part in &parts {
        chart.canvas.line(part, pen);
        if few || part.len() == 1 {
            for &(x, y) in part {
                chart.canvas.disc(x, y, 1.5 * pen.width, pen.ink);
            }
        }
    }
}

fn shade_below(chart: &mut Chart, series: &Series) {
    let bottom = chart.plot.bottom();
    for mut part in runs(series.points.iter().map(|&p| chart.place(p))) {
        if let (Some(first), Some(last)) = (part.first().copied(), part.last().copied()) {
            part.extend([(last.0, bottom), (first.0, bottom)]);
            chart.canvas.area(&part, curve_pen(0).ink.alpha(0.07));
        }
    }
}

/// The mean of the `2 half + 1` entries around every entry, fewer at the ends.
fn running_mean(values: &[f64], half: usize) -> Vec<f64> {
    (0..values.len())
        .map(|i| {
            let end = (i + half + 1).min(values.len());
            let part = &values[i.saturating_sub(half)..end];
            part.iter().sum::<f64>() / part.len() as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_mean_is_centred() {
        assert_eq!(running_mean(&[4.0, 2.0, 0.0, 1.0], 1), [3.0, 2.0, 1.0, 0.5]);
        assert_eq!(running_mean(&[4.0, 2.0], 0), [4.0, 2.0]);
    }
}
