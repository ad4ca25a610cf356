//! What the agents find for samples, as Python takes it.

use crate::data::array;
use crate::work::said;
use dictmesh::strategy::Certified;
use dictmesh::{Inference, Stop};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// What was found for all parts, put together.
pub fn inferred<'py>(
    py: Python<'py>,
    parts: Vec<Inference>,
    mesh: &dictmesh::Mesh,
) -> PyResult<Bound<'py, PyDict>> {
    let mut codes = dictmesh::Matrix::zeros(mesh.atoms(), 0);
    let mut duals: Vec<dictmesh::Matrix> = Vec::new();
    let (mut costs, mut rounds, mut bytes, mut apart) = (Vec::new(), 0, 0, 0.0_f64);
    let mut stop = Stop::Converged;
    let mut certified: Vec<Certified> = Vec::new();
    for part in parts {
        certified.extend_from_slice(&part.certified);
        said(
            codes
                .append_columns(&part.stacked_codes())
                .map_err(Into::into),
        )?;
        costs.extend_from_slice(&part.costs);
        rounds = rounds.max(part.rounds);
        bytes += part.bytes;
        apart = match part.disagreement.is_nan() || apart.is_nan() {
            true => f64::NAN, // f64::max drops it
            false => apart.max(part.disagreement),
        };
        stop = stop.worse(part.stop);
        for (k, nu) in part.duals.into_iter().enumerate() {
            match duals.get_mut(k) {
                Some(all) => said(all.append_columns(&nu).map_err(Into::into))?,
                None => duals.push(nu),
            }
        }
    }
    let out = PyDict::new(py);
    if !certified.is_empty() {
        let each = |number: fn(&Certified) -> f64| {
            PyArray1::from_vec(py, certified.iter().map(number).collect())
        };
        out.set_item("certified_costs", each(|c| c.cost))?;
        out.set_item("certified_gaps", each(|c| c.gap))?;
        out.set_item("certified_violations", each(|c| c.violation))?;
    }
    out.set_item("codes", array(py, codes)?)?;
    let each = PyList::empty(py);
    for nu in duals {
        each.append(array(py, nu)?)?;
    }
    out.set_item("duals", each)?;
    out.set_item("costs", PyArray1::from_vec(py, costs))?;
    out.set_item("rounds", rounds)?;
    out.set_item("bytes", bytes)?;
    out.set_item("disagreement", apart)?;
    out.set_item("stop", stop.name())?;
    out.set_item("why", stop.to_string())?;
    Ok(out)
}
