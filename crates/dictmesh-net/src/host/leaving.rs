//! The wish that an agent leaves its mesh for good: a file in its state directory, which outlives its process.

use super::error::{beside, failed};
use super::Result;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The file that asks for it.
const LEAVE: &str = "leave";
/// The file that says it is done.
const LEFT: &str = "left";
/// How often an agent looks.
const LOOK: Duration = Duration::from_millis(200);

/// Whether the agent with this state directory has left.
pub fn has_left(state: &Path) -> bool {
    state.join(LEFT).exists()
}

/// Whether it was asked to, and has not yet.
pub fn is_asked(state: &Path) -> bool {
    state.join(LEAVE).exists()
}

/// Asks the agent with this state directory to leave.
pub fn ask(state: &Path) -> Result<()> {
    let file = state.join(LEAVE);
    fs::write(&file, "").map_err(|e| failed(&file, &e))
}

/// Refuses to run an agent that has left.
pub fn check(state: &Path, name: &str) -> Result<()> {
    match has_left(state) {
        false => Ok(()),
        true => Err(format!(
            "{}: {name} has left this mesh for good, and its neighbours have forgotten it; dictmesh mesh add makes a \
             new agent, which joins it",
            state.display()
        ).into()),
    }
}

/// Sets the flag when somebody asks for it.
pub fn watch(state: &Path, leave: &Arc<AtomicBool>) -> Result<()> {
    let (file, leave) = (state.join(LEAVE), Arc::clone(leave));
    let look = move || {
        while !file.exists() {
            thread::sleep(LOOK);
        }
        tracing::info!("asked to leave for good: after this batch");
        leave.store(true, Ordering::SeqCst);
    };
    beside("leave", look)
}

/// Writes down that it is done.
pub fn done(state: &Path) -> Result<()> {
    let [from, to] = [LEAVE, LEFT].map(|name| state.join(name));
    fs::rename(&from, &to).map_err(|e| failed(&to, &e))
}
