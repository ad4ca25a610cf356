//! Compressed files and UTF-16 text, copied unpacked into a temporary file.

use super::{spool_error, Source};
use crate::error::{DataError, Result};
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE};
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read, Write};

/// Bytes unpacked at once.
const BLOCK: usize = 1 << 16;

/// How a file is compressed.
#[derive(Clone, Copy)]
enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    fn of(head: &[u8]) -> Option<Compression> {
        match head {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            _ if is_skippable(head) => Some(Compression::Zstd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }
}

/// Whether a zstd frame begins that holds no data.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Whether content that begins with `head` is compressed or UTF-16.
pub fn is_packed(head: &[u8]) -> bool {
    Compression::of(head).is_some() || matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
}

/// The file without its compression and as UTF-8. Memory holds one block.
pub fn unpacked(source: Source) -> Result<Source> {
    let source = match Compression::of(&source.head(4)?) {
        Some(compression) => decompressed(&source, compression)?,
        None => source,
    };
    match source.head(2)?[..] {
        [0xff, 0xfe] => transcoded(&source, UTF_16LE),
        [0xfe, 0xff] => transcoded(&source, UTF_16BE),
        _ => Ok(source),
    }
}

fn decompressed(source: &Source, compression: Compression) -> Result<Source> {
    let mut copy = Copy::new(source)?;
    let name = compression.name();
    let copied = match compression {
        Compression::Gzip => copy.all(&mut MultiGzDecoder::new(source.reader())),
        Compression::Zstd => zstd_frames(source, &mut copy),
    };
    let damaged = |e: io::Error| {
        let found = match e.kind() {
            ErrorKind::UnexpectedEof => format!("a {name} file that is cut off"),
            _ => format!("a damaged {name} file ({e})"),
        };
        let error = source.error(
            found,
            format!("a complete {name} file"),
            format!("Copy it again; {name} -t checks it."),
        );
        error.at(format!("line {} of its content", copy.lines + 1))
    };
    match copied {
        Ok(()) => {}
        Err(Failed::Read(e)) => return Err(damaged(e)),
        Err(Failed::Write(e)) => return Err(copy.full(&e)),
    }
    copy.finish(source)
}

/// A file of several frames holds their contents one after the other.
fn zstd_frames(source: &Source, copy: &mut Copy<'_>) -> std::result::Result<(), Failed> {
    let mut reader = source.reader();
    loop {
        let mut head = Vec::new();
        let read = reader.by_ref().take(4).read_to_end(&mut head);
        if read.map_err(Failed::Read)? == 0 {
            return Ok(());
        }
        if is_skippable(&head) {
            skip_frame(&mut reader).map_err(Failed::Read)?;
            continue;
        }
        let mut frame = StreamingDecoder::new(head.as_slice().chain(&mut reader))
            .map_err(|e| Failed::Read(io::Error::other(e.to_string())))?;
        copy.all(&mut frame)?;
        let decoder = &frame.decoder;
        let stored = decoder.get_checksum_from_data();
        if stored.is_some() && stored != decoder.get_calculated_checksum() {
            let wrong = io::Error::other("its checksum differs");
            return Err(Failed::Read(wrong));
        }
    }
}

/// Skips the rest of a frame without data: its length in four bytes, then that many.
fn skip_frame(reader: &mut impl Read) -> io::Result<()> {
    let mut len = [0; 4];
    reader.read_exact(&mut len)?;
    let len = u64::from(u32::from_le_bytes(len));
    match io::copy(&mut reader.take(len), &mut io::sink())? == len {
        true => Ok(()),
        false => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn transcoded(source: &Source, encoding: &'static Encoding) -> Result<Source> {
    let mut copy = Copy::new(source)?;
    let mut reader = source.reader();
    // The byte-order mark, which has been seen.
    let skipped = reader.read_exact(&mut [0; 2]);
    skipped.map_err(|e| source.io_error(&e))?;
    let mut decoder = encoding.new_decoder_without_bom_handling();
    loop {
        let bytes = reader.fill_buf().map_err(|e| source.io_error(&e))?;
        let (count, last) = (bytes.len(), bytes.is_empty());
        let decoded = decode(&mut decoder, bytes, last, &mut copy)?;
        if !decoded {
            return Err(source
                .error(
                    format!("no valid {}", encoding.name()),
                    "text in UTF-16 or UTF-8",
                    "The file is cut off or damaged: write it again, best in UTF-8.",
                )
                .at(format!("line {}", copy.lines + 1)));
        }
        if last {
            return copy.finish(source);
        }
        reader.consume(count);
    }
}

/// Decodes a block; false if it is malformed.
fn decode(decoder: &mut Decoder, mut from: &[u8], last: bool, to: &mut Copy<'_>) -> Result<bool> {
    let mut buffer = [0; BLOCK];
    loop {
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(from, &mut buffer, last);
        to.write(&buffer[..written]).map_err(|e| to.full(&e))?;
        from = &from[read..];
        match result {
            DecoderResult::InputEmpty => return Ok(true),
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => return Ok(false),
        }
    }
}

/// Why a copy ends early.
enum Failed {
    Read(io::Error),
    Write(io::Error),
}

/// The temporary file.
struct Copy<'a> {
    of: &'a Source,
    file: File,
    len: u64,
    lines: u64,
}

impl<'a> Copy<'a> {
    fn new(of: &'a Source) -> Result<Self> {
        let file = tempfile::tempfile().map_err(|e| spool_error(of.name(), &e))?;
        Ok(Copy {
            of,
            file,
            len: 0,
            lines: 0,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.len += bytes.len() as u64;
        self.lines += bytes.iter().filter(|b| **b == b'\n').count() as u64;
        self.file.write_all(bytes)
    }

    fn all(&mut self, from: &mut dyn Read) -> std::result::Result<(), Failed> {
        let mut buffer = vec![0; BLOCK];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(got) => self.write(&buffer[..got]).map_err(Failed::Write)?,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(Failed::Read(e)),
            }
        }
    }

    fn full(&self, e: &io::Error) -> DataError {
        let mut error = spool_error(self.of.name(), e);
        error.found = format!("{} bytes unpacked, and then {}", self.len, error.found);
        error
    }

    fn finish(self, of: &Source) -> Result<Source> {
        Ok(of.replaced(self.file, self.len))
    }
}
