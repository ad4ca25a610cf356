//! What carries the rounds, if they do not stay in this process.

use clap::ValueEnum;

/// Where the agents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// One process per agent on this machine, over gRPC
    Processes,
    /// One rank of an MPI job per agent: mpirun -np N dictmesh learn ... --over mpi
    Mpi,
}

/// What `--float32` says where it would do nothing.
pub const IN_ONE_PROCESS: &str =
    "--float32: it is for messages between processes, and there are none; give --over processes too, or leave it out";

/// What `--masks` says where it would do nothing.
pub const NO_MASKS: &str =
    "--masks: they hide sums between processes, and there are none; give --over processes too, or \
     leave it out";

/// What `--over mpi` says without MPI.
#[cfg(not(feature = "mpi"))]
pub const WITHOUT_MPI: &str =
    "--over mpi: this dictmesh was built without MPI. With an MPI library and libclang there (Debian: apt-get install \
     libopenmpi-dev openmpi-bin libclang-dev), build it by cargo build --release -p dictmesh-cli --features mpi";
