//! The scores on standard output, as CSV or as lines of JSON.

use super::super::{fail, refusal, Result};
use super::{Args, Scored};
use crate::render::{json, Reply};
use dictmesh_apps::calibration::ThresholdFrom;
use dictmesh_report::numbers::exact;
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};

/// A line of `--json`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ScoreLine<'a> {
    /// The name of the sample: a name in the data, a line of text, or a number from 0.
    sample: &'a str,
    /// The cost of coding the sample.
    score: f64,
    /// Whether the score is above the threshold.
    novel: bool,
    /// The threshold.
    threshold: f64,
    /// Where the threshold comes from.
    threshold_from: ThresholdFrom,
    /// The certified relative gap of the score; null if the strategy certifies none.
    gap: Option<f64>,
}

impl Reply for ScoreLine<'_> {
    const COMMAND: &'static str = "score";
}

/// The scores on standard output.
pub struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    /// Whether the reader has closed the pipe (`dictmesh score ... | head`).
    closed: bool,
}

impl Printer {
    pub fn new(args: &Args) -> Result<Self> {
        let mut printer = Printer {
            out: BufWriter::new(io::stdout().lock()),
            json: args.speech.json,
            closed: false,
        };
        if !args.speech.json {
            printer.write("sample,score,novel\n")?;
        }
        Ok(printer)
    }

    /// Prints one score; returns false if nobody reads.
    pub fn line(&mut self, name: &str, score: f64, gap: Option<f64>, by: &Scored) -> Result<bool> {
        let novel = score > by.threshold;
        let line = match self.json {
            true => {
                json::line(&ScoreLine {
                    sample: name,
                    score,
                    novel,
                    threshold: by.threshold,
                    threshold_from: by.from,
                    gap,
                }) + "\n"
            }
            false => format!("{},{},{}\n", quoted(name), exact(score), u8::from(novel)),
        };
        self.write(&line)
    }

    fn write(&mut self, text: &str) -> Result<bool> {
        let written = self.out.write_all(text.as_bytes());
        self.still_open(written)
    }

    pub fn flush(&mut self) -> Result<bool> {
        let flushed = self.out.flush();
        self.still_open(flushed)
    }

    fn still_open(&mut self, done: io::Result<()>) -> Result<bool> {
        match done {
            Ok(()) => Ok(!self.closed),
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(false)
            }
            Err(e) => fail(format!("cannot print: {}", refusal(&e))),
        }
    }
}

/// A CSV field.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
