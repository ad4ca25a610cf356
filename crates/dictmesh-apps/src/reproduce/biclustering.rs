//! Biclustering: patients of four kinds, separated without their labels.

use crate::biclustering::{classify_rows, Biclustering, Layers, Method, RowClasses};
use crate::progress::Observer;
use crate::ssvd::SparseSvd;
use dictmesh::{Error, Matrix, Result};
use serde::Serialize;

/// N in the paper.
const PAPER_LAYERS: usize = 3;

/// The experiment on a matrix of patients x genes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BiclusteringExperiment {
    /// Number of seeds, from 0; at least 1.
    pub seeds: u64,
}

impl Default for BiclusteringExperiment {
    /// Ten seeds.
    fn default() -> Self {
        BiclusteringExperiment { seeds: 10 }
    }
}

/// The errors of one method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Misclassified {
    /// "diffusion" (Alg. 4) or "ssvd" (Alg. 3).
    pub method: &'static str,
    /// Number of layers.
    pub layers: usize,
    /// Number of misclassified patients for each seed.
    pub misclassified: Vec<usize>,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BiclusteringResult {
    /// Number of patients.
    pub patients: usize,
    /// Number of genes.
    pub genes: usize,
    /// The methods with five layers, then with the paper's three.
    pub methods: Vec<Misclassified>,
    /// The layers of the first method for seed 0, and the patients' clusters.
    #[serde(skip)]
    pub first: Option<(Layers, RowClasses)>,
}

impl BiclusteringExperiment {
    /// Finds layers in `x` (patients x genes) for each method and seed, and counts the patients
    /// whose cluster does not match their label.
    ///
    /// Errors: no seed, and those of [`Method::run`] and [`classify_rows`].
    pub fn run(
        &self,
        x: &Matrix,
        labels: &[String],
        observer: &mut Observer<'_>,
    ) -> Result<BiclusteringResult> {
        if self.seeds == 0 {
            return Err(Error::parameter("seeds", 0, "must be at least 1"));
        }
        let usual = Biclustering::default().layers;
        let (mut methods, mut first) = (Vec::new(), None);
        for (name, layers) in [
            ("diffusion", usual),
            ("ssvd", usual),
            ("diffusion", PAPER_LAYERS),
            ("ssvd", PAPER_LAYERS),
        ] {
            let mut misclassified = Vec::new();
            for seed in 0..self.seeds {
                let found = method(name, layers, seed).run(x, observer)?;
                let classes = classify_rows(&found.layers, labels, seed)?;
                misclassified.push(classes.misclassified.len());
                first.get_or_insert((found, classes));
            }
            methods.push(Misclassified {
                method: name,
                layers,
                misclassified,
            });
        }
        Ok(BiclusteringResult {
            patients: x.rows(),
            genes: x.cols(),
            methods,
            first,
        })
    }
}

fn method(name: &str, layers: usize, seed: u64) -> Method {
    let agents = Biclustering {
        layers,
        seed,
        ..Biclustering::default()
    };
    match name {
        "diffusion" => Method::Diffusion(agents),
        _ => {
            let settings = SparseSvd {
                layers,
                ..SparseSvd::default()
            };
            Method::SparseSvd(settings, agents.prepare)
        }
    }
}
