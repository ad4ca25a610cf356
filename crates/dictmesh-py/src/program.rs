//! The program `dictmesh`, for the entry point of the package.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program with these arguments, the first of which is its name; `relaunch` is a command that
/// starts it again. Returns the exit code. The process must do nothing else.
#[pyfunction]
pub fn main(py: Python<'_>, args: Vec<OsString>, relaunch: Vec<OsString>) -> u8 {
    py.detach(|| dictmesh_cli::main_in(args, relaunch))
}
