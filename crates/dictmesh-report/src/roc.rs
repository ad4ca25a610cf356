//! ROC curves: detection rate against false alarm rate.

use super::chart::{curve_pen, runs, Chart, Key, Labels, Sign};
use crate::canvas::palette::LINE;
use crate::canvas::ticks::Axis;
use crate::canvas::{Canvas, Pen};

/// ROC curves in one square, the area under each in the legend.
#[derive(Clone, Debug)]
pub struct RocPlot {
    /// The curves; the first is on top.
    pub curves: Vec<RocCurve>,
}

/// A named curve.
#[derive(Clone, Debug)]
pub struct RocCurve {
    /// The name in the legend.
    pub name: String,
    /// (false alarms, detections), both from 0 to 1.
    pub points: Vec<(f64, f64)>,
    /// The area under the curve.
    pub auc: f64,
}

impl RocPlot {
    /// Draws the curves over the diagonal of chance.
    pub fn draw(&self) -> Canvas {
        let legend: Vec<Key> = self
            .curves
            .iter()
            .enumerate()
            .map(|(i, curve)| {
                let pen = curve_pen(i);
                Key {
                    // The number first, as long names are cut at their end.
                    name: format!("{:.3}  {}", curve.auc, curve.name),
                    sign: Sign::Line(pen.dash),
                    ink: pen.ink,
                }
            })
            .collect();
        let said: Vec<String> = self
            .curves
            .iter()
            .map(|c| format!("{}: area {:.3}", c.name, c.auc))
            .collect();
        let mut chart = Chart::new(
            &Labels {
                title: &format!("ROC curves. {}", said.join("; ")),
                x: "share of the known called novel",
                y: "share of the novel found (area under the curve in the legend)",
                legend: &legend,
            },
            Axis::share(),
            Axis::share(),
            400.0,
        );
        let chance: Vec<_> = [(0.0, 0.0), (1.0, 1.0)]
            .into_iter()
            .filter_map(|p| chart.place(p))
            .collect();
        chart.canvas.line(&chance, Pen::new(1.2, LINE).dashed(4.0));
        chart.tell_if_empty(self.curves.iter().flat_map(|c| c.points.iter().copied()));
        // The first curve is on top: the others are compared with it.
        for (i, curve) in self.curves.iter().enumerate().rev() {
            let pen = curve_pen(i);
            for part in runs(curve.points.iter().map(|&p| chart.place(p))) {
                chart.canvas.line(&part, pen);
                if let [(x, y)] = part[..] {
                    chart.canvas.disc(x, y, 1.5 * pen.width, pen.ink);
                }
            }
        }
        chart.canvas
    }
}
