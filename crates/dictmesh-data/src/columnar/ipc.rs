//! The messages of an Arrow IPC file or stream, none of which takes memory that its bytes do not bear out.

use super::guard::{damaged, guarded, RATIO};
use crate::error::{DataError, Result};
use crate::source::{Bytes, Source};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_footer_length, FileDecoder, StreamDecoder};
use arrow_ipc::{root_as_footer, root_as_message, Block};
use arrow_schema::SchemaRef;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

/// The batches of an Arrow file or stream.
pub enum IpcReader {
    File(Box<BlockReader>),
    Stream(Box<MessageReader>),
}

impl IpcReader {
    /// Reads up to the schema.
    pub fn open(source: &Arc<Source>) -> Result<(Self, SchemaRef)> {
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
            ready: None,
        };
        let schema = reader.schema()?;
        Ok((IpcReader::Stream(Box::new(reader)), schema))
    }

    /// The next batch; `None` at the end.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            IpcReader::File(reader) => reader.next(),
            IpcReader::Stream(reader) => reader.next(),
        }
    }
}

/// The blocks of a file, which its footer lists.
pub struct BlockReader {
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
    let begin = match bytes.starts_with(&[0xff; 4]) {
        true => 8,
        false => 4,
    };
    let body = usize::try_from(block.metaDataLength()).unwrap_or(0);
    // Where the parts are not, the decoder says what is wrong.
    let parts = (bytes.get(begin..), bytes.get(body..));
    if let (Some(message), Some(body)) = parts {
        check_buffers(source, message, body)?;
    }
    Ok(Buffer::from(bytes))
}

/// The error for a buffer outside its message, and for a compressed one that claims a length that it cannot
/// have: the decoder panics at the one, and takes the memory for the other before it unpacks.
fn check_buffers(source: &Source, message: &[u8], body: &[u8]) -> Result<()> {
    match guarded(source, "Arrow", || Ok(are_within(message, body)))? {
        true => Ok(()),
        false => Err(damaged(source, "Arrow", "a buffer that is too long")),
    }
}

fn are_within(message: &[u8], body: &[u8]) -> bool {
    let Ok(message) = root_as_message(message) else {
        // The decoder says what is wrong.
        return true;
    };
    let dictionary = message.header_as_dictionary_batch().and_then(|d| d.data());
    let Some(batch) = message.header_as_record_batch().or(dictionary) else {
        return true;
    };
    let packed = batch.compression().is_some();
    batch.buffers().iter().flatten().all(|buffer| {
        let from = usize::try_from(buffer.offset()).ok();
        let length = usize::try_from(buffer.length()).ok();
        let end = from.zip(length).and_then(|(a, b)| a.checked_add(b));
        let Some(bytes) = from.zip(end).and_then(|(from, end)| body.get(from..end)) else {
            return false;
        };
        let claimed = bytes.first_chunk::<8>().filter(|_| packed);
        let claimed = claimed.map_or(0, |prefix| i64::from_le_bytes(*prefix));
        claimed <= buffer.length().saturating_mul(RATIO)
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
pub struct MessageReader {
    source: Arc<Source>,
    reader: BufReader<Bytes>,
    decoder: StreamDecoder,
    /// What the decoder has not taken of the last message. It takes one without a body, such as the schema,
    /// with the next.
    waiting: Buffer,
    /// A batch that came with the schema.
    ready: Option<RecordBatch>,
}

impl MessageReader {
    /// The schema, which comes before the first batch.
    fn schema(&mut self) -> Result<SchemaRef> {
        while let Some(message) = self.message()? {
            self.waiting = message;
            self.ready = self.decode()?;
            if let Some(schema) = self.decoder.schema() {
                return Ok(schema);
            }
        }
        Err(damaged(&self.source, "Arrow", "it has no schema"))
    }

    /// The next batch; `None` at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.ready.take() {
            return Ok(Some(batch));
        }
        loop {
            if let Some(batch) = self.decode()? {
                return Ok(Some(batch));
            }
            match self.message()? {
                Some(message) => self.waiting = message,
                None => break,
            }
        }
        let finished = self.decoder.finish();
        finished.map_err(|e| damaged(&self.source, "Arrow", &e.to_string()))?;
        Ok(None)
    }

    /// The bytes of the next message with its body; `None` at the end.
    fn message(&mut self) -> Result<Option<Buffer>> {
        let mut bytes = Vec::new();
        if !self.read(&mut bytes, 4)? {
            return Ok(None);
        }
        if bytes == [0xff; 4] && !self.read(&mut bytes, 4)? {
            return Err(self.cut_off());
        }
        let begin = bytes.len();
        let length = bytes
            .last_chunk::<4>()
            .map_or(0, |n| u32::from_le_bytes(*n));
        if length == 0 {
            return Ok(Some(bytes.into()));
        }
        if !self.read(&mut bytes, length.into())? {
            return Err(self.cut_off());
        }
        let body = guarded(&self.source, "Arrow", || {
            let message = root_as_message(&bytes[begin..]).map_err(|e| e.to_string())?;
            u64::try_from(message.bodyLength()).map_err(|e| e.to_string())
        })?;
        let end = bytes.len();
        if body > 0 && !self.read(&mut bytes, body)? {
            return Err(self.cut_off());
        }
        check_buffers(&self.source, &bytes[begin..end], &bytes[end..])?;
        Ok(Some(bytes.into()))
    }

    /// Appends the next `count` bytes; false at the end of the stream. Memory grows with what is there, not
    /// with `count`.
    fn read(&mut self, bytes: &mut Vec<u8>, count: u64) -> Result<bool> {
        let got = self.reader.by_ref().take(count).read_to_end(bytes);
        match got.map_err(|e| self.source.io_error(&e))? as u64 {
            0 => Ok(false),
            got if got < count => Err(self.cut_off()),
            _ => Ok(true),
        }
    }

    fn cut_off(&self) -> DataError {
        damaged(&self.source, "Arrow", "it is cut off")
    }

    /// Decodes what waits, up to the next batch.
    fn decode(&mut self) -> Result<Option<RecordBatch>> {
        let (decoder, waiting) = (&mut self.decoder, &mut self.waiting);
        let decode = || decoder.decode(waiting).map_err(|e| e.to_string());
        guarded(&self.source, "Arrow", decode)
    }
}
