//! The program `dictmesh`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(dictmesh_cli::main_with(std::env::args_os()))
}
