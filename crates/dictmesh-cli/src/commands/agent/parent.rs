//! An agent that was started by `dictmesh launch` does not outlive it.

use super::super::Result;
use super::beside;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(200);
/// How long it takes to end at most, when it is alone.
const LEAVE: Duration = Duration::from_secs(10);

/// When the process `parent` is gone, asks this one to end, and ends it if it does not.
pub fn follow(parent: u32, interrupt: &Arc<AtomicBool>) -> Result<()> {
    let interrupt = Arc::clone(interrupt);
    let look = move || {
        while lives(parent) {
            thread::sleep(LOOK);
        }
        tracing::warn!("the process that started this one is gone");
        interrupt.store(true, Ordering::SeqCst);
        thread::sleep(LEAVE);
        std::process::exit(crate::interrupt::INTERRUPTED.into());
    };
    beside("parent", look)
}

#[cfg(unix)]
fn lives(parent: u32) -> bool {
    std::os::unix::process::parent_id() == parent
}

#[cfg(not(unix))]
fn lives(_: u32) -> bool {
    true
}
