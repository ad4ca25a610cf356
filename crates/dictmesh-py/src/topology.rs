//! `dictmesh._core.Topology`: who talks to whom.

use crate::data::array;
use crate::from_json;
use crate::work::said;
use dictmesh::{Matrix, TopologySpec, WeightRule, Weights};
use pyo3::prelude::*;

/// An undirected, connected graph over agents.
#[pyclass(module = "dictmesh._core", frozen)]
pub struct Topology {
    inner: dictmesh::Topology,
}

#[pymethods]
impl Topology {
    /// The graph that a description as JSON says, over so many agents.
    #[new]
    fn new(py: Python<'_>, spec: &str, agents: usize) -> PyResult<Self> {
        let spec: TopologySpec = from_json(spec)?;
        let inner = said(py.detach(|| spec.build(agents)))?;
        Ok(Topology { inner })
    }

    #[getter]
    fn agents(&self) -> usize {
        self.inner.agents()
    }

    #[getter]
    fn edges(&self) -> Vec<(usize, usize)> {
        self.inner.edges()
    }

    #[getter]
    fn diameter(&self, py: Python<'_>) -> usize {
        py.detach(|| self.inner.diameter())
    }

    /// The combination matrix A of a rule as JSON.
    fn weights<'py>(&self, py: Python<'py>, rule: &str) -> PyResult<Bound<'py, PyAny>> {
        let rule: WeightRule = from_json(rule)?;
        let weights = said(Weights::new(&self.inner, &rule))?;
        let n = self.inner.agents();
        let mut a = Matrix::zeros(n, n);
        for k in 0..n {
            for &(l, weight) in weights.column(k) {
                a.column_mut(k)[l] = weight;
            }
        }
        // Rows of the array are columns of the matrix.
        Ok(array(py, a.transpose())?.into_any())
    }

    /// lambda_2(D - B) and lambda_max(D - B).
    fn laplacian(&self, py: Python<'_>) -> (f64, f64) {
        let spectrum = py.detach(|| self.inner.spectrum());
        (spectrum.laplacian_second, spectrum.laplacian_largest)
    }
}
