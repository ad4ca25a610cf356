//! An agent that was started by `dictmesh launch` does not outlive it.

use super::super::Result;
use super::beside;
use std::thread;
use std::time::Duration;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(100);

/// When the process `parent` is gone, so is this one, at once: whoever starts the mesh again finds nobody in the way, and
/// nothing is lost but the batch under way.
pub fn follow(parent: u32) -> Result<()> {
    let look = move || {
        while lives(parent) {
            thread::sleep(LOOK);
        }
        tracing::warn!("the process that started this one has ended");
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
