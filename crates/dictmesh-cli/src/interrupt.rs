//! Ctrl-C: what is being written is finished or taken away, never left half done.

use dictmesh_data::output::abandon;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

/// The exit code after Ctrl-C: what shells report of a program that SIGINT ended.
pub const INTERRUPTED: u8 = 130;

/// Whether the first Ctrl-C only asks.
static GENTLE: AtomicBool = AtomicBool::new(false);
/// When it was asked.
static FIRST: OnceLock<Instant> = OnceLock::new();
/// What comes so soon after the first is the same Ctrl-C: `timeout` signals its child and then the whole group.
const ECHO: Duration = Duration::from_secs(1);
/// What is said when a signal ends the program.
static LAST_WORDS: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();
static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Default::default);

/// From now on Ctrl-C ends the program at once, without the files in the making. Without a handler, it just
/// ends us.
#[cfg(unix)]
pub fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Under nohup a hang-up goes on being ignored, whatever else ends the program.
    let signals = match hang_ups_are_ignored() {
        true => vec![SIGINT, SIGTERM],
        false => vec![SIGINT, SIGTERM, SIGHUP],
    };
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(signals) {
        let listen = move || signals.forever().for_each(|_| pressed());
        let _ = std::thread::Builder::new().spawn(listen);
    }
}

/// From now on Ctrl-C ends the program at once, without the files in the making.
#[cfg(not(unix))]
pub fn watch() {
    let _ = ctrlc::set_handler(pressed);
}

/// From now on the first Ctrl-C sets this flag only, and the second ends the program.
pub fn gently() -> Arc<AtomicBool> {
    GENTLE.store(true, Ordering::SeqCst);
    Arc::clone(&ASKED)
}

/// From now on this is done before a signal ends the program.
#[cfg(feature = "mpi")]
pub fn last_words(words: impl Fn() + Send + Sync + 'static) {
    let _ = LAST_WORDS.set(Box::new(words));
}

/// From now on Ctrl-C ends the program at once again. Whether it was pressed before.
pub fn at_once() -> bool {
    GENTLE.store(false, Ordering::SeqCst);
    ASKED.load(Ordering::SeqCst)
}

/// What Ctrl-C does; a thread of its own runs it, one signal after the other.
fn pressed() {
    if GENTLE.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
        let _ = FIRST.set(Instant::now());
        return;
    }
    if FIRST.get().is_some_and(|first| first.elapsed() < ECHO) {
        return;
    }
    // Never given back: nothing new begins.
    let _parts = abandon();
    if let Some(words) = LAST_WORDS.get() {
        words();
    }
    std::process::exit(INTERRUPTED.into());
}

/// Whether SIGHUP, the first signal, is among those that are ignored.
#[cfg(unix)]
fn hang_ups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}
