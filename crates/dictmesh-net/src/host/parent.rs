//! An agent that was started by `dictmesh launch` does not outlive it.

use super::error::beside;
use super::Result;
use std::thread;
use std::time::Duration;

/// How often it looks.
const LOOK: Duration = Duration::from_millis(if cfg!(unix) { 100 } else { 1000 });

/// When the process `parent` is gone, so is this one, at once: whoever starts the mesh again finds nobody in the way, and
/// nothing is lost but the batch under way.
pub fn follow(parent: u32, end: impl FnOnce() + Send + 'static) -> Result<()> {
    let look = move || {
        while lives(parent) {
            thread::sleep(LOOK);
        }
        tracing::warn!("the process that started this one has ended");
        end();
    };
    beside("parent", look)
}

#[cfg(unix)]
fn lives(parent: u32) -> bool {
    std::os::unix::process::parent_id() == parent
}

/// Elsewhere the system keeps the parent's number when the parent has ended, so all processes are searched for it.
#[cfg(not(unix))]
fn lives(parent: u32) -> bool {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
    let parent = [Pid::from_u32(parent)];
    let wanted = ProcessesToUpdate::Some(&parent);
    System::new().refresh_processes_specifics(wanted, true, ProcessRefreshKind::nothing()) > 0
}
