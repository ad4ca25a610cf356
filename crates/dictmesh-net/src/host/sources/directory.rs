//! A directory that is watched for new files.

use super::super::error::failed;
use super::super::Result;
use super::spool::keep_names;
use crate::words::counted;
use crate::{Source, Taken};
use dictmesh::Samples;
use dictmesh_data::{self as data, DataError, ReadOptions};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A file of this name says that no more will come.
const END: &str = "end";
/// How often the directory is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// The list of the files that were taken, in the state directory.
const LIST: &str = "files-taken";

/// What the names of files end in that are not whole yet.
const UNFINISHED: [&str; 2] = [".part", ".tmp"];

/// What is done about a file that cannot be read.
const REMEDY: &str = "Put it right, or take it away (agent.toml names the directory and nothing about its files: each is \
                      read as its name says, whole, a sample a row), and start this agent again.";

/// Files of samples, in the order of their names. Directories, hidden files and those that end in `.part` or `.tmp` are
/// passed over: write a file under such a name, then rename it.
///
/// A file that comes later than one whose name is after its own is refused: an agent that looks a moment later finds
/// both, takes them the other way round, and the two learn different samples under one number.
///
/// A batch ends with its file. Which sample a file begins with is written down, so that files may be removed when
/// all agents are past them.
pub struct DirectorySource {
    path: PathBuf,
    rows: usize,
    list: File,
    files: Vec<Taking>,
    /// The file read last.
    open: Option<(usize, Samples)>,
    /// The log has said that there is something that is passed over.
    told: bool,
    looked: Instant,
}

struct Taking {
    name: String,
    begins: u64,
    samples: u64,
}

impl DirectorySource {
    /// The files of the directory `path`, whose samples have `rows` numbers; `state` keeps the list of files taken.
    pub fn new(rows: usize, path: &Path, state: &Path) -> Result<Self> {
        if !path.is_dir() {
            return Err(format!(
                "{}: there is no such directory to watch; make it first",
                path.display()
            )
            .into());
        }
        fs::create_dir_all(state).map_err(|e| failed(state, &e))?;
        let list = state.join(LIST);
        let known = match fs::read_to_string(&list) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|e| failed(&list, &e))?,
        };
        // A line without its end was torn, and is not counted.
        let whole = known.rfind('\n').map_or(0, |end| end + 1);
        let files: Option<Vec<Taking>> = known[..whole].lines().map(entry).collect();
        let damaged = || {
            let shown = list.display();
            format!("{shown}: this is no list of files taken; restore it")
        };
        let files = files.ok_or_else(damaged)?;
        let file = OpenOptions::new().create(true).append(true).open(&list);
        let file = file.map_err(|e| failed(&list, &e))?;
        file.set_len(whole as u64).map_err(|e| failed(&list, &e))?;
        keep_names(state)?;
        Ok(DirectorySource {
            path: path.to_path_buf(),
            rows,
            list: file,
            files,
            open: None,
            told: false,
            looked: Instant::now(),
        })
    }

    /// Files that are new, by name; and whether no more will come.
    fn look(&mut self) -> Result<(BTreeSet<String>, bool)> {
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.path).map_err(|e| failed(&self.path, &e))? {
            let entry = entry.map_err(|e| failed(&self.path, &e))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_of_samples(&name) && !entry.path().is_dir() {
                names.insert(name);
            } else if !std::mem::replace(&mut self.told, true) {
                tracing::info!(
                    %name, directory = %self.path.display(),
                    "passed over, as are all directories, hidden files and names that end in .part or .tmp"
                );
            }
        }
        let ended = names.remove(END);
        for file in &self.files {
            names.remove(&file.name);
        }
        self.looked = Instant::now();
        if let Some(first) = names.first() {
            self.check_order(first)?;
        }
        Ok((names, ended))
    }

    /// Refuses a new file that should have come before one that was taken.
    fn check_order(&self, new: &str) -> Result<()> {
        match self.files.iter().find(|file| file.name.as_str() > new) {
            None => Ok(()),
            Some(file) => Err(format!(
                "{}: it came after {}, whose name sorts after its own, was taken; another agent could take them in the other order. Names must rise in text order (009.csv, 010.csv): rename it, \
                 and start this agent again. If other agents watch this directory they may have taken it before, and \
                 what was learned from sample {} on is of mixed samples: then remove the state directories of all \
                 agents, to learn anew",
                self.path.join(new).display(),
                file.name,
                file.begins,
            ).into()),
        }
    }

    /// The number of the sample after the last file.
    fn next(&self) -> u64 {
        let last = self.files.last();
        last.map_or(0, |file| file.begins + file.samples)
    }

    fn add(&mut self, name: String) -> Result<()> {
        let samples = self.read(&name)?;
        let taking = Taking {
            begins: self.next(),
            samples: samples.len() as u64,
            name,
        };
        let line = format!("{} {} {}\n", taking.begins, taking.samples, taking.name);
        let kept = self.list.write_all(line.as_bytes());
        kept.and_then(|()| self.list.sync_data()).map_err(|e| {
            format!(
                "the list of files taken: {}",
                dictmesh_data::output::refusal(&e)
            )
        })?;
        self.open = Some((self.files.len(), samples));
        self.files.push(taking);
        Ok(())
    }

    fn read(&self, name: &str) -> Result<Samples> {
        let path = self.path.join(name);
        let table = data::read(&path, &ReadOptions::default()).map_err(|e| DataError {
            remedy: REMEDY.into(), // an agent has no flags that say how a file is read
            ..e
        });
        let samples = table?.samples;
        match samples.rows() == self.rows {
            true => Ok(samples),
            false => Err(format!(
                "{}: samples of {}; this run's have {}. {REMEDY}",
                path.display(),
                counted(samples.rows(), "number"),
                self.rows
            )
            .into()),
        }
    }
}

/// Whether a file of this name is taken.
fn is_of_samples(name: &str) -> bool {
    !name.starts_with('.') && !UNFINISHED.iter().any(|end| name.ends_with(end))
}

fn entry(line: &str) -> Option<Taking> {
    let mut words = line.splitn(3, ' ');
    Some(Taking {
        begins: words.next()?.parse().ok()?,
        samples: words.next()?.parse().ok()?,
        name: words.next()?.to_string(),
    })
}

impl Source for DirectorySource {
    fn take(
        &mut self,
        position: u64,
        count: usize,
        until: Instant,
    ) -> std::result::Result<Taken, String> {
        while position >= self.next() {
            let (new, ended) = self.look()?;
            let none = new.is_empty();
            for name in new {
                self.add(name)?;
            }
            if none && ended {
                return Ok(Taken::End);
            }
            if none {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(Taken::Pending);
                }
                sleep(LOOK.min(left));
            }
        }
        // In the middle of a file too, so that agents with different files in hand do not come to its end together.
        if self.looked.elapsed() >= LOOK {
            self.look()?;
        }
        let found = self.files.iter().rposition(|file| file.begins <= position);
        let index = found.ok_or("the list of files taken does not begin with sample 0")?;
        let samples = match self.open.take() {
            Some((open, samples)) if open == index => samples,
            _ => self.read(&self.files[index].name)?,
        };
        let from = (position - self.files[index].begins) as usize;
        let to = from.saturating_add(count).min(samples.len());
        if from >= to {
            return Err(format!(
                "{}: it has fewer samples than when it was taken",
                self.path.join(&self.files[index].name).display()
            ));
        }
        let taken = samples.range(from..to);
        self.open = Some((index, samples));
        Ok(Taken::Samples(taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_are_taken_in_order_once_and_again_after_a_restart() {
        let (place, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let put = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
        let open = || DirectorySource::new(2, place.path(), state.path()).unwrap();
        let now = Instant::now();
        let first = |taken: std::result::Result<Taken, String>| match taken.unwrap() {
            Taken::Samples(x) => (x.len(), x.to_dense().column(0)[0]),
            other => panic!("{other:?}"),
        };
        let mut source = open();
        assert!(matches!(source.take(0, 2, now).unwrap(), Taken::Pending));
        put("b.csv", "1,1\n2,2\n3,3\n");
        put("half.csv.part", "1,");
        put("half.csv.tmp", "1,");
        put(".hidden", "x");
        fs::create_dir(place.path().join("older")).unwrap();
        assert_eq!(first(source.take(0, 2, now)), (2, 1.0));
        // The batch ends with its file.
        assert_eq!(first(source.take(2, 2, now)), (1, 3.0));
        put("b2.csv", "4,4\n5,5\n");
        assert_eq!(first(source.take(3, 2, now)), (2, 4.0));
        drop(source);
        fs::remove_file(place.path().join("b.csv")).unwrap();
        let mut source = open();
        assert_eq!(first(source.take(4, 2, now)), (1, 5.0));
        put("end", "");
        assert!(matches!(source.take(5, 2, now).unwrap(), Taken::End));
        assert!(source.take(1, 2, now).unwrap_err().contains("b.csv"));
        put("wide.csv", "1,2,3\n");
        assert!(source.take(5, 2, now).unwrap_err().contains("samples of 3"));
        fs::remove_file(place.path().join("wide.csv")).unwrap();
        // What an agent has no flag for is not advised.
        for (name, text) in [
            ("notes.md", "x"),
            ("notes.txt", "x"),
            ("bad.csv", "1,2\n3,x\n"),
            ("bad.npy", "x"),
        ] {
            put(name, text);
            let said = source.take(5, 2, now).unwrap_err();
            assert!(
                said.contains(name) && said.contains("take it away"),
                "{said}"
            );
            assert!(!said.contains("--"), "{said}");
            fs::remove_file(place.path().join(name)).unwrap();
        }
    }
    /// Two agents that look at different times: the second would take them the other way round.
    #[test]
    fn a_file_that_comes_after_one_it_should_be_before_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let states = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let put = |name: &str| fs::write(place.path().join(name), "1,1\n2,2\n").unwrap();
        let [mut early, mut late] = states
            .each_ref()
            .map(|state| DirectorySource::new(2, place.path(), state.path()).unwrap());
        let now = Instant::now();
        put("b.csv");
        early.take(0, 1, now).unwrap();
        put("a.csv");
        late.take(0, 1, now).unwrap();
        // In the middle of its file already.
        sleep(LOOK);
        let said = early.take(1, 1, now).unwrap_err();
        for words in [
            "a.csv",
            "b.csv, whose name",
            "rename it",
            "from sample 0 on",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        late.take(1, 1, now).unwrap();
        fs::rename(place.path().join("a.csv"), place.path().join("c.csv")).unwrap();
        early.take(1, 1, now).unwrap();
        early.take(2, 1, now).unwrap();
    }
}
