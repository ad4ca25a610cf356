//! What the system allows this process: where it allows too little, a sentence and not a crash.

/// From now on a file that grows beyond the limit (`ulimit -f`) is a write that fails, and not the end of the
/// program with its files half written.
#[cfg(unix)]
pub fn outlive_file_size() {
    use std::sync::{atomic::AtomicBool, Arc};
    // Any handler will do. Without one we end as before; under `trap '' XFSZ` nothing changes.
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        Arc::new(AtomicBool::new(false)),
    );
}

/// Elsewhere no signal ends the program: such a write fails by itself.
#[cfg(not(unix))]
pub fn outlive_file_size() {}

/// The number of threads at most.
const MOST_THREADS: usize = 1024;

/// Starts the threads that all commands share: `count`, or one per core.
pub fn start_threads(count: Option<usize>) -> Result<(), String> {
    if let Some(count) = count.filter(|count| !(1..=MOST_THREADS).contains(count)) {
        return Err(format!(
            "--threads {count}: must be 1 to {MOST_THREADS}; leave it out for all cores"
        ));
    }
    // 0 is one per core, or RAYON_NUM_THREADS.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count.unwrap_or(0));
    pool.build_global().map_err(|e| {
        format!(
            "the threads for the work cannot be started ({e}); allow more memory or processes (ulimit -v, \
             ulimit -u), or give a smaller number of --threads"
        )
    })
}
