//! `dictmesh._core.Coder`: codes for fixed atoms that are all at hand, solved exactly and certified.

use crate::data::{Data, View};
use crate::from_json;
use crate::preparation::Preparation;
use crate::work::{attend, said, Report, Tell};
use dictmesh::exact::{self, Part, SOLVED_TOGETHER};
use dictmesh::problem::Block;
use dictmesh::problem::{Task, TaskSpec};
use dictmesh::{Samples, Stop};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::collections::TryReserveError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// As many parts of those are solved before somebody looks for Ctrl-C as take about this long.
const WHILE: Duration = Duration::from_millis(200);
/// And no more than have this many numbers.
const NUMBERS: usize = 1 << 22;
/// So many samples are solved at once, without a thread of their own.
const FEW: usize = 16;

/// Solves min_y f(x - W y) + h(y) for samples x, one a row, and fixed atoms.
#[pyclass(module = "dictmesh._core", frozen)]
pub struct Coder {
    task: Task,
    block: Block,
}

/// Codes in the precision of the samples, where anybody wants them.
enum Codes {
    Unwanted,
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Values, columns and row starts of a CSR matrix.
    Sparse(Vec<f64>, Vec<i64>, Vec<i64>),
}

/// What a call returns of the codes.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Costs,
    Dense,
    Sparse,
}

/// What was solved so far.
struct Solved {
    codes: Codes,
    costs: Vec<f64>,
    worst: Stop,
}

type Costs<'py> = Bound<'py, PyArray1<f64>>;

#[pymethods]
impl Coder {
    /// A task as JSON, and the atoms, one a row, which are taken as they are.
    #[new]
    fn new(py: Python<'_>, task: &str, atoms: &Bound<'_, PyAny>) -> PyResult<Self> {
        let task = said(from_json::<TaskSpec>(task)?.build())?;
        let atoms = Data::of(atoms)?;
        let view = atoms.view();
        let block = py.detach(|| said(Block::new(view.all()?.to_dense())))?;
        Ok(Coder { task, block })
    }

    /// The codes, the cost of each sample, and the worst ending by its name and in words.
    ///
    /// Codes are an array, or if `sparse` the values, columns and row starts of a CSR matrix.
    #[pyo3(signature = (x, threads, progress=None, prepare=None, sparse=false))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
        progress: Option<&Bound<'py, PyAny>>,
        prepare: Option<PyRef<'py, Preparation>>,
        sparse: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Costs<'py>, &'static str, String)> {
        let wanted = match sparse {
            true => Wanted::Sparse,
            false => Wanted::Dense,
        };
        let solved = self.solved(py, x, (threads, progress), prepare.as_deref(), wanted)?;
        let shape = [solved.costs.len(), self.block.len()];
        let codes = match solved.codes {
            Codes::Unwanted => py.None().into_bound(py),
            Codes::F32(all) => PyArray1::from_vec(py, all).reshape(shape)?.into_any(),
            Codes::F64(all) => PyArray1::from_vec(py, all).reshape(shape)?.into_any(),
            Codes::Sparse(values, columns, starts) => {
                let values = PyArray1::from_vec(py, values);
                let columns = PyArray1::from_vec(py, columns);
                let starts = PyArray1::from_vec(py, starts);
                (values, columns, starts).into_pyobject(py)?.into_any()
            }
        };
        let costs = PyArray1::from_vec(py, solved.costs);
        Ok((codes, costs, solved.worst.name(), solved.worst.to_string()))
    }

    /// The same without the codes, which take more memory than all else.
    #[pyo3(signature = (x, threads, progress=None, prepare=None))]
    fn costs<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
        progress: Option<&Bound<'py, PyAny>>,
        prepare: Option<PyRef<'py, Preparation>>,
    ) -> PyResult<(Costs<'py>, &'static str, String)> {
        let wanted = Wanted::Costs;
        let solved = self.solved(py, x, (threads, progress), prepare.as_deref(), wanted)?;
        let costs = PyArray1::from_vec(py, solved.costs);
        Ok((costs, solved.worst.name(), solved.worst.to_string()))
    }
}

impl Codes {
    /// One more sample's, by its entries that are not 0.
    fn push(&mut self, atoms: usize, entries: &[(usize, f64)]) {
        match self {
            Codes::Unwanted => (),
            Codes::F32(all) => push(all, atoms, entries, |y| y as f32),
            Codes::F64(all) => push(all, atoms, entries, |y| y),
            Codes::Sparse(values, columns, starts) => {
                values.extend(entries.iter().map(|(_, y)| *y));
                columns.extend(entries.iter().map(|(q, _)| *q as i64));
                starts.push(values.len() as i64);
            }
        }
    }
}

fn push<T: Copy + Default>(
    all: &mut Vec<T>,
    atoms: usize,
    entries: &[(usize, f64)],
    as_stored: impl Fn(f64) -> T,
) {
    let from = all.len();
    all.resize(from + atoms, T::default());
    (entries.iter()).for_each(|(q, y)| all[from + q] = as_stored(*y));
}

impl Solved {
    /// Nothing yet, with capacity for all: for `atoms` codes of each sample if they are dense.
    fn none(x: &View<'_>, wanted: Wanted, atoms: usize) -> PyResult<Self> {
        let codes = (wanted == Wanted::Dense).then_some(atoms);
        let numbers = x.len().saturating_mul(codes.unwrap_or(0));
        let room = || {
            Ok::<_, TryReserveError>(Solved {
                codes: match codes {
                    None if wanted == Wanted::Sparse => {
                        Codes::Sparse(Vec::new(), Vec::new(), vec![0])
                    }
                    None => Codes::Unwanted,
                    Some(_) if x.is_single() => Codes::F32(with_room(numbers)?),
                    Some(_) => Codes::F64(with_room(numbers)?),
                },
                costs: with_room(x.len())?,
                worst: Stop::Converged,
            })
        };
        room().map_err(|_| {
            let each = codes.map_or(String::new(), |codes| format!(" with {codes} codes each"));
            PyMemoryError::new_err(format!(
                "{} samples{each} are more than there is memory for; give some of the samples at a time",
                x.len()
            ))
        })
    }
}

fn with_room<T>(numbers: usize) -> Result<Vec<T>, TryReserveError> {
    let mut all = Vec::new();
    all.try_reserve_exact(numbers)?;
    Ok(all)
}

impl Coder {
    /// Costs, and codes if they are wanted.
    fn solved(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        (threads, progress): (usize, Option<&Bound<'_, PyAny>>),
        prepare: Option<&Preparation>,
        wanted: Wanted,
    ) -> PyResult<Solved> {
        let data = Data::of(x)?;
        let x = data.view().prepared(prepare);
        let atoms = self.block.len();
        if x.len() <= FEW {
            let solved = py.detach(|| {
                let mut solved = Solved::none(&x, wanted, atoms)?;
                self.part(&x.all()?, &mut solved)?;
                Ok::<_, PyErr>(solved)
            })?;
            py.check_signals()?;
            return Ok(solved);
        }
        let stop = AtomicBool::new(false);
        attend(py, threads, &stop, progress, |tell| {
            let mut solved = Solved::none(&x, wanted, atoms)?;
            self.parts(&x, &mut solved, threads, &stop, &tell)?;
            Ok(solved)
        })
    }

    /// All atoms are one agent's.
    fn parts_of_one(&self) -> [Part<'_>; 1] {
        [Part {
            block: &self.block,
            task: self.task.common(),
        }]
    }

    fn part(&self, x: &Samples, solved: &mut Solved) -> PyResult<()> {
        let (residual, parts) = (self.task.residual(), self.parts_of_one());
        let found = said(exact::codes(residual, &parts, x, exact::Options::default()))?;
        solved.worst = solved.worst.worse(found.stop());
        (solved.costs).extend(found.certificates.iter().map(|c| c.dual));
        for j in 0..found.len() {
            solved.codes.push(found.atoms(), found.entries(j));
        }
        Ok(())
    }

    fn parts(
        &self,
        x: &View<'_>,
        solved: &mut Solved,
        threads: usize,
        stop: &AtomicBool,
        tell: &Tell,
    ) -> PyResult<()> {
        // The samples of a part are copied.
        let most = (NUMBERS / x.features().max(1) / SOLVED_TOGETHER).max(1) * SOLVED_TOGETHER;
        let (mut size, mut from) = (most.min(SOLVED_TOGETHER * threads), 0);
        while from < x.len() && !stop.load(Ordering::SeqCst) {
            let (to, clock) = ((from + size).min(x.len()), Instant::now());
            self.part(&x.part(from..to)?, solved)?;
            from = to;
            if clock.elapsed() < WHILE / 2 {
                size = most.min(2 * size);
            }
            let cost = solved.costs.iter().sum::<f64>() / from as f64;
            let _ = tell.send(Report {
                done: from,
                total: x.len(),
                cost,
            });
        }
        Ok(())
    }
}
