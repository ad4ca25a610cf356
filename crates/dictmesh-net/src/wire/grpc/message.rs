//! What goes over a stream, as `mesh.proto` describes it, and how it becomes bytes: the control messages by prost's
//! derive, which needs no compiler of .proto files; a frame as bytes that are not copied on the way out, nor on the way
//! in where they come in one piece.

use bytes::{Buf, Bytes};
use prost::Message as _;

/// The path of the one method, `/package.Service/Method`.
pub const PATH: &str = "/dictmesh.v1.Mesh/Link";

/// One message of a stream.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Message {
    #[prost(oneof = "Kind", tags = "1, 2, 3")]
    pub kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    /// The first message of each side.
    #[prost(message, tag = "1")]
    Hello(Hello),
    /// Why the side that dialled does not go on.
    #[prost(string, tag = "2")]
    Refusal(String),
    /// An encoded frame.
    #[prost(bytes = "bytes", tag = "3")]
    Frame(Bytes),
}

/// Who speaks to whom, and what both must agree on.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Hello {
    #[prost(uint32, tag = "1")]
    pub protocol: u32,
    #[prost(string, tag = "2")]
    pub run: String,
    #[prost(uint64, tag = "3")]
    pub from: u64,
    #[prost(uint64, tag = "4")]
    pub to: u64,
    #[prost(fixed64, tag = "5")]
    pub incarnation: u64,
    #[prost(uint32, tag = "6")]
    pub epoch: u32,
    #[prost(message, repeated, tag = "7")]
    pub agreed: Vec<Setting>,
}

/// A setting that all agents of a run share.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Setting {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

impl Message {
    pub fn hello(hello: Hello) -> Self {
        Message {
            kind: Some(Kind::Hello(hello)),
        }
    }

    pub fn refusal(why: String) -> Self {
        Message {
            kind: Some(Kind::Refusal(why)),
        }
    }

    /// For the log: what came in place of what was expected.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Some(Kind::Hello(_)) => "a hello",
            Some(Kind::Refusal(_)) => "a refusal",
            Some(Kind::Frame(_)) => "a frame",
            None => "an empty message",
        }
    }
}

/// Bytes of a message at most, where `largest` is the size of an encoded frame: a frame, or a hello, and what
/// protobuf puts around it.
pub fn limit(largest: usize) -> usize {
    largest.max(LARGEST_HELLO).saturating_add(AROUND)
}

/// Bytes of a hello at most.
const LARGEST_HELLO: usize = 32 << 10;
/// A tag and a length.
const AROUND: usize = 16;
/// What gRPC puts before each message: whether it is compressed, and its length.
pub const BEFORE: usize = 5;
/// The field of a frame, as protobuf writes it.
const FRAME: u8 = 3 << 3 | 2;

/// A message as it goes out: some bytes that stand before it, and its body, which is not copied.
#[derive(Debug, Default)]
pub struct Piece {
    before: [u8; BEFORE + AROUND],
    /// What of `before` has not gone out yet.
    from: usize,
    to: usize,
    body: Bytes,
}

impl Piece {
    /// A message that is a frame, whose bytes these are.
    pub fn frame(body: Bytes) -> Self {
        let mut field = [FRAME; AROUND];
        let mut rest = &mut field[1..];
        prost::encoding::encode_varint(body.len() as u64, &mut rest);
        let around = AROUND - rest.len();
        let mut piece = Piece::before(around + body.len(), body);
        piece.before[BEFORE..BEFORE + around].copy_from_slice(&field[..around]);
        piece.to += around;
        piece
    }

    /// Any message.
    pub fn of(message: &Message) -> Self {
        let body = Bytes::from(message.encode_to_vec());
        Piece::before(body.len(), body)
    }

    fn before(length: usize, body: Bytes) -> Self {
        let mut before = [0; BEFORE + AROUND];
        // Messages are below 4 GB: no run with larger ones can be set up.
        before[1..BEFORE].copy_from_slice(&(length as u32).to_be_bytes());
        Piece {
            before,
            from: 0,
            to: BEFORE,
            body,
        }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.to - self.from + self.body.len()
    }

    fn chunk(&self) -> &[u8] {
        match self.from < self.to {
            true => &self.before[self.from..self.to],
            false => &self.body,
        }
    }

    fn advance(&mut self, count: usize) {
        let first = count.min(self.to - self.from);
        self.from += first;
        self.body.advance(count - first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;

    fn frame(bytes: &[u8]) -> Message {
        let bytes = Bytes::copy_from_slice(bytes);
        Message {
            kind: Some(Kind::Frame(bytes)),
        }
    }

    #[test]
    fn messages_are_the_bytes_that_the_proto_file_promises() {
        assert_eq!(frame(b"abc").encode_to_vec(), b"\x1a\x03abc"); // field 3, length-delimited
        let refusal = Message::refusal("no".into()).encode_to_vec();
        assert_eq!(refusal, b"\x12\x02no");
    }

    /// The way of a frame past prost is prost's own to the byte, for lengths with one to four bytes.
    #[test]
    fn a_piece_is_what_grpc_and_prost_make_of_it() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 3_000_000] {
            let body = Bytes::from(vec![9; length]);
            let encoded = frame(&body).encode_to_vec();
            let mut expected = vec![0];
            expected.extend_from_slice(&(encoded.len() as u32).to_be_bytes());
            expected.extend_from_slice(&encoded);
            for mut piece in [Piece::frame(body.clone()), Piece::of(&frame(&body))] {
                assert_eq!(piece.remaining(), expected.len());
                // In two parts, as a window that closes cuts it.
                let first = piece.copy_to_bytes(expected.len() / 3);
                let second = piece.copy_to_bytes(piece.remaining());
                assert!([first, second].concat() == expected, "{length}");
            }
            assert_eq!(Piece::frame(body.clone()).body.as_ptr(), body.as_ptr());
        }
    }

    #[test]
    fn a_frame_comes_in_without_a_copy() {
        let sent = frame(&[7; 1000]).encode_to_vec();
        let bytes = Bytes::from(BytesMut::from(&sent[..]));
        let Some(Kind::Frame(frame)) = Message::decode(bytes.clone()).unwrap().kind else {
            panic!("a frame went in");
        };
        assert!(bytes.as_ptr_range().contains(&frame.as_ptr()));
    }
}
