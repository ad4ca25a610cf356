//! Samples as Python has them: one a row, dense in any layout or CSR, double or single precision. They are read
//! where they are, a part at a time; no copy of all of them is made.

use crate::preparation::{applied, Preparation};
use crate::raise;
use dictmesh::{Matrix, Samples};
use dictmesh_data::preparation::How;
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::ops::Range;

/// An array of indices.
enum Indices<'py> {
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
}

/// An array of values of CSR.
enum Values<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

/// Samples that Python keeps alive.
pub enum Data<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
    Csr(Box<Csr<'py>>),
}

/// A scipy CSR matrix in canonical form: columns of a row rise, none twice.
pub struct Csr<'py> {
    features: usize,
    start: Indices<'py>,
    column: Indices<'py>,
    value: Values<'py>,
}

impl<'py> Data<'py> {
    /// A 2-D array of float32 or float64, or a CSR matrix of those.
    pub fn of(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(x) = x.cast::<PyArray2<f64>>() {
            return Ok(Data::F64(x.readonly()));
        }
        if let Ok(x) = x.cast::<PyArray2<f32>>() {
            return Ok(Data::F32(x.readonly()));
        }
        if !x.hasattr("indptr")? {
            return Err(wrong_type(x));
        }
        let (_, features): (usize, usize) = x.getattr("shape")?.extract()?;
        let value = x.getattr("data")?;
        Ok(Data::Csr(Box::new(Csr {
            features,
            start: Indices::of(&x.getattr("indptr")?)?,
            column: Indices::of(&x.getattr("indices")?)?,
            value: match value.cast::<PyArray1<f64>>() {
                Ok(value) => Values::F64(value.readonly()),
                Err(_) => Values::F32(value.cast::<PyArray1<f32>>()?.readonly()),
            },
        })))
    }

    /// What threads may read while Python does other things.
    pub fn view(&self) -> View<'_> {
        let kind = match self {
            Data::F32(x) => Kind::F32(x.as_array()),
            Data::F64(x) => Kind::F64(x.as_array()),
            Data::Csr(x) => Kind::Csr {
                features: x.features,
                start: x.start.view(),
                column: x.column.view(),
                value: match &x.value {
                    Values::F32(v) => ValueView::F32(v.as_array()),
                    Values::F64(v) => ValueView::F64(v.as_array()),
                },
            },
        };
        View {
            kind,
            how: None,
            weights: None,
        }
    }
}

fn wrong_type(x: &Bound<'_, PyAny>) -> PyErr {
    let name = x.get_type().name().map(|n| n.to_string());
    PyTypeError::new_err(format!(
        "expected a 2-D array of float32 or float64 or a CSR matrix of those, got {}",
        name.unwrap_or_default()
    ))
}

impl<'py> Indices<'py> {
    fn of(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        match x.cast::<PyArray1<i32>>() {
            Ok(x) => Ok(Indices::I32(x.readonly())),
            Err(_) => Ok(Indices::I64(x.cast::<PyArray1<i64>>()?.readonly())),
        }
    }

    fn view(&self) -> IndexView<'_> {
        match self {
            Indices::I32(x) => IndexView::I32(x.as_array()),
            Indices::I64(x) => IndexView::I64(x.as_array()),
        }
    }
}

enum IndexView<'a> {
    I32(ArrayView1<'a, i32>),
    I64(ArrayView1<'a, i64>),
}

enum ValueView<'a> {
    F32(ArrayView1<'a, f32>),
    F64(ArrayView1<'a, f64>),
}

impl IndexView<'_> {
    /// A negative index becomes a huge one, which the library refuses.
    fn get(&self, i: usize) -> usize {
        match self {
            IndexView::I32(x) => x.get(i).map_or(usize::MAX, |v| *v as usize),
            IndexView::I64(x) => x.get(i).map_or(usize::MAX, |v| *v as usize),
        }
    }

    fn len(&self) -> usize {
        match self {
            IndexView::I32(x) => x.len(),
            IndexView::I64(x) => x.len(),
        }
    }
}

impl ValueView<'_> {
    fn get(&self, i: usize) -> f64 {
        match self {
            ValueView::F32(x) => x.get(i).map_or(f64::NAN, |v| f64::from(*v)),
            ValueView::F64(x) => x.get(i).map_or(f64::NAN, |v| *v),
        }
    }
}

enum Kind<'a> {
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
    Csr {
        features: usize,
        start: IndexView<'a>,
        column: IndexView<'a>,
        value: ValueView<'a>,
    },
}

/// Samples to be read a part at a time.
pub struct View<'a> {
    kind: Kind<'a>,
    how: Option<&'a How>,
    weights: Option<ArrayView1<'a, f64>>,
}

impl<'a> View<'a> {
    /// The same samples, each part prepared.
    pub fn prepared(mut self, how: Option<&'a Preparation>) -> Self {
        self.how = how.map(Preparation::how);
        self
    }

    /// The same samples with these weights, one for each.
    pub fn weighted(mut self, weights: Option<ArrayView1<'a, f64>>) -> Self {
        self.weights = weights;
        self
    }

    /// How many samples.
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::F32(x) => x.nrows(),
            Kind::F64(x) => x.nrows(),
            Kind::Csr { start, .. } => start.len().saturating_sub(1),
        }
    }

    /// M.
    pub fn features(&self) -> usize {
        match &self.kind {
            Kind::F32(x) => x.ncols(),
            Kind::F64(x) => x.ncols(),
            Kind::Csr { features, .. } => *features,
        }
    }

    /// Whether results are wanted in single precision.
    pub fn is_single(&self) -> bool {
        match &self.kind {
            Kind::F32(_) => true,
            Kind::F64(_) => false,
            Kind::Csr { value, .. } => matches!(value, ValueView::F32(_)),
        }
    }

    /// The samples in this range, which must not reach past the end.
    pub fn part(&self, range: Range<usize>) -> PyResult<Samples> {
        let (rows, count) = (self.features(), range.len());
        let weights = self.weights.as_ref().map(|all| {
            let of_part = range
                .clone()
                .map(|j| all.get(j).copied().unwrap_or(f64::NAN));
            of_part.collect::<Vec<f64>>()
        });
        let dense = |entries: Vec<f64>| Samples::dense(Matrix::from_vec(rows, count, entries)?);
        let samples = match &self.kind {
            Kind::F32(x) => dense(entries(x, range, f64::from)),
            Kind::F64(x) => dense(match x.as_slice() {
                Some(all) => all[range.start * rows..range.end * rows].to_vec(),
                None => entries(x, range, |v| v),
            }),
            Kind::Csr {
                start,
                column,
                value,
                ..
            } => {
                let first = start.get(range.start);
                let starts = (range.start..=range.end).map(|j| start.get(j).wrapping_sub(first));
                let all = first..start.get(range.end).clamp(first, column.len().max(first));
                let columns = all.clone().map(|e| column.get(e)).collect();
                let values = all.map(|e| value.get(e)).collect();
                Samples::sparse(rows, starts.collect(), columns, values)
            }
        };
        let samples = samples.map_err(raise)?;
        let samples = match self.how {
            Some(how) => applied(how, samples)?,
            None => samples,
        };
        match weights {
            Some(weights) => samples.weighted(weights).map_err(raise),
            None => Ok(samples),
        }
    }

    /// All of them.
    pub fn all(&self) -> PyResult<Samples> {
        self.part(0..self.len())
    }

    /// The parts in which batches of this size are learned: whole batches.
    pub fn parts(&self, batch: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, batch, all) = (self.features().max(1), batch.max(1), self.len());
        let size = (Samples::PART / rows / batch).max(1) * batch;
        (0..all)
            .step_by(size)
            .map(move |from| from..(from + size).min(all))
    }
}

/// The entries of some rows, one row after the other.
fn entries<T: Copy>(x: &ArrayView2<'_, T>, range: Range<usize>, to: impl Fn(T) -> f64) -> Vec<f64> {
    let rows = x.slice(numpy::ndarray::s![range, ..]);
    rows.iter().map(|v| to(*v)).collect()
}

/// A matrix as an array with one row for each column: atoms, codes and duals as Python wants them.
pub fn array<'py>(py: Python<'py>, matrix: Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [matrix.cols(), matrix.rows()];
    PyArray1::from_vec(py, matrix.into_vec()).reshape(shape)
}
