//! Records of a pipe in batches, which a thread of its own reads.

use crate::error::{DataError, Error, Result};
use crate::format::Format;
use crate::preparation::{DataOptions, Kind};
use crate::stream::{Record, Stream};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time from the first record of a batch to its results, and between two polls of the stop flag.
pub const WAIT: Duration = Duration::from_millis(200);
/// Records that are read ahead.
const AHEAD: usize = 256;

/// The input that has to be used as it arrives, and its name: standard input (`-`) or a named pipe.
/// `None` of files, and of pipes with data that are read as a whole, such as arrays and compressed
/// data. Waits for the first bytes of standard input.
pub fn pipe(
    path: &Path,
    kind: Kind,
    options: &DataOptions,
) -> Result<Option<(Box<dyn Read + Send>, String)>> {
    if path == Path::new("-") {
        let fits = stdin_is_pipe() && Stream::fits_stdin(kind, options)?;
        return Ok(fits.then(|| (Box::new(io::stdin()) as _, "standard input".into())));
    }
    // The first bytes of a named pipe cannot be put back: its options or its name must say that it
    // holds lines.
    let lines = match options.read.format.or(Format::by_name(path)) {
        Some(format) => matches!(
            format,
            Format::Lines | Format::Csv | Format::Tsv | Format::Jsonl
        ),
        None => kind == Kind::Text,
    };
    if !lines || !is_pipe(path) {
        return Ok(None);
    }
    let shown = path.display().to_string();
    let file = File::open(path).map_err(|e| DataError::io(&shown, &e))?;
    Ok(Some((Box::new(file), shown)))
}

/// Whether standard input is neither a file nor a device: its end may never come.
fn stdin_is_pipe() -> bool {
    io::stdin().is_terminal() || is_pipe(Path::new("/dev/stdin"))
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let kind = std::fs::metadata(path).map(|about| about.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}

#[cfg(not(unix))]
fn is_pipe(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
}

/// The batches of a stream.
pub struct Batches {
    records: Receiver<Result<Record>>,
    /// The first record, which settles the layout of all.
    first: Option<Record>,
    /// What ended the stream after the last batch.
    error: Option<DataError>,
    /// Ends the batches.
    stop: Arc<AtomicBool>,
    feature_names: Option<Vec<String>>,
}

impl Batches {
    /// Waits for the first record, and lets a thread read the others. The batches end when `stop` is
    /// set.
    pub fn new(mut records: Stream, stop: Arc<AtomicBool>) -> std::result::Result<Self, Error> {
        let first = records.next().transpose()?;
        let feature_names = records.feature_names();
        let (send, receive) = sync_channel(AHEAD);
        let read = move || records.try_for_each(|record| send.send(record));
        std::thread::Builder::new()
            .name("stream".into())
            .spawn(read)
            .map_err(|e| {
                Error::Mismatch(format!("no thread can be started to read the stream ({e})"))
            })?;
        Ok(Batches {
            records: receive,
            first,
            error: None,
            stop,
            feature_names,
        })
    }

    /// The names of the features, if the stream has them.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// The first record, until it is taken with its batch.
    pub fn first(&self) -> Option<&Record> {
        self.first.as_ref()
    }

    /// Whether the stop flag ended the stream.
    pub fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The next `count` records, or those that arrive within `WAIT`, 200 ms, of the first of them.
    pub fn soon(&mut self, count: usize) -> Result<Option<Vec<Record>>> {
        self.batch(count, Some(WAIT))
    }

    /// The next `count` records; fewer only at the end of the stream.
    pub fn full(&mut self, count: usize) -> Result<Option<Vec<Record>>> {
        self.batch(count, None)
    }

    /// `None` at the end. An error is returned after the records before it; a batch that the
    /// stop flag cuts off is dropped.
    fn batch(&mut self, count: usize, wait: Option<Duration>) -> Result<Option<Vec<Record>>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut batch: Vec<Record> = self.first.take().into_iter().collect();
        let mut until = wait
            .filter(|_| !batch.is_empty())
            .map(|w| Instant::now() + w);
        while batch.len() < count.max(1) {
            if self.is_interrupted() {
                return Ok(None);
            }
            let left = until.map_or(WAIT, |end| end.saturating_duration_since(Instant::now()));
            match self.records.recv_timeout(left) {
                Ok(Ok(record)) => {
                    batch.push(record);
                    until = until.or(wait.map(|w| Instant::now() + w));
                }
                Ok(Err(e)) if batch.is_empty() => return Err(e),
                Ok(Err(e)) => {
                    self.error = Some(e);
                    break;
                }
                Err(RecvTimeoutError::Timeout) if until.is_none() => {}
                Err(_) => break,
            }
        }
        Ok((!batch.is_empty()).then_some(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Content;
    use std::sync::mpsc::sync_channel;

    fn record(text: &str) -> Record {
        Record {
            line: 1,
            name: text.into(),
            label: None,
            content: Content::Text(text.into()),
        }
    }

    #[test]
    fn a_batch_is_what_is_there_or_what_fills_it() {
        let (send, records) = sync_channel(8);
        let mut batches = Batches {
            records,
            first: Some(record("a")),
            error: None,
            stop: Arc::default(),
            feature_names: None,
        };
        send.send(Ok(record("b"))).unwrap();
        // Without an end of the stream, which does not come.
        assert_eq!(batches.soon(64).unwrap().unwrap().len(), 2);
        for text in ["c", "d", "e"] {
            send.send(Ok(record(text))).unwrap();
        }
        let broken = DataError::new("-", "broken", "a line", "Mend it.");
        send.send(Err(broken)).unwrap();
        assert_eq!(batches.full(2).unwrap().unwrap().len(), 2);
        assert_eq!(batches.full(2).unwrap().unwrap(), [record("e")]);
        assert!(batches.full(2).unwrap_err().to_string().contains("broken"));
        drop(send);
        assert!(batches.soon(2).unwrap().is_none());
    }

    #[test]
    fn the_stop_flag_ends_the_batches() {
        let (_send, records) = sync_channel(8);
        let mut batches = Batches {
            records,
            first: Some(record("a")),
            error: None,
            stop: Arc::new(AtomicBool::new(true)),
            feature_names: None,
        };
        assert!(batches.full(2).unwrap().is_none() && batches.is_interrupted());
    }
}
