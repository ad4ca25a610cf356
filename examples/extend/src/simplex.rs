use dictmesh::problem::AtomSet;
use dictmesh::Spec;

/// { w : w >= 0, sum w_i = 1 }: atoms are distributions. The projection is max(w_i - theta, 0),
/// with the theta for which the entries sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Simplex;

impl AtomSet for Simplex {
    fn spec(&self) -> Spec {
        Spec::new("simplex")
    }

    fn project(&self, w: &mut [f64]) {
        if self.contains(w, 0.0) || w.iter().any(|v| !v.is_finite()) {
            return; // inside already, or not to be hidden
        }
        // Distances from the largest entry: theta lies within 1 of it, so large entries cause no
        // cancellation.
        let largest = w.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sorted: Vec<f64> = w.iter().map(|v| v - largest).collect();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let (mut sum, mut theta) = (0.0, -1.0);
        for (i, d) in sorted.iter().enumerate() {
            sum += d;
            let candidate = (sum - 1.0) / (i + 1) as f64;
            if *d <= candidate {
                break;
            }
            theta = candidate;
        }
        w.iter_mut()
            .for_each(|v| *v = ((*v - largest) - theta).max(0.0));
    }

    fn contains(&self, w: &[f64], tolerance: f64) -> bool {
        // Rounding of the sum is not outside.
        let room = tolerance + w.len() as f64 * f64::EPSILON;
        w.iter().all(|v| *v >= -tolerance) && (w.iter().sum::<f64>() - 1.0).abs() <= room
    }

    fn normalise(&self, w: &mut [f64]) {
        w.iter_mut().for_each(|v| *v = v.max(0.0));
        let sum: f64 = w.iter().sum();
        match sum > 0.0 && sum.is_finite() {
            true => w.iter_mut().for_each(|v| *v /= sum),
            false => self.project(w),
        }
    }

    fn is_non_negative(&self) -> bool {
        true
    }
}
