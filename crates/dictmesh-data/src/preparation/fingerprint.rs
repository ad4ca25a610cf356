//! Checksums of data.

use super::{Raw, Result};
use crate::source::Source;
use flate2::Crc;
use std::io::BufRead;

impl Raw {
    /// The CRC-32 of the content as eight digits. It does not depend on the name. Reads files to
    /// their end.
    pub fn fingerprint(&self) -> Result<String> {
        let mut sum = Crc::new();
        match self {
            Raw::Matrix { source, .. } => add(&mut sum, source)?,
            Raw::Table(table) => add(&mut sum, table.source())?,
            Raw::Documents(documents) => {
                for document in documents.documents()? {
                    let text = document?.text;
                    sum.update(&(text.len() as u64).to_le_bytes());
                    sum.update(text.as_bytes());
                }
            }
            Raw::Pictures(files) => {
                for file in files {
                    add(&mut sum, &Source::open(&file.path)?)?;
                }
            }
        }
        Ok(format!("{:08x}", sum.sum()))
    }
}

fn add(sum: &mut Crc, source: &Source) -> Result<()> {
    let mut reader = source.reader();
    loop {
        let bytes = reader.fill_buf().map_err(|e| source.io_error(&e))?;
        if bytes.is_empty() {
            return Ok(());
        }
        sum.update(bytes);
        let got = bytes.len();
        reader.consume(got);
    }
}
