//! Text that is not UTF-8.

use std::borrow::Cow;

/// What the bytes 0x80 to 0x9f stand for in Windows-1252; the rest of it is Latin-1, in which every byte is
/// the character of that number.
const WINDOWS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// Bytes as text: UTF-8, otherwise Windows-1252, the most frequent encoding of old files.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&b| western(b)).collect()),
    }
}

fn western(byte: u8) -> char {
    let windows = byte
        .checked_sub(0x80)
        .and_then(|at| WINDOWS.get(usize::from(at)));
    windows.copied().unwrap_or(char::from(byte))
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
