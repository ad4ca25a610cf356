//! Both methods behind one entry, and the rows' clusters against their classes.

use super::{check_squares, row_coordinates, Bicluster, Biclustering, Prepare};
use crate::clustering::{misclassified, KMeans};
use crate::progress::{Observer, Progress};
use crate::ssvd::SparseSvd;
use dictmesh::mesh::Warning;
use dictmesh::{Error, Matrix, Result, Stop};
use serde::Serialize;

/// How layers are found.
#[derive(Clone, Debug)]
pub enum Method {
    /// Agents that learn one layer each: Alg. 4.
    Diffusion(Biclustering),
    /// The sparse SVD of the prepared matrix in one place: Alg. 3.
    SparseSvd(SparseSvd, Prepare),
}

/// The layers by one of the methods.
#[derive(Clone, Debug)]
pub struct Layers {
    /// The layers by decreasing weight.
    pub layers: Vec<Bicluster>,
    /// The objective; `None` for the sparse SVD.
    pub objective: Option<f64>,
    /// The worst stop reason.
    pub stop: Stop,
    /// Warnings about the constants.
    pub warnings: Vec<Warning>,
    /// The matrix after its preparation.
    pub prepared: Matrix,
}

impl Method {
    /// The layers of `x` (M x T, one sample per column).
    ///
    /// Errors: invalid settings, an empty matrix, entries that are not finite or whose squares
    /// overflow, inference that diverges, and an observer that breaks.
    pub fn run(&self, x: &Matrix, observer: &mut Observer<'_>) -> Result<Layers> {
        match self {
            Method::Diffusion(settings) => diffusion(settings, x, observer),
            Method::SparseSvd(settings, prepare) => sparse_svd(settings, *prepare, x),
        }
    }
}

fn diffusion(settings: &Biclustering, x: &Matrix, observer: &mut Observer<'_>) -> Result<Layers> {
    let passes = settings.restarts.saturating_mul(settings.passes);
    let total = passes.saturating_mul(x.cols());
    let (mut done, mut left) = (0, false);
    let found = settings.run(x, |event| {
        done += event.batch;
        let flow = observer(Progress {
            phase: "learning",
            done,
            total,
            cost: Some(event.cost),
        });
        left |= flow.is_break();
        flow
    })?;
    match found.stop {
        _ if left => return Err(Error::Interrupted),
        Stop::Diverged => {
            return Err(Error::Unsupported {
                what: "biclustering".into(),
                with: "this matrix".into(),
                why: format!("{}; scale it, or choose another gamma", found.stop),
            })
        }
        _ => {}
    }
    Ok(Layers {
        layers: found.layers,
        objective: Some(found.objective),
        stop: found.stop,
        warnings: found.mesh.warnings(),
        prepared: settings.prepare.apply(x),
    })
}

fn sparse_svd(settings: &SparseSvd, prepare: Prepare, x: &Matrix) -> Result<Layers> {
    let prepared = prepare.apply(x);
    check_squares(&prepared)?;
    let layers = settings.run(&prepared)?;
    let stop = match layers.iter().all(|layer| layer.converged) {
        true => Stop::Converged,
        false => Stop::RoundLimit,
    };
    let layers = layers
        .into_iter()
        .enumerate()
        .map(|(agent, layer)| Bicluster {
            agent,
            w: layer.w,
            y: layer.y,
            weight: layer.s,
        });
    Ok(Layers {
        layers: layers.collect(),
        objective: None,
        stop,
        warnings: Vec::new(),
        prepared,
    })
}

/// The rows' clusters against their classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowClasses {
    /// The class that the cluster of each row stands for; empty for a cluster without a class.
    pub class: Vec<String>,
    /// The rows whose class differs from their own, counted from 0.
    pub misclassified: Vec<usize>,
}

/// Clusters the rows by k-means on their coefficients times the layers' weights, with as many
/// clusters as there are classes, and names the clusters by the matching with the fewest errors.
///
/// Errors: one label is needed for each row.
pub fn classify_rows(layers: &[Bicluster], labels: &[String], seed: u64) -> Result<RowClasses> {
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
    Error::check_dimension("labels of the rows", labels.len(), points.cols())?;
    let clusters = kmeans.run(&points)?;
    let agreement = misclassified(&clusters.of, &classes)?;
    let class = |c: &usize| agreement.class_of[*c].map_or(String::new(), |k| names[k].clone());
    Ok(RowClasses {
        class: clusters.of.iter().map(class).collect(),
        misclassified: agreement.wrong,
    })
}
