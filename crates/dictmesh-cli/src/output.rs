//! Output files that are complete or absent.

use crate::commands::refusal;
use crate::interrupt::undisturbed;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A picture file to be written later, checked to be writable now.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    format: Format,
}

/// The format by the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Png,
    Svg,
}

impl Output {
    /// Checks before the work that a picture can be written to `path`. Errors: a message for the user.
    pub fn check(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let format = match extension.to_ascii_lowercase().as_str() {
            "png" => Format::Png,
            "svg" => Format::Svg,
            _ => {
                return Err(format!(
                    "cannot write a picture to {shown}: its name must end in .png or .svg"
                ))
            }
        };
        let path = landing(path);
        if path.exists() && !path.is_file() {
            return Err(format!(
                "cannot write the picture to {shown}: it is there and is not a file"
            ));
        }
        if fs::metadata(&path).is_ok_and(|m| m.permissions().readonly()) {
            return Err(format!(
                "cannot write the picture to {shown}: the file is there and is write-protected"
            ));
        }
        let output = Output { path, format };
        // Only a trial shows it.
        let beside = beside(&output.path);
        File::create_new(&beside)
            .and_then(|_| fs::remove_file(&beside))
            .map_err(|e| {
                format!(
                    "cannot write the picture to {shown}: {}",
                    reason(&output.path, &e)
                )
            })?;
        Ok(output)
    }

    /// The format by the file's name.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Writes the file beside its place and renames it.
    pub fn write(&self, content: &[u8]) -> Result<(), String> {
        write_file("the picture", &self.path, content)
    }
}

/// Writes a file beside its place and renames it. `what` names it in messages.
pub fn write_file(what: &'static str, path: &Path, content: &[u8]) -> Result<(), String> {
    let mut draft = Draft::create(what, path)?;
    draft.write_all(content).map_err(|e| draft.failed(&e))?;
    draft.finish()
}

/// The file that a path leads to through links, also links to files that do not exist yet, so that the links
/// remain.
pub fn landing(path: &Path) -> PathBuf {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&place) {
            Ok(to) => place = place.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return place,
        }
    }
    path.to_path_buf()
}

/// The number of links that systems follow; more are a cycle.
const MOST_LINKS: usize = 40;

/// A file under way: written beside its place, and renamed by [`finish`](Draft::finish). Dropped before that, it
/// is removed.
#[derive(Debug)]
pub struct Draft {
    what: &'static str,
    path: PathBuf,
    beside: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Draft {
    /// Starts a file; `what` names it in messages.
    pub fn create(what: &'static str, path: &Path) -> Result<Self, String> {
        let mut draft = Draft {
            what,
            path: landing(path),
            beside: beside(&landing(path)),
            file: None,
        };
        if draft.path.is_dir() {
            return Err(draft.failed(&io::ErrorKind::IsADirectory.into()));
        }
        let file = undisturbed(|parts| {
            let file = File::create_new(&draft.beside)?;
            parts.push(draft.beside.clone());
            Ok(file)
        });
        draft.file = Some(BufWriter::new(file.map_err(|e| draft.failed(&e))?));
        Ok(draft)
    }

    /// Renames the file to its place.
    pub fn finish(mut self) -> Result<(), String> {
        let moved = self.flush().and_then(|()| match self.file.take() {
            Some(file) => {
                file.get_ref().sync_all()?;
                self.close(|draft| fs::rename(&draft.beside, &draft.path))
            }
            None => Ok(()),
        });
        moved.map_err(|e| {
            // If the removal fails too, the first error is reported.
            let _ = self.close(|draft| fs::remove_file(&draft.beside));
            self.failed(&e)
        })
    }

    /// The last operation on the partial file.
    fn close(&self, last: impl FnOnce(&Self) -> io::Result<()>) -> io::Result<()> {
        undisturbed(|parts| {
            parts.retain(|part| *part != self.beside);
            last(self)
        })
    }

    /// The message for an error while writing.
    pub fn failed(&self, e: &io::Error) -> String {
        let (what, shown) = (self.what, self.path.display());
        format!("cannot write {what} to {shown}: {}", reason(&self.path, e))
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Seek for Draft {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Some(file) => file.seek(to),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // The buffer is dropped unwritten: the disk may be full.
            drop(file.into_parts());
            let _ = self.close(|draft| fs::remove_file(&draft.beside));
        }
    }
}

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

/// A hidden name in the same directory, unique to this process.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

fn reason(path: &Path, e: &io::Error) -> String {
    // The parent of a bare name is "", which means here.
    let parent = path.parent().unwrap_or(Path::new(""));
    let missing = !parent.as_os_str().is_empty() && !parent.exists();
    match e.kind() {
        io::ErrorKind::NotFound if missing => "its directory does not exist".into(),
        io::ErrorKind::PermissionDenied => "permission denied in its directory".into(),
        io::ErrorKind::NotADirectory => "its directory is a file".into(),
        io::ErrorKind::NotFound => "no file can be made in its directory".into(),
        _ => refusal(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory that goes away with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("dictmesh-{name}-{}", std::process::id()));
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }
        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            entries
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn checking_leaves_nothing_and_writing_leaves_one_file() {
        let dir = Scratch::new("write");
        let output = Output::check(&dir.0.join("a.PNG")).unwrap();
        assert_eq!(output.format(), Format::Png);
        assert!(dir.names().is_empty());
        output.write(b"one").unwrap();
        output.write(b"two").unwrap();
        assert_eq!(dir.names(), ["a.PNG"]);
        assert_eq!(fs::read(&output.path).unwrap(), b"two");
    }

    #[test]
    fn what_cannot_be_written_is_said_in_a_sentence() {
        let dir = Scratch::new("refuse");
        let message = |path: PathBuf| Output::check(&path).unwrap_err();
        assert!(message(dir.0.join("none/a.png")).ends_with("its directory does not exist"));
        assert!(message(dir.0.join("a.jpeg")).ends_with("must end in .png or .svg"));
        assert!(message(dir.0.join("a")).ends_with("must end in .png or .svg"));
        fs::create_dir(dir.0.join("d.png")).unwrap();
        assert!(message(dir.0.join("d.png")).ends_with("is not a file"));
        fs::write(dir.0.join("f"), "").unwrap();
        assert!(Output::check(&dir.0.join("f/a.png")).is_err());
        let locked = dir.0.join("locked.png");
        fs::write(&locked, "").unwrap();
        let mut permissions = fs::metadata(&locked).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&locked, permissions).unwrap();
        assert!(message(locked).ends_with("write-protected"));
        assert_eq!(dir.names().len(), 3);
    }

    #[test]
    fn a_failed_write_leaves_no_part_behind() {
        let dir = Scratch::new("fail");
        let output = Output::check(&dir.0.join("a.svg")).unwrap();
        fs::create_dir(dir.0.join("a.svg")).unwrap();
        assert!(output.write(b"x").is_err());
        assert_eq!(dir.names(), ["a.svg"]);
    }

    #[test]
    fn a_folder_is_checked_without_a_trace_and_then_made() {
        let dir = Scratch::new("folder");
        let folder = Folder::check(&dir.0.join("a/b")).unwrap();
        assert!(dir.names().is_empty());
        folder.create().unwrap();
        folder.create().unwrap();
        assert!(dir.0.join("a/b").is_dir());
        fs::write(dir.0.join("f"), "").unwrap();
        let message = |path: &str| Folder::check(&dir.0.join(path)).unwrap_err();
        assert!(message("f").ends_with("it is there and is not a directory"));
        assert!(message("f/g").ends_with("f is not a directory"));
        assert!(Folder::check(Path::new("")).is_err());
        assert!(Folder::check(Path::new("not-there-yet")).is_ok());
        assert_eq!(dir.names().len(), 2);
    }
}
