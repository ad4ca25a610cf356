//! Ctrl-C: what is being written is finished or taken away, never left half done.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Once};

/// The exit code after Ctrl-C: what shells report of a program that SIGINT ended.
pub const INTERRUPTED: u8 = 130;

/// Files in the making, under their passing names. Whoever holds the lock is not ended.
static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Whether the first Ctrl-C only asks.
static GENTLE: AtomicBool = AtomicBool::new(false);
static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Default::default);

/// From now on Ctrl-C ends the program at once, without the files in the making. Under nohup it does nothing:
/// a handler would let a hang-up through, which this is to be safe from.
pub fn watch() {
    if !hang_ups_are_ignored() {
        install();
    }
}

/// From now on the first Ctrl-C sets this flag only, and the second ends the program.
pub fn gently() -> Arc<AtomicBool> {
    GENTLE.store(true, Ordering::SeqCst);
    install();
    Arc::clone(&ASKED)
}

/// Does what must not be cut short, such as moving a file to its place.
pub fn undisturbed<T>(work: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    work(&mut parts())
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without a handler, Ctrl-C just ends us.
        let _ = ctrlc::set_handler(|| {
            if GENTLE.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
                return;
            }
            // Never given back: nothing new begins.
            let parts = parts();
            for part in parts.iter() {
                let _ = fs::remove_file(part);
            }
            std::process::exit(INTERRUPTED.into());
        });
    });
}

fn parts() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Whether SIGHUP, the first signal, is among those that are ignored.
fn hang_ups_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}
