//! Finding layers, and judging them.

use super::super::{say, Result};
use crate::progress::Progress;
use dictmesh::mesh::Warning;
use dictmesh::{Matrix, Stop};
use dictmesh_apps::biclustering::{
    check_squares, row_coordinates, Bicluster, Biclustering, Prepare,
};
use dictmesh_apps::clustering::{misclassified, KMeans};
use dictmesh_apps::ssvd::SparseSvd;
use std::ops::ControlFlow;

/// What was found.
pub struct Found {
    pub layers: Vec<Bicluster>,
    pub objective: Option<f64>,
    pub stop: Stop,
    pub warnings: Vec<Warning>,
    /// The table as it was prepared.
    pub prepared: Matrix,
}

/// The rows' clusters against their labels.
pub struct Judged {
    /// The label that each row's cluster stands for.
    pub cluster: Vec<String>,
    pub wrong: Vec<usize>,
}

/// The layers that agents find, one each.
pub fn diffusion(
    settings: &Biclustering,
    x: &Matrix,
    show: &mut dyn FnMut(Progress),
) -> Result<Found> {
    let total = settings
        .restarts
        .saturating_mul(settings.passes)
        .saturating_mul(x.cols());
    let mut done = 0;
    let found = settings.run(x, |event| {
        done += event.batch;
        show(Progress {
            phase: "learning",
            done,
            total,
            cost: Some(event.cost),
        });
        ControlFlow::Continue(())
    });
    let found = found.map_err(say)?;
    if matches!(found.stop, Stop::Diverged | Stop::Infeasible) {
        return Err(format!(
            "learning stopped: {}; scale the table or choose another gamma",
            found.stop
        )
        .into());
    }
    Ok(Found {
        layers: found.layers,
        objective: Some(found.objective),
        stop: found.stop,
        warnings: found.mesh.warnings(),
        prepared: settings.prepare.apply(x),
    })
}

/// The layers of the sparse SVD.
pub fn ssvd(settings: &SparseSvd, prepare: Prepare, x: &Matrix) -> Result<Found> {
    let prepared = prepare.apply(x);
    check_squares(&prepared).map_err(say)?;
    let layers = settings.run(&prepared).map_err(say)?;
    let stop = match layers.iter().all(|layer| layer.converged) {
        true => Stop::Converged,
        false => Stop::RoundLimit,
    };
    let layers = layers.into_iter().enumerate().map(|(agent, l)| Bicluster {
        agent,
        w: l.w,
        y: l.y,
        weight: l.s,
    });
    Ok(Found {
        layers: layers.collect(),
        objective: None,
        stop,
        warnings: Vec::new(),
        prepared,
    })
}

/// k-means of the rows with as many clusters as labels, and the matching that leaves the fewest wrong.
pub fn judge(layers: &[Bicluster], labels: &[String], seed: u64) -> Result<Judged> {
    let mut names: Vec<&String> = labels.iter().collect();
    names.sort();
    names.dedup();
    let classes: Vec<usize> = (labels.iter())
        .filter_map(|label| names.binary_search(&label).ok())
        .collect();
    let kmeans = KMeans {
        clusters: names.len(),
        seed,
        ..KMeans::default()
    };
    let points = row_coordinates(layers, true).transpose();
    let clusters = kmeans.run(&points).map_err(say)?;
    let agreement = misclassified(&clusters.of, &classes).map_err(say)?;
    let stands_for = |c: &usize| agreement.class_of[*c].map_or(String::new(), |k| names[k].clone());
    Ok(Judged {
        cluster: clusters.of.iter().map(stands_for).collect(),
        wrong: agreement.wrong,
    })
}
