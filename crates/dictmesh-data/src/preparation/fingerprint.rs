//! What data are told apart by.

use super::{Raw, Result};
use crate::source::Source;
use flate2::Crc;
use std::io::BufRead;

impl Raw {
    /// The CRC-32 of the content, as eight digits: data that changed have another, whatever they are called.
    /// Reads a matrix and pictures to their end, which is little beside learning from them.
    pub fn fingerprint(&self) -> Result<String> {
        let mut sum = Crc::new();
        match self {
            Raw::Matrix { source, .. } => add(&mut sum, source)?,
            Raw::Table(table) => {
                let x = &table.samples;
                let mut number = |n: u64| sum.update(&n.to_le_bytes());
                number(x.rows() as u64);
                for (row, value) in (0..x.len()).flat_map(|j| x.entries(j)) {
                    number(row as u64);
                    number(value.to_bits());
                }
            }
            Raw::Documents(documents) => {
                for text in &documents.texts {
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
