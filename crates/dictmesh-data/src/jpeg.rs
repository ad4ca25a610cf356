//! Whether a JPEG is whole. The `image` crate reads what it can and fills up the rest with grey.

use super::error::Result;
use super::source::Source;
use std::io::{Cursor, Read};
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// The strict decoder's message about bytes between headers, which cameras write and which are
/// harmless.
const HARMLESS: &str = "[strict-mode]: Extra bytes between headers";

/// `Ok(Err(..))` says what is wrong with a JPEG that is cut off or damaged. The format has no checksums, so
/// that not all damage shows.
pub fn check(source: &Source) -> Result<std::result::Result<(), String>> {
    let mut bytes = Vec::new();
    let read = source.reader().read_to_end(&mut bytes);
    read.map_err(|e| source.io_error(&e))?;
    if !has_end(&bytes) {
        return Ok(Err("a JPEG without its end".into()));
    }
    let strict = DecoderOptions::default().set_strict_mode(true);
    let strict = strict.set_max_width(LARGEST).set_max_height(LARGEST);
    let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), strict);
    let headed = decoder
        .decode_headers()
        .map(|()| decoder.output_buffer_size());
    let decoded = match headed {
        // The decoder that reads it afterwards reports the size.
        Ok(size) if size.is_none_or(|size| size > MOST_BYTES) => return Ok(Ok(())),
        Ok(_) => decoder.decode().map(|_| ()),
        Err(e) => Err(e),
    };
    Ok(match decoded {
        Ok(()) | Err(DecodeErrors::FormatStatic(HARMLESS)) => Ok(()),
        Err(_) => Err("a damaged JPEG".into()),
    })
}

/// The most pixels along a side in this format.
const LARGEST: usize = 65_535;
/// Unpacked; the limit of the `image` crate.
const MOST_BYTES: usize = 512 << 20;

/// Pixels follow a start of scan, and nothing among them looks like the end of the picture but that end. A
/// thumbnail, which has an end of its own, comes before.
fn has_end(bytes: &[u8]) -> bool {
    let last = |marker: u8| bytes.windows(2).rposition(|two| two == [0xff, marker]);
    last(0xd9) > last(0xda)
}
