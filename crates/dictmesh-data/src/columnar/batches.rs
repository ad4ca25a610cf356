//! The record batches of a Parquet or Arrow IPC file.

use super::guard::{damaged, guarded, RATIO};
use super::ipc::IpcReader;
use crate::error::Result;
use crate::format::Format;
use crate::source::{Bytes, Source};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::ProjectionMask;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Numbers in a batch, at most (1 MB), unless one row has more.
const BATCH: usize = 1 << 17;
/// Bytes of pages that a pass over a Parquet file may hold. A page has 1 MB, as all writers have it
/// by default, and a dictionary beside it as much.
const PAGES: u64 = 64 << 20;
const PAGE: u64 = 2 << 20;

/// Record batches, or slices of them, of bounded size.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// An opened file.
#[derive(Clone)]
pub struct ColumnarFile {
    source: Arc<Source>,
    schema: SchemaRef,
    /// Of a Parquet file; Arrow files are read from the start.
    metadata: Option<ArrowReaderMetadata>,
}

impl ColumnarFile {
    /// Reads the schema.
    pub fn open(source: &Arc<Source>, format: Format) -> Result<Self> {
        let file = match format {
            Format::Parquet => {
                let load =
                    || ArrowReaderMetadata::load(&Chunk(source.clone()), ArrowReaderOptions::new());
                let metadata = guarded(source, "Parquet", || load().map_err(|e| e.to_string()))?;
                ColumnarFile {
                    source: source.clone(),
                    schema: metadata.schema().clone(),
                    metadata: Some(metadata),
                }
            }
            _ => ColumnarFile {
                source: source.clone(),
                schema: IpcReader::open(source)?.1,
                metadata: None,
            },
        };
        Ok(file)
    }

    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether these columns can be read side by side in bounded memory. The pages of a Parquet file
    /// are unpacked whole, one of each column.
    pub fn fits_rows(&self, columns: usize) -> bool {
        let Some(metadata) = &self.metadata else {
            return true;
        };
        let groups = metadata.metadata().row_groups().iter();
        let largest = groups
            .map(|group| group.total_byte_size().unsigned_abs())
            .max();
        largest.unwrap_or(0).min(columns as u64 * PAGE) <= PAGES
    }

    /// Groups of columns that are read together.
    pub fn groups<'a>(&self, columns: &'a [usize]) -> std::slice::Chunks<'a, usize> {
        let most = match &self.metadata {
            Some(_) if !self.fits_rows(columns.len()) => (PAGES / PAGE) as usize,
            _ => columns.len(),
        };
        columns.chunks(most.max(1))
    }

    /// The rows of these columns (rising), which have `width` numbers in a row together.
    pub fn batches(&self, columns: &[usize], width: usize) -> Result<Batches> {
        let rows = (BATCH / width.max(1)).clamp(1, 1 << 13);
        let source = self.source.clone();
        if let Some(metadata) = &self.metadata {
            let input = Chunk(source.clone());
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(input, metadata.clone());
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            let build = || builder.with_projection(mask).with_batch_size(rows).build();
            let mut reader = guarded(&source, "Parquet", || build().map_err(|e| e.to_string()))?;
            return Ok(Box::new(std::iter::from_fn(move || {
                let next = || reader.next().transpose().map_err(|e| e.to_string());
                guarded(&source, "Parquet", next).transpose()
            })));
        }
        let (mut reader, _) = IpcReader::open(&source)?;
        let columns = columns.to_vec();
        let mut batch: Option<RecordBatch> = None;
        let mut done = false;
        Ok(Box::new(std::iter::from_fn(move || loop {
            if let Some(whole) = batch.take().filter(|whole| whole.num_rows() > 0) {
                let count = rows.min(whole.num_rows());
                batch = Some(whole.slice(count, whole.num_rows() - count));
                return Some(Ok(whole.slice(0, count)));
            }
            if done {
                return None;
            }
            let next = reader.next().and_then(|next| match next {
                Some(batch) => batch
                    .project(&columns)
                    .map(Some)
                    .map_err(|e| damaged(&source, "Arrow", &e.to_string())),
                None => Ok(None),
            });
            match next {
                Ok(Some(next)) => batch = Some(next),
                Ok(None) => done = true,
                Err(e) => {
                    done = true;
                    return Some(Err(e));
                }
            }
        })))
    }
}

/// The bytes of a source at any place.
struct Chunk(Arc<Source>);

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Chunk {
    type T = BufReader<Bytes>;

    /// Pages are read by it, from their headers on.
    fn get_read(&self, start: u64) -> std::result::Result<Self::T, ParquetError> {
        let mut reader = self.0.reader();
        reader.seek(SeekFrom::Start(start))?;
        match page_sizes(reader.fill_buf()?) {
            Some((unpacked, packed)) if unpacked > (packed + 8).saturating_mul(RATIO) => {
                Err(ParquetError::General("a page that is too long".into()))
            }
            _ => Ok(reader),
        }
    }

    fn get_bytes(
        &self,
        start: u64,
        length: usize,
    ) -> std::result::Result<bytes::Bytes, ParquetError> {
        if start
            .checked_add(length as u64)
            .is_none_or(|end| end > self.0.len())
        {
            return Err(ParquetError::EOF("it is cut off".into()));
        }
        let mut bytes = vec![0; length];
        self.get_read(start)?.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// The sizes of a page, unpacked and packed, by the first three fields of its header: its kind and the sizes,
/// each an i32 of Thrift's compact protocol. The decoder takes the memory of the first before it unpacks.
fn page_sizes(header: &[u8]) -> Option<(i64, i64)> {
    /// The next field, of type i32.
    const FIELD: u8 = 0x15;
    let mut bytes = header.iter();
    let mut field = || {
        bytes.next().filter(|byte| **byte == FIELD)?;
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = *bytes.next()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        None
    };
    let _kind = field()?;
    Some((field()?, field()?))
}
