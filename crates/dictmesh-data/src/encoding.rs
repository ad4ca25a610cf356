//! Text that is not UTF-8.

use std::borrow::Cow;

/// Bytes as text: UTF-8, otherwise Windows-1252, the most frequent encoding of old files. In that every
/// byte is a character.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            encoding_rs::WINDOWS_1252
                .decode_without_bom_handling(bytes)
                .0
        }
    }
}

/// UTF-16 text with a byte-order mark; `None` if it is malformed.
pub fn utf16(bytes: &[u8]) -> Option<String> {
    let (encoding, mark) = encoding_rs::Encoding::for_bom(bytes)?;
    let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark..]);
    text.map(Cow::into_owned)
}

/// The message about a file whose first line that is not UTF-8 is `line`.
pub fn foreign_words(line: u64) -> String {
    format!(
        "line {line} is not UTF-8 and was read as Western European text (Windows-1252); if it is something \
         else, convert the file first (iconv -f ENCODING -t utf-8)"
    )
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn no_letter_is_lost() {
        assert_eq!(decoded("Zürich €".as_bytes()), "Zürich €");
        // As Python encodes them: "Zürich".encode("latin-1"), "“œuf” €".encode("cp1252").
        assert_eq!(decoded(b"Z\xfcrich"), "Zürich");
        assert_eq!(decoded(b"\x93\x9cuf\x94 \x80"), "“œuf” €");
    }
}
