//! Scores that a learned model keeps, see [`dictmesh_apps::calibration`].

use super::prepare::Feed;
use super::{check_finite, say, Result};
use crate::progress::Progress;
use dictmesh::Mesh;
use dictmesh_apps::calibration::learned_scores;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// The scores of samples that a mesh has learned from; none if `stop` is set meanwhile.
pub fn of_learned(
    mesh: &Mesh,
    feed: &Feed<'_>,
    stop: &AtomicBool,
    show: &mut dyn FnMut(Progress),
) -> Result<Vec<f64>> {
    let parts = feed.parts(0).map_err(say)?;
    let samples = feed.samples().map_err(say)?;
    let found = learned_scores(mesh, parts, samples, &mut |done, total| {
        show(Progress {
            phase: "scoring",
            done,
            total,
            cost: None,
        });
        match stop.load(Ordering::SeqCst) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let found = found.map_err(say)?;
    check_finite(&found.scores, 0)?;
    Ok(found.scores)
}
