//! Standard input: a sample a line.

use super::super::error::beside;
use super::super::Result;
use super::spool::Spool;
use crate::words::counted;
use crate::{Source, Taken};
use dictmesh::Samples;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::time::Instant;

/// Lines read ahead of what was asked for.
const AHEAD: usize = 64;
/// Bytes of a line at most, for each number.
const WIDEST: usize = 64;

/// Numbers with commas, semicolons or blanks between them, a sample a line. As nobody says them twice, they are kept
/// on disk from when they are asked for until all agents are past them: an agent that starts again takes those first,
/// and then new lines. Lines that were read ahead are lost with the process, so it says which line it wants next.
pub struct LineSource {
    spool: Spool,
    lines: Receiver<std::result::Result<Vec<f64>, String>>,
    ended: bool,
}

impl LineSource {
    /// Lines of `rows` numbers from `input`; `state` keeps those that were taken. A thread of its own reads.
    pub fn new(rows: usize, state: &Path, input: impl Read + Send + 'static) -> Result<Self> {
        // First, so that nothing is read by one that cannot keep it.
        let spool = Spool::open(state, rows)?;
        let (send, lines) = sync_channel(AHEAD);
        let read = move || {
            let mut input = BufReader::new(input);
            for number in 1_u64.. {
                let line = match line(&mut input, rows) {
                    Ok(None) => break,
                    Ok(Some(text)) if text.trim().is_empty() => continue,
                    Ok(Some(text)) => sample(&text, rows),
                    Err(e) => Err(e),
                };
                let line = line.map_err(|e| {
                    format!(
                        "line {number} of standard input: {e}; a line must be {rows} finite numbers with commas, semicolons \
                         or blanks between them, without a header. Start this agent again with the right line and what \
                         comes after it: the lines before are kept"
                    )
                });
                let failed = line.is_err();
                if send.send(line).is_err() || failed {
                    break;
                }
            }
        };
        beside("stdin", read)?;
        Ok(LineSource {
            spool,
            lines,
            ended: false,
        })
    }

    /// How many samples of the whole stream it has taken: the next line is the one after them.
    pub fn taken(&self) -> u64 {
        self.spool.next()
    }

    /// What can be given now. An end before the sample that is wanted is none.
    fn kept(&self, position: u64, count: usize) -> Result<Taken> {
        let samples = self.spool.range(position, count)?;
        let Some(first) = samples.first() else {
            return match self.taken() {
                taken if taken >= position => Ok(Taken::End),
                taken => Err(format!(
                    "standard input ended after sample {taken}, and the mesh is at sample {position}; start this agent \
                     again, and feed it line {} of all and those after it",
                    taken + 1
                ).into()),
            };
        };
        let dense = Samples::dense_from_columns(first.len(), &samples);
        Ok(Taken::Samples(dense.map_err(|e| e.to_string())?))
    }
}

/// The next line; none at the end.
fn line(input: &mut impl BufRead, rows: usize) -> Result<Option<String>> {
    let most = (WIDEST * (rows + 16)) as u64;
    let mut text = String::new();
    let read = input.by_ref().take(most).read_line(&mut text);
    match read.map_err(|e| e.to_string())? {
        0 => Ok(None),
        _ if text.len() as u64 == most => Err("it is longer than any sample".into()),
        _ => Ok(Some(text)),
    }
}

fn sample(text: &str, rows: usize) -> Result<Vec<f64>> {
    let between = |c: char| c == ',' || c == ';' || c.is_whitespace();
    let words = text.split(between).filter(|word| !word.is_empty());
    let number = |word: &str| match word.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("\"{word}\" is not a finite number").into()),
    };
    let sample: Vec<f64> = words.map(number).collect::<Result<_>>()?;
    match sample.len() {
        found if found == rows => Ok(sample),
        found => Err(format!("it has {}", counted(found, "number")).into()),
    }
}

impl Source for LineSource {
    fn take(
        &mut self,
        position: u64,
        count: usize,
        until: Instant,
    ) -> std::result::Result<Taken, String> {
        while !self.ended && self.spool.next() < position + count as u64 {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(Ok(sample)) => self.spool.push(sample)?,
                Ok(Err(why)) => {
                    self.spool.sync()?; // it says that the lines before are kept
                    return Err(why);
                }
                Err(RecvTimeoutError::Timeout) => return Ok(Taken::Pending),
                Err(RecvTimeoutError::Disconnected) => self.ended = true,
            }
        }
        self.spool.sync()?;
        Ok(self.kept(position, count)?)
    }

    fn forget(&mut self, position: u64) {
        if let Err(e) = self.spool.forget(position) {
            tracing::warn!("the spool of samples only grows: {e}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    #[test]
    fn lines_are_numbered_kept_and_read_again() {
        let place = tempfile::tempdir().unwrap();
        let text = "1,2\n3 4\n\n5;6\n7, 8\n9 10\n";
        let mut source = LineSource::new(2, place.path(), text.as_bytes()).unwrap();
        let column = |taken: &Taken, j: usize| match taken {
            Taken::Samples(samples) => samples.to_dense().column(j).to_vec(),
            _ => panic!("there are samples"),
        };
        assert_eq!(column(&source.take(0, 2, soon()).unwrap(), 1), [3.0, 4.0]);
        assert_eq!(column(&source.take(2, 2, soon()).unwrap(), 0), [5.0, 6.0]);
        // Back to an earlier one.
        assert_eq!(column(&source.take(0, 2, soon()).unwrap(), 0), [1.0, 2.0]);
        // A short batch, then the end.
        assert_eq!(column(&source.take(4, 2, soon()).unwrap(), 0), [9.0, 10.0]);
        assert!(matches!(source.take(5, 2, soon()).unwrap(), Taken::End));
        drop(source);
        // The process starts again: what was read is still there, new lines follow.
        let mut source = LineSource::new(2, place.path(), "11,12\n".as_bytes()).unwrap();
        assert_eq!(column(&source.take(4, 2, soon()).unwrap(), 1), [11.0, 12.0]);
    }

    /// What was lost is asked for again, as only whoever feeds it has it.
    #[test]
    fn a_spool_that_was_cut_short_wants_the_lines_it_lacks() {
        let place = tempfile::tempdir().unwrap();
        let open = |text: &'static str| LineSource::new(2, place.path(), text.as_bytes()).unwrap();
        let mut source = open("1,2\n3,4\n5,6\n7,8\n");
        source.take(0, 4, soon()).unwrap();
        drop(source);
        assert_eq!(open("").taken(), 4);
        for file in std::fs::read_dir(place.path()).unwrap() {
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(file.unwrap().path());
            file.unwrap().set_len(2 * 20 + 7).unwrap();
        }
        assert_eq!(open("").taken(), 2);
        // Nor is the end of a short feed the end of the samples.
        let said = open("5,6\n").take(4, 4, soon()).unwrap_err();
        assert!(said.contains("ended after sample 3") && said.contains("feed it line 4"));
    }

    #[test]
    fn nonsense_is_named_with_its_line_and_a_pause_is_no_end() {
        for (text, words) in [
            ("1,2\n3\n", "line 2 of standard input: it has 1 number;"),
            (
                "1,2\n\n3 4 5\n",
                "line 3 of standard input: it has 3 numbers; a line must be 2 finite numbers",
            ),
            (
                "a,b\n1,2\n",
                "line 1 of standard input: \"a\" is not a finite number; a line must be",
            ),
            ("1,x\n", "\"x\" is not a finite number"),
            ("1,NaN\n", "\"NaN\" is not a finite number"),
        ] {
            let place = tempfile::tempdir().unwrap();
            let mut source = LineSource::new(2, place.path(), text.as_bytes()).unwrap();
            let said = source.take(0, 4, soon()).unwrap_err();
            assert!(said.contains(words), "{said}");
        }
        let long = std::io::Cursor::new("1".repeat(100_000));
        let place = tempfile::tempdir().unwrap();
        let mut source = LineSource::new(2, place.path(), long).unwrap();
        assert!(source.take(0, 1, soon()).unwrap_err().contains("longer"));
        // A pipe that nobody writes to.
        let place = tempfile::tempdir().unwrap();
        let (silent, _open) = std::io::pipe().unwrap();
        let mut source = LineSource::new(2, place.path(), silent).unwrap();
        let until = Instant::now() + Duration::from_millis(20);
        assert!(matches!(source.take(0, 1, until).unwrap(), Taken::Pending));
    }
}
