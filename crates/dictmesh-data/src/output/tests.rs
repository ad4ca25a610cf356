//! Files and folders leave no trace but the result.

use super::{Folder, ImageFile, ImageFormat};
use std::fs;
use std::path::{Path, PathBuf};

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
    let output = ImageFile::check(&dir.0.join("a.PNG")).unwrap();
    assert_eq!(output.format(), ImageFormat::Png);
    assert!(dir.names().is_empty());
    output.write(b"one").unwrap();
    output.write(b"two").unwrap();
    assert_eq!(dir.names(), ["a.PNG"]);
    assert_eq!(fs::read(dir.0.join("a.PNG")).unwrap(), b"two");
}

#[test]
fn what_cannot_be_written_is_said_in_a_sentence() {
    let dir = Scratch::new("refuse");
    let message = |path: PathBuf| ImageFile::check(&path).unwrap_err();
    assert!(message(dir.0.join("none/a.png")).ends_with("its directory does not exist"));
    assert!(message(dir.0.join("a.jpeg")).ends_with("must end in .png or .svg"));
    assert!(message(dir.0.join("a")).ends_with("must end in .png or .svg"));
    fs::create_dir(dir.0.join("d.png")).unwrap();
    assert!(message(dir.0.join("d.png")).ends_with("is not a file"));
    fs::write(dir.0.join("f"), "").unwrap();
    assert!(ImageFile::check(&dir.0.join("f/a.png")).is_err());
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
    let output = ImageFile::check(&dir.0.join("a.svg")).unwrap();
    fs::create_dir(dir.0.join("a.svg")).unwrap();
    assert!(output.write(b"x").is_err());
    assert_eq!(dir.names(), ["a.svg"]);
}

#[test]
fn a_folder_is_checked_without_a_trace_and_then_made() {
    let dir = Scratch::new("folder");
    let folder = Folder::check(&dir.0.join("a/b")).unwrap();
    assert!(dir.names().is_empty());
    for _ in 0..2 {
        folder.write("a file", &[]).unwrap();
        assert!(dir.0.join("a/b").is_dir());
    }
    fs::write(dir.0.join("f"), "").unwrap();
    let message = |path: &str| Folder::check(&dir.0.join(path)).unwrap_err();
    assert!(message("f").ends_with("it is there and is not a directory"));
    assert!(message("f/g").ends_with("f is not a directory"));
    assert!(Folder::check(Path::new("")).is_err());
    assert!(Folder::check(Path::new("not-there-yet")).is_ok());
    assert_eq!(dir.names().len(), 2);
}
