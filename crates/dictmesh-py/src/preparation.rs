//! `dictmesh._core.Preparation`: how raw data become samples, as model files keep it.

use crate::data::{array, Data};
use crate::from_json;
use crate::work::said;
use dictmesh::{Matrix, Model, Samples};
use dictmesh_data::patches;
use dictmesh_data::preparation::{feature_means, Centre, Cut, How, Norm, Numbers};
use dictmesh_data::text::{TextOptions, Vectoriser};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// What is done to raw data before a model takes them.
#[pyclass(module = "dictmesh._core")]
pub struct Preparation {
    how: How,
}

/// An error of dictmesh-data as Python's.
pub fn unprepared(e: dictmesh_data::Error) -> PyErr {
    PyValueError::new_err(e.to_string())
}

/// The three arrays of a CSR matrix with one sample a row.
type Rows<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
);

#[pymethods]
impl Preparation {
    /// Numbers, centred ("none", "sample" or "feature") and scaled ("none", "l1" or "l2").
    #[staticmethod]
    fn numbers(centre: &str, norm: &str) -> PyResult<Self> {
        let named = |name: &str| format!("\"{name}\"");
        let (centre, norm): (Centre, Norm) = (from_json(&named(centre))?, from_json(&named(norm))?);
        let how = How::Numbers(Numbers {
            centre,
            means: None,
            norm,
        });
        Ok(Preparation { how })
    }

    /// Text, with the options of the vectoriser as JSON.
    #[staticmethod]
    fn text(options: &str) -> PyResult<Self> {
        let options: TextOptions = from_json(options)?;
        let vectoriser = Box::new(said(Vectoriser::new(options))?);
        Ok(Preparation {
            how: How::Text { vectoriser },
        })
    }

    /// Pictures, cut into patches.
    #[staticmethod]
    fn patches(side: usize, stride: usize, white: f64) -> Self {
        Preparation {
            how: How::Patches(Cut {
                side,
                stride,
                white,
            }),
        }
    }

    /// "numbers", "counts", "text" or "patches".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.how {
            How::Numbers(_) => "numbers",
            How::Counts { .. } => "counts",
            How::Text { .. } => "text",
            How::Patches(_) => "patches",
        }
    }

    /// A description in one line.
    fn describe(&self) -> String {
        self.how.describe()
    }

    /// Takes the means of the features, if they are to be subtracted.
    fn fit(&mut self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<()> {
        let How::Numbers(numbers) = &mut self.how else {
            return Ok(());
        };
        if numbers.centre != Centre::Feature {
            return Ok(());
        }
        let data = Data::of(x)?;
        let x = data.view();
        let means = py.detach(|| {
            let mut failed = None;
            let parts = x.parts(1).map_while(|range| match x.part(range) {
                Ok(part) => Some(Ok(part)),
                Err(e) => {
                    failed = Some(e);
                    None
                }
            });
            let means = feature_means(parts, x.features());
            match failed {
                Some(e) => Err(e),
                None => means.map_err(unprepared),
            }
        })?;
        numbers.means = Some(means);
        Ok(())
    }

    /// The means of the features, where they are subtracted.
    #[getter]
    fn means<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        match &self.how {
            How::Numbers(Numbers { means, .. }) => {
                means.as_ref().map(|means| PyArray1::from_slice(py, means))
            }
            _ => None,
        }
    }

    /// Prepared numbers as a dense array, one sample a row.
    fn dense<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let data = Data::of(x)?;
        let x = data.view();
        let prepared = py.detach(|| Ok::<_, PyErr>(self.apply(x.all()?)?.to_dense()))?;
        Ok(array(py, prepared)?.into_any())
    }

    /// The norm and the centring of numbers.
    #[getter]
    fn options(&self) -> PyResult<String> {
        let value = match &self.how {
            How::Numbers(Numbers { centre, norm, .. }) => {
                serde_json::json!({"centre": centre, "norm": norm})
            }
            How::Counts { tfidf } => serde_json::json!({"weighting": tfidf.weighting()}),
            How::Text { vectoriser } => serde_json::json!(vectoriser.options()),
            How::Patches(cut) => serde_json::json!(cut),
        };
        Ok(value.to_string())
    }

    /// Takes the vocabulary and the document frequencies of all these documents; returns the number of terms.
    fn fit_text(&mut self, py: Python<'_>, documents: Vec<String>) -> PyResult<usize> {
        let vectoriser = self.vectoriser_mut()?;
        Ok(py.detach(|| vectoriser.fit(documents.iter().map(String::as_str))))
    }

    /// The vectors of a block of documents by the frequencies before it, which it then joins.
    fn text_block<'py>(&mut self, py: Python<'py>, documents: Vec<String>) -> PyResult<Rows<'py>> {
        let vectoriser = self.vectoriser_mut()?;
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        let x = said(py.detach(|| vectoriser.transform_block(&documents)))?;
        Ok(rows(py, &x))
    }

    /// The vectors of documents; nothing is learned.
    fn vectors<'py>(&self, py: Python<'py>, documents: Vec<String>) -> PyResult<Rows<'py>> {
        let vectoriser = self.vectoriser()?;
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        let x = said(py.detach(|| vectoriser.transform(&documents)))?;
        Ok(rows(py, &x))
    }

    /// The number of features of a sample of text.
    #[getter]
    fn rows(&self) -> PyResult<usize> {
        Ok(self.vectoriser()?.rows())
    }

    /// The number of documents whose frequencies are known.
    #[getter]
    fn documents(&self) -> PyResult<u64> {
        Ok(self.vectoriser()?.documents())
    }

    /// The features that have a term, with it.
    fn terms(&self) -> PyResult<Vec<(usize, String)>> {
        let terms = self.vectoriser()?.terms();
        Ok(terms.map(|(row, term)| (row, term.to_string())).collect())
    }

    /// The name of each feature, for display.
    fn names(&self) -> PyResult<Vec<String>> {
        let vectoriser = self.vectoriser()?;
        let rows = 0..vectoriser.rows();
        Ok(rows.map(|row| vectoriser.describe(row)).collect())
    }

    /// The weight of one mention of each term, before a document is scaled.
    fn idf<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let vectoriser = self.vectoriser()?;
        let rows = 0..vectoriser.rows();
        Ok(PyArray1::from_iter(py, rows.map(|row| vectoriser.idf(row))))
    }

    /// The words of a document that have no feature, those with the most mentions first.
    fn unknown(&self, document: &str) -> PyResult<Vec<String>> {
        Ok(self.vectoriser()?.unknown(document))
    }

    /// The patches of grey pictures without their means, one a row, and the mean of each.
    fn cut<'py>(
        &self,
        py: Python<'py>,
        pictures: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>)> {
        let How::Patches(cut) = &self.how else {
            return Err(PyTypeError::new_err("this model does not take pictures"));
        };
        let (mut all, mut means) = (Matrix::zeros(cut.side * cut.side, 0), Vec::new());
        for picture in pictures {
            // Rows of the array are columns of the samples: the picture comes transposed.
            let picture = Data::of(&picture)?.view().all()?.to_dense().transpose();
            let size = (picture.rows(), picture.cols());
            let corners = said(patches::corners(size, cut.side, cut.stride))?;
            let places = corners.iter().map(|at| (&picture, *at));
            let (samples, own) = said(patches::cut_at(cut.side, places))?;
            let joined = all.append_columns(&samples.to_dense());
            said(joined.map_err(Into::into))?;
            means.extend(own);
        }
        Ok((array(py, all)?.into_any(), PyArray1::from_vec(py, means)))
    }

    /// As JSON, the entry "preparation" of a model file.
    fn to_json(&self) -> PyResult<String> {
        let whole = dictmesh_data::preparation::Preparation::new(self.how.clone());
        serde_json::to_string(&whole).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The reverse of `to_json`.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let whole: dictmesh_data::preparation::Preparation = from_json(text)?;
        Ok(Preparation { how: whole.how })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let make = py.get_type::<Preparation>().getattr("from_json")?;
        Ok((make, (self.to_json()?,)))
    }
}

impl Preparation {
    /// The preparation in a model file.
    pub fn of(model: &Model) -> PyResult<Self> {
        let whole = dictmesh_data::preparation::Preparation::of(model).map_err(unprepared)?;
        Ok(Preparation { how: whole.how })
    }

    /// What views apply to each part of numbers.
    pub fn how(&self) -> &How {
        &self.how
    }

    fn apply(&self, x: Samples) -> PyResult<Samples> {
        applied(&self.how, x)
    }

    fn vectoriser(&self) -> PyResult<&Vectoriser> {
        match &self.how {
            How::Text { vectoriser } => Ok(vectoriser),
            _ => Err(PyTypeError::new_err("this model does not take text")),
        }
    }

    fn vectoriser_mut(&mut self) -> PyResult<&mut Vectoriser> {
        match &mut self.how {
            How::Text { vectoriser } => Ok(vectoriser),
            _ => Err(PyTypeError::new_err("this model does not take text")),
        }
    }
}

/// Samples of numbers, prepared. Vectors of text and patches are prepared already.
pub fn applied(how: &How, x: Samples) -> PyResult<Samples> {
    match how {
        How::Numbers(numbers) => numbers.apply(x).map_err(unprepared),
        How::Counts { tfidf } => said(tfidf.transform(&x)),
        How::Text { .. } | How::Patches(_) => Ok(x),
    }
}

fn rows<'py>(py: Python<'py>, x: &Samples) -> Rows<'py> {
    let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0]);
    for j in 0..x.len() {
        for (column, value) in x.entries(j) {
            values.push(value);
            columns.push(column as i64);
        }
        starts.push(values.len() as i64);
    }
    (
        PyArray1::from_vec(py, values),
        PyArray1::from_vec(py, columns),
        PyArray1::from_vec(py, starts),
    )
}
