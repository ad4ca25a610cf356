//! Files that are there whole or not at all.

use super::format::Fault;
use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

/// Puts what `content` writes in place of the file `path`, or fails and changes nothing: it is written beside it,
/// brought to the disk, and renamed.
pub fn write_whole(
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
    // A device or a pipe would be replaced by the renaming.
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Error::Model {
            path: path.to_path_buf(),
            why: "it is there and is not a regular file: name another".to_string(),
        });
    }
    // Asked first because the answer is plainer than that of creating a file in it.
    fs::metadata(directory).map_err(failed(directory))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dictmesh-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // Dropped on every way out below, which removes it, unless it was put in its place.
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

/// Puts the renaming on the disk too, where the system lets a program do that.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // A directory one may write to but not read, or a file system that has no such call: the
        // file is in its place all the same.
        Err(e) if matches!(e.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        other => other,
    }
}

/// The file, and its length.
pub(super) fn open(path: &Path) -> Result<(BufReader<File>, u64), Fault> {
    // Asked before opening, which would wait for ever on a pipe.
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
        write_whole(&path, |out| out.write_all(b"old")).unwrap();
        let broken = write_whole(&path, |out| {
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
        write_whole(&path, |_| Err(io::Error::other("no"))).unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
