//! What a model's own samples scored, which a model carries: new ones are novel by comparison with them.

use super::prepare::Feed;
use super::score::scores;
use super::{say, Result};
use crate::progress::Progress;
use dictmesh::{Mesh, Model, Samples};
use std::sync::atomic::{AtomicBool, Ordering};

/// Samples scored at most.
const COUNT: usize = 1000;
/// Samples have no more numbers together than these where they are scored in one go.
const NUMBERS: usize = 1 << 22;
/// With more atoms the mesh scores: in one place W'W is one matrix.
const ATOMS: usize = 4096;
const KEY: &str = "scores";

/// The scores of samples that a mesh has learned from, evenly spaced over all of them; none if `stop` says so
/// meanwhile. They depend on the mesh and the data alone, so that a resumed run has the same.
pub fn of_learned(
    mesh: &Mesh,
    feed: &Feed<'_>,
    stop: &AtomicBool,
    show: &mut dyn FnMut(Progress),
) -> Result<Vec<f64>> {
    let samples = feed.samples().map_err(say)?;
    let every = samples.div_ceil(COUNT).max(1);
    let together = (NUMBERS / mesh.rows().max(1)).clamp(1, 256);
    let (mut past, mut skip) = (Vec::new(), 0);
    for part in feed.parts(0).map_err(say)? {
        let part = part.map_err(say)?;
        let chosen: Vec<usize> = (skip..part.len()).step_by(every).collect();
        skip = (skip + every * chosen.len()).saturating_sub(part.len());
        for chosen in chosen.chunks(together) {
            if stop.load(Ordering::SeqCst) {
                return Ok(Vec::new());
            }
            past.extend(scored(mesh, &part.select(chosen), past.len())?);
            show(Progress {
                phase: "scoring",
                done: past.len(),
                total: samples.div_ceil(every),
                cost: None,
            });
        }
    }
    Ok(past)
}

fn scored(mesh: &Mesh, x: &Samples, first: usize) -> Result<Vec<f64>> {
    Ok(scores(mesh, x, mesh.atoms() <= ATOMS, first)?.0)
}

/// Puts scores into a model, rising, the last [`COUNT`] of them.
pub fn store(scores: &[f64], model: &mut Model) -> Result<()> {
    if scores.is_empty() {
        return Ok(());
    }
    let mut last = scores[scores.len().saturating_sub(COUNT)..].to_vec();
    last.sort_by(f64::total_cmp);
    let value = serde_json::to_value(last).map_err(say)?;
    model.description.extra.insert(KEY.to_string(), value);
    Ok(())
}

/// The scores a model carries, if it has any.
pub fn of(model: &Model) -> Option<Vec<f64>> {
    let value = model.description.extra.get(KEY)?.clone();
    let scores: Vec<f64> = serde_json::from_value(value).ok()?;
    (!scores.is_empty()).then_some(scores)
}
