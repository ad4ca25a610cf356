//! How a gRPC call ends: a number and words, in headers or trailers.

use http::{HeaderMap, HeaderValue};
use std::fmt::Write as _;

const NUMBER: &str = "grpc-status";
const WORDS: &str = "grpc-message";

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub code: Code,
    pub message: String,
}

/// gRPC's numbers, as far as they are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Ok = 0,
    /// Any number that has no name here.
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Unimplemented = 12,
    Unavailable = 14,
}

impl Code {
    fn named(number: &str) -> Self {
        use Code::*;
        let all = [
            Ok,
            InvalidArgument,
            DeadlineExceeded,
            AlreadyExists,
            PermissionDenied,
            ResourceExhausted,
            FailedPrecondition,
            Unimplemented,
            Unavailable,
        ];
        let found = (all.into_iter()).find(|code| (*code as u32).to_string() == number);
        found.unwrap_or(Unknown)
    }
}

/// Why a connection or a stream broke. What TLS says of one that was cut is about TLS, and not about what happened.
fn broken_words(error: &h2::Error) -> String {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    match error.get_io().map(std::io::Error::kind) {
        Some(UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe) => {
            "its process ended, or the connection was cut".into()
        }
        _ => error.to_string(),
    }
}

impl Status {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Status {
            code,
            message: message.into(),
        }
    }

    /// What HTTP/2 says of a connection or a stream that broke.
    pub fn broken(error: &h2::Error) -> Self {
        Status::new(Code::Unavailable, broken_words(error))
    }

    /// As headers or trailers.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(NUMBER, HeaderValue::from(self.code as u16));
        // Only printable ASCII is left of it, so it is always a value.
        if let Ok(words) = HeaderValue::from_str(&escaped(&self.message)) {
            headers.insert(WORDS, words);
        }
        headers
    }

    /// What headers or trailers say, if they say anything.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let number = headers.get(NUMBER)?.to_str().unwrap_or_default();
        let words = headers.get(WORDS).map(HeaderValue::as_bytes);
        Some(Status {
            code: Code::named(number),
            message: plain(words.unwrap_or_default()),
        })
    }
}

/// Percent-encoded, as gRPC wants it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | 0..0x20 | 0x7f.. => {
                let _ = write!(out, "%{byte:02X}");
            }
            _ => out.push(char::from(byte)),
        }
    }
    out
}

/// The text again; what is not encoded as it should be stays as it is.
fn plain(escaped: &[u8]) -> String {
    let digit = |at: usize| {
        let byte = escaped.get(at).copied().unwrap_or_default();
        char::from(byte).to_digit(16)
    };
    let (mut out, mut at) = (Vec::with_capacity(escaped.len()), 0);
    while let Some(byte) = escaped.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((16 * high + low) as u8);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_goes_through_headers_whatever_its_words_are() {
        for words in ["", "100 % \"sure\"\n", "gr\u{fc}n", "%zz%4", "a\0b\u{7f}"] {
            let said = Status::new(Code::FailedPrecondition, words);
            assert_eq!(Status::of(&said.headers()), Some(said));
        }
        assert_eq!(Status::of(&HeaderMap::new()), None);
        // The example of gRPC's own specification.
        assert_eq!(escaped("50% \u{fc}"), "50%25 %C3%BC");
    }
}
