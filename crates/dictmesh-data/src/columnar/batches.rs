//! The record batches of a Parquet or Arrow IPC file.

use crate::error::{DataError, Result};
use crate::format::Format;
use crate::source::{Bytes, Source};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_footer_length, FileDecoder, StreamDecoder};
use arrow_ipc::{root_as_footer, root_as_message, Block};
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::ProjectionMask;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

/// Numbers in a batch, at most (1 MB), unless one row has more.
const BATCH: usize = 1 << 17;
/// Bytes of an Arrow file read at once.
const BLOCK: usize = 1 << 16;
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

/// The result of a decoder; a panic of it is an error as well.
fn guarded<T>(
    source: &Source,
    format: &str,
    decode: impl FnOnce() -> std::result::Result<T, String>,
) -> Result<T> {
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    let decoded = decoded.unwrap_or_else(|_| Err("its decoder gave up".into()));
    decoded.map_err(|e| damaged(source, format, &e))
}

fn damaged(source: &Source, format: &str, why: &str) -> DataError {
    let why: String = why.chars().take(200).collect();
    source.error(
        format!("a damaged or unsupported {format} file ({why})"),
        "a complete file with columns of numbers or texts",
        "Write it again, for example with pandas or polars.",
    )
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

    fn get_read(&self, start: u64) -> std::result::Result<Self::T, ParquetError> {
        let mut reader = self.0.reader();
        reader.seek(SeekFrom::Start(start))?;
        Ok(reader)
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

/// The batches of an Arrow file or stream.
enum IpcReader {
    File(Box<BlockReader>),
    Stream(Box<MessageReader>),
}

impl IpcReader {
    /// Reads up to the schema.
    fn open(source: &Arc<Source>) -> Result<(Self, SchemaRef)> {
        if source.head(8)?.starts_with(b"ARROW1") {
            let reader = BlockReader::open(source)?;
            let schema = reader.schema.clone();
            return Ok((IpcReader::File(Box::new(reader)), schema));
        }
        let mut reader = MessageReader {
            source: source.clone(),
            reader: source.reader(),
            decoder: StreamDecoder::new(),
            waiting: Buffer::from(Vec::<u8>::new()),
        };
        let schema = reader.schema()?;
        Ok((IpcReader::Stream(Box::new(reader)), schema))
    }

    /// The next batch; `None` at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            IpcReader::File(reader) => reader.next(),
            IpcReader::Stream(reader) => reader.next(),
        }
    }
}

/// The blocks of a file, which its footer lists.
struct BlockReader {
    source: Arc<Source>,
    schema: SchemaRef,
    decoder: FileDecoder,
    batches: std::vec::IntoIter<Block>,
}

impl BlockReader {
    fn open(source: &Arc<Source>) -> Result<Self> {
        let cut = || damaged(source, "Arrow", "it is cut off");
        let end = source.len().checked_sub(10).ok_or_else(cut)?;
        let trailer = bytes_at(source, end, 10)?;
        let trailer = <[u8; 10]>::try_from(&trailer[..]).map_err(|_| cut())?;
        let length =
            read_footer_length(trailer).map_err(|e| damaged(source, "Arrow", &e.to_string()))?;
        let begin = end.checked_sub(length as u64).ok_or_else(cut)?;
        let footer = bytes_at(source, begin, length as u64)?;
        guarded(source, "Arrow", || {
            let footer = root_as_footer(&footer).map_err(|e| e.to_string())?;
            let schema = footer.schema().ok_or("it has no schema")?;
            let schema = Arc::new(try_fb_to_schema(schema).map_err(|e| e.to_string())?);
            let mut decoder = FileDecoder::new(schema.clone(), footer.version());
            for block in footer.dictionaries().iter().flatten() {
                let bytes = block_at(source, block).map_err(|e| e.found)?;
                let read = decoder.read_dictionary(block, &bytes);
                read.map_err(|e| e.to_string())?;
            }
            let batches = footer.recordBatches();
            let batches: Vec<Block> = batches.iter().flatten().copied().collect();
            Ok(BlockReader {
                source: source.clone(),
                schema,
                decoder,
                batches: batches.into_iter(),
            })
        })
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(block) = self.batches.next() else {
            return Ok(None);
        };
        let bytes = block_at(&self.source, &block)?;
        guarded(&self.source, "Arrow", || {
            let batch = self.decoder.read_record_batch(&block, &bytes);
            batch.map_err(|e| e.to_string())
        })
    }
}

/// The bytes of a block: a message and its body.
fn block_at(source: &Arc<Source>, block: &Block) -> Result<Buffer> {
    let place = |at: i64| u64::try_from(at).ok();
    let (message, body) = (block.metaDataLength().into(), block.bodyLength());
    let length = place(message)
        .zip(place(body))
        .and_then(|(a, b)| a.checked_add(b));
    let (Some(at), Some(length)) = (place(block.offset()), length.filter(|l| *l >= 8)) else {
        return Err(damaged(source, "Arrow", "a block without a place"));
    };
    let bytes = bytes_at(source, at, length)?;
    match guarded(source, "Arrow", || {
        Ok(unpacks_to_what_it_may(&bytes, block))
    })? {
        true => Ok(Buffer::from(bytes)),
        false => Err(damaged(source, "Arrow", "a buffer that is too long")),
    }
}

/// Bytes that a compressed byte becomes, at most: a block of zstd has 4 bytes for 128 KB of one byte.
const RATIO: i64 = 1 << 15;

/// Whether no compressed buffer claims a length that it cannot have: the decoder takes that memory
/// before it unpacks.
fn unpacks_to_what_it_may(bytes: &[u8], block: &Block) -> bool {
    let begin = match bytes.starts_with(&[0xff; 4]) {
        true => 8,
        false => 4,
    };
    let (Some(message), Some(body)) = (
        bytes.get(begin..).and_then(|b| root_as_message(b).ok()),
        usize::try_from(block.metaDataLength())
            .ok()
            .and_then(|m| bytes.get(m..)),
    ) else {
        // The decoder says what is wrong.
        return true;
    };
    let dictionary = message.header_as_dictionary_batch().and_then(|d| d.data());
    let batch = message.header_as_record_batch().or(dictionary);
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else {
        return true;
    };
    batch.buffers().iter().flatten().all(|buffer| {
        let from = usize::try_from(buffer.offset()).ok();
        let prefix = from.and_then(|from| body.get(from..)?.first_chunk::<8>());
        let claimed = prefix.map_or(0, |prefix| i64::from_le_bytes(*prefix));
        claimed <= buffer.length().saturating_add(8).saturating_mul(RATIO)
    })
}

/// Bytes at a place of a file, if it has them.
fn bytes_at(source: &Arc<Source>, at: u64, length: u64) -> Result<Vec<u8>> {
    if at.checked_add(length).is_none_or(|end| end > source.len()) {
        return Err(damaged(source, "Arrow", "it is cut off"));
    }
    let failed = |e: io::Error| source.io_error(&e);
    let mut reader = source.reader();
    reader.seek(SeekFrom::Start(at)).map_err(failed)?;
    let mut bytes = vec![0; length as usize];
    reader.read_exact(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// The messages of a stream, one after the other.
struct MessageReader {
    source: Arc<Source>,
    reader: BufReader<Bytes>,
    decoder: StreamDecoder,
    waiting: Buffer,
}

impl MessageReader {
    /// The schema, which comes before the first batch.
    fn schema(&mut self) -> Result<SchemaRef> {
        // Small blocks, so that the schema is seen before a batch is unpacked.
        while self.fill(8)? {
            self.decode()?;
            if let Some(schema) = self.decoder.schema() {
                return Ok(schema);
            }
        }
        Err(damaged(&self.source, "Arrow", "it has no schema"))
    }

    /// The next batch; `None` at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.decode()? {
                return Ok(Some(batch));
            }
            if !self.fill(BLOCK)? {
                let finished = self.decoder.finish();
                finished.map_err(|e| damaged(&self.source, "Arrow", &e.to_string()))?;
                return Ok(None);
            }
        }
    }

    /// Reads a block; false at the end.
    fn fill(&mut self, count: usize) -> Result<bool> {
        let mut block = vec![0; count];
        let got = self.reader.read(&mut block);
        block.truncate(got.map_err(|e| self.source.io_error(&e))?);
        self.waiting = Buffer::from(block);
        Ok(!self.waiting.is_empty())
    }

    /// Decodes what has been read, up to the next batch.
    fn decode(&mut self) -> Result<Option<RecordBatch>> {
        let MessageReader {
            decoder, waiting, ..
        } = self;
        let decode = || decoder.decode(waiting).map_err(|e| e.to_string());
        guarded(&self.source, "Arrow", decode)
    }
}
