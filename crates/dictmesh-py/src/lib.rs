//! `dictmesh._core`: what the Python package needs of the library. No mathematics here, and nothing of
//! scikit-learn: arrays come in, settings as JSON, arrays go out.
//!
//! No call uses rayon's global pool: a process that forked would wait for threads that it does not have.

mod apps;
mod coder;
mod data;
mod grow;
mod learned;
mod mesh;
mod preparation;
mod program;
mod run;
mod study;
mod topology;
mod work;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// An error of the library in Python's words.
fn raise(e: dictmesh::Error) -> PyErr {
    match e {
        dictmesh::Error::Io { path, source } => {
            let code = source.raw_os_error();
            let (path, said) = (path.display().to_string(), source.to_string());
            match code {
                Some(code) => PyOSError::new_err((code, said, path)),
                None => PyOSError::new_err(format!("{path}: {said}")),
            }
        }
        e => PyValueError::new_err(e.to_string()),
    }
}

/// Plain settings from JSON.
fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(format!("settings: {e}")))
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<coder::Coder>()?;
    module.add_class::<mesh::Mesh>()?;
    module.add_class::<preparation::Preparation>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<topology::Topology>()?;
    module.add_function(wrap_pyfunction!(apps::bicluster, module)?)?;
    module.add_function(wrap_pyfunction!(apps::sparse_svd, module)?)?;
    module.add_function(wrap_pyfunction!(apps::threshold, module)?)?;
    module.add_function(wrap_pyfunction!(apps::kept_scores, module)?)?;
    module.add_function(wrap_pyfunction!(apps::denoise, module)?)?;
    module.add_function(wrap_pyfunction!(study::tune, module)?)?;
    module.add_function(wrap_pyfunction!(study::audit, module)?)?;
    module.add_function(wrap_pyfunction!(study::explain, module)?)?;
    module.add_function(wrap_pyfunction!(program::main, module)?)
}
