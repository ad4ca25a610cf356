//! What the system allows this process: where it allows too little, a sentence and not a crash.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// From now on a file that grows beyond the limit (`ulimit -f`) is a write that fails, and not the end of the
/// program with its files half written.
pub fn outlive_file_size() {
    // Any handler will do. Without one we end as before; under `trap '' XFSZ` nothing changes.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        Arc::new(AtomicBool::new(false)),
    );
}

/// Starts the threads that all commands share.
pub fn start_threads() -> Result<(), String> {
    rayon::ThreadPoolBuilder::new().build_global().map_err(|e| {
        format!(
            "the threads for the work cannot be started ({e}); allow more memory or processes (ulimit -v, \
             ulimit -u), or set RAYON_NUM_THREADS to a smaller number"
        )
    })
}
