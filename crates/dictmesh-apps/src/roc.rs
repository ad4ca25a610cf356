//! ROC curve and the area under it.

use dictmesh::{Error, Result};

/// One point of a ROC curve: the rates if every score of at least `threshold` is classified as
/// novel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RocPoint {
    /// The threshold; infinite at the first point, where no sample is novel.
    pub threshold: f64,
    /// False alarm rate: fraction of the negatives classified as novel (the paper's horizontal
    /// axis).
    pub false_alarm: f64,
    /// Detection rate: fraction of the positives classified as novel (the paper's vertical axis).
    pub detection: f64,
}

/// A ROC curve from (0, 0) to (1, 1), with one point per distinct score.
#[derive(Clone, Debug, PartialEq)]
pub struct Roc {
    /// The points by decreasing threshold. Equal scores share one point.
    pub points: Vec<RocPoint>,
    auc: f64,
}

impl Roc {
    /// The area under the curve, see [`auc`].
    pub fn auc(&self) -> f64 {
        self.auc
    }
}

/// The ROC curve of `scores`, where `labels[i]` is true if sample i is positive (novel). Higher
/// scores indicate positives.
///
/// ```
/// use dictmesh_apps::roc::roc;
/// let curve = roc(&[0.9, 0.4, 0.7, 0.1], &[true, true, false, false])?;
/// assert_eq!(curve.auc(), 0.75); // three of the four pairs are in the right order
/// # Ok::<(), dictmesh::Error>(())
/// ```
///
/// Errors: different lengths, a NaN score (infinite scores are allowed), or labels of one class
/// only, for which the curve is undefined.
pub fn roc(scores: &[f64], labels: &[bool]) -> Result<Roc> {
    Error::check_dimension(
        "number of labels (one per score)",
        labels.len(),
        scores.len(),
    )?;
    if let Some(i) = scores.iter().position(|s| s.is_nan()) {
        return Err(Error::parameter(
            "scores",
            format!("NaN at sample {i}"),
            "a NaN score cannot be ranked; remove the sample",
        ));
    }
    let positives = labels.iter().filter(|l| **l).count();
    let negatives = labels.len() - positives;
    if positives == 0 || negatives == 0 {
        return Err(Error::parameter(
            "labels",
            format!("{positives} positive, {negatives} negative"),
            "a ROC curve needs samples of both classes: leave blocks of one class out",
        ));
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));

    let mut points = vec![RocPoint {
        threshold: f64::INFINITY,
        false_alarm: 0.0,
        detection: 0.0,
    }];
    let (mut hits, mut alarms) = (0_usize, 0_usize);
    // Correctly ordered pairs count two, ties one: integers avoid rounding.
    let mut halves = 0_u128;
    // -0 and 0 are equal scores, but total_cmp distinguishes them.
    for group in order.chunk_by(|a, b| scores[*a] == scores[*b]) {
        let positive = group.iter().filter(|i| labels[**i]).count();
        let negative = group.len() - positive;
        // A negative of this group ranks below all earlier positives and ties with those of its
        // group.
        halves += negative as u128 * (2 * hits + positive) as u128;
        hits += positive;
        alarms += negative;
        points.push(RocPoint {
            threshold: scores[group[0]],
            false_alarm: alarms as f64 / negatives as f64,
            detection: hits as f64 / positives as f64,
        });
    }
    let auc = halves as f64 / (2.0 * positives as f64 * negatives as f64);
    Ok(Roc { points, auc })
}

/// The area under the ROC curve: the fraction of (positive, negative) pairs in which the positive
/// has the higher score; a tie counts one half. Errors as for [`roc`].
pub fn auc(scores: &[f64], labels: &[bool]) -> Result<f64> {
    Ok(roc(scores, labels)?.auc())
}
