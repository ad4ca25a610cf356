//! The state directory of an agent is one process's alone: two would write over each other.

use super::Result;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The file that is locked; it has the number of the process that holds it.
const LOCK: &str = "lock";
/// A holder that has not written its number.
const UNKNOWN: &str = "its number is not known";
/// How often an agent tries to take a directory that nobody but [`holder`] locks.
const LOOKS: usize = 20;
/// How long it waits in between; who looks is done in less.
const LOOK: Duration = Duration::from_millis(10);

/// Takes the directory for this process, for as long as the file lives.
pub fn take(state: &Path) -> Result<File> {
    let failed = |e: &std::io::Error| {
        format!(
            "state = \"{}\": an agent keeps its checkpoints in this directory, and it cannot be made or written: {}; \
             mend that, or name another directory with state = \"...\" in agent.toml",
            state.display(),
            in_the_way(state, e)
        )
    };
    fs::create_dir_all(state).map_err(|e| failed(&e))?;
    // Its checkpoints hold its atoms, which are nobody else's business.
    #[cfg(unix)]
    fs::set_permissions(state, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .map_err(|e| failed(&e))?;
    // What the holder wrote stays until it is known that there is none.
    let open = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(state.join(LOCK));
    let mut file = open.map_err(|e| failed(&e))?;
    let mut looks = LOOKS;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(fs::TryLockError::Error(e)) => return Err(failed(&e).into()),
            Err(fs::TryLockError::WouldBlock) => {}
        }
        let holder = holder(state);
        looks -= 1;
        if holder.is_some() || looks == 0 {
            return Err(format!(
                "{}: another process is this agent already ({}); end it first",
                state.display(),
                holder.unwrap_or(UNKNOWN.into())
            )
            .into());
        }
        thread::sleep(LOOK); // somebody only looks who holds it
    }
    let written = file
        .set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|e| failed(&e))?;
    Ok(file)
}

/// Who holds this directory, in words, if anybody does.
pub fn holder(state: &Path) -> Option<String> {
    let path = state.join(LOCK);
    // Shared: two who look at the same time are not in each other's way. Where the system cannot lock files, nobody holds
    // one, and whoever takes the directory is told why it cannot.
    let held = |file: File| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
    let held = File::open(&path).is_ok_and(held);
    held.then(|| match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => format!("process {}", text.trim()),
        _ => UNKNOWN.into(),
    })
}

/// Why a directory cannot be had: by the part of its path that is there.
fn in_the_way(path: &Path, e: &std::io::Error) -> String {
    let there = path.ancestors().find(|part| part.exists());
    let there = there.unwrap_or(Path::new(".")).display();
    match e.kind() {
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => format!("{there} is a file"),
        ErrorKind::PermissionDenied => format!("this user may not write in {there}"),
        ErrorKind::ReadOnlyFilesystem => format!("{there} can only be read"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full".into(),
        _ => format!("{there}: {e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// `mesh leave` or a second `launch` may look at the moment an agent starts, which is no reason for it to end.
    #[test]
    fn whoever_looks_is_in_nobodys_way() {
        let place = tempfile::tempdir().unwrap();
        let (state, done) = (place.path().join("state"), AtomicBool::new(false));
        drop(take(&state).unwrap());
        let taken: Vec<Result<()>> = thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    holder(&state);
                }
            });
            let taken = (0..200).map(|_| take(&state).map(drop)).collect();
            done.store(true, Ordering::Relaxed);
            taken
        });
        for taken in taken {
            assert!(taken.is_ok(), "{taken:?}");
        }
    }

    #[test]
    fn a_second_process_is_told_of_the_first() {
        let place = tempfile::tempdir().unwrap();
        let _first = take(place.path()).unwrap();
        let why = take(place.path()).unwrap_err();
        let number = format!("already (process {})", std::process::id());
        assert!(why.to_string().contains(&number), "{why}");
    }
}
