//! Atomic writes of files.

use super::format::Fault;
use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

/// Atomically replaces the file `path` by the output of `content`: writes a temporary file in the
/// same directory, syncs it and renames it. Before the rename, an error leaves `path` unchanged.
pub fn write_atomic(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> crate::Result<()> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| Error::Io { path, source }
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Renaming would replace a device or a pipe.
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Error::Model {
            path: path.to_path_buf(),
            why: "the path exists and is not a regular file; choose another".to_string(),
        });
    }
    // Gives a clearer error than the creation of a file in a missing directory.
    fs::metadata(directory).map_err(failed(directory))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dictmesh-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // Dropping it on an early return deletes the temporary file.
    let part = builder.tempfile_in(directory).map_err(failed(directory))?;
    let fill = || {
        let mut out = BufWriter::with_capacity(1 << 20, part.as_file());
        content(&mut out)?;
        out.flush()?;
        part.as_file().sync_all()
    };
    fill().map_err(failed(path))?;
    part.persist(path)
        .map_err(|refusal| failed(path)(refusal.error))?;
    sync_directory(directory).map_err(failed(directory))
}

/// Syncs the directory, so that a rename is durable, where the system supports it.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Not readable, or not supported by the file system: the file is in place anyway.
        Err(e) if matches!(e.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        other => other,
    }
}

/// Opens a file and returns its length.
pub(super) fn open(path: &Path) -> Result<(BufReader<File>, u64), Fault> {
    // Checked before opening, which would block on a pipe.
    if !fs::metadata(path)?.is_file() {
        return Err(Fault::Why("it is not a regular file".to_string()));
    }
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    Ok((BufReader::new(file), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_in_mid_write_keeps_the_old_file_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        write_atomic(&path, |out| out.write_all(b"old")).unwrap();
        let broken = write_atomic(&path, |out| {
            out.write_all(&[1; 3_000_000])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(matches!(broken, Err(Error::Io { path: p, .. }) if p == path));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_before_there_was_a_file_leaves_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model");
        write_atomic(&path, |_| Err(io::Error::other("no"))).unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
