//! The calls of MPI that rsmpi's safe interface lacks or whose errors it drops: collectives, with every error code
//! checked.
//!
//! Unsafe because they are C functions that take pointers and lengths. Each is called with a slice and that slice's own
//! length; handles come from MPI itself; and none of the calls keeps a pointer after it returns.

#![allow(unsafe_code)]

use dictmesh::AgentId;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::Communicator;
use mpi::Threading;
use std::ffi::{c_char, c_int, c_void};

type Result<T> = std::result::Result<T, String>;

/// MPI, begun; it ends when this is dropped.
pub struct Library {
    universe: Universe,
}

impl Library {
    pub fn begin() -> Result<Self> {
        // One thread at a time calls MPI, which need not be the one that began it.
        let begun = mpi::initialize_with_threading(Threading::Serialized);
        let (universe, threading) =
            begun.ok_or("MPI was begun in this process already, and cannot be begun twice")?;
        if threading < Threading::Serialized {
            return Err(format!(
                "this MPI lets only one thread of a program call it ({threading:?}); install one with \
                 MPI_THREAD_SERIALIZED, such as Debian's openmpi-bin"
            ));
        }
        // SAFETY: both handles are MPI's own constants.
        let code = unsafe {
            ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_WORLD, ffi::RSMPI_ERRORS_RETURN)
        };
        check(code, "choosing how errors are told")?;
        Ok(Library { universe })
    }

    pub fn rank(&self) -> AgentId {
        self.universe.world().rank() as AgentId
    }

    pub fn size(&self) -> usize {
        self.universe.world().size() as usize
    }

    pub fn barrier(&self) -> Result<()> {
        // SAFETY: the handle is MPI's own.
        let code = unsafe { ffi::MPI_Barrier(ffi::RSMPI_COMM_WORLD) };
        check(code, "waiting for all ranks")
    }

    /// The largest of each number over all ranks.
    pub fn most(&self, own: &[f64], most: &mut [f64]) -> Result<()> {
        // SAFETY: both handles are MPI's own constants.
        let (comm, largest) = unsafe { (ffi::RSMPI_COMM_WORLD, ffi::RSMPI_MAX) };
        all_reduce(own, most, largest, comm)
    }

    pub fn abort(&self, code: u8) {
        self.universe.world().abort(code.into());
    }

    /// A communicator for rounds with these ranks.
    pub fn graph(&self, neighbours: &[AgentId]) -> Result<Graph> {
        let ranks: Vec<c_int> = neighbours.iter().map(|l| *l as c_int).collect();
        let weights = vec![1; ranks.len()];
        // SAFETY: the null handle is a value like any other, and is replaced below.
        let mut comm = unsafe { ffi::RSMPI_COMM_NULL };
        // SAFETY: sources and destinations are the same `ranks`, with as many weights; the new handle has a place.
        let code = unsafe {
            ffi::MPI_Dist_graph_create_adjacent(
                ffi::RSMPI_COMM_WORLD,
                ranks.len() as c_int,
                ranks.as_ptr(),
                weights.as_ptr(),
                ranks.len() as c_int,
                ranks.as_ptr(),
                weights.as_ptr(),
                ffi::RSMPI_INFO_NULL,
                0,
                &mut comm,
            )
        };
        check(code, "making the graph of the ranks")?;
        // SAFETY: `comm` was made above, and the other handle is MPI's own.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN) };
        check(code, "choosing how errors are told")?;
        Ok(Graph {
            comm,
            displacements: Vec::new(),
        })
    }
}

/// The graph of the ranks as MPI knows it. It is there until MPI ends.
pub struct Graph {
    comm: ffi::MPI_Comm,
    displacements: Vec<c_int>,
}

// SAFETY: MPI was begun with MPI_THREAD_SERIALIZED, so that any thread may use the handle, one at a time; that it is one at
// a time follows from `&mut self`.
unsafe impl Send for Graph {}

impl Graph {
    /// `own` goes to every neighbour; theirs come into `lengths`.
    pub fn gather_lengths(&mut self, own: usize, lengths: &mut [c_int]) -> Result<()> {
        let own = c_int::try_from(own).map_err(|_| too_long(own))?;
        // SAFETY: one number goes out, and one from each neighbour has a place in `lengths`, which has as many as the graph
        // has neighbours.
        let code = unsafe {
            ffi::MPI_Neighbor_allgather(
                (&raw const own).cast::<c_void>(),
                1,
                ffi::RSMPI_INT32_T,
                lengths.as_mut_ptr().cast::<c_void>(),
                1,
                ffi::RSMPI_INT32_T,
                self.comm,
            )
        };
        check(code, "telling the neighbours how long a message is")
    }

    /// The largest of each number over all ranks.
    pub fn most(&mut self, own: &[f64], most: &mut [f64]) -> Result<()> {
        // SAFETY: the handle is MPI's own constant.
        all_reduce(own, most, unsafe { ffi::RSMPI_MAX }, self.comm)
    }

    /// The sum of each number over all ranks.
    pub fn sum(&mut self, own: &[f64], sum: &mut [f64]) -> Result<()> {
        // SAFETY: the handle is MPI's own constant.
        all_reduce(own, sum, unsafe { ffi::RSMPI_SUM }, self.comm)
    }

    /// Replaces each integer by its sum over all ranks, modulo 2^64.
    pub fn sum_integers(&mut self, values: &mut [i64]) -> Result<()> {
        let length = c_int::try_from(values.len()).map_err(|_| too_long(values.len()))?;
        let own = values.to_vec();
        // Unsigned, as only their overflow is defined; the bits are the same.
        // SAFETY: `own` and `values` have `length` integers and do not overlap; the handles are
        // MPI's.
        let code = unsafe {
            ffi::MPI_Allreduce(
                own.as_ptr().cast::<c_void>(),
                values.as_mut_ptr().cast::<c_void>(),
                length,
                ffi::RSMPI_UINT64_T,
                ffi::RSMPI_SUM,
                self.comm,
            )
        };
        check(code, "summing integers of all ranks")
    }

    /// Replaces the bytes, of the same length at all ranks, by those of one rank.
    pub fn broadcast(&mut self, root: AgentId, bytes: &mut [u8]) -> Result<()> {
        let length = c_int::try_from(bytes.len()).map_err(|_| too_long(bytes.len()))?;
        // SAFETY: `bytes` has `length` bytes, and the handles are MPI's.
        let code = unsafe {
            ffi::MPI_Bcast(
                bytes.as_mut_ptr().cast::<c_void>(),
                length,
                ffi::RSMPI_UINT8_T,
                root as c_int,
                self.comm,
            )
        };
        check(code, "broadcasting from one rank")
    }

    /// The rank of this process.
    pub fn rank(&self) -> Result<AgentId> {
        let mut rank: c_int = 0;
        // SAFETY: the number has a place, and the handle is MPI's.
        let code = unsafe { ffi::MPI_Comm_rank(self.comm, &mut rank) };
        check(code, "asking for the rank")?;
        Ok(rank as AgentId)
    }

    /// `sent` goes to every neighbour; theirs, of these lengths, come into `received` one after the other.
    pub fn gather(&mut self, sent: &[f64], received: &mut [f64], lengths: &[c_int]) -> Result<()> {
        let own = c_int::try_from(sent.len()).map_err(|_| too_long(sent.len()))?;
        let total = c_int::try_from(received.len()).map_err(|_| too_long(received.len()))?;
        let code = if lengths.iter().all(|length| *length == own) {
            debug_assert_eq!(total as usize, lengths.len() * sent.len());
            // SAFETY: `sent` has `own` numbers, and `received` room for as many from each neighbour.
            unsafe {
                ffi::MPI_Neighbor_allgather(
                    sent.as_ptr().cast::<c_void>(),
                    own,
                    ffi::RSMPI_DOUBLE,
                    received.as_mut_ptr().cast::<c_void>(),
                    own,
                    ffi::RSMPI_DOUBLE,
                    self.comm,
                )
            }
        } else {
            self.displacements.clear();
            let mut from = 0;
            for length in lengths {
                self.displacements.push(from);
                from += length;
            }
            // SAFETY: as above; what neighbour i sends begins at the sum of the lengths before it, and `received` is as long
            // as all of them together.
            unsafe {
                ffi::MPI_Neighbor_allgatherv(
                    sent.as_ptr().cast::<c_void>(),
                    own,
                    ffi::RSMPI_DOUBLE,
                    received.as_mut_ptr().cast::<c_void>(),
                    lengths.as_ptr(),
                    self.displacements.as_ptr(),
                    ffi::RSMPI_DOUBLE,
                    self.comm,
                )
            }
        };
        check(code, "exchanging messages with the neighbours")
    }
}

/// Each number of all ranks brought together by `operation`, for all of them.
fn all_reduce(
    own: &[f64],
    all: &mut [f64],
    operation: ffi::MPI_Op,
    comm: ffi::MPI_Comm,
) -> Result<()> {
    let length = c_int::try_from(own.len()).map_err(|_| too_long(own.len()))?;
    if all.len() != own.len() {
        return Err(format!(
            "{} numbers were to come of {}",
            all.len(),
            own.len()
        ));
    }
    // SAFETY: both have `length` numbers, and do not overlap, as one of them is borrowed mutably; the handles are MPI's.
    let code = unsafe {
        ffi::MPI_Allreduce(
            own.as_ptr().cast::<c_void>(),
            all.as_mut_ptr().cast::<c_void>(),
            length,
            ffi::RSMPI_DOUBLE,
            operation,
            comm,
        )
    };
    check(code, "bringing numbers of all ranks together")
}

fn too_long(numbers: usize) -> String {
    format!(
        "{numbers} numbers in one round are more than MPI can count ({}); take smaller batches",
        c_int::MAX
    )
}

fn check(code: c_int, doing: &str) -> Result<()> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = vec![0_u8; ffi::MPI_MAX_ERROR_STRING as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: `text` is as long as MPI says that its longest message is, and `length` has a place.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    text.truncate(length.max(0) as usize);
    Err(format!(
        "MPI failed at {doing}: {}",
        String::from_utf8_lossy(&text)
    ))
}
