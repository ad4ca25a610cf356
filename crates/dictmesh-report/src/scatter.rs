//! Points in the plane, coloured by class.

use super::chart::{marker, ring, Chart, Key, Labels, Sign};
use crate::canvas::palette::{series, WARN};
use crate::canvas::ticks::{Axis, Ends, Scale};
use crate::canvas::Canvas;

/// Points, for example samples by their coefficients in two layers.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// The description for screen readers.
    pub title: String,
    /// The label of the horizontal axis.
    pub x: String,
    /// The label of the vertical axis.
    pub y: String,
    /// (x, y) of each point.
    pub points: Vec<(f64, f64)>,
    /// The class of every point; empty if they have none.
    pub classes: Vec<String>,
    /// Points to be ringed, for example misclassified ones.
    pub ringed: Vec<usize>,
    /// The meaning of a ring.
    pub ring: String,
}

/// The number of points drawn at most.
const MOST: usize = 4000;

impl Scatter {
    /// Draws the points by class.
    pub fn draw(&self) -> Canvas {
        let mut names: Vec<&String> = Vec::new();
        for class in &self.classes {
            if !names.contains(&class) {
                names.push(class);
            }
        }
        names.sort();
        let class_of = |i: usize| {
            let class = self.classes.get(i)?;
            names.binary_search(&class).ok()
        };
        let legend = self.legend(&names);
        let stride = self.points.len().div_ceil(MOST).max(1);
        let x = match stride {
            1 => self.x.clone(),
            n => format!("{} (one point in {n} is drawn)", self.x),
        };
        let mut chart = Chart::new(
            &Labels {
                title: &self.title,
                x: &x,
                y: &self.y,
                legend: &legend,
            },
            Axis::new(Scale::Linear, Ends::Round, self.points.iter().map(|p| p.0)),
            Axis::new(Scale::Linear, Ends::Round, self.points.iter().map(|p| p.1)),
            300.0,
        );
        chart.tell_if_empty(self.points.iter().copied());
        // Many points are small and transparent.
        let n = self.points.len().div_ceil(stride).max(1) as f32;
        let r = (60.0 / n.sqrt()).clamp(2.0, 5.0);
        let alpha = (20.0 / n.sqrt()).clamp(0.35, 0.85);
        for (i, &point) in self.points.iter().enumerate().step_by(stride) {
            if let Some(at) = chart.place(point) {
                let class = class_of(i).unwrap_or(0);
                marker(&mut chart.canvas, class, at, r, series(class).alpha(alpha));
            }
        }
        for &i in &self.ringed {
            if let Some(at) = self.points.get(i).and_then(|&p| chart.place(p)) {
                ring(&mut chart.canvas, at, r + 4.0);
            }
        }
        chart.canvas
    }

    /// The classes with their numbers of points, and the meaning of rings.
    fn legend(&self, names: &[&String]) -> Vec<Key> {
        let mut legend: Vec<Key> = names
            .iter()
            .enumerate()
            .map(|(i, name)| Key {
                name: {
                    let n = self.classes.iter().filter(|c| c == name).count();
                    format!("{name} ({n})")
                },
                sign: Sign::Marker(i),
                ink: series(i),
            })
            .collect();
        if !self.ringed.is_empty() && !self.ring.is_empty() {
            legend.push(Key {
                name: format!("{} ({})", self.ring, self.ringed.len()),
                sign: Sign::Ring,
                ink: WARN,
            });
        }
        legend
    }
}
