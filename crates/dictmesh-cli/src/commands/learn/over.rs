//! Where the agents of `learn` are.

use super::super::{Ended, Result};
use super::Args;

/// Where agents are, if not all in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Over {
    /// Each agent a rank of an MPI job: mpirun -np N dictmesh learn ... --over mpi
    Mpi,
}

impl Over {
    /// Learns there.
    pub fn learn(self, args: Args) -> Result<Ended> {
        match self {
            #[cfg(feature = "mpi")]
            Over::Mpi => super::ranks::run(args),
            #[cfg(not(feature = "mpi"))]
            Over::Mpi => {
                let _ = args;
                Err(
                    "--over mpi: this dictmesh was built without MPI. With an MPI library and libclang there (Debian: \
                     apt-get install libopenmpi-dev openmpi-bin libclang-dev), build it by cargo build --release -p \
                     dictmesh-cli --features mpi"
                        .into(),
                )
            }
        }
    }
}
