//! Several files in a directory.

use super::draft::{beside, reason, Draft};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A directory to write several files into later, checked to be writable now.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Checks that files can be written into `path`, whether it exists or has to be created. Changes nothing.
    pub fn check(path: &Path) -> Result<Self, String> {
        Self::check_for("the report", path)
    }

    /// As [`check`](Folder::check); `what` names the files in messages.
    pub fn check_for(what: &str, path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let refuse = |why: &str| Err(format!("cannot write {what} to {shown}: {why}"));
        if path.as_os_str().is_empty() {
            return Err(format!(
                "cannot write {what}: the name of the directory is empty"
            ));
        }
        if path == Path::new("-") {
            return refuse("files are not written to standard output; name a directory");
        }
        // The nearest existing directory, in which the first file or directory would be created.
        let mut there = path;
        while fs::symlink_metadata(there).is_err() {
            match there.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => there = parent,
                _ => there = Path::new("."),
            }
        }
        match fs::metadata(there) {
            Ok(data) if data.is_dir() => {}
            Ok(_) if there == path => return refuse("it is there and is not a directory"),
            Ok(_) => return refuse(&format!("{} is not a directory", there.display())),
            Err(e) => return refuse(&format!("{}: {e}", there.display())),
        }
        let probe = beside(&there.join("dictmesh-report"));
        match File::create_new(&probe).and_then(|_| fs::remove_file(&probe)) {
            Ok(()) => Ok(Folder { path: path.into() }),
            Err(e) => refuse(&reason(&probe, &e)),
        }
    }

    /// Creates the directory and its parents.
    fn create(&self) -> Result<(), String> {
        fs::create_dir_all(&self.path)
            .map_err(|e| format!("cannot make the directory {}: {e}", self.path.display()))
    }

    /// Writes files of these names into it, and creates it if it is missing. On an error, no file and no new
    /// directory is left.
    pub fn write(&self, what: &'static str, files: &[(String, Vec<u8>)]) -> Result<(), String> {
        let missing = self.path.ancestors().take_while(|dir| !dir.exists());
        let made: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        let written = self.create().and_then(|()| {
            let drafts = files.iter().map(|(name, content)| {
                let mut draft = Draft::create(what, &self.path.join(name))?;
                let kept = draft.write_all(content).and_then(|()| draft.flush());
                kept.map_err(|e| draft.failed(&e))?;
                Ok(draft)
            });
            let drafts: Vec<Draft> = drafts.collect::<Result<_, String>>()?;
            drafts.into_iter().try_for_each(Draft::finish)
        });
        written.inspect_err(|_| {
            for dir in &made {
                let _ = fs::remove_dir(dir);
            }
        })
    }
}
